"""A broker as a process of its own, and a JobManager that outlives it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import ssl
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from kubeflink import objects
from kubeflink.broker.process import write_credentials
from kubeflink.objects import JsonObject
from kubeflink.spec.broker import make_credentials
from support.broker import (
    PODS,
    SELECTOR,
    RealCluster,
    kubeconfig,
    running_broker,
    worker_request,
)


@asynccontextmanager
async def broker_process(
    cluster: RealCluster, directory: Path, port: int
) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "kubeflink", "broker", "demo"),
        *("--kubeconfig", str(kubeconfig(cluster.server, directory))),
        *("--port", str(port), "--metrics-port", "0"),
        *("--credentials", str(directory / "credentials")),
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            os.kill(process.pid, signal.SIGKILL)
        await process.wait()


class PersistentJobManager:
    """Repeats each request until it is answered, and follows the watch, as a JobManager does."""

    def __init__(self, session: aiohttp.ClientSession, url: str, template: JsonObject) -> None:
        self._session = session
        self._url = url
        self._template = json.dumps(template)
        self.pods: dict[str, JsonObject] = {}
        self.seen: Counter[str] = Counter()
        self.version = "0"

    @property
    def known(self) -> dict[str, str]:
        """The uid of each pod that there is, as far as it was told."""
        return {name: objects.uid_of(pod) for name, pod in self.pods.items()}

    async def call(self, method: str, path: str, body: str | None = None) -> int:
        async with asyncio.timeout(120):
            while True:
                try:
                    async with self._session.request(
                        method, f"{self._url}{path}", data=body
                    ) as answer:
                        await answer.read()
                        if answer.status < 500:
                            return answer.status
                except aiohttp.ClientError:
                    pass
                await asyncio.sleep(0.1)

    async def ask(self, index: int) -> int:
        body = self._template.replace("demo-taskmanager-1-1", f"demo-taskmanager-1-{index}")
        return await self.call("POST", PODS, body)

    async def follow(self) -> None:
        while True:
            query = f"{SELECTOR}&resourceVersion={self.version}&watch=true"
            try:
                async with self._session.ws_connect(f"{self._url}{PODS}?{query}") as socket:
                    async for message in socket:
                        self._take(json.loads(message.data))
            except aiohttp.ClientError:
                await asyncio.sleep(0.1)

    def _take(self, event: JsonObject) -> None:
        assert event["type"] != "ERROR", event
        obj = event["object"]
        metadata = obj["metadata"]
        if event["type"] == "DELETED":
            self.pods.pop(metadata["name"], None)
        elif event["type"] != "BOOKMARK":
            if self.known.get(metadata["name"]) != metadata["uid"]:
                self.seen[metadata["name"]] += 1
            self.pods[metadata["name"]] = obj
        self.version = metadata["resourceVersion"]


@asynccontextmanager
async def persistent_jobmanager(
    cluster: RealCluster, directory: Path, port: int
) -> AsyncIterator[PersistentJobManager]:
    """A JobManager for the broker at `port`, whose credentials it makes."""
    async with running_broker(cluster, directory / "template") as broker:
        template = worker_request(broker.blueprint, 1)
    made = make_credentials("demo", "default")
    write_credentials(made, directory / "credentials")
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=made.authority))
    headers = {"Authorization": f"Bearer {made.token}", "Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        yield PersistentJobManager(session, f"https://127.0.0.1:{port}", template)


async def listens(port: int) -> bool:
    """Whether somebody takes connections there."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
