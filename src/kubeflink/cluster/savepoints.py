"""Savepoints and checkpoints of a job: asked for, followed by their request, and not lost.

Flink makes them in the background. Whoever asks gives the request an id (the *trigger id*), and
learns by it how far it is; what is asked for twice under one id is done once. So a request whose
maker was interrupted can be taken up again, for as long as the JobManager lives that got it.

A savepoint or checkpoint of a job whose tasks have not all begun is refused by Flink. So the tasks
are waited for first, within the limit of the whole; nothing has been asked for until then.

A job that fails while it stops may have left a savepoint, of which only the stack trace of that
failure tells. It goes with the error. An application takes its JobManager away with the failed job,
at times before the failure was told; then the JobManager's log has the path.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubeflink.cluster import ids, job_progress
from kubeflink.cluster.clock import Deadline
from kubeflink.cluster.job_progress import (
    UNKNOWN,
    UNREACHABLE,
    JobProgress,
    Pauses,
    counted,
    tasks_by_state,
)
from kubeflink.errors import (
    ClusterNotFoundError,
    JobFailedError,
    NotFoundError,
    RestStatusError,
    RestUnreachableError,
    WaitTimeoutError,
)
from kubeflink.kube import next_step
from kubeflink.rest import java_errors, models

if TYPE_CHECKING:
    from kubeflink.cluster.cluster import FlinkCluster
    from kubeflink.cluster.job import Job
    from kubeflink.rest.client import CheckpointType, SavepointFormat

logger = logging.getLogger(__name__)

SAVEPOINT_SECONDS = 600.0
"""The limit of a wait for a savepoint; Flink's own for checkpoints is ten minutes too."""

NOT_RUNNING: Final = "Not all required tasks are currently running"
"""Flink's words for a job of which no checkpoint can be made yet (CheckpointFailureReason)."""


@dataclass(frozen=True, slots=True)
class Savepoint:
    """A savepoint that is complete. `trigger_id` is the request that made it."""

    location: str
    job_id: str
    trigger_id: str


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


async def savepoint_of(
    request: Request,
    *,
    trigger_id: str | None,
    timeout: float | None,
    wait_for_tasks: bool,
    on_progress: Callable[[JobProgress], None] | None,
) -> Savepoint:
    """The savepoint that a request makes; arguments and errors as for `Job.stop`."""
    job = request.job
    async with job.cluster.ends() if request.stops else nullcontext() as last_words:
        try:
            result, trigger = await result_of(
                request,
                trigger_id=trigger_id,
                timeout=timeout,
                wait_for_tasks=wait_for_tasks,
                on_progress=on_progress,
            )
        except ClusterNotFoundError as gone:
            end = None if last_words is None else await last_words(job.id, "")
            if end is None or end.savepoint is None:
                raise
            cause = end.cause or gone.message
            raise _failure(request, cause, state=end.state, savepoint=end.savepoint) from gone
    return Savepoint(result.location or "", job.id, trigger)


async def result_of(
    request: Request,
    *,
    trigger_id: str | None,
    timeout: float | None,
    wait_for_tasks: bool,
    on_progress: Callable[[JobProgress], None] | None,
) -> tuple[models.OperationResult, str]:
    """The result of a request that succeeded, and the id under which it did.

    One that Flink refused because tasks did not run has done nothing, and is made anew.
    """
    job_id, deadline = request.job.id, Deadline.after(timeout)
    trigger = secrets.token_hex(16) if trigger_id is None else ids.trigger_id(trigger_id)
    is_made = trigger_id is not None and await request.is_known(trigger)
    while True:
        if not is_made:
            if wait_for_tasks:
                request.check(await tasks_run(request.job, deadline, timeout, on_progress))
            await request.make(trigger)
        try:
            result = await completed(
                lambda: request.status(trigger),  # noqa: B023 - it ends before the next round
                deadline.remaining,
                f"{request.what} of job {job_id} (request {trigger})",
                cluster=request.job.cluster,
                hint=f"It goes on; wait for it again by its id: --trigger-id {trigger}",
                limit=timeout,
            )
        except asyncio.CancelledError:
            told = "the %s of job %s goes on; wait for it again by its id: --trigger-id %s"
            logger.warning(told, request.what, job_id, trigger)
            raise
        if result.failure is None:
            return result, trigger
        is_early = NOT_RUNNING in result.failure.stack_trace
        if not (wait_for_tasks and is_early and await deadline.pause(job_progress.LONGEST_PAUSE)):
            raise await _failed(request, result.failure.stack_trace)
        trigger, is_made = secrets.token_hex(16), False


async def _failed(request: Request, trace: str) -> JobFailedError:
    """The error for a request that failed, with the savepoint that was made all the same."""
    try:
        state = await request.job.state()
    except (ClusterNotFoundError, NotFoundError, RestStatusError):  # it went with its job
        state = UNKNOWN
    cause, saved = java_errors.root_cause(trace), java_errors.savepoint_of_stop(trace)
    path, advice = saved.path if saved else None, java_errors.advice(trace)
    return _failure(request, cause, state=state, savepoint=path, advice=advice)


def _failure(
    request: Request,
    cause: str,
    *,
    state: str,
    savepoint: str | None,
    advice: str | None = None,
) -> JobFailedError:
    told = f"The savepoint was made all the same; go on from it: {savepoint}"
    return JobFailedError(
        f"{request.what} of job {request.job.id} failed: {cause}",
        job_id=request.job.id,
        state=state,
        savepoint=savepoint,
        hint=told if savepoint else advice,
    )


async def tasks_run(
    job: Job,
    deadline: Deadline,
    timeout: float | None,
    on_progress: Callable[[JobProgress], None] | None,
) -> models.JobDetails:
    """See `Job.until_tasks_run`; how the job was seen then. `timeout` is what the message says."""
    pauses, told = Pauses(deadline), None
    while True:
        details = await job.details()
        tasks = tasks_by_state(details)
        is_batch = details.job_type == "BATCH"
        if details.is_terminal or is_batch or (tasks and set(tasks) <= {"RUNNING", "FINISHED"}):
            return details
        seen = JobProgress(job.id, details.name, details.state, tasks)
        if seen != told and on_progress is not None:
            on_progress(seen)
        told = seen
        if not await pauses.pause():
            how = next_step.command(f"describe {job.cluster.name}", job.cluster.namespace)
            raise WaitTimeoutError(
                f"The tasks of job {job.id} do not all run after {timeout:g} s;"
                f" it is {details.state}{counted(tasks)}",
                hint=f"Nothing was asked of it; what it waits for tells: {how}",
            )


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
    pauses = Pauses(Deadline.after(timeout))
    while True:
        try:
            async with asyncio.timeout(job_progress.ANSWER_SECONDS):
                status = await ask()
            if status.is_completed and status.operation is not None:
                return status.operation
        except (*UNREACHABLE, NotFoundError, TimeoutError) as error:
            if not await cluster.may_exist():
                raise _gone_before(what, cluster) from error
        except ClusterNotFoundError as error:
            raise _gone_before(what, cluster) from error
        except RestStatusError as error:
            if error.code != 404:
                raise
            how = next_step.command(f"describe {cluster.name}", cluster.namespace)
            raise RestStatusError(
                f"Whether the {what} was completed is not known: the JobManager does not know the"
                " request any more; it was restarted or replaced",
                code=404,
                server_errors=error.server_errors,
                hint=f"Look for it where savepoints go, and look at the job: {how}",
            ) from error
        if not await pauses.pause():
            seconds = timeout if limit is None else limit
            raise WaitTimeoutError(f"The {what} is not complete after {seconds:g} s", hint=hint)


def _gone_before(what: str, cluster: FlinkCluster) -> ClusterNotFoundError:
    return ClusterNotFoundError(
        f"The cluster {cluster.name} went away before the {what} was complete"
    )


async def dispose(cluster: FlinkCluster, path: str, timeout: float | None) -> None:
    """See `FlinkCluster.dispose_savepoint`."""
    flink = await cluster.flink()
    try:
        trigger = await flink.dispose_savepoint(path)
    except RestUnreachableError as error:  # Flink knows no id by which it could be taken up
        error.hint = f"Whether {path} is removed is not known; doing it again does no harm"
        raise
    result = await completed(
        lambda: flink.disposal_status(trigger),
        timeout,
        f"removal of savepoint {path}",
        cluster=cluster,
    )
    if result.failure is not None:
        trace = result.failure.stack_trace
        raise RestStatusError(
            f"Savepoint {path} could not be disposed of: {java_errors.root_cause(trace)}",
            code=200,
            server_errors=(trace,),
        )
