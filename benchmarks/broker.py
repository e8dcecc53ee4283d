"""What the broker costs for each pod, without a JVM.

A stand-in for the JobManager asks for workers the way Flink's client does: over TLS, four at a
time, while it watches the pods over a WebSocket. JobManager, broker and API server are processes of
their own, so that the broker's CPU time is the kernel's account of it alone. Beside it stands how
many times that is of what the stand-in itself needed, which is the steadier figure on a machine
with other work.

`--hold N` measures something else: the broker's memory with N pods, held and watched.
`--profile FILE` writes a profile of the broker (cProfile), which makes it three times as slow.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import ssl
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from stage.broker import RunningBroker, broker
from stage.cluster import LABELS, PODS, Server, api_server, configuration
from stage.processes import Usage, main_thread_cpu

CPU_AIM = 1.0
"""Milliseconds of CPU time for a pod."""

MEMORY_AIM = 60
"""MB, with a thousand pods."""

HELD_MEMORY_AIM = 250
"""MB, with ten thousand pods."""

SECONDS = 300.0
PAUSE = 0.1
PART = 100
"""Pods that are measured together. What else the machine does makes a part dearer, never cheaper:
so the cheapest one tells most.
"""


@asynccontextmanager
async def jobmanager(running: RunningBroker) -> AsyncIterator[aiohttp.ClientSession]:
    """The JobManager's HTTP client."""
    context = ssl.create_default_context(cadata=running.authority)
    headers = {"Authorization": f"Bearer {running.token}"}
    connector = aiohttp.TCPConnector(ssl=context, limit=0)
    async with aiohttp.ClientSession(running.url, headers=headers, connector=connector) as session:
        await _until(session, 0)
        yield session


async def _until(session: aiohttp.ClientSession, count: int) -> None:
    """Wait until the broker has seen so many pods; it answers 503 as long as it has seen none."""
    for _ in range(round(SECONDS / PAUSE)):
        async with session.get(PODS) as answer:
            if answer.ok and len((await answer.json())["items"]) >= count:
                return
        await asyncio.sleep(PAUSE)
    raise RuntimeError(f"the broker has not seen {count} pods")


@asynccontextmanager
async def watch(session: aiohttp.ClientSession) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """A watch of all workers, as fabric8 opens it."""
    query = f"?watch=true&resourceVersion=0&labelSelector={LABELS}"
    async with session.ws_connect(f"{PODS}{query}") as socket:
        yield socket


def requests(first: int, count: int) -> Iterator[bytes]:
    """The bodies of requests for so many workers, as Flink's driver writes them."""
    from kubeflink.spec import build_taskmanager_pod, session_configuration
    from kubeflink.spec.inputs import Inputs

    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "demo"}}
    session = session_configuration(configuration())
    pod = json.dumps(
        build_taskmanager_pod(session, attempt=1, index=1, deployment=deployment, inputs=Inputs())
    )
    for index in range(first, first + count):
        yield pod.replace("taskmanager-1-1", f"taskmanager-1-{index}").encode()


async def ask(session: aiohttp.ClientSession, bodies: Iterator[bytes], at_once: int) -> None:
    """Ask for all of them."""
    headers = {"Content-Type": "application/json"}

    async def thread() -> None:
        for body in bodies:
            async with session.post(PODS, data=body, headers=headers) as answer:
                text = await answer.read()
                if answer.status != 201:
                    raise RuntimeError(text.decode())

    async with asyncio.TaskGroup() as threads:
        for _ in range(at_once):
            threads.create_task(thread())


async def run(pods: int, at_once: int, rounds: int, profile: Path | None) -> None:
    """Measure, and print."""
    options = () if profile is None else ("-m", "cProfile", "-o", str(profile))
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name:
            async with (
                api_server() as server,
                broker(server, Path(name), options) as running,
                jobmanager(running) as session,
                asyncio.timeout(SECONDS),
            ):
                await _measure(server, running, session, pods, at_once)
                if profile is not None:
                    await running.end()


async def _measure(
    server: Server,
    running: RunningBroker,
    session: aiohttp.ClientSession,
    pods: int,
    at_once: int,
) -> None:
    idle = Usage.of(running.pid).peak
    costs, seconds, ratios = [], [], []
    async with watch(session) as events:
        asked = (await server.ask("count"))["requests"]
        for part in range(pods // PART):
            before, begin = main_thread_cpu(running.pid), time.monotonic()
            own = time.thread_time()
            await ask(session, requests(part * PART + 1, PART), at_once)
            for _ in range(PART):
                await events.receive_str()
            own = time.thread_time() - own
            costs.append(1000 * (main_thread_cpu(running.pid) - before) / PART)
            ratios.append(costs[-1] * PART / 1000 / own)
            seconds.append((time.monotonic() - begin) / PART)
        asked = (await server.ask("count"))["requests"] - asked
    used = Usage.of(running.pid)
    print(
        f"{pods:,} pods: {statistics.median(costs):.2f} ms of CPU time each, "
        f"at best {min(costs):.2f} (aim: {CPU_AIM:g}), "
        f"{statistics.median(ratios):.2f} times what it takes to ask; "
        f"{asked / pods:.2f} requests each; "
        f"memory {used.peak:.0f} MB (aim: under {MEMORY_AIM}), idle {idle:.0f} MB; "
        f"{1000 * min(seconds) * at_once:.1f} ms until the answer, with {at_once} at once",
        flush=True,
    )


async def hold(count: int) -> None:
    """The broker's memory with so many pods, all of which were told to a watcher."""
    with tempfile.TemporaryDirectory() as name:
        async with api_server() as server:
            await server.ask(f"fill {count}")
            async with (
                broker(server, Path(name)) as running,
                jobmanager(running) as session,
                asyncio.timeout(SECONDS),
            ):
                await _until(session, count)
                async with watch(session) as events:
                    for _ in range(count):
                        await events.receive_str()
                usage = Usage.of(running.pid)
                print(
                    f"{count:,} pods held and watched: {usage.peak:.0f} MB "
                    f"(aim: under {HELD_MEMORY_AIM}), {usage.cpu:.1f} s CPU"
                )


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", type=Path, metavar="FILE")
    parser.add_argument("--hold", type=int, metavar="N")
    options = parser.parse_args()
    if options.hold:
        asyncio.run(hold(options.hold))
    else:
        asyncio.run(run(options.pods, options.at_once, options.rounds, options.profile))


if __name__ == "__main__":
    main()
