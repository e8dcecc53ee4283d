"""The demo: a word count over a real text, from nothing to its result and back to nothing.

It is what a user does, in one call: an embedded Kubernetes, a session cluster on it, a SQL job
submitted over REST, TaskManagers that come for the job and go after it. What happens is told as
events, so that a terminal, a pipe and a test can each make their own of it.
"""

from __future__ import annotations

import asyncio
import codecs
import csv
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from kubeflink.errors import UsageError, WaitTimeoutError
from kubeflink.local.sizes import SMALL_MEMORY
from kubeflink.objects import PODS
from kubeflink.spec import names

if TYPE_CHECKING:
    from kubeflink.cluster.job_progress import JobProgress
    from kubeflink.cluster.readiness import Stage
    from kubeflink.cluster.session import SessionCluster
    from kubeflink.kube.client import KubeClient

CLUSTER_ID = "demo"
PARALLELISM = 2
START_SECONDS = 300.0  # the limit for the JobManager to answer, and for the job to be accepted
JOB_SECONDS = 1800.0  # the limit for the job: the text may be a long one
RELEASE_SECONDS = 180.0  # the limit for idle TaskManagers to go
_LOOK_SECONDS = 0.2
_LOOKED_AT = 1 << 16  # bytes of a text that tell whether it is one

_OPTIONS: Mapping[str, str] = {
    **SMALL_MEMORY,
    "taskmanager.numberOfTaskSlots": "1",
    # The one for batch jobs would give so small a text to a single TaskManager.
    "jobmanager.scheduler": "Default",
    # A browser on this machine can open the web interface on a node port.
    "kubernetes.rest-service.exposed.type": "NodePort",
    # Half a minute of idleness is Flink's default; a demo should not wait for it.
    "resourcemanager.taskmanager-timeout": "3s",
}


@dataclass(frozen=True, slots=True)
class StepBegun:
    """A step begins; `text` is a phrase such as `Starting a session cluster`."""

    text: str


@dataclass(frozen=True, slots=True)
class StepDone:
    """The step that began last has ended, after that many seconds; `detail` says with what."""

    text: str
    seconds: float
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What the step under way waits for."""

    text: str


@dataclass(frozen=True, slots=True)
class JobChanged:
    """The job is in another state."""

    job_id: str
    state: str


@dataclass(frozen=True, slots=True)
class TaskManagersChanged:
    """There is another number of TaskManager pods."""

    count: int


@dataclass(frozen=True, slots=True)
class WebInterface:
    """Where Flink's web interface is for as long as the cluster runs."""

    url: str


@dataclass(frozen=True, slots=True)
class Words:
    """The result: how often each word occurs, the most frequent first."""

    source: str
    counts: tuple[tuple[str, int], ...]


Event: TypeAlias = (
    StepBegun | StepDone | Waiting | JobChanged | TaskManagersChanged | WebInterface | Words
)
Tell: TypeAlias = Callable[[Event], None]


def shipped_text() -> Path:
    """The text that is counted where none is given: Newton's Opticks, book one, part one (1730)."""
    return Path(__file__).parent / "data" / "opticks.txt"


def check_text(text: Path) -> Path:
    """The absolute path of a text that can be counted; UsageError for another file."""
    if not text.exists():
        raise UsageError(f"There is no file {text}")
    if not text.is_file() or not os.access(text, os.R_OK):
        raise UsageError(f"{text} is no file that can be read", hint="Give a text in UTF-8")
    with text.open("rb") as file:
        start = file.read(_LOOKED_AT)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)  # the last character may be cut
    except UnicodeDecodeError as error:
        raise UsageError(f"{text} is no text in UTF-8: byte {error.start}") from None
    return text.resolve()


async def run(text: Path | None, tell: Tell, *, environ: Mapping[str, str] = os.environ) -> Words:
    """The whole demo on a Kubernetes that ends with it; nothing is left behind.

    Cancellation ends all processes too.
    """
    from kubeflink.local.cluster import EmbeddedCluster

    source = check_text(text or shipped_text())
    clock = _Steps(tell)
    embedded = EmbeddedCluster(environ=environ)
    with clock.step("Starting an embedded Kubernetes"):
        await embedded.__aenter__()
    try:
        async with embedded.client() as client, session(client, clock) as flink:
            return await count_words(flink, client, source, clock, embedded.state.root)
    finally:
        await embedded.__aexit__(None, None, None)


@dataclass(frozen=True, slots=True)
class Kept:
    """What a demo left running: how to reach it."""

    cluster_id: str
    kubeconfig: Path
    web_interface: str


async def run_and_keep(
    text: Path | None, tell: Tell, *, environ: Mapping[str, str] = os.environ
) -> Kept:
    """The same on the embedded Kubernetes in the background, which is started if it is not there.

    The session cluster stays when all went well; it is deleted if the demo failed.
    """
    from kubeflink.kube.client import KubeClient
    from kubeflink.local import daemon

    source = check_text(text or shipped_text())
    clock = _Steps(tell)
    with clock.step("Starting the embedded Kubernetes in the background"):
        status = await asyncio.to_thread(daemon.up, environ=environ)
    async with KubeClient.connect(kubeconfig=status.kubeconfig, environ=environ) as client:
        flink = await start_session(client, clock)
        async with flink:
            try:
                await count_words(flink, client, source, clock, status.directory)
                url = str((await flink.address()).url)
            except BaseException:
                await flink.delete()
                raise
        return Kept(CLUSTER_ID, status.kubeconfig, url)


@asynccontextmanager
async def session(client: KubeClient, clock: _Steps) -> AsyncIterator[SessionCluster]:
    """The demo's session cluster, which is deleted at the end."""
    flink = await start_session(client, clock)
    async with flink:
        try:
            yield flink
        finally:
            with clock.step("Stopping the session cluster"):
                await flink.delete()


async def start_session(client: KubeClient, clock: _Steps) -> SessionCluster:
    """Deploys the session cluster of the demo, and waits until it is ready."""
    from kubeflink import config
    from kubeflink.cluster.session import SessionCluster

    # The demo is the same everywhere, so the user's own configuration has no say in it.
    configuration = config.load(
        environ={}, overrides={**_OPTIONS, "kubernetes.cluster-id": CLUSTER_ID}
    )

    def on_stage(stage: Stage) -> None:
        clock.tell(Waiting(stage.text))

    with clock.step(f"Starting session cluster {CLUSTER_ID}: real Flink {configuration.version}"):
        flink = await SessionCluster.deploy_configured(
            client, configuration, timeout=START_SECONDS, on_stage=on_stage
        )
    clock.tell(WebInterface(str((await flink.address()).url)))
    return flink


async def count_words(
    flink: SessionCluster, client: KubeClient, text: Path, clock: _Steps, directory: Path
) -> Words:
    """Runs the job, and tells of it until the TaskManagers that it needed have gone.

    What the job writes is in `directory` for a while: with the embedded cluster's own files, which
    are collected even if nobody is left to remove them here.
    """
    with _scratch(directory) as scratch:
        counts = scratch / "counts"
        async with _watching_taskmanagers(client, flink.name, clock.tell) as taskmanagers:
            with clock.step("Submitting the job"):
                async with asyncio.timeout(START_SECONDS):
                    job = await flink.submit_sql(script(text, counts), source="the demo")

            with clock.step(f"Counting the words of {text.name}"):
                await job.wait(timeout=JOB_SECONDS, on_progress=_tell_states(clock.tell))
            words = Words(text.name, tuple(read_counts(counts)))
            clock.tell(words)
            with clock.step("Releasing the idle TaskManagers"):
                await taskmanagers.gone(RELEASE_SECONDS)
    return words


def script(text: Path, counts: Path) -> str:
    """The job, as Flink SQL: from the lines of `text` to CSV files in the directory `counts`."""
    return f"""
        SET 'execution.runtime-mode' = 'batch';
        SET 'pipeline.name' = {_quoted(f"word count of {text.name}")};
        SET 'parallelism.default' = '{PARALLELISM}';
        -- All tasks at once: else a TaskManager may go idle, and away, between two stages.
        SET 'execution.batch-shuffle-mode' = 'ALL_EXCHANGES_PIPELINED';
        CREATE TEMPORARY FUNCTION words AS 'kubeflink.runner.Words';
        CREATE TABLE lines (line STRING)
          WITH ('connector' = 'filesystem', 'format' = 'raw',
                'path' = {_quoted(_flink_path(text))});
        CREATE TABLE counts (word STRING, n BIGINT)
          WITH ('connector' = 'filesystem', 'format' = 'csv',
                'path' = {_quoted(_flink_path(counts))});
        INSERT INTO counts
          SELECT word, COUNT(*) FROM lines, LATERAL TABLE(words(line)) AS t(word) GROUP BY word;
    """


def read_counts(directory: Path) -> list[tuple[str, int]]:
    """What the job wrote: the most frequent word first, equal ones in alphabetical order."""
    counts: list[tuple[str, int]] = []
    # Flink names a file that is not committed yet with a leading dot.
    for part in sorted(directory.glob("[!.]*")):
        with part.open(encoding="utf-8", newline="") as file:
            counts += [(word, int(n)) for word, n in csv.reader(file)]
    return sorted(counts, key=lambda count: (-count[1], count[0]))


def _tell_states(tell: Tell) -> Callable[[JobProgress], None]:
    """Tells of the job's state when it changes; its progress changes with each subtask."""
    told: list[str] = []

    def on_progress(progress: JobProgress) -> None:
        if told[-1:] != [progress.state]:
            told.append(progress.state)
            tell(JobChanged(progress.job_id, progress.state))

    return on_progress


def _flink_path(path: Path) -> str:
    """A path as Flink's `Path` reads it: no percent-encoding, whatever is in its name."""
    return f"file://{path}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def _scratch(parent: Path) -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="counts-", dir=parent))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class _Steps:
    """Tells when a step begins and ends, and how long it took."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        self.tell(StepBegun(text))
        begun = time.monotonic()
        yield
        self.tell(StepDone(text, time.monotonic() - begun))


@dataclass(slots=True)
class _TaskManagers:
    """The number of TaskManager pods, looked at several times a second."""

    client: KubeClient
    cluster_id: str
    tell: Tell
    count: int | None = field(default=None, init=False)

    async def look(self) -> int:
        labels = names.taskmanager_labels(self.cluster_id)
        count = len((await self.client.list(PODS, labels=labels)).items)
        if count != self.count:
            self.count = count
            self.tell(TaskManagersChanged(count))
        return count

    async def watch(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(_LOOK_SECONDS)

    async def gone(self, timeout: float) -> None:
        """Waits until there is none; WaitTimeoutError after `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout):
                await self._until_none()
        except TimeoutError:
            raise WaitTimeoutError(
                f"{self.count} TaskManagers are still there after {timeout:g} s of idleness"
            ) from None

    async def _until_none(self) -> None:
        while True:
            if not await self.look():
                return
            await asyncio.sleep(_LOOK_SECONDS)


@asynccontextmanager
async def _watching_taskmanagers(
    client: KubeClient, cluster_id: str, tell: Tell
) -> AsyncIterator[_TaskManagers]:
    taskmanagers = _TaskManagers(client, cluster_id, tell)
    await taskmanagers.look()
    watch = asyncio.create_task(taskmanagers.watch(), name="watch TaskManagers")
    try:
        yield taskmanagers
    finally:
        watch.cancel()
        (failure,) = await asyncio.gather(watch, return_exceptions=True)
    if isinstance(failure, Exception):
        raise failure
