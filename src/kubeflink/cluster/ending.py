"""How an application ended, although the cluster takes its own traces away.

Three witnesses are heard at the same time, because each can be missing:

- the REST API tells the states of the jobs and their exceptions, for as long as it is there; it may
  be gone before it said that the job has ended;
- the JobManager's log says at its end `Shutting ... down with application status X. Diagnostics Y`
  (Flink's ClusterEntrypoint), if logs may be read and go to the console;
- the Deployment's disappearance proves that it is over, but not how.

The log's word about the application counts more than a job's state, since a program may run several
jobs. A cluster that stays although all its jobs have ended (an option keeps it) is over too, after
a while. Nothing is concluded from silence.

A cluster can also be ended from outside: somebody deletes its Deployment, or a signal reaches the
JobManager. What befalls the jobs then is of no consequence, such as a failure because TaskManagers
went a moment earlier than the JobManager; so it is not told as how the application ended.

Of several failures the one of the program itself is the cause, if it did more than to hand on that
of a job; of several jobs the one that failed first, because others go on being cancelled after it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from kubeflink import objects
from kubeflink.cluster import endpoint, logs, observation, readiness
from kubeflink.cluster.clock import Deadline
from kubeflink.cluster.diagnosis import Course, Diagnosis
from kubeflink.cluster.job import JobOutcome
from kubeflink.cluster.job_progress import UNKNOWN, JobProgress
from kubeflink.cluster.log_witness import STATES, LogWitness
from kubeflink.cluster.tasks import end
from kubeflink.errors import (
    ClusterFailedError,
    ClusterNotFoundError,
    FlinkError,
    JobFailedError,
    KubeflinkError,
    KubernetesError,
    NotFoundError,
    WaitTimeoutError,
)
from kubeflink.kube.client import KubeClient
from kubeflink.kube.outage import Outage
from kubeflink.kube.reflector import Reflector
from kubeflink.objects import DEPLOYMENTS
from kubeflink.rest import java_errors
from kubeflink.spec import names

if TYPE_CHECKING:
    from kubeflink.cluster.cluster import FlinkCluster, LastWords
    from kubeflink.rest.models import JobSummary

logger = logging.getLogger(__name__)

_LEAVING_WORKER: Final = "The TaskExecutor is shutting down"
"""What a TaskManager says to its jobs when it is ended in an orderly way, as by a deletion."""

_JOB_FAILURE: Final = "JobExecutionException"
"""In the chain of a program's failure, if that is only what became of a job."""

SECONDS_OF_REST = 15.0
"""How long all jobs have to have ended for a cluster that stays to count as over."""

SECONDS_OF_AN_ANSWER = 4.0
"""How long an answer is waited for before the other witnesses are heard again."""

LAST_LINES_SECONDS = 5.0
"""How long the last lines of a log are waited for when the cluster has gone."""

_PAUSE = 0.3
_LONGEST_PAUSE = 1.0


@dataclass(slots=True)
class RestWitness:
    """Remembers what the REST API said last about each job.

    `outage` is told when it does not answer any more.
    """

    outage: Outage
    jobs: dict[str, JobSummary] = field(default_factory=dict)
    traces: dict[str, str] = field(default_factory=dict)
    ended_since: float | None = None
    answers: bool = False
    """Whether it did so the last time that it was asked."""

    async def ask(self, client: KubeClient, cluster: FlinkCluster, now: float) -> None:
        """Looks at all jobs; not reached, it remembers what was.

        Each time by a connection of its own and without repetition: the way to a cluster that is
        coming up or going away changes, and the other witnesses are waiting.
        """
        self.answers = False
        try:
            route = await endpoint.route_to(client, cluster.name, cluster.namespace)
            async with (
                asyncio.timeout(SECONDS_OF_AN_ANSWER),
                endpoint.connect(client, route, retry_seconds=0.0) as flink,
            ):
                jobs = await flink.jobs()
                self.jobs = {job.id: job for job in jobs}
                for job in jobs:
                    if job.state in ("FAILING", "FAILED", "RESTARTING"):
                        self.traces[job.id] = (await flink.exceptions(job.id)).latest_stacktrace
        except (FlinkError, KubernetesError, ClusterNotFoundError, TimeoutError) as error:
            if self.jobs:
                cause = error.message if isinstance(error, KubeflinkError) else "no answer"
                self.outage.failed(cause, limit=0.0, pause=_LONGEST_PAUSE)
            return
        self.answers = True
        self.outage.over()
        if self.all_ended:
            self.ended_since = self.ended_since or now
        else:
            self.ended_since = None

    @property
    def all_ended(self) -> bool:
        """Whether there were jobs, and all are over."""
        return bool(self.jobs) and all(job.is_terminal for job in self.jobs.values())

    def decisive(self, state: str | None = None) -> JobSummary | None:
        """The job that says how it went: the first that failed, else one cancelled, else the last.

        Given the application's `state`, one that ended like that, if there is any.
        """
        ordered = sorted(self.jobs.values(), key=lambda job: job.start_time)
        if state in STATES.values() and (alike := [job for job in ordered if job.state == state]):
            ordered = alike
        failed = [job for job in ordered if job.state == "FAILED"]
        if failed:
            return min(failed, key=lambda job: job.end_time)
        bad = [job for job in ordered if job.state in ("FAILING", "CANCELED")]
        candidates = bad or ordered
        return candidates[-1] if candidates else None


@asynccontextmanager
async def last_words(cluster: FlinkCluster, client: KubeClient) -> AsyncIterator[LastWords]:
    """Listens to the log of an application while open; see `FlinkCluster.ends`."""
    watch = _Watch(cluster, client, None, None)

    async def tell(job_id: str, name: str) -> JobOutcome | None:
        await watch.hear_out()
        state = watch.log.state
        if state in (None, UNKNOWN):
            return None
        assert state is not None
        trace = watch.trace_of(job_id) if state == "FAILED" else None
        cause = java_errors.root_cause(trace) or None if trace else None
        saved = watch.log.savepoint_of(job_id) if state == "FAILED" else None
        return JobOutcome(job_id, name, state, cause=cause, stack_trace=trace, savepoint=saved)

    reading = asyncio.create_task(watch.read_log(), name=f"log of {cluster.name}")
    try:
        yield tell
    finally:
        await end(reading)


async def wait_for_end(
    cluster: FlinkCluster,
    client: KubeClient,
    *,
    timeout: float | None = None,
    on_progress: Callable[[JobProgress], None] | None = None,
    on_stage: readiness.Progress | None = None,
    on_trouble: Callable[[Diagnosis], None] | None = None,
) -> JobOutcome:
    """The outcome of the application on this cluster; see `ApplicationCluster.wait`."""
    watch = _Watch(cluster, client, on_progress, on_stage)
    reading = asyncio.create_task(watch.read_log(), name=f"log of {cluster.name}")
    looking = asyncio.create_task(watch.see_deletion(), name=f"deletion of {cluster.name}")
    try:
        async with cluster.watch_workers(on_trouble) as workers:
            outcome = await watch.run(Deadline.after(timeout), timeout)
            return replace(outcome, troubles=workers.troubles)
    finally:
        watch.rest.outage.given_up()
        await end(reading)
        await end(looking)


@dataclass(slots=True)
class _Watch:
    cluster: FlinkCluster
    client: KubeClient
    on_progress: Callable[[JobProgress], None] | None
    on_stage: readiness.Progress | None
    log: LogWitness = field(default_factory=LogWitness)
    rest: RestWitness = field(init=False)
    log_ended: asyncio.Event = field(default_factory=asyncio.Event)
    is_deleted: bool = False
    """Whether the Deployment went before the log had said how the application ended."""
    told: JobProgress | None = None
    stage: str = ""
    course: Course = field(default_factory=Course)

    def __post_init__(self) -> None:
        self.rest = RestWitness(Outage(f"the application {self.cluster.name}"))

    async def read_log(self) -> None:
        """Follows the JobManager's log until the cluster is gone."""
        while True:
            try:
                lines = logs.follow(
                    self.client,
                    self.cluster.name,
                    self.cluster.namespace,
                    component=names.JOBMANAGER,
                )
                async with aclosing(lines) as following:
                    async for line in following:
                        self.log.hear(line.text)
                break
            except ClusterNotFoundError:  # no pod yet; or all is over
                if not await self.cluster.may_exist():
                    break
            except KubernetesError:  # not allowed to read logs, say: the other witnesses have to do
                break
            await asyncio.sleep(_PAUSE)
        self.log_ended.set()

    async def run(self, deadline: Deadline, timeout: float | None) -> JobOutcome:
        loop = asyncio.get_running_loop()
        pause = _PAUSE
        while True:
            await self.rest.ask(self.client, self.cluster, loop.time())
            self._tell()
            if not await self.cluster.may_exist():
                self._note_deletion()
                await self.hear_out()
                return self._outcome()
            if self.log.state is not None and self.log_ended.is_set():
                return self._outcome()
            stays = self.rest.ended_since
            if stays is not None and loop.time() - stays >= SECONDS_OF_REST:
                return self._outcome()
            if not self.rest.answers:
                await self._check_jobmanager()
            if not await deadline.pause(pause):
                raise WaitTimeoutError(
                    f"The application {self.cluster.name} has not ended after {timeout:g} s"
                )
            pause = min(pause * 1.2, _LONGEST_PAUSE)

    async def see_deletion(self) -> None:
        """Notes the moment at which the Deployment goes, which decides between two stories.

        A moment later the TaskManagers may be gone, and the job have failed for that. Without the
        right to watch, `run` sees it when it looks the next time.
        """
        name = names.deployment_name(self.cluster.name)
        only = {"metadata.name": name}
        try:
            async with Reflector(
                self.client, DEPLOYMENTS, self.cluster.namespace, fields=only
            ) as deployments:
                async for _ in deployments.changes():
                    found = deployments.store.get(name)
                    if found is None or objects.metadata(found).get("deletionTimestamp"):
                        self._note_deletion()
                        return
        except KubernetesError as error:
            logger.debug("the Deployment is not watched: %s", error.message)

    def _note_deletion(self) -> None:
        if self.log.state is None:
            self.is_deleted = True

    async def hear_out(self) -> None:
        """Waits for the last lines of a cluster that has gone: they may be on their way."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_LINES_SECONDS):
                await self.log_ended.wait()

    async def _check_jobmanager(self) -> None:
        """Ends the wait for a JobManager that will never run, or run again."""
        try:
            seen = await observation.observe_cluster(
                self.client, self.cluster.name, self.cluster.namespace
            )
        except (KubernetesError, NotFoundError):
            return
        found = seen.cause(has_served=bool(self.rest.jobs))
        now = asyncio.get_running_loop().time()
        is_news = self.course.note(found, now)
        if found is not None and self.course.is_final(now):
            what = "has stopped running" if self.rest.jobs else "does not start"
            raise ClusterFailedError(
                f"The application {self.cluster.name} {what}: {found.sentence}", hint=found.hint
            )
        text = found.stage if found else seen.stage()
        if is_news and text != self.stage:
            self.stage = text
            if self.on_stage is not None:
                self.on_stage(readiness.Stage(text))

    def _tell(self) -> None:
        job = self.rest.decisive()
        if job is None or self.on_progress is None:
            return
        tasks = {state: count for state, count in job.tasks.items() if count and state != "total"}
        progress = JobProgress(job.id, job.name, job.state, tasks)
        if progress != self.told:
            self.told = progress
            self.on_progress(progress)

    def _outcome(self) -> JobOutcome:
        """What the witnesses agree on; JobFailedError with state UNKNOWN if none saw the end."""
        state = self.log.state
        job = self.rest.decisive(state)
        if state is None and job is not None and job.is_terminal:
            state = job.state
        job_id, name = (job.id, job.name) if job else ("", self.cluster.name)
        trace = self.trace_of(job_id) if state == "FAILED" else None
        cause = java_errors.root_cause(trace) or None if trace else None
        is_ended_by_it = self.is_deleted and _LEAVING_WORKER in (cause or "")
        if self.log.signal is not None or is_ended_by_it:
            raise self._ended_from_outside(job_id)
        if state is None or state == UNKNOWN:
            seen = f", last seen {job.state}" if job else ""
            raise JobFailedError(
                f"How the application {self.cluster.name} ended is not known{seen}:"
                " the cluster has gone",
                job_id=job_id,
                state=UNKNOWN,
                hint="Its log and REST API went with it; with the right to read pod logs,"
                " kubeflink could have told",
            )
        duration = job.duration if job else 0
        saved = self.log.savepoint_of(job_id) if state == "FAILED" else None
        return JobOutcome(job_id, name, state, duration, cause, trace, savepoint=saved)

    def _ended_from_outside(self, job_id: str) -> JobFailedError:
        return JobFailedError(
            f"The application {self.cluster.name} was deleted before its program had ended",
            job_id=job_id,
            state=UNKNOWN,
            hint="A savepoint or a retained checkpoint is where it can go on from",
        )

    def trace_of(self, job_id: str) -> str | None:
        """The stack trace that tells why it failed: the program's own, or that of its job."""
        of_program = self.log.trace
        of_job = self.rest.traces.get(job_id) or self.log.trace_of(job_id)
        if of_program and of_job and _JOB_FAILURE not in of_program and self.log.failure:
            return of_program
        return of_job or of_program
