"""The embedded Kubernetes for tests, with Flink sizes that fit several JVMs on a small machine."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from kubeflink import SessionCluster, objects
from kubeflink.apiserver.pods import LogOptions
from kubeflink.errors import NotFoundError
from kubeflink.local.cluster import EmbeddedCluster
from kubeflink.local.settings import BackOff, Settings
from kubeflink.local.sizes import SMALL_MEMORY
from kubeflink.objects import JsonObject

T = TypeVar("T")

JVM_SECONDS = 420.0
"""How long anything that starts a JVM may take on a busy machine."""

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


@asynccontextmanager
async def demo_session(
    kubernetes: EmbeddedCluster, options: Mapping[str, str] = SMALL_SESSION
) -> AsyncIterator[SessionCluster]:
    """A session `demo`, deleted at the end."""
    async with SessionCluster.temporary(
        "demo", options=options, kubeconfig=kubernetes.kubeconfig, timeout=JVM_SECONDS
    ) as session:
        yield session


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


def shell_pod(name: str, script: str, **spec: Any) -> JsonObject:
    """A pod that runs a shell script on this machine; its container is `main`."""
    labels = spec.pop("labels", {})
    container = {"name": "main", "image": "busybox", "command": ["sh", "-c", script]}
    container |= spec.pop("container", {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"restartPolicy": "Never", "containers": [container], **spec},
    }


async def pod_log(cluster: EmbeddedCluster, pod: str, container: str = "main", **how: Any) -> str:
    """What the container has written, as the API server would give it."""
    chunks = cluster.kubelet.log("default", pod, container, LogOptions(**how))
    return b"".join([chunk async for chunk in chunks]).decode()


async def pod_when(
    cluster: EmbeddedCluster, name: str, what: str, holds: Callable[[JsonObject], object]
) -> JsonObject:
    """The pod, once `holds` is true of it."""

    async def look() -> JsonObject | None:
        try:
            pod = await cluster.store.get(objects.PODS, "default", name)
        except NotFoundError:
            return None
        return pod if holds(pod) else None

    return await eventually(look, f"pod {name}: {what}")


async def pod_ended(cluster: EmbeddedCluster, name: str) -> JsonObject:
    """The pod, once its phase is final."""
    return await pod_when(
        cluster, name, "end", lambda pod: pod["status"].get("phase") in ("Succeeded", "Failed")
    )


async def pod_gone(cluster: EmbeddedCluster, name: str) -> None:
    """Return when there is no such pod."""

    async def look() -> bool:
        pods = (await cluster.store.list(objects.PODS, "default")).items
        return all(objects.name_of(pod) != name for pod in pods)

    await eventually(look, f"pod {name} is gone")


def container_state(pod: JsonObject, container: str = "main") -> JsonObject:
    """The container's state, `{}` before it is told."""
    for status in pod["status"].get("containerStatuses") or ():
        if status["name"] == container:
            return dict(status["state"])
    return {}


def main_process(pod: JsonObject, container: str = "flink-main-container") -> int:
    """The pid of the container's command itself, below the shim that leads its group."""
    for status in pod["status"]["containerStatuses"]:
        if status["name"] == container:
            group = int(status["containerID"].partition("://")[2])
            answer = subprocess.run(
                ["ps", "-A", "-o", "pid=,pgid=,ppid="],
                capture_output=True,
                text=True,
                check=True,
                timeout=30,
            )
            rows = [tuple(map(int, line.split())) for line in answer.stdout.splitlines()]
            (pid,) = (pid for pid, pgid, ppid in rows if pgid == group and ppid == group)
            return pid
    raise AssertionError(f"no container {container}")
