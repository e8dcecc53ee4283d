"""Starting a container: try until everything is there, and tell what is not.

Nearly everything that keeps a container from starting may be otherwise in a moment: Flink creates
the Deployment before the ConfigMap that its pods mount, a Secret is forgotten and added, a disk is
full and emptied. So all of it is tried again, with pauses that grow, under the reason that a
kubelet would give. Final is only a Flink configuration with which Flink's own scripts would refuse
to start a JVM.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kubeflink.errors import ConfigurationError, LocalError
from kubeflink.local.environment import ContainerConfigError
from kubeflink.local.events import Kind
from kubeflink.local.launch import ContainerPlace, ImageError, Launch, prepare_launch
from kubeflink.local.node import Node
from kubeflink.local.processes import ContainerProcess, ProcessRecord, exit_code_file, spawn
from kubeflink.local.volumes import MountError
from kubeflink.objects import JsonObject

_RETRY_INITIAL = 0.1  # seconds, for what may be there in a moment
_RETRY_MAXIMUM = 2.0
_FIRST_PATIENCE = 1.0  # seconds without an event, which every start of Flink would otherwise cause

Keeper = Callable[[ContainerProcess, float], None]
"""Takes over a process that was just written down, and the time of its start."""


class PodHost(Protocol):
    """What a container needs of its pod."""

    async def publish(self) -> None:
        """Tell the API server what the containers are doing."""

    async def tell(self, kind: Kind, reason: str, message: str) -> None:
        """Record an event about the pod."""

    async def place(self, container: JsonObject) -> ContainerPlace:
        """The container's place, with the objects that it refers to as they are now."""


@dataclass(frozen=True, slots=True)
class ContainerFiles:
    """The files of a container on this machine."""

    directory: Path

    def log(self, start: int) -> Path:
        """The output of this start (from 0)."""
        return self.directory / f"{start}.log"

    def exit_code(self, start: int) -> Path:
        """Where the shim writes how this start ended."""
        return exit_code_file(self.directory, start)

    @property
    def record(self) -> Path:
        """The process of the last start."""
        return self.directory / "process.json"

    def forget_before(self, start: int) -> None:
        """Remove what earlier starts have left; nobody can ask for it any more."""
        for path in (*self.directory.glob("*.log"), *self.directory.glob("*.exit")):
            if path.stem.isdecimal() and int(path.stem) < start:
                path.unlink(missing_ok=True)


class ContainerStarter:
    """Starts one container, as often as it is asked to.

    `wait_for` publishes that the container waits, with a reason and a message.
    """

    def __init__(
        self,
        node: Node,
        host: PodHost,
        container: JsonObject,
        files: ContainerFiles,
        wait_for: Callable[[str, str], Awaitable[None]],
    ) -> None:
        self._node = node
        self._host = host
        self._container = container
        self._files = files
        self._wait_for = wait_for

    async def start(self, number: int, keep: Keeper) -> ContainerProcess:
        """Start the container for the `number`-th time, from 0, however long it takes.

        Raises `ConfigurationError` for a Flink configuration without hope.
        """
        delay, begun = _RETRY_INITIAL, time.monotonic()
        while True:
            try:
                launch = prepare_launch(self._node, await self._host.place(self._container))
                process = await self._spawn(launch, number, keep)
                await self._host.tell("Normal", "Pulled", launch.description)
                return process
            except ConfigurationError:
                raise
            except ImageError as error:
                delay = max(delay, self._node.back_off.initial)
                await self._pull_failed(error, delay)
                delay = min(delay * 2, self._node.back_off.maximum)
                continue
            except LocalError as error:
                if not isinstance(error, MountError) or time.monotonic() - begun > _FIRST_PATIENCE:
                    await self._failed(error)
            await asyncio.sleep(delay)
            delay = min(delay * 2, _RETRY_MAXIMUM)

    async def _failed(self, error: LocalError) -> None:
        match error:
            case MountError():
                message = f"MountVolume.SetUp failed: {error.message}"
                await self._host.tell("Warning", "FailedMount", message)
            case ContainerConfigError():
                await self._wait_for("CreateContainerConfigError", error.message)
                await self._host.tell("Warning", "Failed", f"Error: {error.message}")
            case _:
                await self._wait_for("CreateContainerError", error.message)
                await self._host.tell("Warning", "Failed", f"Error: {error.message}")

    async def _pull_failed(self, error: ImageError, delay: float) -> None:
        image = self._container.get("image", "")
        await self._wait_for("ErrImagePull", error.message)
        await self._host.tell("Warning", "Failed", error.message[:1].upper() + error.message[1:])
        await self._host.tell("Warning", "Failed", "Error: ErrImagePull")
        await asyncio.sleep(delay / 2)
        message = f'Back-off pulling image "{image}"'
        await self._wait_for("ImagePullBackOff", f"{message}: ErrImagePull: {error.message}")
        await self._host.tell("Normal", "BackOff", message)
        await asyncio.sleep(delay / 2)

    async def _spawn(self, launch: Launch, number: int, keep: Keeper) -> ContainerProcess:
        # The one before the last can still be read, as in Kubernetes (`logs --previous`).
        self._files.forget_before(number - 1)
        gate = spawn(
            launch.command,
            environment=launch.environment,
            directory=launch.directory,
            log=self._files.log(number),
            exit_file=self._files.exit_code(number),
        )
        process, started = gate.process, time.time()
        # Nothing up to the opened gate awaits: it happens as a whole or not at all.
        try:
            ProcessRecord(process.identity, number, started).write(self._files.record)
            if self._node.guardian is not None:
                self._node.guardian.watch(process.identity)
            keep(process, started)
            gate.open()
        except (LocalError, OSError) as error:
            gate.close()
            await process.wait()
            raise LocalError(f"Cannot start {launch.command[0]}: {error}") from error
        gate.close()
        return process
