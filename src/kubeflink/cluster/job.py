"""One job on a cluster: its state, its end, and how to steer it.

What is said about a job has to be proven. A REST API that does not answer says nothing: the state
is then `UNKNOWN`, and waiting goes on. That a job is gone is proven by a JobManager that answers
and does not know it, and goes on not knowing it (with high availability a new JobManager needs a
moment to recover its jobs), or by the Deployment having gone. A job that takes its cluster with it,
as that of an application does, may have been heard of by other witnesses: see `FlinkCluster.ends`.

A savepoint or checkpoint of a job whose tasks have not all begun is refused by Flink. So the tasks
are waited for first, within the limit of the whole; nothing has been asked for until then.
"""

from __future__ import annotations

import asyncio
import logging
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
    from kubeflink.cluster.cluster import FlinkCluster, LastWords
    from kubeflink.rest.client import CheckpointType, SavepointFormat

logger = logging.getLogger(__name__)

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

NOT_RUNNING: Final = "Not all required tasks are currently running"
"""Flink's words for a job of which no checkpoint can be made yet (CheckpointFailureReason)."""

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
            await flink.cancel(self.id)
            end = await _Follower(self, None).until_end(
                Deadline.after(timeout), timeout, last_words
            )
            outcome = await self._outcome(end)
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
        request = Request(self, directory, format_type, drain=drain, stops=True)
        return await self._saved(request, trigger_id, timeout, wait_for_tasks, on_progress)

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
        request = Request(self, directory, format_type)
        return await self._saved(request, trigger_id, timeout, wait_for_tasks, on_progress)

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
        request = Request(self, checkpoint_type=checkpoint_type)
        result, _ = await self._done(request, trigger_id, timeout, wait_for_tasks, on_progress)
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
        await _tasks_run(self, Deadline.after(timeout), timeout, on_progress)

    async def _saved(
        self,
        request: Request,
        trigger_id: str | None,
        timeout: float | None,
        wait_for_tasks: bool,
        on_progress: Callable[[JobProgress], None] | None,
    ) -> Savepoint:
        result, trigger = await self._done(
            request, trigger_id, timeout, wait_for_tasks, on_progress
        )
        return Savepoint(result.location or "", self.id, trigger)

    async def _done(
        self,
        request: Request,
        trigger_id: str | None,
        timeout: float | None,
        wait_for_tasks: bool,
        on_progress: Callable[[JobProgress], None] | None,
    ) -> tuple[models.OperationResult, str]:
        """The result of a request that succeeded, and the id under which it did.

        One that Flink refused because tasks did not run has done nothing, and is made anew.
        """
        deadline = Deadline.after(timeout)
        trigger = trigger_id or secrets.token_hex(16)
        is_made = trigger_id is not None and await request.is_known(trigger)
        while True:
            if not is_made:
                if wait_for_tasks:
                    seen = await _tasks_run(self, deadline, timeout, on_progress)
                    request.check(seen)
                await request.make(trigger)
            try:
                result = await completed(
                    lambda: request.status(trigger),  # noqa: B023 - it ends before the next round
                    deadline.remaining,
                    f"{request.what} of job {self.id} (request {trigger})",
                    cluster=self._cluster,
                    hint=f"It goes on; wait for it again by its id: --trigger-id {trigger}",
                    limit=timeout,
                )
            except asyncio.CancelledError:
                told = "the %s of job %s goes on; wait for it again by its id: --trigger-id %s"
                logger.warning(told, request.what, self.id, trigger)
                raise
            if result.failure is None:
                return result, trigger
            is_early = NOT_RUNNING in result.failure.stack_trace
            if not (wait_for_tasks and is_early and await deadline.pause(_LONGEST_PAUSE)):
                await self._raise_for(result, request.what)
            trigger, is_made = secrets.token_hex(16), False

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

    async def _outcome(self, end: models.JobDetails | JobOutcome) -> JobOutcome:
        """The end with its cause. That the cluster may be gone by now takes nothing from it."""
        if isinstance(end, JobOutcome):
            return end
        trace = ""
        if end.state != "FINISHED":
            try:
                trace = (await self.exceptions()).latest_stacktrace
            except (*_UNREACHABLE, RestStatusError, NotFoundError, ClusterNotFoundError):
                trace = ""
        cause = java_errors.root_cause(trace) or None
        return JobOutcome(self.id, end.name, end.state, end.duration, cause, trace or None)


@dataclass(frozen=True, slots=True)
class Request:
    """A savepoint, a stop with one, or (with `checkpoint_type`) a checkpoint, as it is asked for.

    Flink does what is asked under one trigger id only once.
    """

    job: Job
    directory: str | None = None
    format_type: SavepointFormat = "CANONICAL"
    drain: bool = False
    stops: bool = False
    checkpoint_type: CheckpointType | None = None

    @property
    def what(self) -> str:
        """For messages."""
        if self.checkpoint_type is not None:
            return "checkpoint"
        return "stop with savepoint" if self.stops else "savepoint"

    def check(self, seen: models.JobDetails) -> None:
        """JobFailedError for a job that has ended: Flink would not find it, though it is listed."""
        if seen.is_terminal:
            raise JobFailedError(
                f"No {self.what} of job {seen.id} can be made: it has ended as {seen.state}",
                job_id=seen.id,
                state=seen.state,
            )

    async def make(self, trigger_id: str) -> None:
        """Asks for it."""
        flink, job_id = await self.job.cluster.flink(), self.job.id
        if self.checkpoint_type is not None:
            kind = self.checkpoint_type
            await flink.trigger_checkpoint(job_id, checkpoint_type=kind, trigger_id=trigger_id)
        elif self.stops:
            await flink.stop(
                job_id,
                directory=self.directory,
                drain=self.drain,
                format_type=self.format_type,
                trigger_id=trigger_id,
            )
        else:
            await flink.trigger_savepoint(
                job_id,
                directory=self.directory,
                format_type=self.format_type,
                trigger_id=trigger_id,
            )

    async def status(self, trigger_id: str) -> models.OperationStatus:
        """How far it is."""
        flink = await self.job.cluster.flink()
        if self.checkpoint_type is not None:
            return await flink.checkpoint_status(self.job.id, trigger_id)
        return await flink.savepoint_status(self.job.id, trigger_id)

    async def is_known(self, trigger_id: str) -> bool:
        """Whether it has been asked for under this id."""
        try:
            await self.status(trigger_id)
        except RestStatusError as error:
            if error.code != 404:
                raise
            return False
        return True


async def _tasks_run(
    job: Job,
    deadline: Deadline,
    timeout: float | None,
    on_progress: Callable[[JobProgress], None] | None,
) -> models.JobDetails:
    """See `Job.until_tasks_run`; how the job was seen then."""
    pause, told = _FIRST_PAUSE, None
    while True:
        details = await job.details()
        tasks = _counts(details)
        is_batch = details.job_type == "BATCH"
        if details.is_terminal or is_batch or (tasks and set(tasks) <= {"RUNNING", "FINISHED"}):
            return details
        seen = JobProgress(job.id, details.name, details.state, tasks)
        if seen != told and on_progress is not None:
            on_progress(seen)
        told = seen
        if not await deadline.pause(pause):
            counted = ", ".join(f"{count} {state}" for state, count in sorted(tasks.items()))
            raise WaitTimeoutError(
                f"The tasks of job {job.id} do not all run after {timeout:g} s;"
                f" it is {details.state}" + (f" ({counted})" if counted else ""),
                hint="Nothing was asked of it; kubeflink describe and logs tell what it waits for",
            )
        pause = min(pause * 1.3, _LONGEST_PAUSE)


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
        pause = _FIRST_PAUSE
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
        self._tell(details.state, _counts(details), details.name)
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


async def completed(
    ask: Callable[[], Awaitable[models.OperationStatus]],
    timeout: float | None,
    what: str,
    *,
    cluster: FlinkCluster,
    hint: str | None = None,
    limit: float | None = None,
) -> models.OperationResult:
    """The result of an operation under way, asked for until it is there.

    WaitTimeoutError after `timeout` seconds (the message says `limit`, of which they are the rest);
    the operation itself goes on. ClusterNotFoundError if the cluster goes away meanwhile, and
    RestStatusError (404) if its JobManager was replaced, for requests end with their JobManager.
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
            if not await cluster.may_exist():
                raise _gone_before(what, cluster) from error
        except ClusterNotFoundError as error:
            raise _gone_before(what, cluster) from error
        except RestStatusError as error:
            if error.code != 404:
                raise
            raise RestStatusError(
                f"Whether the {what} was completed is not known: the JobManager does not know the"
                " request any more; it was restarted or replaced",
                code=404,
                server_errors=error.server_errors,
                hint="Look for it where savepoints go, and look at the job: kubeflink list",
            ) from error
        if not await deadline.pause(pause):
            seconds = timeout if limit is None else limit
            raise WaitTimeoutError(f"The {what} is not complete after {seconds:g} s", hint=hint)
        pause = min(pause * 1.3, _LONGEST_PAUSE)


def _gone_before(what: str, cluster: FlinkCluster) -> ClusterNotFoundError:
    return ClusterNotFoundError(
        f"The cluster {cluster.name} went away before the {what} was complete"
    )


def _counts(details: models.JobDetails) -> dict[str, int]:
    """The subtasks of all vertices by state; without the zeros."""
    counts: dict[str, int] = {}
    for vertex in details.vertices:
        for state, count in vertex.tasks.items():
            if count:
                counts[state] = counts.get(state, 0) + count
    return counts
