"""What the API server costs: requests, fan-out of watches, memory.

The servers run in processes of their own, and their CPU time is what counts, because it hardly
moves with the load of the machine. The measure beside it, in the same run, is a bare aiohttp server
that parses a body and sends it back: the rest is what defaults, rules, storage and events cost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

PODS = "/api/v1/namespaces/default/pods"
TICKS = os.sysconf("SC_CLK_TCK")


def taskmanager(name: str) -> bytes:
    """A pod of the size of a TaskManager's (2.7 KB)."""
    container = {
        "name": "flink-main-container",
        "image": "apache/flink:2.3.0",
        "command": ["/docker-entrypoint.sh"],
        "args": ["bash", "-c", "kubernetes-taskmanager.sh -D key=value " * 40],
        "env": [
            {"name": "FLINK_TM_JVM_MEM_OPTS", "value": "-Xmx536870902 -Xms536870902"},
            {"name": "_POD_IP_ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        ],
        "ports": [{"name": "taskmanager-rpc", "containerPort": 6122}],
        "resources": {
            "limits": {"cpu": "1", "memory": "1728Mi"},
            "requests": {"cpu": "1", "memory": "1728Mi"},
        },
        "volumeMounts": [{"name": "flink-config-volume", "mountPath": "/opt/flink/conf"}],
    }
    labels = {"app": "demo", "component": "taskmanager", "type": "flink-native-kubernetes"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "containers": [container],
            "volumes": [{"name": "flink-config-volume", "configMap": {"name": "flink-config"}}],
        },
    }
    return json.dumps(pod).encode()


class Server:
    """A server process and what it has used so far."""

    def __init__(self, pid: int, url: str) -> None:
        self._proc = Path(f"/proc/{pid}")
        self.url = url

    def cpu(self) -> float:
        """CPU seconds, user and system."""
        fields = (self._proc / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def peak(self) -> float:
        """Peak resident memory in MB."""
        for line in (self._proc / "status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
        raise RuntimeError("no VmHWM")


@asynccontextmanager
async def served(kind: str) -> AsyncIterator[Server]:
    """A server process of a kind, ended on the way out."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--serve", kind, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().strip()
        yield Server(process.pid, url)
    finally:
        process.kill()
        await process.wait()


async def post_all(session: aiohttp.ClientSession, first: int, count: int) -> None:
    """Create pods with 50 connections at once."""
    numbers = iter(range(first, first + count))

    async def client() -> None:
        for number in numbers:
            body = taskmanager(f"pod-{number}")
            headers = {"Content-Type": "application/json"}
            async with session.post(PODS, data=body, headers=headers) as answer:
                await answer.read()
                assert answer.status == 201, await answer.text()

    await asyncio.gather(*(client() for _ in range(50)))


async def follow(session: aiohttp.ClientSession, version: str, count: int) -> None:
    """Read a number of events from one watch."""
    async with session.get(f"{PODS}?watch=1&resourceVersion={version}") as answer:
        for _ in range(count):
            assert await answer.content.readline()


async def measured(server: Server, work: Callable[[], Awaitable[None]]) -> float:
    """CPU seconds that the server used for some work."""
    before = server.cpu()
    await work()
    return server.cpu() - before


@asynccontextmanager
async def client(server: Server) -> AsyncIterator[aiohttp.ClientSession]:
    """A client without a limit of connections."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(server.url, connector=connector) as session:
        yield session


async def run(pods: int, watchers: int, events: int) -> None:
    """Measure and print."""
    async with served("bare") as bare, client(bare) as session:
        bare_cpu = await measured(bare, lambda: post_all(session, 0, pods))
    async with served("kubeflink") as server, client(server) as session:
        cpu = await measured(server, lambda: post_all(session, 0, pods))
        async with session.get(f"{PODS}?limit=1") as answer:
            version = (await answer.json())["metadata"]["resourceVersion"]
        idle = server.peak()

        async def fan_out() -> None:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(watchers):
                    tasks.create_task(follow(session, version, events))
                await post_all(session, pods, events)

        fan_cpu = await measured(server, fan_out) - cpu / pods * events
        print(f"creations per CPU second: {pods / cpu:,.0f} (bare aiohttp {pods / bare_cpu:,.0f})")
        print(f"cost of a creation against bare aiohttp: {cpu / bare_cpu:.2f}")
        print(f"watch events written per CPU second: {watchers * events / fan_cpu:,.0f}")
        print(
            f"peak memory with {pods:,} pods: {idle:.0f} MB, with watchers {server.peak():.0f} MB"
        )


async def serve(kind: str) -> None:
    """Be one of the servers, until killed."""
    if kind == "bare":
        await serve_bare()
    else:
        from kubeflink.apiserver.server import ApiServer
        from kubeflink.apiserver.store import ObjectStore

        async with ApiServer(ObjectStore(history=4000)) as server:
            print(server.url, flush=True)
            await asyncio.Event().wait()


async def serve_bare() -> None:
    """Parse each body and send it back."""
    import msgspec
    from aiohttp import web

    async def answer(request: web.BaseRequest) -> web.Response:
        body = msgspec.json.encode(msgspec.json.decode(await request.read()))
        return web.Response(body=body, status=201, content_type="application/json")

    runner = web.ServerRunner(web.Server(answer, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", choices=("bare", "kubeflink"), help=argparse.SUPPRESS)
    parser.add_argument("--pods", type=int, default=3000)
    parser.add_argument("--watchers", type=int, default=50)
    parser.add_argument("--events", type=int, default=400)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(options.serve))
    else:
        asyncio.run(run(options.pods, options.watchers, options.events))


if __name__ == "__main__":
    main()
