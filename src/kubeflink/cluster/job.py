"""One job on a cluster: its state, its end, and how to steer it.

What is said about a job has to be proven. A REST API that does not answer says nothing: the state
is then `UNKNOWN`, and waiting goes on. That a job is gone is proven by a JobManager that answers
and does not know it, and goes on not knowing it (with high availability a new JobManager needs a
moment to recover its jobs), or by the Deployment having gone. A job that takes its cluster with it,
as that of an application does, may have been heard of by other witnesses: see `FlinkCluster.ends`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kubeflink.cluster import ids, job_progress, savepoints
from kubeflink.cluster.clock import Deadline
from kubeflink.cluster.diagnosis import Diagnosis
from kubeflink.cluster.job_progress import (
    UNKNOWN,
    UNREACHABLE,
    JobProgress,
    Pauses,
    counted,
    tasks_by_state,
)
from kubeflink.cluster.log_diagnosis import what_to_do
from kubeflink.cluster.savepoints import SAVEPOINT_SECONDS, Savepoint
from kubeflink.errors import (
    ClusterFailedError,
    ClusterNotFoundError,
    JobFailedError,
    NotFoundError,
    RestStatusError,
    WaitTimeoutError,
)
from kubeflink.kube import next_step
from kubeflink.rest import java_errors, models

if TYPE_CHECKING:
    from kubeflink.cluster.cluster import FlinkCluster, LastWords
    from kubeflink.rest.client import CheckpointType, FlinkClient, SavepointFormat

RECOVERY_SECONDS = 60.0
"""For how long a JobManager may not know a job before the job counts as lost."""

FORGOTTEN_SECONDS = 5.0
"""The same without high availability, where nothing is recovered."""


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How a job ended. `duration` is in milliseconds; `cause` is one line, `stack_trace` all.

    `troubles` are what befell its TaskManagers while it was followed; `savepoint` is one that was
    made although the job failed when it was to stop with it.
    """

    job_id: str
    name: str
    state: str
    duration: int = 0
    cause: str | None = None
    stack_trace: str | None = None
    troubles: tuple[Diagnosis, ...] = ()
    savepoint: str | None = None

    @property
    def succeeded(self) -> bool:
        """Whether it came to its own end."""
        return self.state == "FINISHED"

    def _repr_html_(self) -> str:
        from kubeflink.cluster import display

        facts = {
            "id": self.job_id,
            "state": self.state,
            "duration": f"{self.duration / 1000:.1f} s",
            "cause": self.cause,
            "savepoint": self.savepoint,
            "TaskManagers": "; ".join(trouble.sentence for trouble in self.troubles),
        }
        return display.card(f"Job {self.name}", facts)

    @property
    def title(self) -> str:
        """What has ended: a job, or an application that has not come to one."""
        if not self.job_id:
            return f"Application {self.name}"
        return f"Job {self.name} ({self.job_id})" if self.name else f"Job {self.job_id}"

    def check(self) -> JobOutcome:
        """Itself if it succeeded; JobFailedError otherwise."""
        if self.succeeded:
            return self
        told = f": {self.cause}" if self.cause else ""
        raise JobFailedError(
            f"{self.title} ended as {self.state}{told}",
            job_id=self.job_id,
            state=self.state,
            savepoint=self.savepoint,
            hint=self._hint,
        )

    @property
    def _hint(self) -> str | None:
        """The savepoint to go on from, or the last trouble of a TaskManager: often the cause of
        what the job only suffered.

        Without one, what to do about the cause where it is a known one.
        """
        if self.savepoint is not None:
            return f"A savepoint was made; go on from it: {self.savepoint}"
        if self.troubles:
            last = self.troubles[-1]
            return last.sentence if last.hint is None else f"{last.sentence}\n{last.hint}"
        return what_to_do(self.stack_trace) if self.stack_trace else None


class Job:
    """A job on a cluster, known by its id of 32 hexadecimal digits; UsageError for any other."""

    def __init__(self, cluster: FlinkCluster, job_id: str) -> None:
        self._cluster = cluster
        self.id = ids.job_id(job_id)

    def __repr__(self) -> str:
        return f"<Job {self.id} on {self._cluster.name}>"

    def _repr_html_(self) -> str:
        from kubeflink.cluster import display

        return display.card(f"Job {self.id}", {"cluster": self._cluster.name})

    @property
    def cluster(self) -> FlinkCluster:
        """The cluster that it runs on."""
        return self._cluster

    async def details(self) -> models.JobDetails:
        """State, vertices, times and plan."""
        return await (await self._cluster.flink()).job(self.id)

    async def state(self) -> str:
        """The state in Flink's words, or `UNKNOWN` while the cluster cannot be reached."""
        try:
            return await (await self._cluster.flink()).job_state(self.id)
        except (*UNREACHABLE, ClusterFailedError):
            return UNKNOWN

    async def exceptions(self) -> models.JobExceptions:
        """The job's last failures, newest first."""
        return await (await self._cluster.flink()).exceptions(self.id)

    async def checkpoints(self) -> models.Checkpoints:
        """The statistics of its checkpoints and savepoints."""
        return await (await self._cluster.flink()).checkpoints(self.id)

    async def accumulators(self) -> dict[str, str]:
        """The values that its user functions collected, as text."""
        found = await (await self._cluster.flink()).accumulators(self.id)
        return {entry.name: entry.value for entry in found}

    async def wait(
        self,
        *,
        timeout: float | None = None,
        check: bool = True,
        on_progress: Callable[[JobProgress], None] | None = None,
        on_trouble: Callable[[Diagnosis], None] | None = None,
    ) -> JobOutcome:
        """Waits until the job has ended, and returns how.

        `on_trouble` is told what is wrong with TaskManagers meanwhile. Raises JobFailedError if it
        ended otherwise than `FINISHED` and `check` is set, or if it was lost, and WaitTimeoutError
        after `timeout` seconds. Cancellation leaves the job running.
        """
        deadline = Deadline.after(timeout)
        async with (
            self._cluster.watch_workers(on_trouble) as workers,
            self._cluster.ends() as last_words,
        ):
            end = await _Follower(self, on_progress).until_end(deadline, timeout, last_words)
            outcome = replace(await self._outcome(end), troubles=workers.troubles)
        return outcome.check() if check else outcome

    async def cancel(self, *, wait: bool = True, timeout: float | None = 120.0) -> None:
        """Cancels the job, and by default waits until it is cancelled."""
        flink = await self._cluster.flink()
        if not wait:
            await flink.cancel(self.id)
            return
        # Before the request, for its end may be that of the cluster.
        async with self._cluster.ends() as last_words:
            outcome = await self._cancelled(flink, timeout, last_words)
        if outcome.state != "CANCELED":
            outcome.check()

    async def stop(
        self,
        *,
        directory: str | None = None,
        drain: bool = False,
        format_type: SavepointFormat = "CANONICAL",
        trigger_id: str | None = None,
        timeout: float | None = SAVEPOINT_SECONDS,
        wait_for_tasks: bool = True,
        on_progress: Callable[[JobProgress], None] | None = None,
    ) -> Savepoint:
        """Stops the job with a savepoint and returns it.

        `trigger_id` takes up a request that was made before instead of making a new one. If the
        savepoint was made but stopping failed, the JobFailedError carries the savepoint. Tasks that
        do not run yet are waited for, unless `wait_for_tasks` is False; `on_progress` is told.
        """
        return await savepoints.savepoint_of(
            savepoints.Request(self, directory, format_type, drain=drain, stops=True),
            trigger_id=trigger_id,
            timeout=timeout,
            wait_for_tasks=wait_for_tasks,
            on_progress=on_progress,
        )

    async def savepoint(
        self,
        *,
        directory: str | None = None,
        format_type: SavepointFormat = "CANONICAL",
        trigger_id: str | None = None,
        timeout: float | None = SAVEPOINT_SECONDS,
        wait_for_tasks: bool = True,
        on_progress: Callable[[JobProgress], None] | None = None,
    ) -> Savepoint:
        """Makes a savepoint while the job runs on; arguments as for `stop`."""
        return await savepoints.savepoint_of(
            savepoints.Request(self, directory, format_type),
            trigger_id=trigger_id,
            timeout=timeout,
            wait_for_tasks=wait_for_tasks,
            on_progress=on_progress,
        )

    async def checkpoint(
        self,
        *,
        checkpoint_type: CheckpointType = "CONFIGURED",
        trigger_id: str | None = None,
        timeout: float | None = SAVEPOINT_SECONDS,
        wait_for_tasks: bool = True,
        on_progress: Callable[[JobProgress], None] | None = None,
    ) -> int:
        """Makes a checkpoint now, and returns its id; arguments as for `stop`."""
        result, _ = await savepoints.result_of(
            savepoints.Request(self, checkpoint_type=checkpoint_type),
            trigger_id=trigger_id,
            timeout=timeout,
            wait_for_tasks=wait_for_tasks,
            on_progress=on_progress,
        )
        return result.checkpoint_id or 0

    async def until_tasks_run(
        self,
        *,
        timeout: float | None = SAVEPOINT_SECONDS,
        on_progress: Callable[[JobProgress], None] | None = None,
    ) -> None:
        """Waits until all tasks run, which is when savepoints and checkpoints can be made.

        It also returns for a job that will never be like that: one that has ended, or whose tasks
        run one after the other. WaitTimeoutError after `timeout` seconds.
        """
        await savepoints.tasks_run(self, Deadline.after(timeout), timeout, on_progress)

    async def _cancelled(
        self, flink: FlinkClient, timeout: float | None, last_words: LastWords
    ) -> JobOutcome:
        try:
            await flink.cancel(self.id)
        except ClusterNotFoundError:
            # The request may have arrived, its answer got lost, and the cluster gone with the job.
            told = await last_words(self.id, "")
            if told is None:
                raise
            return told
        follower = _Follower(self, None)
        end = await follower.until_end(Deadline.after(timeout), timeout, last_words)
        return await self._outcome(end)

    async def _outcome(self, end: models.JobDetails | JobOutcome) -> JobOutcome:
        """The end with its cause. That the cluster may be gone by now takes nothing from it."""
        if isinstance(end, JobOutcome):
            return end
        trace = ""
        if end.state != "FINISHED":
            try:
                trace = (await self.exceptions()).latest_stacktrace
            except (*UNREACHABLE, RestStatusError, NotFoundError, ClusterNotFoundError):
                trace = ""
        cause = java_errors.root_cause(trace) or None
        return JobOutcome(self.id, end.name, end.state, end.duration, cause, trace or None)


@dataclass(slots=True)
class _Follower:
    """Asks for a job's state again and again."""

    job: Job
    on_progress: Callable[[JobProgress], None] | None
    told: JobProgress | None = None
    unknown_since: float | None = None
    is_gone: bool = False

    async def until_end(
        self, deadline: Deadline, timeout: float | None, last_words: LastWords
    ) -> models.JobDetails | JobOutcome:
        """How it ended, as its JobManager says, or as `last_words` have it of a cluster gone."""
        pauses = Pauses(deadline)
        while True:
            try:
                details = await self._ask()
            except JobFailedError as lost:
                name = self.told.name if self.told else ""
                told = await last_words(self.job.id, name) if self.is_gone else None
                if told is None:
                    raise lost
                return told
            if details is not None and details.is_terminal:
                return details
            if not await pauses.pause():
                state = self.told.state if self.told else UNKNOWN
                tasks = self.told.tasks if self.told else {}
                cluster = self.job.cluster
                how = next_step.command(f"describe {cluster.name}", cluster.namespace)
                raise WaitTimeoutError(
                    f"Job {self.job.id} has not ended after {timeout:g} s;"
                    f" it is {state}{counted(tasks)}",
                    hint=f"Tasks wait for TaskManagers; what is missing tells: {how}"
                    if "SCHEDULED" in tasks
                    else None,
                )

    async def _ask(self) -> models.JobDetails | None:
        try:
            async with asyncio.timeout(job_progress.ANSWER_SECONDS):
                details = await self.job.details()
        except (*UNREACHABLE, NotFoundError, TimeoutError):  # not found: the Service, by a proxy
            self._tell(UNKNOWN, {})
            if await self.job.cluster.may_exist():
                return None
            raise self._gone() from None
        except ClusterNotFoundError:
            raise self._gone() from None
        except RestStatusError as error:
            if error.code != 404:
                raise
            await self._unknown_to_jobmanager()
            return None
        self.unknown_since = None
        self._tell(details.state, tasks_by_state(details), details.name)
        return details

    def _gone(self) -> JobFailedError:
        """The cluster has gone, which ends the wait: its jobs went with it."""
        self.is_gone = True
        self._tell(UNKNOWN, {})
        return self._lost(f"the cluster {self.job.cluster.name} went away while it ran")

    async def _unknown_to_jobmanager(self) -> None:
        """A JobManager that recovers knows its jobs again after a while; any other never does."""
        if self.told is None:
            raise JobFailedError(
                f"There is no job {self.job.id} on cluster {self.job.cluster.name}",
                job_id=self.job.id,
                state=UNKNOWN,
            )
        now = asyncio.get_running_loop().time()
        if self.unknown_since is None:
            self.unknown_since = now
        self._tell(UNKNOWN, {})
        recovers = await self.job.cluster.recovers_jobs()
        if now - self.unknown_since >= (RECOVERY_SECONDS if recovers else FORGOTTEN_SECONDS):
            raise self._lost("the JobManager does not know it any more")

    def _lost(self, why: str) -> JobFailedError:
        return JobFailedError(
            f"How job {self.job.id} ended is not known: {why}",
            job_id=self.job.id,
            state=UNKNOWN,
            hint="With high availability jobs survive their JobManager",
        )

    def _tell(self, state: str, tasks: dict[str, int], name: str = "") -> None:
        known_name = name or (self.told.name if self.told else "")
        progress = JobProgress(self.job.id, known_name, state, tasks)
        if progress != self.told:
            self.told = progress
            if self.on_progress is not None:
                self.on_progress(progress)
