"""One container of a pod: start, watch, restart with back-off, stop, and pick up after a restart.

What a container is doing is its `ContainerView`, which the pod publishes. What its process is, is
in a record beside its logs: pid and start time, written before the process is let go (see
`processes`), so that another server can go on where this one was killed. The number of the start is
in the names of the logs: `0.log` is the first one, and the one before the last is what `kubectl
logs -p` shows.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from kubeflink.apiserver.metadata import timestamp
from kubeflink.errors import ConfigurationError
from kubeflink.local.logs import append_line, tail
from kubeflink.local.node import Node
from kubeflink.local.pod_status import ContainerView, terminated
from kubeflink.local.processes import (
    ContainerProcess,
    ProcessIdentity,
    ProcessRecord,
    read_record,
)
from kubeflink.local.starting import ContainerFiles, ContainerStarter, PodHost
from kubeflink.objects import JsonObject

log = logging.getLogger(__name__)

ReadinessProbe = Callable[[], Awaitable[None]]
"""Returns when the container can serve; cancelled when it ends before."""


class Container:
    """One container. `run` may be called once, `stop` after it ended or was cancelled."""

    def __init__(
        self,
        node: Node,
        host: PodHost,
        container: JsonObject,
        files: ContainerFiles,
        view: ContainerView,
        *,
        restart_policy: str,
        becomes_ready: ReadinessProbe,
    ) -> None:
        self.view = view
        self.files = files
        self._node = node
        self._host = host
        self._restart_policy = restart_policy
        self._becomes_ready = becomes_ready
        self._starter = ContainerStarter(node, host, container, files, self._wait_for)
        self._process: ContainerProcess | None = None
        self._stopping: ContainerProcess | None = None
        self._failures = 0
        self._started = 0.0

    @property
    def name(self) -> str:
        """The container's name."""
        return self.view.name

    @property
    def group(self) -> int | None:
        """The process group that runs for it now."""
        return None if self._process is None else self._process.identity.pid

    async def run(self) -> int:
        """Keep the container as its restart policy wants it; returns its last exit code.

        Cancelling leaves a running process alone, for `stop` or for the next server.
        """
        code = await self._resume()
        while True:
            if code is None:
                code = await self._start_and_wait()
            if not self._is_restarted(code):
                return code
            await self._back_off()
            self.view = self._next_view()
            code = None

    async def stop(self, grace_seconds: float) -> None:
        """End the process, if there is one: SIGTERM, SIGKILL after the grace period."""
        process, self._process = self._process, None
        if process is not None:
            self._stopping = process
            code = await process.stop(grace_seconds)
            self._stopping = None
            self._end(process, code)

    def kill(self) -> None:
        """Give a process that is being stopped no more time."""
        if self._stopping is not None:
            self._stopping.identity.signal(signal.SIGKILL)

    def has_process(self) -> bool:
        """Whether a process that an earlier server started still lives."""
        record = self._record()
        return record is not None and record.identity.is_alive()

    async def adopt(self) -> None:
        """Find the process that an earlier server started, in order to stop it."""
        record = self._record()
        if record is None:
            return
        process = self._adopted(record)
        if not record.identity.is_alive():
            process.kill_rest()
        else:
            self._started, self._process = record.time, process
            self.view = self.view.runs(timestamp(record.time), _container_id(record.identity))

    # Starting.

    async def _start_and_wait(self) -> int:
        self.view = self.view.waits("ContainerCreating")
        try:
            started = await self._starter.start(self.view.restarts, self._keep)
        except ConfigurationError as error:
            return await self._refused(error)
        self.view = self.view.runs(timestamp(self._started), _container_id(started.identity))
        await self._host.publish()
        await self._host.tell("Normal", "Created", f"Created container: {self.name}")
        await self._host.tell("Normal", "Started", f"Started container {self.name}")
        return await self._watch_over(started)

    def _keep(self, process: ContainerProcess, started: float) -> None:
        """The process is ours from the moment on at which it is let go."""
        self._process, self._started = process, started

    async def _refused(self, error: ConfigurationError) -> int:
        """Flink's scripts would print this and exit, before there is a JVM."""
        append_line(self.files.log(self.view.restarts), f"[ERROR] Could not start Flink: {error}")
        self._started = time.time()
        now = timestamp(self._started)
        self.view = self.view.ended(terminated(1, now, now, "", error.message))
        await self._host.publish()
        return 1

    # Running and ending.

    async def _watch_over(self, process: ContainerProcess) -> int:
        probe = asyncio.create_task(self._probe(), name=f"readiness of {self.name}")
        try:
            code = await process.wait()
        finally:
            probe.cancel()
            (failure,) = await asyncio.gather(probe, return_exceptions=True)
        if isinstance(failure, Exception):
            log.error("readiness of %s", self.name, exc_info=failure)
        self._process = None
        self._end(process, code)
        await self._host.publish()
        return code

    async def _probe(self) -> None:
        if self.view.ready:
            return  # An adopted container that was ready before.
        await self._becomes_ready()
        self.view = replace(self.view, ready=True)
        await self._host.publish()

    def _end(self, process: ContainerProcess, code: int) -> None:
        if self._node.guardian is not None:
            self._node.guardian.forget(process.identity)
        self.view = self.view.ended(
            terminated(
                code,
                timestamp(self._started),
                timestamp(time.time()),
                self.view.container_id,
                tail(self.files.log(self.view.restarts)) if code != 0 else "",
            )
        )

    def _is_restarted(self, code: int) -> bool:
        if self._restart_policy == "OnFailure":
            return code != 0
        return self._restart_policy == "Always"

    async def _back_off(self) -> None:
        ran = time.time() - self._started
        self._failures = 1 if ran >= self._node.back_off.reset_after else self._failures + 1
        delay = self._node.back_off.delay(self._failures)
        if delay > 0:
            message = f"back-off {delay:.0f}s restarting failed container={self.name}"
            self.view = self._past(self.view).waits("CrashLoopBackOff", message)
            await self._host.publish()
            await self._host.tell(
                "Warning", "BackOff", f"Back-off restarting container {self.name}"
            )
            await asyncio.sleep(delay)

    @staticmethod
    def _past(view: ContainerView) -> ContainerView:
        return replace(view, last_state=view.state) if "terminated" in view.state else view

    def _next_view(self) -> ContainerView:
        view = self._past(self.view)
        return replace(view, restarts=view.restarts + 1)

    # Picking up after a restart of the server.

    async def _resume(self) -> int | None:
        """Adopt what an earlier server started; None when there is nothing of it."""
        record = self._record()
        if record is None or record.start < self.view.restarts:
            return None
        self._started = record.time
        if record.start > self.view.restarts:
            self.view = replace(self._past(self.view), restarts=record.start)
        if self.view.exit_code is not None:
            return self.view.exit_code
        process = self._adopted(record)
        if record.identity.is_alive():
            return await self._go_on(process)
        process.kill_rest()
        past = self.view.last_state.get("terminated")
        if past is not None and not self.view.is_running:
            return int(past["exitCode"])  # It was in its back-off.
        self._end(process, process.exit_code())
        await self._host.publish()
        return self.view.exit_code

    async def _go_on(self, process: ContainerProcess) -> int:
        self._process = process
        if self._node.guardian is not None:
            self._node.guardian.watch(process.identity)
        ready = self.view.ready
        running = self.view.runs(timestamp(self._started), _container_id(process.identity))
        self.view = replace(running, ready=ready)
        await self._host.publish()
        return await self._watch_over(process)

    def _record(self) -> ProcessRecord | None:
        return read_record(self.files.record)

    def _adopted(self, record: ProcessRecord) -> ContainerProcess:
        return record.process(self.files.directory)

    async def _wait_for(self, reason: str, message: str) -> None:
        self.view = self.view.waits(reason, message)
        await self._host.publish()


def _container_id(identity: ProcessIdentity) -> str:
    return f"process://{identity.pid}"
