"""A broker as a process of its own, killed again and again by the system."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from kubeflink import objects
from kubeflink.broker.process import write_credentials
from kubeflink.objects import JsonObject
from kubeflink.spec.broker import make_credentials
from support.broker import (
    PODS,
    SELECTOR,
    RealCluster,
    cluster_spec,
    kubeconfig,
    real_cluster,
    running_broker,
    until,
    worker_request,
)


@pytest.fixture
async def cluster() -> AsyncIterator[RealCluster]:
    async with real_cluster(cluster_spec()) as cluster:
        yield cluster


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
        self.known: dict[str, str] = {}
        self.version = "0"

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
        metadata = event["object"]["metadata"]
        if event["type"] == "DELETED":
            self.known.pop(metadata["name"], None)
        elif event["type"] != "BOOKMARK":
            self.known[metadata["name"]] = metadata["uid"]
        self.version = metadata["resourceVersion"]


async def test_a_process_that_is_killed_again_and_again(
    cluster: RealCluster, tmp_path: Path
) -> None:
    """60 workers come and go while the broker is killed every moment: none is lost or doubled."""
    async with running_broker(cluster, tmp_path / "template") as broker:
        template = worker_request(broker.blueprint, 1)
    made = make_credentials("demo", "default")
    write_credentials(made, tmp_path / "credentials")
    port = free_port()
    context = ssl.create_default_context(cadata=made.authority)
    connector = aiohttp.TCPConnector(ssl=context)
    headers = {"Authorization": f"Bearer {made.token}", "Content-Type": "application/json"}
    dice = random.Random(17)

    async def keep_killing() -> None:
        while True:
            async with broker_process(cluster, tmp_path, port):
                await asyncio.sleep(dice.uniform(1.5, 3.5))

    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        flink = PersistentJobManager(session, f"https://127.0.0.1:{port}", template)
        others = [asyncio.create_task(keep_killing()), asyncio.create_task(flink.follow())]
        try:
            for index in range(1, 61):
                assert await flink.ask(index) == 201
                if index % 3 == 0:
                    path = f"{PODS}/demo-taskmanager-1-{index - 1}"
                    assert await flink.call("DELETE", path) in (200, 404)
                await asyncio.sleep(0.05)

            async def knows_the_truth() -> bool:
                pods = await cluster.pods()
                return flink.known == {name: objects.uid_of(pod) for name, pod in pods.items()}

            await until(knows_the_truth, timeout=90)
        finally:
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    kept = {f"demo-taskmanager-1-{index}" for index in range(1, 61) if (index + 1) % 3}
    assert set(await cluster.pods()) == kept


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
