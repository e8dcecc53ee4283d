"""Each action through each failure: the rows of `support.action_table`, with real Flink.

One session serves all of its rows, and one application those that do not end it. What goes wrong is
arranged at the API server, through which all requests to the JobManager go, or with the JobManager
itself; then all that have to bear it do so at the same time.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import pytest_asyncio

from kubeflink import ApplicationCluster, SessionCluster, objects
from kubeflink.apiserver.faults import Fault
from kubeflink.cluster import runner
from kubeflink.cluster.cluster import FlinkCluster
from kubeflink.errors import KubeflinkError
from kubeflink.local.cluster import EmbeddedCluster
from support.action_table import OWN, PYTHON, Case, Face, Failure, Kind, cases
from support.embedded import JVM_SECONDS, SMALL_SESSION, demo_session, eventually
from support.failover import kill, pods_of
from support.shell import Done, Shell, ended, line_with
from support.statements import BOUNDED, COUNT, DICE, ENDLESS, FAILING, SINK

pytestmark = [
    pytest.mark.flink,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(1200),
]

NO_JOB = "0" * 32
NOWHERE = "/proc/none"
OPTIONS = {
    **SMALL_SESSION,
    "taskmanager.numberOfTaskSlots": "12",
    "restart-strategy.type": "none",
    "web.refresh-interval": "50",  # milliseconds for which Flink's answers may be old
}

WRONG = (COUNT, SINK, "INSERT INTO sink SELECT n FROM nowhere")


def writing(directory: Path) -> tuple[str, ...]:
    """Statements of an endless job whose one file becomes complete with its first savepoint."""
    files = (
        "CREATE TABLE files (n BIGINT) WITH ('connector' = 'filesystem', 'format' = 'csv',"
        f" 'path' = '{directory.as_uri()}')"
    )
    return (DICE, files, "INSERT INTO files SELECT n FROM dice")


# --- actions -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """What an action is about; each takes what it needs."""

    job: str = NO_JOB
    directory: str = NOWHERE
    savepoint: str | None = None
    statements: tuple[str, ...] = BOUNDED
    name: str = "a job"


@dataclass(frozen=True)
class Stage:
    """One cluster, and all ways to act on it."""

    kind: Kind
    name: str
    kubeflink: Shell
    kubeconfig: Path

    async def act(self, case: Case, asked: Asked) -> Done:
        """The action of a case, from its beginning to its end."""
        async with self.begun(case, asked) as end:
            return await end()

    @contextlib.asynccontextmanager
    async def begun(self, case: Case, asked: Asked) -> AsyncIterator[Callable[[], Awaitable[Done]]]:
        """The action, going on; what is yielded waits for its end."""
        if case.face == PYTHON:
            task = asyncio.create_task(self._by_python(case.action, asked), name=case.id)
            try:
                yield lambda: asyncio.wait_for(asyncio.shield(task), JVM_SECONDS)
            finally:
                task.cancel()
                await asyncio.wait({task})
            return
        async with self.kubeflink.started(*self.words(case.action, case.face, asked)) as process:
            yield lambda: ended(process)

    def words(self, action: str, face: Face, asked: Asked) -> tuple[str, ...]:
        """The command line."""
        command, *options = action.split()
        if face == OWN:
            named: tuple[str, ...] = ("--session" if self.kind == "session" else "--app", self.name)
            restore = ("--from-savepoint", asked.savepoint or "")
            place = (asked.job, "--savepoint-dir", asked.directory)
            dispose = ("--dispose", asked.savepoint or "")
        else:
            cluster = f"-Dkubernetes.cluster-id={self.name}"
            named = ("-t", f"kubernetes-{self.kind}", cluster)
            restore = ("-s", asked.savepoint or "")
            place = (asked.job, asked.directory)
            dispose = ("-d", asked.savepoint or "")
        program = ("-c", runner.MAIN_CLASS, str(runner.jar()), *asked.statements)
        if "--sql" in options:
            program = ("--sql", "; ".join(asked.statements))
        if command == "list":
            return ("list", *named, "-a")
        if command == "info":
            return ("info", *named, *program)
        if command == "run":
            detached = ("-d",) if "--detached" in options else ()
            begin = restore if asked.savepoint else ()
            return ("run", *named, *detached, f"-Dpipeline.name={asked.name}", *begin, *program)
        if "--dispose" in options:
            return ("savepoint", *named, *dispose)
        if command == "stop" and face != OWN:
            return ("stop", *named, "-p", asked.directory, asked.job)
        return (command, *named, *(place if command in ("stop", "savepoint") else (asked.job,)))

    async def _by_python(self, action: str, asked: Asked) -> Done:
        try:
            async with self.cluster() as cluster:
                return Done(0, str(await self._call(cluster, action, asked)), "")
        except KubeflinkError as error:
            return Done(error.exit_code, "", str(error))

    def cluster(self) -> FlinkCluster:
        """A new object of the Python API, with connections of its own."""
        from kubeflink.cluster.access import Connection

        kind = SessionCluster if self.kind == "session" else ApplicationCluster
        client = Connection(self.kubeconfig, None, None).client()
        return kind(client, self.name, owns_client=True)

    async def _call(self, cluster: FlinkCluster, action: str, asked: Asked) -> object:
        if isinstance(cluster, SessionCluster) and action.split()[0] in ("run", "info"):
            return await self._submit(cluster, action, asked)
        if action == "app start":
            assert isinstance(cluster, ApplicationCluster)
            return await cluster.wait(timeout=JVM_SECONDS)
        if action == "list":
            return await cluster.jobs()
        if action == "savepoint --dispose":
            return await cluster.dispose_savepoint(asked.savepoint or "")
        job = cluster.job(asked.job)
        if action == "cancel":
            return await job.cancel()
        if action == "checkpoint":
            return await job.checkpoint()
        return await (job.stop if action == "stop" else job.savepoint)(directory=asked.directory)

    async def _submit(self, cluster: SessionCluster, action: str, asked: Asked) -> object:
        program = {"entry_class": runner.MAIN_CLASS, "args": asked.statements}
        if action == "info":
            return await cluster.plan(runner.jar(), **program)  # type: ignore[arg-type]
        how = {"savepoint": asked.savepoint, "options": {"pipeline.name": asked.name}}
        if action == "run --sql":
            job = await cluster.submit_sql("; ".join(asked.statements), **how)  # type: ignore[arg-type]
        else:
            job = await cluster.submit_jar(runner.jar(), **program, **how)  # type: ignore[arg-type]
        return job if action == "run --detached" else await job.wait(timeout=JVM_SECONDS)


def judge(case: Case, done: Done) -> None:
    """The outcome is the one of the table, said in a few lines."""
    said = f"{case.id}\n{done.out}\n{done.err}"
    assert done.code == case.outcome.code, said
    assert re.search(case.outcome.says, done.out if done.code == 0 else done.err), said
    assert "Traceback" not in done.err, said
    assert "\tat " not in done.err, said


def each_case(failure: Failure, kind: Kind, *but: str) -> pytest.MarkDecorator:
    """A test for each case of a failure but some actions."""
    found = [case for case in cases(failure, kind) if case.action not in but]
    return pytest.mark.parametrize("case", found, ids=lambda case: case.id)


# --- clusters and jobs -------------------------------------------------------------------------


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session(kubernetes: EmbeddedCluster) -> AsyncIterator[SessionCluster]:
    async with demo_session(kubernetes, OPTIONS) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def shell(kubernetes: EmbeddedCluster) -> Shell:
    return Shell(kubernetes.kubeconfig, {})


@pytest.fixture(scope="module")
def stage(session: SessionCluster, kubernetes: EmbeddedCluster, shell: Shell) -> Stage:
    return Stage("session", session.name, shell, kubernetes.kubeconfig)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def job(session: SessionCluster) -> str:
    """A job that runs for as long as nobody ends it; a test may not."""
    return await endless_job(session)


async def endless_job(session: SessionCluster, statements: tuple[str, ...] = ENDLESS) -> str:
    job = await session.submit_sql("; ".join(statements))
    await job.until_tasks_run(timeout=JVM_SECONDS)
    return job.id


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def failed(session: SessionCluster) -> str:
    """A job that has failed."""
    job = await session.submit_sql("; ".join(FAILING))
    assert (await job.wait(check=False, timeout=JVM_SECONDS)).state == "FAILED"
    return job.id


@contextmanager
def faults(kubernetes: EmbeddedCluster, *arranged: Fault) -> Iterator[None]:
    plan = kubernetes.server.faults
    for fault in arranged:
        plan.add(fault)
    try:
        yield
    finally:
        for fault in arranged:
            plan.remove(fault)


def rest(name: str, path: str = "") -> str:
    """The path at the API server of a cluster's REST API."""
    return f"/services/{name}-rest:rest/proxy/{path}"


CHANGES = r"(jobs/\w+/(savepoints|stop|checkpoints)|jars/[^/]+/run|jobs/\w+\?mode=cancel)$"


def outage(name: str) -> tuple[Fault, Fault]:
    """No service twice; then the answer to the first change is lost that was carried out."""
    away = Fault(path=rest(name), status=503, times=2)
    return away, Fault(path=rest(name, CHANGES), drop="after")


# --- no such cluster ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["session", "application"])
async def test_no_such_cluster(kubernetes: EmbeddedCluster, shell: Shell, kind: Kind) -> None:
    nowhere = Stage(kind, "nope", shell, kubernetes.kubeconfig)
    all_cases = list(cases(Failure.NO_CLUSTER, kind))
    for face in ("own", "flink", "python"):
        asked = [case for case in all_cases if case.face == face]
        done = await asyncio.gather(
            *(nowhere.act(case, Asked(savepoint="file:/none")) for case in asked)
        )
        for case, each in zip(asked, done, strict=True):
            judge(case, each)
            assert len(each.err.splitlines()) <= 3


# --- a REST API that does not serve for a while ------------------------------------------------


@each_case(Failure.AWAY, "session")
async def test_the_rest_api_of_a_session_is_away(
    kubernetes: EmbeddedCluster,
    session: SessionCluster,
    stage: Stage,
    job: str,
    tmp_path: Path,
    case: Case,
) -> None:
    asked = await prepared(session, case, job, tmp_path)
    before = await session.job(asked.job).checkpoints()

    away, lost = outage(session.name)
    with faults(kubernetes, away, lost):
        done = await stage.act(case, asked)

    judge(case, done)
    assert away.struck == 2
    await check_done_once(session, case, asked, tmp_path, before.counts.total)
    assert lost.struck == (case.action not in ("list", "info", "savepoint --dispose"))


async def prepared(cluster: FlinkCluster, case: Case, job: str, directory: Path) -> Asked:
    """What the action needs, such as a job that it may end."""
    if case.kind == "session" and case.action in ("cancel", "stop"):
        assert isinstance(cluster, SessionCluster)
        job = await endless_job(cluster)
    path = None
    if case.action == "savepoint --dispose":
        path = (await cluster.job(job).savepoint(directory=directory.as_uri())).location
    return Asked(job, str(directory), path, name=uuid.uuid4().hex)


async def check_done_once(
    cluster: FlinkCluster, case: Case, asked: Asked, directory: Path, checkpoints: int
) -> None:
    """What the JobManager knows, and the disk, say that it was done, and not twice."""
    if case.action.startswith("run"):
        (submitted,) = [each for each in await cluster.jobs() if each.name == asked.name]
        assert (await cluster.job(submitted.id).wait(timeout=JVM_SECONDS)).succeeded
    elif case.action == "savepoint --dispose":
        assert os.listdir(directory) == []
    elif case.action in ("savepoint", "stop", "checkpoint"):
        await asyncio.sleep(0.2)  # the answer before may be told again
        made = (await cluster.job(asked.job).checkpoints()).counts
        assert (made.total, made.failed) == (checkpoints + 1, 0)
        assert len(os.listdir(directory)) == (case.action != "checkpoint")
    if case.action in ("cancel", "stop"):
        outcome = await cluster.job(asked.job).wait(check=False, timeout=JVM_SECONDS)
        assert outcome.state == ("CANCELED" if case.action == "cancel" else "FINISHED")


async def test_what_is_followed_is_not_lost_while_neither_api_can_be_reached(
    kubernetes: EmbeddedCluster, session: SessionCluster, stage: Stage
) -> None:
    away = Fault(path=rest(session.name), status=503, times=12)
    api = Fault(path="/deployments/demo", status=500, times=None)
    words = stage.words("run", OWN, Asked())
    async with stage.kubeflink.started(*words) as process:
        await line_with(process.stdout, "Job has been submitted")
        with faults(kubernetes, away, api):
            await eventually(lambda: asyncio.sleep(0, away.struck >= 12), "the outage")
        done = await ended(process)

    assert done.code == 0, done.err
    assert "has finished after" in done.out
    assert "UNKNOWN" in done.err


# --- the job fails -----------------------------------------------------------------------------


@each_case(Failure.OF_THE_JOB, "session", "stop")
async def test_a_job_of_a_session_fails(stage: Stage, failed: str, case: Case) -> None:
    in_main = case.action in ("run --detached", "info")

    done = await stage.act(case, Asked(failed, statements=WRONG if in_main else FAILING))

    judge(case, done)


@each_case(
    Failure.OF_THE_JOB, "session", *{case.action for case in cases(Failure.OF_THE_JOB)} - {"stop"}
)
async def test_a_job_that_fails_when_it_is_stopped(
    session: SessionCluster, stage: Stage, tmp_path: Path, case: Case
) -> None:
    """Its savepoint is complete then, and it can go on from it."""
    out, savepoints = tmp_path / "out", tmp_path / "savepoints"
    job = await endless_job(session, writing(out))
    await bar_the_way(out)

    done = await stage.act(case, Asked(job, str(savepoints)))

    judge(case, done)
    await check_saved(savepoints, done)
    outcome = await session.job(job).wait(check=False, timeout=JVM_SECONDS)
    assert outcome.state == "FAILED"


async def bar_the_way(directory: Path) -> None:
    """Puts a directory where the job's file will have to be when its savepoint is complete."""

    def unfinished() -> list[str]:
        return [path.name for path in directory.glob(".*.inprogress.*")]

    for name in await eventually(lambda: asyncio.to_thread(unfinished), "the job writes"):
        blocker = directory / name.removeprefix(".").partition(".inprogress.")[0]
        (blocker / "in the way").mkdir(parents=True)


async def check_saved(directory: Path, done: Done) -> None:
    (made,) = os.listdir(directory)
    assert f"file:{directory / made}" in done.err
    assert (directory / made / "_metadata").is_file()


# --- what cannot be written or read ------------------------------------------------------------


@each_case(Failure.UNWRITABLE, "session")
async def test_a_savepoint_of_a_session_cannot_be_written_or_read(
    session: SessionCluster, stage: Stage, job: str, case: Case
) -> None:
    done = await stage.act(case, Asked(job, NOWHERE, f"file:{NOWHERE}/savepoint-1"))

    judge(case, done)
    assert await session.job(job).state() == "RUNNING"


# --- the JobManager is killed ------------------------------------------------------------------


async def test_the_jobmanager_of_a_session_is_killed(
    kubernetes: EmbeddedCluster, session: SessionCluster, stage: Stage, job: str, tmp_path: Path
) -> None:
    """Without high availability the next one knows nothing of what the last one did."""
    status = Fault(path=rest("demo", r"jobs/\w+/(savepoints|checkpoints)/"), status=503, times=None)
    doomed = await endless_job(session)
    before = await completed(session, job, doomed)
    async with AsyncExitStack() as stack:
        with faults(kubernetes, status):
            found = list(cases(Failure.KILLED, "session"))
            ends = []
            for case in found:
                about = doomed if case.action == "stop" else job
                asked = Asked(about, str(tmp_path), statements=ENDLESS, name=case.id)
                ends.append(await stack.enter_async_context(stage.begun(case, asked)))
            followed = [case.id for case in found if case.action.startswith("run")]
            await eventually(lambda: all_run(session, followed), "all jobs running")
            wanted = before + len(found) - len(followed)

            async def all_are_made() -> bool:
                return await completed(session, job, doomed) >= wanted

            await eventually(all_are_made, "all savepoints and checkpoints made")
            async with kubernetes.client() as client:
                (jobmanager,) = (await pods_of(client, "demo", "jobmanager")).values()
            kill(jobmanager)
        done = await asyncio.gather(*(end() for end in ends))

    for case, each in zip(found, done, strict=True):
        judge(case, each)


async def all_run(session: SessionCluster, names: list[str]) -> bool:
    running = {each.name for each in await session.jobs() if each.state == "RUNNING"}
    return running >= set(names)


async def completed(session: SessionCluster, *jobs: str) -> int:
    """How many savepoints and checkpoints the jobs have made, together."""
    return sum([(await session.job(each).checkpoints()).counts.completed for each in jobs])


# --- the cluster goes away ---------------------------------------------------------------------


HALF_WAY = {
    "run --detached": rest(".*", "jars/[^/]+/run"),
    "info": rest(".*", "jars/[^/]+/plan"),
    "list": rest(".*", "jobs/overview"),
    "cancel": rest(".*", r"jobs/\w+\?mode=cancel"),
    "stop": rest(".*", r"jobs/\w+/stop$"),
    "savepoint": rest(".*", r"jobs/\w+/savepoints/"),
    "savepoint --dispose": rest(".*", "savepoint-disposal/"),
    "checkpoint": rest(".*", r"jobs/\w+/checkpoints/"),
}
"""The requests that stand half way: they are answered by 503 until the cluster goes away."""


async def begun_and_held(
    kubernetes: EmbeddedCluster,
    stack: AsyncExitStack,
    stage: Stage,
    found: list[Case],
    asked: Asked,
) -> list[Callable[[], Awaitable[Done]]]:
    """All these actions, each having made the request that is not answered."""
    each_path = Counter(HALF_WAY[case.action] for case in found)
    held = [Fault(path=path, status=503, times=None) for path in each_path]
    reviews = Fault(path="selfsubjectaccessreviews", method="POST", times=None)  # counts them
    stack.enter_context(faults(kubernetes, reviews, *held))
    ends = [await stack.enter_async_context(stage.begun(case, asked)) for case in found]

    async def all_are_on_their_way() -> bool:
        """Each asks once whether it may use the service proxy, just before it uses it."""
        return reviews.struck >= len(found)

    await eventually(all_are_on_their_way, "all actions on their way")
    # Who asks is not to be seen. While one asks three times, the others will have asked once.
    wanted = {fault.path: fault.struck + 3 * each_path[fault.path] for fault in held}

    async def all_are_held() -> bool:
        return all(fault.struck >= wanted[fault.path] for fault in held)

    await eventually(all_are_held, "all actions half way")
    return ends


async def test_a_session_goes_away_half_way(
    kubernetes: EmbeddedCluster, session: SessionCluster, stage: Stage, tmp_path: Path
) -> None:
    """The last test of the session."""
    job = await endless_job(session)
    saved = await session.job(job).savepoint(directory=tmp_path.as_uri())
    found = list(cases(Failure.GONE, "session"))
    followed = [case for case in found if case.action in ("run", "run --sql")]
    others = [case for case in found if case not in followed]
    async with AsyncExitStack() as stack:
        ends = []
        for case in followed:
            asked = Asked(statements=ENDLESS, name=case.id)
            ends.append(await stack.enter_async_context(stage.begun(case, asked)))
        await eventually(lambda: all_run(session, [case.id for case in followed]), "jobs running")
        asked = Asked(job, str(tmp_path), saved.location)
        ends += await begun_and_held(kubernetes, stack, stage, others, asked)
        async with kubernetes.client() as client:
            await client.delete(objects.DEPLOYMENTS, "demo", "default")
        done = await asyncio.gather(*(end() for end in ends))

    for case, each in zip([*followed, *others], done, strict=True):
        judge(case, each)


# --- applications ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Running:
    """An application, followed by `app start` and by the Python API."""

    stage: Stage
    cluster: ApplicationCluster
    followers: dict[Face, Callable[[], Awaitable[Done]]]
    job: str = ""

    async def check_followers(self, failure: Failure) -> None:
        """Both tell its end as the table has it."""
        for case in cases(failure, "application"):
            if case.action == "app start":
                judge(case, await self.followers[case.face]())


@contextlib.asynccontextmanager
async def followed(
    kubernetes: EmbeddedCluster, shell: Shell, name: str, statements: tuple[str, ...]
) -> AsyncIterator[Running]:
    """An application that is being started."""
    stage = Stage("application", name, shell, kubernetes.kubeconfig)
    start = ("app", "start", *(f"-D{key}={value}" for key, value in OPTIONS.items()))
    program = ("-c", runner.MAIN_CLASS, name, f"local://{runner.jar()}", *statements)
    async with shell.started(*start, *program) as process, stage.cluster() as cluster:
        assert isinstance(cluster, ApplicationCluster)
        await eventually(cluster.exists, "the Deployment")
        (by_python,) = (
            case
            for case in cases(Failure.GONE, "application")
            if (case.action, case.face) == ("app start", PYTHON)
        )
        async with stage.begun(by_python, Asked()) as end:
            yield Running(stage, cluster, {OWN: lambda: ended(process), PYTHON: end})


@contextlib.asynccontextmanager
async def running(
    kubernetes: EmbeddedCluster, shell: Shell, name: str, statements: tuple[str, ...] = ENDLESS
) -> AsyncIterator[Running]:
    """The same when its job runs."""
    async with followed(kubernetes, shell, name, statements) as starting:

        async def look() -> str | None:
            with contextlib.suppress(KubeflinkError):  # it is not serving yet
                for job in await starting.cluster.jobs():
                    return job.id
            return None

        job = await eventually(look, "the application's job")
        await starting.cluster.job(job).until_tasks_run(timeout=JVM_SECONDS)
        yield replace(starting, job=job)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app(kubernetes: EmbeddedCluster, shell: Shell) -> AsyncIterator[Running]:
    """An application that runs for as long as nobody ends it; the last of its tests does."""
    async with running(kubernetes, shell, "app") as started:
        yield started


@each_case(Failure.AWAY, "application", "app start", "cancel", "stop")
async def test_the_rest_api_of_an_application_is_away(
    kubernetes: EmbeddedCluster, app: Running, tmp_path: Path, case: Case
) -> None:
    asked = await prepared(app.cluster, case, app.job, tmp_path)
    before = await app.cluster.job(app.job).checkpoints()

    away, lost = outage("app")
    with faults(kubernetes, away, lost):
        done = await app.stage.act(case, asked)

    judge(case, done)
    await check_done_once(app.cluster, case, asked, tmp_path, before.counts.total)
    assert lost.struck == (case.action not in ("list", "savepoint --dispose"))


@each_case(Failure.UNWRITABLE, "application")
async def test_a_savepoint_of_an_application_cannot_be_written_or_read(
    app: Running, case: Case
) -> None:
    done = await app.stage.act(case, Asked(app.job, NOWHERE, f"file:{NOWHERE}/savepoint-1"))

    judge(case, done)
    assert await app.cluster.job(app.job).state() == "RUNNING"


async def test_an_application_is_stopped_while_its_rest_api_is_away(
    kubernetes: EmbeddedCluster, app: Running, tmp_path: Path
) -> None:
    """The last test of this application."""
    (case,) = (case for case in cases(Failure.AWAY, "application") if case.action == "stop")
    away, lost = outage("app")
    with faults(kubernetes, away, lost):
        judge(case, await app.stage.act(case, Asked(app.job, str(tmp_path))))
        await app.check_followers(Failure.AWAY)

    assert lost.struck == 1
    assert len(os.listdir(tmp_path)) == 1


async def test_an_application_is_cancelled_while_its_rest_api_is_away(
    kubernetes: EmbeddedCluster, shell: Shell
) -> None:
    """The cluster goes with its job, which is no doubt about how that ended."""
    (case,) = (case for case in cases(Failure.AWAY, "application") if case.action == "cancel")
    async with running(kubernetes, shell, "cancelled") as app:
        away, lost = outage("cancelled")
        with faults(kubernetes, away, lost):
            judge(case, await app.stage.act(case, Asked(app.job)))
            followers = [await end() for end in app.followers.values()]

    assert lost.struck == 1
    for done in followers:
        assert (done.code, "CANCELED" in done.err) == (1, True), done.err


async def test_the_job_of_an_application_fails(kubernetes: EmbeddedCluster, shell: Shell) -> None:
    async with followed(kubernetes, shell, "failing", FAILING) as app:
        await app.check_followers(Failure.OF_THE_JOB)


async def test_an_application_fails_when_it_is_stopped(
    kubernetes: EmbeddedCluster, shell: Shell, tmp_path: Path
) -> None:
    out, savepoints = tmp_path / "out", tmp_path / "savepoints"
    found = cases(Failure.OF_THE_JOB, "application")
    (case,) = (case for case in found if case.action == "stop")
    async with running(kubernetes, shell, "stopped", writing(out)) as app:
        await bar_the_way(out)
        done = await app.stage.act(case, Asked(app.job, str(savepoints)))
        followers = [await end() for end in app.followers.values()]

    judge(case, done)
    await check_saved(savepoints, done)
    for each in followers:
        assert (each.code, "FAILED" in each.err) == (1, True), each.err


async def test_an_application_goes_away_half_way(
    kubernetes: EmbeddedCluster, shell: Shell, tmp_path: Path
) -> None:
    found = [case for case in cases(Failure.GONE, "application") if case.action != "app start"]
    async with running(kubernetes, shell, "going") as app, AsyncExitStack() as stack:
        saved = await app.cluster.job(app.job).savepoint(directory=tmp_path.as_uri())
        asked = Asked(app.job, str(tmp_path), saved.location)
        ends = await begun_and_held(kubernetes, stack, app.stage, found, asked)
        await app.cluster.delete()
        done = await asyncio.gather(*(end() for end in ends))
        await app.check_followers(Failure.GONE)

    for case, each in zip(found, done, strict=True):
        judge(case, each)
