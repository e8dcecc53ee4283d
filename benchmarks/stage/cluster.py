"""A cluster without nodes: an API server in a process of its own that has the objects of a session.

Pods are made there, and none of them ever runs. It notes when, on the clock of the whole machine.
Started as a program it is that server: `python -m stage.cluster`, questions on standard input.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stage.processes import process

if TYPE_CHECKING:
    from kubeflink.config import Configuration
    from kubeflink.objects import JsonObject
    from kubeflink.spec import JobManagerSpec

LABELS = "app=demo,component=taskmanager,type=flink-native-kubernetes"
PODS = "/api/v1/namespaces/default/pods"
OPTIONS = {
    "kubernetes.cluster-id": "demo",
    "jobmanager.memory.process.size": "1600m",
    "taskmanager.memory.process.size": "1728m",
    "taskmanager.numberOfTaskSlots": "1",
    "resourcemanager.taskmanager-registration.timeout": "30 min",
    "kubeflink.broker.limit.pods": "100000",
    "kubeflink.broker.limit.pods-per-minute": "100000",
}


def configuration() -> Configuration:
    """The cluster's configuration."""
    from kubeflink import config

    return config.load(conf_dir=None, dynamic=list(OPTIONS.items()), version="2.3", environ={})


def specification() -> JobManagerSpec:
    """The objects of the cluster."""
    from kubeflink import spec

    return spec.build_jobmanager(spec.session_configuration(configuration()), environ={})


def kubeconfig(url: str, path: Path) -> Path:
    """A kubeconfig for a server without credentials."""
    context = {"name": "x", "context": {"cluster": "x", "user": "x"}}
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "x", "cluster": {"server": url}}],
                "users": [{"name": "x", "user": {}}],
                "contexts": [context],
                "current-context": "x",
            }
        )
    )
    return path


class Server:
    """The API server's process, and what it tells about pods."""

    def __init__(self, running: asyncio.subprocess.Process, url: str) -> None:
        self._running = running
        self.pid = running.pid
        self.url = url

    async def ask(self, question: str) -> dict[str, Any]:
        """One line there, one line back: the numbers of `pods` that were made and of `requests`.

        Asked for `times`, also when each pod was made, on the clock of `time.monotonic`. `fill N`
        makes N pods that run.
        """
        assert self._running.stdin is not None
        assert self._running.stdout is not None
        self._running.stdin.write(f"{question}\n".encode())
        answer: dict[str, Any] = json.loads(await self._running.stdout.readline())
        return answer


@asynccontextmanager
async def api_server() -> AsyncIterator[Server]:
    """An API server with the cluster's objects in it."""
    pipe = asyncio.subprocess.PIPE
    words = (sys.executable, "-m", "stage.cluster")
    here = Path(__file__).parent.parent
    async with process(*words, cwd=here, stdin=pipe, stdout=pipe, limit=1 << 24) as running:
        assert running.stdout is not None
        yield Server(running, (await running.stdout.readline()).decode().strip())


# --- the server's own process ----------------------------------------------------------------


async def serve() -> None:
    """Be the API server until killed; answer questions on standard input."""
    from kubeflink import objects
    from kubeflink.apiserver.admission import AdmissionRequest
    from kubeflink.apiserver.faults import FaultPlan
    from kubeflink.apiserver.server import ApiServer
    from kubeflink.apiserver.store import ObjectStore

    times: list[float] = []

    class Clock:
        """Notes when pods are made."""

        def admit(self, request: AdmissionRequest) -> None:
            if request.resource == objects.PODS and request.operation == "CREATE":
                times.append(time.monotonic())

    store, plan = ObjectStore(admission=(Clock(),), history=4000), FaultPlan()
    built = specification()
    deployment = await store.create(objects.DEPLOYMENTS, "default", built.deployment)
    owner = [objects.owner_reference(deployment)]
    for obj in built.accompanying:
        owned = {**obj, "metadata": {**obj["metadata"], "ownerReferences": owner}}
        await store.create(objects.resource_of(obj), "default", owned)
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with ApiServer(store, faults=plan) as server:
        print(server.url, flush=True)
        while line := await reader.readline():
            if line.startswith(b"fill"):
                await fill(store, deployment, int(line.split()[1]))
            answer: dict[str, Any] = {"pods": len(times), "requests": len(plan.requests)}
            if line.startswith(b"times"):
                answer["times"] = times
            print(json.dumps(answer), flush=True)


async def fill(store: Any, deployment: JsonObject, count: int) -> None:
    """Pods as a JobManager would have asked for, that run."""
    from kubeflink import objects
    from kubeflink.spec import build_taskmanager_pod, session_configuration
    from kubeflink.spec.inputs import Inputs

    pod = json.dumps(
        build_taskmanager_pod(
            session_configuration(configuration()),
            attempt=1,
            index=1,
            deployment=deployment,
            inputs=Inputs(),
        )
    )
    for index in range(1, count + 1):
        named = json.loads(pod.replace("taskmanager-1-1", f"taskmanager-1-{index}"))
        made = await store.create(objects.PODS, "default", named)
        conditions = [
            {"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
            for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ]
        status = {"phase": "Running", "conditions": conditions, "podIP": "10.0.0.1"}
        await store.replace(
            objects.PODS, "default", {**made, "status": status}, subresource="status"
        )


if __name__ == "__main__":
    asyncio.run(serve())
