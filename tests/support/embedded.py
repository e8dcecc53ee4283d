"""The embedded Kubernetes for tests, with Flink sizes that fit several JVMs on a small machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from kubeflink.local.cluster import EmbeddedCluster
from kubeflink.local.settings import BackOff, Settings

T = TypeVar("T")

JVM_SECONDS = 240.0
"""How long anything that starts a JVM may take on a busy machine."""

SMALL_MEMORY: Mapping[str, str] = {
    "jobmanager.memory.heap.size": "160m",
    "jobmanager.memory.jvm-metaspace.size": "160m",
    "jobmanager.memory.off-heap.size": "32m",
    "jobmanager.memory.jvm-overhead.min": "32m",
    "jobmanager.memory.jvm-overhead.max": "32m",
    "taskmanager.memory.framework.heap.size": "48m",
    "taskmanager.memory.task.heap.size": "48m",
    "taskmanager.memory.framework.off-heap.size": "32m",
    "taskmanager.memory.network.min": "8m",
    "taskmanager.memory.network.max": "8m",
    "taskmanager.memory.managed.size": "16m",
    "taskmanager.memory.jvm-metaspace.size": "96m",
    "taskmanager.memory.jvm-overhead.min": "32m",
    "taskmanager.memory.jvm-overhead.max": "32m",
}
"""The smallest processes that also run SQL: about 350 MB and 240 MB of resident memory."""

QUICK_RELEASE: Mapping[str, str] = {"resourcemanager.taskmanager-timeout": "4s"}
"""Idle TaskManagers go after seconds instead of half a minute."""

SMALL_SESSION: Mapping[str, str] = {**SMALL_MEMORY, **QUICK_RELEASE}
"""Options of a session for tests."""


def small_arguments() -> list[str]:
    """The same as `-Dkey=value`, for command lines."""
    return [f"-D{key}={value}" for key, value in SMALL_SESSION.items()]


@asynccontextmanager
async def embedded_cluster(
    state_dir: Path | None = None, *, settings: Settings | None = None
) -> AsyncIterator[EmbeddedCluster]:
    """An embedded Kubernetes with short back-offs; ephemeral without a state directory."""
    chosen = settings or Settings(back_off=BackOff(initial=0.5, maximum=4.0))
    async with EmbeddedCluster(state_dir, settings=chosen) as cluster:
        yield cluster


async def eventually(
    look: Callable[[], Awaitable[T | None]], what: str, *, timeout: float = JVM_SECONDS
) -> T:
    """The first result of `look` that is true; fails the test when there is none in time."""
    deadline = time.monotonic() + timeout
    seen: T | None = None
    while time.monotonic() < deadline:
        seen = await look()
        if seen:
            return seen
        await asyncio.sleep(0.2)
    raise AssertionError(f"{what} did not happen within {timeout:.0f} s; last seen: {seen!r}")
