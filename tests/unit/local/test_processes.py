"""Processes of containers: what becomes of them when their shim is killed."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import pytest

from kubeflink.local.processes import (
    ContainerProcess,
    Guardian,
    ProcessIdentity,
    ProcessRecord,
    kill_recorded,
    spawn,
    start_time,
)

SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Container:
    """A container whose command would go on for ever, and keeps a pipe open as long as it does."""

    process: ContainerProcess
    exit_file: Path
    command: int
    pipe: TextIO

    @property
    def shim(self) -> ProcessIdentity:
        return self.process.identity

    def kill_shim(self) -> None:
        """As by somebody else: its group is not asked."""
        os.kill(self.shim.pid, signal.SIGKILL)

    async def command_ends(self) -> None:
        assert await asyncio.wait_for(asyncio.to_thread(self.pipe.read), SECONDS) == ""


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    fifo, exit_file = tmp_path / "pipe", tmp_path / "exit"
    os.mkfifo(fifo)
    gate = spawn(
        ["sh", "-c", f"exec 9>{fifo}; echo $$ >&9; exec sleep 3600"],
        environment={"PATH": os.environ["PATH"]},
        directory=tmp_path,
        log=tmp_path / "log",
        exit_file=exit_file,
    )
    gate.open()
    gate.close()
    with fifo.open(encoding="ascii") as pipe:
        command = int(pipe.readline())
        yield Container(gate.process, exit_file, command, pipe)
        if start_time(command) is not None:
            os.kill(command, signal.SIGKILL)
            pipe.read()


def reap(container: Container) -> None:
    os.waitpid(container.shim.pid, 0)


async def test_a_command_does_not_outlive_its_shim(container: Container) -> None:
    """Else it would go on beside the container that takes its place, and after `local down`."""
    container.kill_shim()

    assert await asyncio.wait_for(container.process.wait(), SECONDS) == 137
    await container.command_ends()


async def test_nor_one_that_was_killed_while_there_was_no_server(container: Container) -> None:
    container.kill_shim()
    reap(container)

    ContainerProcess(container.shim, container.exit_file, is_child=False).kill_rest()

    await container.command_ends()


async def test_nor_does_it_outlive_its_cluster_without_a_server(container: Container) -> None:
    """As `local down` ends what a killed server has left."""
    record = container.exit_file.with_name("process.json")
    ProcessRecord(container.shim, 0, 0.0).write(record)
    container.kill_shim()
    reap(container)

    kill_recorded([record])

    await container.command_ends()


async def test_a_guardian_that_was_killed_is_started_anew(container: Container) -> None:
    guardian = Guardian()
    guardian.start()
    guardian.watch(container.shim)
    first = guardian.pid
    os.kill(first, signal.SIGKILL)
    await asyncio.to_thread(os.waitid, os.P_PID, first, os.WEXITED | os.WNOWAIT)

    guardian.forget(ProcessIdentity(1 << 22, "another"))
    guardian.stop()

    assert guardian.pid != first
    await container.command_ends()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only /proc tells the boot")
def test_what_another_process_or_another_boot_has_is_left_alone(container: Container) -> None:
    pid = container.shim.pid
    ProcessIdentity(pid, f"{container.shim.started}0").kill_rest()  # another one of that pid
    container.kill_shim()
    reap(container)
    ProcessIdentity(pid, "another-boot 1").kill_rest()

    assert start_time(container.command) is not None
