"""One job on a cluster: its state, its end, and how to steer it.

What is said about a job has to be proven. A REST API that does not answer says nothing: the state
is then `UNKNOWN`, and waiting goes on. That a job is gone is proven by a JobManager that answers
and does not know it, and goes on not knowing it (with high availability a new JobManager needs a
moment to recover its jobs), or by the Deployment having gone.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kubeflink.cluster.clock import Deadline
from kubeflink.cluster.diagnosis import Diagnosis
from kubeflink.cluster.log_diagnosis import known_cause
from kubeflink.errors import (
    ApiUnreachableError,
    ClusterNotFoundError,
    JobFailedError,
    NotFoundError,
    RestStatusError,
    RestUnreachableError,
    ServerError,
    TooManyRequestsError,
    WaitTimeoutError,
)
from kubeflink.rest import java_errors, models

if TYPE_CHECKING:
    from kubeflink.cluster.cluster import FlinkCluster
    from kubeflink.rest.client import CheckpointType, SavepointFormat

UNKNOWN: Final = "UNKNOWN"
"""The state of a job on a cluster that cannot be reached."""

SAVEPOINT_SECONDS = 600.0
"""The limit of a wait for a savepoint; Flink's own for checkpoints is ten minutes too."""

RECOVERY_SECONDS = 60.0
"""For how long a JobManager may not know a job before the job counts as lost."""

FORGOTTEN_SECONDS = 5.0
"""The same without high availability, where nothing is recovered."""

ANSWER_SECONDS = 10.0
"""How long an answer is waited for before it is asked whether the cluster is there at all."""

_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 1.0

# No proof of anything but of a bad way to the cluster.
_UNREACHABLE = (RestUnreachableError, ApiUnreachableError, ServerError, TooManyRequestsError)


@dataclass(frozen=True, slots=True)
class JobProgress:
    """A moment in a job's life. `tasks` counts the subtasks by state, empty if not known."""

    job_id: str
    name: str
    state: str
    tasks: dict[str, int]


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How a job ended. `duration` is in milliseconds; `cause` is one line, `stack_trace` all.

    `troubles` are what befell its TaskManagers while it was followed.
    """

    job_id: str
    name: str
    state: str
    duration: int = 0
    cause: str | None = None
    stack_trace: str | None = None
    troubles: tuple[Diagnosis, ...] = ()

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
            "TaskManagers": "; ".join(trouble.sentence for trouble in self.troubles),
        }
        return display.card(f"Job {self.name}", facts)

    def check(self) -> JobOutcome:
        """Itself if it succeeded; JobFailedError otherwise."""
        if self.succeeded:
            return self
        told = f": {self.cause}" if self.cause else ""
        title = f"Job {self.name} ({self.job_id})" if self.name else f"Job {self.job_id}"
        raise JobFailedError(
            f"{title} ended as {self.state}{told}",
            job_id=self.job_id,
            state=self.state,
            hint=self._hint,
        )

    @property
    def _hint(self) -> str | None:
        """The last trouble of a TaskManager: often the cause of what the job only suffered.

        Without one, what to do about the cause where it is a known one.
        """
        if self.troubles:
            last = self.troubles[-1]
            return last.sentence if last.hint is None else f"{last.sentence}\n{last.hint}"
        found = known_cause(self.stack_trace) if self.stack_trace else None
        return found.hint if found else None


@dataclass(frozen=True, slots=True)
class Savepoint:
    """A savepoint that is complete. `trigger_id` is the request that made it."""

    location: str
    job_id: str
    trigger_id: str


class Job:
    """A job on a cluster, known by its id of 32 hexadecimal digits."""

    def __init__(self, cluster: FlinkCluster, job_id: str) -> None:
        self._cluster = cluster
        self.id = job_id

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
        except _UNREACHABLE:
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
        async with self._cluster.watch_workers(on_trouble) as workers:
            end = await _Follower(self, on_progress).until_end(deadline, timeout)
            outcome = replace(await self._outcome(end), troubles=workers.troubles)
        return outcome.check() if check else outcome

    async def cancel(self, *, wait: bool = True, timeout: float | None = 120.0) -> None:
        """Cancels the job, and by default waits until it is cancelled."""
        await (await self._cluster.flink()).cancel(self.id)
        if wait:
            outcome = await self.wait(timeout=timeout, check=False)
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
    ) -> Savepoint:
        """Stops the job with a savepoint and returns it.

        `trigger_id` takes up a request that was made before instead of making a new one. If the
        savepoint was made but stopping failed, the JobFailedError carries the savepoint.
        """
        trigger = trigger_id or secrets.token_hex(16)
        flink = await self._cluster.flink()
        if trigger_id is None or not await self._is_known(trigger):
            await flink.stop(
                self.id,
                directory=directory,
                drain=drain,
                format_type=format_type,
                trigger_id=trigger,
            )
        return await self._savepoint(trigger, timeout, "stop with savepoint")

    async def savepoint(
        self,
        *,
        directory: str | None = None,
        format_type: SavepointFormat = "CANONICAL",
        trigger_id: str | None = None,
        timeout: float | None = SAVEPOINT_SECONDS,
    ) -> Savepoint:
        """Makes a savepoint while the job runs on. `trigger_id` as for `stop`."""
        trigger = trigger_id or secrets.token_hex(16)
        flink = await self._cluster.flink()
        if trigger_id is None or not await self._is_known(trigger):
            await flink.trigger_savepoint(
                self.id, directory=directory, format_type=format_type, trigger_id=trigger
            )
        return await self._savepoint(trigger, timeout, "savepoint")

    async def checkpoint(
        self,
        *,
        checkpoint_type: CheckpointType = "CONFIGURED",
        timeout: float | None = SAVEPOINT_SECONDS,
    ) -> int:
        """Makes a checkpoint now, and returns its id."""
        flink = await self._cluster.flink()
        trigger = await flink.trigger_checkpoint(self.id, checkpoint_type=checkpoint_type)
        result = await completed(
            lambda: flink.checkpoint_status(self.id, trigger),
            timeout,
            f"checkpoint of job {self.id} (request {trigger})",
            cluster=self._cluster,
        )
        await self._raise_for(result, "checkpoint")
        return result.checkpoint_id or 0

    async def _is_known(self, trigger_id: str) -> bool:
        try:
            await (await self._cluster.flink()).savepoint_status(self.id, trigger_id)
        except RestStatusError as error:
            if error.code != 404:
                raise
            return False
        return True

    async def _savepoint(self, trigger: str, timeout: float | None, what: str) -> Savepoint:
        flink = await self._cluster.flink()
        result = await completed(
            lambda: flink.savepoint_status(self.id, trigger),
            timeout,
            f"{what} of job {self.id} (request {trigger})",
            cluster=self._cluster,
            hint=f"It goes on; wait for it again by its id: --trigger-id {trigger}",
        )
        await self._raise_for(result, what)
        return Savepoint(result.location or "", self.id, trigger)

    async def _raise_for(self, result: models.OperationResult, what: str) -> None:
        if result.failure is None:
            return
        trace = result.failure.stack_trace
        saved = java_errors.savepoint_path(trace)
        raise JobFailedError(
            f"{what} of job {self.id} failed: {java_errors.root_cause(trace)}",
            job_id=self.id,
            state=await self.state(),
            savepoint=saved,
            hint=f"The savepoint was made all the same; go on from it: {saved}" if saved else None,
        )

    async def _outcome(self, end: models.JobDetails) -> JobOutcome:
        """The end with its cause. That the cluster may be gone by now takes nothing from it."""
        trace = ""
        if end.state != "FINISHED":
            try:
                trace = (await self.exceptions()).latest_stacktrace
            except (*_UNREACHABLE, RestStatusError, NotFoundError):
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

    async def until_end(self, deadline: Deadline, timeout: float | None) -> models.JobDetails:
        pause = _FIRST_PAUSE
        while True:
            details = await self._ask()
            if details is not None and details.is_terminal:
                return details
            if not await deadline.pause(pause):
                state = self.told.state if self.told else UNKNOWN
                raise WaitTimeoutError(
                    f"Job {self.job.id} has not ended after {timeout:g} s; it is {state}"
                )
            pause = min(pause * 1.3, _LONGEST_PAUSE)

    async def _ask(self) -> models.JobDetails | None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                details = await self.job.details()
        except (*_UNREACHABLE, NotFoundError, TimeoutError):  # not found: the Service, by a proxy
            self._tell(UNKNOWN, {})
            await self._check_cluster()
            return None
        except RestStatusError as error:
            if error.code != 404:
                raise
            await self._unknown_to_jobmanager()
            return None
        self.unknown_since = None
        self._tell(details.state, _counts(details), details.name)
        return details

    async def _check_cluster(self) -> None:
        """Whether the cluster has gone, which ends the wait: its jobs went with it."""
        if not await may_exist(self.job.cluster):
            raise self._lost(f"the cluster {self.job.cluster.name} went away while it ran")

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


async def may_exist(cluster: FlinkCluster) -> bool:
    """False only if it is proven that the cluster has gone."""
    try:
        return await cluster.exists()
    except (ApiUnreachableError, ServerError, TooManyRequestsError):
        return True


async def completed(
    ask: Callable[[], Awaitable[models.OperationStatus]],
    timeout: float | None,
    what: str,
    *,
    cluster: FlinkCluster,
    hint: str | None = None,
) -> models.OperationResult:
    """The result of an operation under way, asked for until it is there.

    WaitTimeoutError after `timeout` seconds; the operation itself goes on. ClusterNotFoundError if
    the cluster goes away meanwhile.
    """
    deadline = Deadline.after(timeout)
    pause = _FIRST_PAUSE
    while True:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                status = await ask()
            if status.is_completed and status.operation is not None:
                return status.operation
        except (*_UNREACHABLE, NotFoundError, TimeoutError) as error:
            if not await may_exist(cluster):
                raise ClusterNotFoundError(
                    f"The cluster {cluster.name} went away before the {what} was complete"
                ) from error
        if not await deadline.pause(pause):
            raise WaitTimeoutError(f"The {what} is not complete after {timeout:g} s", hint=hint)
        pause = min(pause * 1.3, _LONGEST_PAUSE)


def _counts(details: models.JobDetails) -> dict[str, int]:
    """The subtasks of all vertices by state; without the zeros."""
    counts: dict[str, int] = {}
    for vertex in details.vertices:
        for state, count in vertex.tasks.items():
            if count:
                counts[state] = counts.get(state, 0) + count
    return counts
