"""Jars whose `main` runs beside the client, in a JVM, as it does with Flink: with real Flink."""

from __future__ import annotations

import csv
import functools
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kubeflink import Job, SessionCluster
from kubeflink.cluster import runner
from kubeflink.errors import LocalError
from kubeflink.local.cluster import EmbeddedCluster
from support.client_side import JAR
from support.embedded import JVM_SECONDS, SMALL_SESSION, demo_session, eventually
from support.shell import Shell, ended, interrupt, line_with

pytestmark = [
    pytest.mark.flink,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
]

OWN = ("--session", "demo")
TARGET = ("-t", "kubernetes-session", "-Dkubernetes.cluster-id=demo")
HERE = {"own": (*OWN, "--job-graph", "client"), "flink": (*TARGET, "-Dkubeflink.job-graph=client")}
ODD = ["--a b", "-p", 'it\'s "quoted"', "$HOME `x` \\ é %"]
NUMBERS = (
    "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '20',"
    " 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '20000')"
)
SINK = "CREATE TABLE sink (n BIGINT) WITH ('connector' = 'blackhole')"
ENDLESS = (NUMBERS, SINK, "INSERT INTO sink SELECT n FROM numbers")
FAILING = (NUMBERS, SINK, "INSERT INTO sink SELECT 1 / (5 - n) FROM numbers")
RUNNER = ("-c", runner.MAIN_CLASS, str(runner.jar()))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session(kubernetes: EmbeddedCluster) -> AsyncIterator[SessionCluster]:
    options = {
        **SMALL_SESSION,
        "restart-strategy.type": "none",
        "taskmanager.numberOfTaskSlots": "2",
    }
    async with demo_session(kubernetes, options) as cluster:
        yield cluster


@pytest.fixture
def kubeflink(
    session: SessionCluster,
    kubernetes: EmbeddedCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Shell:
    """The command, called from a directory with a file that only this side knows by its name."""
    for name in ("here", "temporary"):
        (tmp_path / name).mkdir()
    (tmp_path / "here" / "words.txt").write_text("to\nbe\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "here")
    variables = {"CLIENT_SIDE": "a variable", "TMPDIR": str(tmp_path / "temporary")}
    return Shell(kubernetes.kubeconfig, variables)


def rows(directory: Path) -> set[str]:
    files = [file for file in directory.rglob("*") if file.is_file() and file.name[0] != "."]
    return {row[0] for file in files for row in csv.reader(file.read_text("utf-8").splitlines())}


def left_in(temporary: str) -> tuple[list[str], str]:
    """Our files there, and the processes that were told of them."""
    processes = subprocess.run(
        ["ps", "-A", "-o", "args="], capture_output=True, text=True, check=True, timeout=30
    )
    told = [line for line in processes.stdout.splitlines() if temporary in line]
    return [path.name for path in Path(temporary).glob("kubeflink-*")], "\n".join(told)


async def is_running(job: Job) -> bool:
    details = await job.details()
    running = details.status_counts.get("RUNNING", 0)
    return details.state == "RUNNING" and running == len(details.vertices)


@pytest.mark.parametrize("world", ["own", "flink"])
async def test_main_finds_this_machines_file_and_variable(
    kubeflink: Shell, session: SessionCluster, tmp_path: Path, world: str
) -> None:
    """Attached; and its arguments and class path are those of the command line."""
    out, classes = tmp_path / "out", tmp_path / "classes"
    classes.mkdir()
    (classes / "resource").write_text("a resource", encoding="utf-8")
    options = ("-C", f"{classes.as_uri()}/", "-Dpipeline.name=made here")

    done = await kubeflink.succeed(
        "run", *HERE[world], *options, str(JAR), "words.txt", out.as_uri(), *ODD
    )

    assert rows(out) == {"to", "be", "a variable", "a resource", *ODD}
    assert "the program has seen the end of its job" in done.out
    assert "the job graph of this program is made in a JVM on this side: Flink 2.3.0" in done.err
    details = await session.job(done.job).details()
    assert (details.name, details.state) == ("made here", "FINISHED")
    assert left_in(kubeflink.more["TMPDIR"]) == ([], "")


@pytest.mark.parametrize("world", ["own", "flink"])
async def test_where_main_runs_is_told_when_it_misses_a_file(
    kubeflink: Shell, tmp_path: Path, world: str
) -> None:
    words = (str(JAR), "words.txt", tmp_path.as_uri())

    there = await kubeflink("run", *{"own": OWN, "flink": TARGET}[world], *words)
    here = await kubeflink("run", *HERE[world], str(JAR), "nowhere.txt", tmp_path.as_uri())

    assert there.code == here.code == 1
    assert "NoSuchFileException: words.txt" in there.err
    way = {"own": "--job-graph client", "flink": "-Dkubeflink.job-graph=client"}[world]
    assert f"which has no files of this machine; with {way} it runs here" in there.err
    assert here.err.splitlines()[-1] == "kubeflink: NoSuchFileException: nowhere.txt"
    assert "\tat " not in there.err + here.err


async def test_sql_and_a_job_that_fails_while_it_is_followed(kubeflink: Shell) -> None:
    done = await kubeflink("run", *HERE["own"], "--sql", "; ".join(FAILING))

    assert done.code == 1
    assert "FAILED: ArithmeticException: / by zero" in done.err.splitlines()[-1]


async def test_detached_and_from_a_savepoint(
    kubeflink: Shell, session: SessionCluster, tmp_path: Path
) -> None:
    quick = "-Dexecution.checkpointing.interval=300ms"

    words = (*HERE["own"], "-d", "-p", "2", quick, *RUNNER, *ENDLESS)
    first = session.job((await kubeflink.succeed("run", *words)).job)
    await eventually(functools.partial(is_running, first), "the job running")
    assert {vertex.parallelism for vertex in (await first.details()).vertices} == {2}
    savepoint = await first.stop(directory=tmp_path.as_uri())
    again = ("-s", savepoint.location, "--claim-mode", "CLAIM", "-d", "-o", "json")
    second = await kubeflink.succeed("run", *HERE["own"], *again, *RUNNER, *ENDLESS)

    job = session.job(second.json["job_id"])

    async def restored() -> str | None:
        found = (await job.checkpoints()).latest.restored
        return found.external_path if found else None

    assert await eventually(restored, "the job restored") == savepoint.location
    await job.cancel()


async def test_ctrl_c_ends_the_jvm_and_the_job_goes_on(
    kubeflink: Shell, session: SessionCluster
) -> None:
    words = ("run", *HERE["own"], *RUNNER, *ENDLESS)
    async with kubeflink.started(*words) as process:
        line = await line_with(process.stdout, "Job has been submitted with JobID")
        job = session.job(line.split()[-1])
        await eventually(functools.partial(is_running, job), "the job running")
        interrupt(process)
        done = await ended(process)

    assert done.code == 130
    assert f"job {job.id} goes on; cancel it: kubeflink cancel --session demo {job.id}" in done.err
    assert left_in(kubeflink.more["TMPDIR"]) == ([], "")
    assert await is_running(job)
    await job.cancel()


async def test_from_python(session: SessionCluster, kubeflink: Shell, tmp_path: Path) -> None:
    out = tmp_path / "out"

    job = await session.submit_jar(
        JAR, args=["words.txt", out.as_uri(), "from Python"], job_graph="client"
    )

    assert (await job.wait(timeout=JVM_SECONDS)).succeeded
    assert rows(out) >= {"to", "be", "from Python"}
    with pytest.raises(LocalError, match=r"NoSuchFileException: nowhere\.txt"):
        await session.submit_jar(JAR, args=["nowhere.txt", out.as_uri()], job_graph="client")


async def test_without_a_jvm_it_is_said_why_one_is_needed(
    kubernetes: EmbeddedCluster, session: SessionCluster, tmp_path: Path
) -> None:
    elsewhere = Shell(kubernetes.kubeconfig, {"FLINK_HOME": str(tmp_path)})

    done = await elsewhere("run", *HERE["own"], str(JAR), "words.txt", tmp_path.as_uri())

    assert done.code == 1
    assert "the job graph of this program is made in a JVM on this side: no Flink in" in done.err
    assert "kubeflink[local]" in done.err
