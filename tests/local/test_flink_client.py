"""Flink's own client and kubeflink on the same session: either goes on with the other's jobs.

And programs for which kubeflink needs Flink's client itself: those in Python, and plans.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from kubeflink import SessionCluster
from kubeflink.cluster import runner
from kubeflink.config import load
from kubeflink.jvm.flink_command import FlinkCommand
from kubeflink.local.cluster import EmbeddedCluster
from support.embedded import JVM_SECONDS, SMALL_SESSION, demo_session, eventually
from support.extras import pyflink_python
from support.left_out import left_out
from support.python_program import python_program
from support.shell import SUBMITTED, Shell

pytestmark = [
    pytest.mark.flink,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
]

TARGET = ("-t", "kubernetes-session", "-Dkubernetes.cluster-id=demo")
QUICK = "-Dexecution.checkpointing.interval=300ms"
PROGRAM = ("-c", runner.MAIN_CLASS, str(runner.jar()))
SOURCE = (
    "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '20',"
    " 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '{end}')"
)


def counting(directory: Path) -> list[str]:
    """Statements of a job that writes 1, 2, 3 ... into files, each exactly once."""
    return [
        SOURCE.format(end=20_000),
        "CREATE TABLE sink (n BIGINT) WITH ('connector' = 'filesystem', 'format' = 'csv',"
        " 'sink.rolling-policy.rollover-interval' = '300 ms',"
        f" 'sink.rolling-policy.check-interval' = '200 ms', 'path' = '{directory.as_uri()}')",
        "INSERT INTO sink SELECT n FROM numbers",
    ]


def counted(directory: Path) -> list[int]:
    files = [file for file in directory.rglob("*") if file.is_file() and file.name[0] != "."]
    return sorted(int(line) for file in files for line in file.read_text().splitlines())


async def counts_beyond(directory: Path, before: int) -> None:
    async def look() -> bool:
        return len(await asyncio.to_thread(counted, directory)) > before

    await eventually(look, f"more than {before} numbers")


@dataclass(frozen=True)
class FlinkClient:
    """Flink's `CliFrontend`, which reaches the session by its node port."""

    command: FlinkCommand
    address: str

    async def __call__(self, action: str, *words: str) -> list[str]:
        lines: list[str] = []
        configuration = load(conf_dir=None, environ={}, overrides={"parallelism.default": 1})
        target = ("-t", "remote", f"-Drest.address={self._host}", f"-Drest.port={self._port}")
        await asyncio.wait_for(
            self.command.run(
                [action, *target, *words],
                configuration=configuration,
                on_line=lines.append,
                on_error=lines.append,
            ),
            JVM_SECONDS,
        )
        return lines

    @property
    def _host(self) -> str:
        return self.address.partition(":")[0]

    @property
    def _port(self) -> str:
        return self.address.partition(":")[2]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session(kubernetes: EmbeddedCluster) -> AsyncIterator[SessionCluster]:
    options = {
        **SMALL_SESSION,
        "kubernetes.rest-service.exposed.type": "NodePort",
        "taskmanager.memory.jvm-metaspace.size": "256m",  # functions in Python load a lot
    }
    async with demo_session(kubernetes, options) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def kubeflink(session: SessionCluster, kubernetes: EmbeddedCluster) -> Shell:
    return Shell(kubernetes.kubeconfig, {})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def flink(session: SessionCluster, kubernetes: EmbeddedCluster) -> FlinkClient:
    address = await session.address()
    assert address.url is not None
    node = kubernetes.node
    return FlinkClient(
        FlinkCommand(node.homes.default, node.java), address.url.removeprefix("http://")
    )


async def test_either_client_goes_on_with_the_other_ones_job(
    kubeflink: Shell, flink: FlinkClient, tmp_path: Path
) -> None:
    """Flink's starts, ours stops and starts again, Flink's stops and starts, ours stops."""
    out, savepoints = tmp_path / "out", tmp_path / "savepoints"
    arguments = (*PROGRAM, *counting(out))

    (submitted,) = filter(SUBMITTED.search, await flink("run", "-d", QUICK, *arguments))
    job = submitted.split()[-1]
    await counts_beyond(out, 0)
    ours = (await kubeflink.succeed("list", *TARGET)).out.splitlines()
    by_address = (await kubeflink.succeed("list", "-m", flink.address)).out.splitlines()
    theirs = await flink("list")
    assert any(job in line for line in ours)
    assert [line for line in theirs if line] == ours == by_address

    stopped = (await kubeflink.succeed("stop", *TARGET, "-p", str(savepoints), job)).out
    path = saved(stopped)
    before = len(counted(out))
    again = await kubeflink.succeed("run", *TARGET, "-d", QUICK, "-s", path, *arguments)
    assert again.out.splitlines() == [f"Job has been submitted with JobID {again.job}"]
    await counts_beyond(out, before)

    path = saved("\n".join(await flink("stop", "-p", str(savepoints), again.job)))
    before = len(counted(out))
    lines = await flink("run", "-d", QUICK, "-s", path, *arguments)
    (submitted,) = filter(SUBMITTED.search, lines)
    await counts_beyond(out, before)
    await kubeflink.succeed(
        "stop", *TARGET, "--drain", "-p", str(savepoints), submitted.split()[-1]
    )

    values = counted(out)
    assert values == list(range(1, len(values) + 1))


def saved(text: str) -> str:
    found = re.search(r"Savepoint completed\. Path: (file:\S+)", text)
    assert found is not None, text
    return found[1]


async def test_the_plan_of_a_program_is_flinks(
    kubeflink: Shell, flink: FlinkClient, tmp_path: Path
) -> None:
    words = (*PROGRAM, *counting(tmp_path))

    ours = (await kubeflink.succeed("info", *words)).out.splitlines()

    assert '"type" : "Source: numbers[1]",' in map(str.strip, ours)
    assert ours == await flink("info", *words)


async def test_without_a_jvm_it_is_said_why_one_is_needed(
    kubernetes: EmbeddedCluster, session: SessionCluster, tmp_path: Path
) -> None:
    script = tmp_path / "job.py"
    script.write_text("", encoding="utf-8")
    elsewhere = Shell(kubernetes.kubeconfig, {"FLINK_HOME": str(tmp_path)})

    for words in (
        ("run", "--session", "demo", str(script)),
        ("run", *TARGET, "-py", str(script)),
    ):
        done = await elsewhere(*words)

        assert done.code == 1
        assert "a Python program makes its job in a JVM on this side: no Flink in" in done.err
        assert "kubeflink[local]" in done.err


@pytest.fixture(scope="module")
def python() -> Path:
    with left_out("Python programs on a session are left out"):
        return pyflink_python("2.3.0")


@pytest.mark.parametrize("world", ["own", "flink"])
async def test_a_python_program_on_a_session(
    kubeflink: Shell, session: SessionCluster, tmp_path: Path, python: Path, world: str
) -> None:
    """With all that its function needs, which runs in the TaskManagers' Python."""
    program, out = python_program(tmp_path), tmp_path / "out"
    name = "-Dpipeline.name=from python"
    if world == "own":
        options = [f"-Dpython.client.executable={python}", f"-Dpython.executable={python}"]
        options += ["--py-files", program.files, "--py-archives", program.archives]
        options += ["--py-requirements", program.requirements]
        words = ("--session", "demo", name, *options, str(program.script))
    else:
        options = ["-pyclientexec", str(python), "-pyexec", str(python), "-pyfs", program.files]
        options += ["-pyarch", program.archives, "-pyreq", program.requirements]
        words = (*TARGET, name, "-py", str(program.script), *options)
    statements = program.statements(out)

    done = await kubeflink.succeed("run", *words, "--a b", *statements)

    assert f"arguments: {['--a b', *statements]}" in done.out
    assert "a Python program makes its job in a JVM on this side: Flink 2.3.0" in done.err
    outcome = await session.job(done.job).wait(timeout=JVM_SECONDS)
    assert (outcome.name, outcome.state) == ("from python", "FINISHED")
    assert lines_in(out) == program.rows


def lines_in(directory: Path) -> list[str]:
    files = [file for file in directory.rglob("*") if file.is_file() and file.name[0] != "."]
    return sorted(line for file in files for line in file.read_text().splitlines())


async def test_a_python_program_that_fails(kubeflink: Shell, tmp_path: Path, python: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text("raise ValueError('no such thing')\n", encoding="utf-8")

    client = f"-Dpython.client.executable={python}"

    done = await kubeflink("run", "--session", "demo", client, str(script))

    assert done.code == 1
    assert "ValueError: no such thing" in done.out
    assert "\tat " not in done.err
    assert done.err.splitlines()[-1] == "kubeflink: The program failed, as it has said above"
