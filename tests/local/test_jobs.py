"""Each action on jobs of a session, on days when something is wrong: with real Flink."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from kubeflink import SessionCluster
from kubeflink.apiserver.faults import Fault
from kubeflink.cluster import runner
from kubeflink.local.cluster import EmbeddedCluster
from support.commands import kubectl
from support.embedded import JVM_SECONDS, demo_session, eventually
from support.shell import Shell, ended, interrupt, line_with
from support.statements import BOUNDED, ENDLESS

pytestmark = [
    pytest.mark.flink,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
]

OWN = ("--session", "demo")
TARGET = ("-t", "kubernetes-session", "-Dkubernetes.cluster-id=demo")
MISSING = ("-t", "kubernetes-session", "-Dkubernetes.cluster-id=nope")
REST = r"/services/demo-rest:rest/proxy/"
JOB = "0" * 32


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session(kubernetes: EmbeddedCluster) -> AsyncIterator[SessionCluster]:
    async with demo_session(kubernetes) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def kubeflink(session: SessionCluster, kubernetes: EmbeddedCluster) -> Shell:
    """The command, with a session `demo`."""
    return Shell(kubernetes.kubeconfig, {})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def job(session: SessionCluster) -> str:
    """A job that runs for as long as nobody ends it; a test may not."""
    return await submit_endless(session)


async def submit_endless(session: SessionCluster) -> str:
    job = await session.submit_sql("; ".join(ENDLESS))
    await eventually(lambda: is_running(session, job.id), "the job running")
    return job.id


async def is_running(session: SessionCluster, job: str) -> bool:
    details = await session.job(job).details()
    return details.status_counts.get("RUNNING", 0) == len(details.vertices)


async def has_begun(session: SessionCluster, job: str) -> bool:
    """Whether it runs, or has run."""
    state = (await session.job(job).details()).state
    return state == "FINISHED" or await is_running(session, job)


async def has_state(session: SessionCluster, job: str, *states: str) -> str:
    async def look() -> str | None:
        state = await session.job(job).state()
        return state if state in states else None

    return await eventually(look, f"job {job} is one of {states}")


@contextmanager
def fault(kubernetes: EmbeddedCluster, fault: Fault) -> Iterator[Fault]:
    plan = kubernetes.server.faults
    plan.add(fault)
    try:
        yield fault
    finally:
        plan.remove(fault)


def jar(*statements: str) -> tuple[str, ...]:
    return ("-c", runner.MAIN_CLASS, str(runner.jar()), *statements)


# --- what cannot be done -----------------------------------------------------------------------


@pytest.mark.parametrize("world", [OWN, TARGET], ids=["own", "flink"])
@pytest.mark.parametrize("action", ["cancel", "stop", "savepoint", "checkpoint"])
async def test_no_such_job(kubeflink: Shell, world: tuple[str, ...], action: str) -> None:
    done = await kubeflink(action, *world, JOB)

    assert done.code == 1
    assert JOB in done.err
    assert len(done.err.splitlines()) <= 3


async def test_a_directory_for_checkpoints_that_cannot_be_made(
    kubeflink: Shell, session: SessionCluster, tmp_path: Path
) -> None:
    """Below a file not even root can make one. Without an interval the first one is asked for."""
    file = tmp_path / "file"
    file.touch()
    run = ("run", *OWN, f"-Dexecution.checkpointing.dir={(file / 'checkpoints').as_uri()}")
    program = ("-Drestart-strategy.type=none", *jar(*ENDLESS))

    followed = await kubeflink(*run, "-Dexecution.checkpointing.interval=1s", *program)
    begun = (await kubeflink.succeed(*run, "-d", *program)).job
    asked = await kubeflink("checkpoint", *OWN, begun)

    for done in (followed, asked):
        told, advice = done.err.splitlines()[-2:]
        assert done.code == 1
        assert told.endswith(
            "failed: the directory for checkpoints cannot be made:"
            f" FileAlreadyExistsException: {file}"
        )
        assert "execution.checkpointing.dir: name a directory" in advice
    await has_state(session, begun, "FAILED")

    async def are_both_described() -> bool:
        """Flink tells the state at once, and the cause some seconds later."""
        told = (await kubeflink.succeed("describe", "demo")).out
        ends = f"Job {begun} failed: Exceeded checkpoint tolerable failure threshold"
        return ends in told and "failed: the directory for checkpoints cannot be made: " in told

    await eventually(are_both_described, "the causes in the description")


async def test_a_savepoint_of_a_job_that_has_just_begun(
    kubeflink: Shell, kubernetes: EmbeddedCluster, session: SessionCluster, tmp_path: Path
) -> None:
    """The own command and the API wait for its tasks; with Flink's arguments it fails as Flink."""

    async def are_all_busy() -> bool:
        return all(each.free_slots == 0 for each in await session.taskmanagers())

    await eventually(are_all_busy, "no TaskManager without work")
    held = fault(kubernetes, Fault(r"/pods$", "POST", None, status=503, message="later"))
    with ExitStack() as until_it_has_begun:
        until_it_has_begun.enter_context(held)
        begun = (await kubeflink.succeed("run", *OWN, "-d", *jar(*ENDLESS))).job
        refused = await kubeflink("savepoint", *TARGET, begun, str(tmp_path))
        words = ("savepoint", *OWN, begun, "--savepoint-dir", str(tmp_path))
        async with kubeflink.started(*words) as saving, asyncio.TaskGroup() as group:
            checking = group.create_task(session.job(begun).checkpoint())
            await line_with(saving.stderr, "waiting until all tasks of job")
            until_it_has_begun.close()
            saved = await ended(saving)

    assert refused.code == 1
    assert "Not all required tasks are currently running" in refused.err
    assert saved.code == 0, saved.err
    assert len(os.listdir(tmp_path)) == 1
    assert checking.result() > 0
    await session.job(begun).cancel()


# --- options that go with a job, requests that are taken up again ------------------------------


async def test_options_of_the_job_go_with_it(kubeflink: Shell, session: SessionCluster) -> None:
    for world in (OWN, TARGET):
        done = await kubeflink.succeed("run", *world, "-Dpipeline.name=a b", *jar(*BOUNDED))

        assert (await session.job(done.job).details()).name == "a b"


async def test_a_request_is_taken_up_again(
    kubeflink: Shell, session: SessionCluster, tmp_path: Path
) -> None:
    doomed = await submit_endless(session)
    where = ("--savepoint-dir", str(tmp_path))
    begun = (await kubeflink.succeed("stop", *OWN, doomed, *where, "--no-wait", "-o", "json")).json
    again = ("stop", *OWN, doomed, "--trigger-id", begun["trigger_id"], "-o", "json")

    first = (await kubeflink.succeed(*again)).json
    second = (await kubeflink.succeed(*again)).json

    assert first == second
    assert first["trigger_id"] == begun["trigger_id"]
    assert len(os.listdir(tmp_path)) == 1
    await has_state(session, doomed, "FINISHED")


async def test_lists_by_kind(kubeflink: Shell, job: str) -> None:
    ended = (await kubeflink.succeed("run", *OWN, *jar(*BOUNDED))).job

    async def listed(*flags: str) -> set[str]:
        found = (await kubeflink.succeed("list", *OWN, *flags, "-o", "json")).json
        return {each["jid"] for each in found} & {job, ended}

    assert await listed() == await listed("-r") == {job}
    assert await listed("-s") == set()
    assert await listed("-a") == {job, ended}


async def test_what_was_done_as_json(kubeflink: Shell, session: SessionCluster) -> None:
    doomed = await submit_endless(session)

    taken = (await kubeflink.succeed("checkpoint", *OWN, doomed, "-o", "json")).json
    ended = (await kubeflink.succeed("cancel", *OWN, doomed, "-o", "json")).json

    assert taken["checkpoint_id"] > 0
    assert ended == {"job_id": doomed, "state": "CANCELED"}


# --- the way to the REST API -------------------------------------------------------------------


async def test_the_way_to_the_cluster_is_said_when_asked(kubeflink: Shell) -> None:
    done = await kubeflink.succeed("-v", "list", *OWN)

    assert "kubeflink: reaching cluster demo (through the API server)" in done.err.splitlines()


async def test_kubectl_forwards_a_port_to_the_rest_api(
    kubeflink: Shell, kubernetes: EmbeddedCluster
) -> None:
    process = await asyncio.create_subprocess_exec(
        *(kubectl(), "--kubeconfig", str(kubernetes.kubeconfig)),
        *("port-forward", "service/demo-rest", ":8081"),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        told = await line_with(process.stdout, "Forwarding from 127.0.0.1")
        address = (re.search(r"127\.0\.0\.1:\d+", told) or [""])[0]
        listed = await kubeflink.succeed("list", "-m", address)
    finally:
        process.kill()
        await process.wait()

    assert listed.out == (await kubeflink.succeed("list", *TARGET)).out


# --- Ctrl-C ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "state"),
    [(("run", *OWN), "RUNNING"), (("run", *TARGET), "RUNNING"), (("run", *TARGET, "-sae"), None)],
    ids=["own", "flink", "flink with -sae"],
)
async def test_ctrl_c_without_a_terminal(
    kubeflink: Shell, session: SessionCluster, words: tuple[str, ...], state: str | None
) -> None:
    async with kubeflink.started(*words, *jar(*ENDLESS)) as process:
        job = (await line_with(process.stdout, "Job has been submitted")).split()[-1]
        await has_state(session, job, "RUNNING")
        await asyncio.sleep(1)  # the line comes before the following begins
        interrupt(process)
        done = await ended(process)

    assert done.code == 130
    assert "Traceback" not in done.err
    assert job in done.err
    if state is None:
        await has_state(session, job, "CANCELED")
    else:
        assert await session.job(job).state() == state
        await session.job(job).cancel()


@pytest.mark.parametrize(
    ("answer", "state"), [(b"y\n", "CANCELED"), (b"\n", "RUNNING"), (b"\x03", "RUNNING")]
)
async def test_ctrl_c_on_a_terminal_asks(
    kubeflink: Shell, session: SessionCluster, answer: bytes, state: str
) -> None:
    leader, follower = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kubeflink", "run", *OWN, *jar(*ENDLESS)),
        stdin=follower, stdout=follower, stderr=follower, start_new_session=True,
        env={**kubeflink.env, "TERM": "xterm"}, preexec_fn=_take_terminal,
    )  # fmt: skip
    os.close(follower)
    screen = Screen(leader)
    try:
        job = (await screen.until(r"JobID ([0-9a-f]{32})"))[1]
        await screen.until("RUNNING")
        os.write(leader, b"\x03")
        await screen.until(rf"Cancel job {job}\?")
        os.write(leader, answer)
        assert await asyncio.wait_for(process.wait(), JVM_SECONDS) == 130
    finally:
        screen.close()
        if process.returncode is None:
            process.kill()
            await process.wait()

    await has_state(session, job, state)
    if state == "RUNNING":
        await session.job(job).cancel()


def _take_terminal() -> None:
    """In the child: make its standard input its controlling terminal, as a shell would."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Screen:
    """What a program writes on a pseudo terminal."""

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._text = ""
        self._grown = asyncio.Event()
        asyncio.get_running_loop().add_reader(leader, self._read)

    def _read(self) -> None:
        try:
            self._text += os.read(self._leader, 65536).decode(errors="replace")
        except OSError:  # the other side is closed
            asyncio.get_running_loop().remove_reader(self._leader)
        self._grown.set()

    async def until(self, pattern: str) -> re.Match[str]:
        """Wait for a text."""
        async with asyncio.timeout(JVM_SECONDS):
            while (found := re.search(pattern, self._text)) is None:
                self._grown.clear()
                await self._grown.wait()
        return found

    def close(self) -> None:
        """Close the terminal."""
        asyncio.get_running_loop().remove_reader(self._leader)
        os.close(self._leader)
