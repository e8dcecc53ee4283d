"""Applications of every kind of program through the command line, with real Flink."""

from __future__ import annotations

import asyncio
import csv
import functools
import http.server
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from kubeflink import objects
from kubeflink.cluster import runner
from kubeflink.errors import NotFoundError
from kubeflink.local.cluster import EmbeddedCluster
from kubeflink.local.settings import BackOff, Settings
from support.embedded import embedded_cluster, eventually, small_arguments
from support.extras import (
    MissingError,
    flink_with_s3,
    flink_with_sql_gateway,
    pyflink_python,
    s3_plugin,
)
from support.flink_jars import flink_jars
from support.left_out import left_out
from support.object_store import object_store
from support.python_program import python_program
from support.shell import Shell, ended, interrupt, line_with

pytestmark = [
    pytest.mark.flink,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
]

FLINK, OLDER = "2.3.0", "1.20.5"
CLASS = ("-c", runner.MAIN_CLASS)
JAR = f"local://{runner.jar()}"
TARGET = ("run", "-t", "kubernetes-application")
ODD = """it''s "quoted" $HOME `x` \\ é % #{}, ; end"""
QUICK = "-Dexecution.checkpointing.interval=300ms"
"""Rows are in complete files after a checkpoint."""


def numbers(directory: Path, *, end: int = 20_000) -> list[str]:
    """Statements of a job that writes 1, 2, 3 ... into files, each exactly once.

    The source keeps all that it will send in its state, which is sent to the JobManager.
    """
    return [
        "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '20',"
        f" 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '{end}')",
        "CREATE TABLE sink (n BIGINT) WITH ('connector' = 'filesystem', 'format' = 'csv',"
        " 'sink.rolling-policy.rollover-interval' = '300 ms',"
        f" 'sink.rolling-policy.check-interval' = '200 ms', 'path' = '{directory.as_uri()}')",
        "INSERT INTO sink SELECT n FROM numbers",
    ]


def written(directory: Path) -> list[list[str]]:
    """The rows in the files that are complete."""
    rows: list[list[str]] = []
    for file in directory.rglob("*"):
        if file.is_file() and not file.name.startswith("."):
            rows += csv.reader(file.read_text(encoding="utf-8").splitlines())
    return rows


def counted(directory: Path) -> list[int]:
    return sorted(int(row[0]) for row in written(directory))


def flink_home() -> Path | None:
    """The fullest Flink that can be had; None for the one of PyPI."""
    for have in (flink_with_s3, flink_with_sql_gateway):
        try:
            return have(FLINK)
        except MissingError:
            continue
    return None


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kubernetes() -> AsyncIterator[EmbeddedCluster]:
    home = await asyncio.to_thread(flink_home)
    older = await asyncio.to_thread(flink_jars, OLDER)
    settings = Settings(
        back_off=BackOff(initial=0.5, maximum=4.0),
        flink_homes=(older, home) if home else (older,),
    )
    async with embedded_cluster(settings=settings) as kubernetes:
        yield kubernetes


@pytest.fixture(scope="module")
def kubeflink(kubernetes: EmbeddedCluster) -> Shell:
    return Shell(kubernetes.kubeconfig, {})


def app(name: str, *words: str) -> tuple[str, ...]:
    """An application cluster of the own world; options stand before its name."""
    return ("app", "start", *small_arguments(), "-Drestart-strategy.type=none", *words, name)


async def is_gone(kubernetes: EmbeddedCluster, name: str) -> bool:
    try:
        await kubernetes.store.get(objects.DEPLOYMENTS, "default", name)
    except NotFoundError:
        return True
    return False


async def gone(kubernetes: EmbeddedCluster, name: str) -> None:
    await eventually(lambda: is_gone(kubernetes, name), f"application {name} gone")


async def is_counting(directory: Path, beyond: int = 0) -> bool:
    return len(await asyncio.to_thread(counted, directory)) > beyond


# --- where the program is ----------------------------------------------------------------------


@contextmanager
def served(directory: Path) -> Iterator[str]:
    """The files of a directory by HTTP; the address to put a name behind."""
    handler = functools.partial(QuietHandler, directory=str(directory))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing."""


async def test_a_jar_by_http_with_arguments_that_survive(
    kubeflink: Shell, kubernetes: EmbeddedCluster, tmp_path: Path
) -> None:
    statements = [
        "CREATE TABLE sink (t STRING) WITH ('connector' = 'filesystem', 'format' = 'csv',"
        f" 'path' = '{tmp_path.as_uri()}')",
        f"INSERT INTO sink VALUES ('{ODD}')",
    ]
    with served(runner.jar().parent) as address:
        raw = "-Duser.artifacts.raw-http-enabled=true"
        done = await kubeflink(
            *app("web", raw, *CLASS), f"{address}/{runner.jar().name}", *statements
        )

    assert done.code == 0, done.err
    assert "ended as FINISHED" in done.out
    assert written(tmp_path) == [[ODD.replace("''", "'")]]
    await gone(kubernetes, "web")


async def test_a_jar_of_the_image_of_an_older_flink(
    kubeflink: Shell, kubernetes: EmbeddedCluster, tmp_path: Path
) -> None:
    """Up to 1.20, Flink's action for it is `run-application`."""
    template = tmp_path / "pod.yaml"
    template.write_text(
        "spec:\n  containers:\n  - name: flink-main-container\n    volumeMounts:\n"
        "    - {name: programs, mountPath: /opt/flink/usrlib}\n  volumes:\n"
        f"  - {{name: programs, hostPath: {{path: {runner.jar().parent}}}}}\n",
        encoding="utf-8",
    )
    out = tmp_path / "out"
    words = (
        "-t", "kubernetes-application", "-Dkubernetes.cluster-id=image", *small_arguments(),
        f"-Dkubernetes.pod-template-file.default={template}",
        *CLASS, f"local:///opt/flink/usrlib/{runner.jar().name}", *numbers(out, end=30),
    )  # fmt: skip
    refused = await kubeflink("--flink-version", OLDER, "run", *words)
    done = await kubeflink.succeed("--flink-version", OLDER, "run-application", *words)
    deployment = await kubernetes.store.get(objects.DEPLOYMENTS, "default", "image")

    assert refused.code == 2
    assert "run-application -t kubernetes-application" in refused.err
    assert "Create flink application cluster image successfully" in done.out
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"].startswith(f"apache/flink:{OLDER}")
    await gone(kubernetes, "image")
    assert counted(out) == list(range(1, 31))


@pytest.mark.parametrize("world", ["own", "flink"])
async def test_a_jar_of_this_machine(
    kubeflink: Shell, kubernetes: EmbeddedCluster, tmp_path: Path, world: str
) -> None:
    out, uploaded = tmp_path / "out", tmp_path / "uploaded"
    upload = (
        "-Dkubernetes.artifacts.local-upload-enabled=true",
        f"-Dkubernetes.artifacts.local-upload-target={uploaded.as_uri()}",
    )
    flinks = (*TARGET, "-Dkubernetes.cluster-id=flink", *small_arguments())
    program = (str(runner.jar()), *numbers(out, end=30))
    start = app("own", *CLASS) if world == "own" else (*flinks, *CLASS)
    refused = await kubeflink(*start, *program)
    start = app("own", *CLASS, *upload) if world == "own" else (*flinks, *upload, *CLASS)

    await kubeflink.succeed(*start, *program)

    assert refused.code == 2
    assert "is a file of this machine, which the pods do not have" in refused.err
    assert "local-upload-enabled" in refused.err
    assert os.listdir(uploaded) == [runner.jar().name]
    await gone(kubernetes, world)
    assert counted(out) == list(range(1, 31))


@pytest.fixture(scope="module")
def s3() -> None:
    with left_out("no JobManager fetches from S3"):
        flink_with_s3(FLINK)


@pytest.mark.usefixtures("s3")
async def test_a_jar_of_this_machine_by_way_of_an_object_store(
    kubeflink: Shell, kubernetes: EmbeddedCluster, tmp_path: Path
) -> None:
    with object_store() as store:
        store.make("company")
        options = {
            **store.options(),
            "kubernetes.artifacts.local-upload-enabled": "true",
            "kubernetes.artifacts.local-upload-target": "s3://company/flink/jars",
        }
        stored = [f"-D{key}={value}" for key, value in options.items()]
        plugin = f"-Dcontainerized.master.env.ENABLE_BUILT_IN_PLUGINS={s3_plugin(FLINK)}"
        program = (JAR, *numbers(tmp_path / "out", end=30))

        refused = await kubeflink(*app("lacking", *CLASS, *stored), *program)
        done = await kubeflink(*app("store", *CLASS, *stored, plugin), *program)

        assert store.keys("company") == [f"flink/jars/{runner.jar().name}"]
        assert store.unfinished("company") == []
    assert refused.code == 1
    assert "no file system for s3:// in the image" in refused.err
    assert "ENABLE_BUILT_IN_PLUGINS=flink-s3-fs-presto-<version>.jar" in refused.err
    assert done.code == 0, done.err
    assert counted(tmp_path / "out") == list(range(1, 31))
    shown = "".join(each.out + each.err for each in (refused, done))
    assert options["s3.secret-key"] not in shown
    await kubeflink("app", "stop", "lacking")


# --- what kind of program it is ----------------------------------------------------------------


@pytest.fixture(scope="module")
def gateway() -> None:
    with left_out("SQL scripts as applications are checked as objects only"):
        flink_with_sql_gateway(FLINK)


@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize("where", ["file", "http://"])
async def test_a_sql_script(kubeflink: Shell, tmp_path: Path, where: str) -> None:
    out, script = tmp_path / "out", tmp_path / "numbers.sql"
    text = ";\n".join([*numbers(out, end=30), ""])
    script.write_text(f"-- thirty numbers\n{text}", encoding="utf-8")
    with served(tmp_path) as address:
        named = str(script) if where == "file" else f"{address}/{script.name}"
        done = await kubeflink(*app("sql"), named)

    assert done.code == 0, done.err
    assert counted(out) == list(range(1, 31))


@pytest.mark.usefixtures("gateway")
async def test_a_sql_script_that_is_wrong(kubeflink: Shell, tmp_path: Path) -> None:
    script = tmp_path / "numbers.sql"
    begin = "; -- here\n".join(numbers(tmp_path)[:2])
    script.write_text(f"{begin};\nINSERT INTO sink\nSELECT n FROM nowhere", encoding="utf-8")

    done = await kubeflink(*app("sql"), str(script))

    assert done.code == 1
    assert done.err.splitlines()[-1].endswith(
        f": {script}, line 4, column 15: Object 'nowhere' not found, in statement 3:"
        " INSERT INTO sink"
    )


@pytest.fixture(scope="module")
def python_with_pyflink() -> Path:
    with left_out("Python programs are checked as objects only"):
        return pyflink_python(FLINK)


async def test_a_python_program(
    kubeflink: Shell, tmp_path: Path, python_with_pyflink: Path
) -> None:
    """With all that its function needs, which runs in the TaskManagers' Python."""
    program, out = python_program(tmp_path), tmp_path / "out"
    options = [f"-Dpython.client.executable={python_with_pyflink}"]
    options += [f"-Dpython.executable={python_with_pyflink}"]
    options += ["-Dtaskmanager.memory.jvm-metaspace.size=256m"]
    options += ["--py-files", program.files, "--py-archives", program.archives]
    options += ["--py-requirements", program.requirements]

    done = await kubeflink(
        *app("python", *options), f"local://{program.script}", "", *program.statements(out)
    )

    assert done.code == 0, done.err
    assert sorted(row[0] for row in written(out)) == program.rows


# --- how it ends -------------------------------------------------------------------------------


async def test_a_program_that_fails_in_main(kubeflink: Shell, tmp_path: Path) -> None:
    statement = "INSERT INTO sink SELECT n FROM nowhere"

    done = await kubeflink(*app("bad", *CLASS), JAR, *numbers(tmp_path)[:2], statement)

    assert done.code == 1
    assert done.out == "The application bad ended as FAILED\n"
    told = "kubeflink: Application bad ended as FAILED: Object 'nowhere' not found"
    assert done.err.splitlines()[-1] == told
    assert "Traceback" not in done.err


async def test_a_directory_for_checkpoints_that_cannot_be_made(
    kubeflink: Shell, kubernetes: EmbeddedCluster, tmp_path: Path
) -> None:
    """Below a file not even root can make one."""
    file = tmp_path / "file"
    file.touch()
    where = f"-Dstate.checkpoints.dir={(file / 'checkpoints').as_uri()}"

    done = await kubeflink(*app("full", where, QUICK, *CLASS), JAR, *numbers(tmp_path / "out"))

    told, advice = done.err.splitlines()[-2:]
    assert done.code == 1
    assert "ended as FAILED: the directory for checkpoints cannot be made: " in told
    assert "state.checkpoints.dir" in advice
    await gone(kubernetes, "full")


async def test_steering_an_application(
    kubeflink: Shell, kubernetes: EmbeddedCluster, tmp_path: Path
) -> None:
    """It is stopped, and goes on from its savepoint."""
    out, where = tmp_path / "out", ("--savepoint-dir", str(tmp_path / "savepoints"))
    async with kubeflink.started(*app("steered", QUICK, *CLASS), JAR, *numbers(out)) as process:
        await eventually(functools.partial(is_counting, out), "the first numbers")
        (job,) = (await kubeflink.succeed("list", "--app", "steered", "-o", "json")).json
        named = ("--app", "steered", job["jid"])
        target = ("-t", "kubernetes-application", "-Dkubernetes.cluster-id=steered")
        listed = await kubeflink.succeed("list", *target)
        stopped = await kubeflink.succeed("stop", *named, *where)
        done = await ended(process)

    assert job["jid"] in listed.out
    assert done.code == 0, done.err
    assert "ended as FINISHED" in done.out
    await gone(kubernetes, "steered")
    saved = stopped.out.removeprefix("Savepoint: ").strip()
    assert saved in (f"file:{tmp_path}/savepoints/{each}" for each in os.listdir(where[1]))
    assert stopped.err.endswith(f"kubeflink: Job {job['jid']} has been stopped\n")
    before = len(counted(out))
    again = app("again", QUICK, *CLASS, "-s", saved)
    async with kubeflink.started(*again, JAR, *numbers(out)) as process:
        await eventually(functools.partial(is_counting, out, before), "more numbers")
        (job,) = (await kubeflink.succeed("list", "--app", "again", "-o", "json")).json
        cancelled = await kubeflink.succeed("cancel", "--app", "again", job["jid"])
        done = await ended(process)

    assert cancelled.out == f"Job {job['jid']} is cancelled\n"
    await gone(kubernetes, "again")
    assert done.code == 1
    assert "CANCELED" in done.err
    values = counted(out)
    assert values == list(range(1, len(values) + 1))


@pytest.mark.parametrize("end", ["deleted", "interrupted"])
async def test_an_application_that_is_let_go_of(
    kubeflink: Shell, kubernetes: EmbeddedCluster, tmp_path: Path, end: str
) -> None:
    async with kubeflink.started(*app("gone", *CLASS), JAR, *numbers(tmp_path)) as process:
        await line_with(process.stderr, "RUNNING")
        if end == "interrupted":
            interrupt(process)
            done = await ended(process)
            assert not await is_gone(kubernetes, "gone")
        await kubeflink.succeed("app", "stop", "gone")
        if end == "deleted":
            done = await ended(process)

    if end == "interrupted":
        assert done.code == 130
        assert "the application gone goes on; end it: kubeflink app stop gone" in done.err
    else:
        assert done.code == 1
        told = "kubeflink: The application gone was deleted before its program had ended"
        assert done.err.splitlines()[-2] == told


async def test_an_application_that_nobody_waits_for(
    kubeflink: Shell, kubernetes: EmbeddedCluster, tmp_path: Path
) -> None:
    words = app("alone", "--no-wait", "-o", "json", *CLASS)

    found = (await kubeflink.succeed(*words, JAR, *numbers(tmp_path, end=30))).json

    assert found["name"] == "alone"
    await gone(kubernetes, "alone")
    assert counted(tmp_path) == list(range(1, 31))
