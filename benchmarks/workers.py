"""Workers asked for at once: by Flink's own driver, and by the same JobManager through a broker.

A real JobManager is told to have a number of slots (`slotmanager.number-of-slots.min`), against an
API server without a kubelet: pods are made, and none of them ever runs. JobManager, API server and
broker are processes of their own, as far away from each other as they can be on one machine. The
two ways are taken in turn, in one run. Measured are the seconds from the first request to the last
pod, the CPU seconds and the peak memory of each process, and the requests at the API server.

`--hold N` measures something else: the broker's memory with N pods, held and watched.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")
SECONDS = 300.0
LABELS = "app=demo,component=taskmanager,type=flink-native-kubernetes"
OPTIONS = {
    "kubernetes.cluster-id": "demo",
    "jobmanager.memory.process.size": "1600m",
    "taskmanager.memory.process.size": "1728m",
    "taskmanager.numberOfTaskSlots": "1",
    "resourcemanager.taskmanager-registration.timeout": "30 min",
}


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process has used: CPU seconds, and MB at most."""

    cpu: float
    peak: float

    @classmethod
    def of(cls, pid: int) -> Usage:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        cpu = (int(fields[11]) + int(fields[12])) / TICKS
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return cls(cpu, int(line.split()[1]) / 1024)
        raise RuntimeError("no VmHWM")


@dataclass(frozen=True, slots=True)
class Result:
    """One way, once. `seconds` go from the first request for a pod to the last pod."""

    way: str
    seconds: float
    requests: float
    jobmanager: Usage
    server: Usage
    broker: Usage | None


# --- processes -------------------------------------------------------------------------------


@asynccontextmanager
async def process(*words: str, **options: Any) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that is killed at the end."""
    started = await asyncio.create_subprocess_exec(*words, **options)
    try:
        yield started
    finally:
        if started.returncode is None:
            os.kill(started.pid, signal.SIGKILL)
        await started.wait()


class Server:
    """The API server's process, and what it tells about pods."""

    def __init__(self, running: asyncio.subprocess.Process, url: str) -> None:
        self._running = running
        self.pid = running.pid
        self.url = url

    async def ask(self, question: str) -> dict[str, Any]:
        """One line there, one line back."""
        assert self._running.stdin is not None
        assert self._running.stdout is not None
        self._running.stdin.write(f"{question}\n".encode())
        answer: dict[str, Any] = json.loads(await self._running.stdout.readline())
        return answer


@asynccontextmanager
async def api_server() -> AsyncIterator[Server]:
    """An API server with the cluster's objects in it."""
    words = (sys.executable, __file__, "--serve")
    pipe = asyncio.subprocess.PIPE
    async with process(*words, stdin=pipe, stdout=pipe, limit=1 << 24) as running:
        assert running.stdout is not None
        yield Server(running, (await running.stdout.readline()).decode().strip())


async def serve() -> None:
    """Be the API server, until killed; answer questions on standard input."""
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
    for obj in built.accompanying:
        owner = [objects.owner_reference(deployment)]
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
            answer = {"times": times, "requests": len(plan.requests)}
            print(json.dumps(answer), flush=True)


async def fill(store: Any, deployment: dict[str, Any], count: int) -> None:
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


def configuration() -> Any:
    """The cluster's configuration."""
    from kubeflink import config

    return config.load(conf_dir=None, dynamic=list(OPTIONS.items()), version="2.3", environ={})


def specification() -> Any:
    """The objects of the cluster."""
    from kubeflink import spec

    return spec.build_jobmanager(spec.session_configuration(configuration()), environ={})


@asynccontextmanager
async def broker(server: Server, directory: Path) -> AsyncIterator[tuple[int, Path]]:
    """A broker's process, and the kubeconfig for the JobManager."""
    from kubeflink.broker.process import write_credentials
    from kubeflink.spec.broker import client_kubeconfig, make_credentials

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    made = make_credentials("demo", "default")
    write_credentials(made, directory / "credentials")
    theirs = directory / "jobmanager.kubeconfig"
    theirs.write_text(client_kubeconfig(made, f"https://127.0.0.1:{port}", "default"))
    mine = kubeconfig(server.url, directory / "broker.kubeconfig")
    async with process(
        *(sys.executable, "-m", "kubeflink", "broker", "demo", "--kubeconfig", str(mine)),
        *("--port", str(port), "--metrics-port", "0"),
        *("--credentials", str(directory / "credentials")),
        stderr=asyncio.subprocess.PIPE,
    ) as running:
        assert running.stderr is not None
        while b"metrics" not in (line := await running.stderr.readline()):
            if not line:
                raise RuntimeError("the broker has ended")
        draining = asyncio.create_task(running.stderr.read())
        yield running.pid, theirs
        draining.cancel()


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


@asynccontextmanager
async def jobmanager(config_file: Path, directory: Path, slots: int) -> AsyncIterator[int]:
    """Flink's own JobManager, which wants so many slots."""
    from kubeflink.jvm.flink_home import find_homes
    from kubeflink.jvm.java import find_java
    from kubeflink.spec import names

    home, java = find_homes().default, find_java()
    conf = directory / "conf"
    conf.mkdir(parents=True)
    maps = [obj for obj in specification().accompanying if obj["kind"] == "ConfigMap"]
    for name, text in maps[0]["data"].items():
        (conf / name).write_text(text)
    options = {
        "jobmanager.rpc.address": "127.0.0.1",
        "jobmanager.bind-host": "127.0.0.1",
        "jobmanager.rpc.port": "0",
        "blob.server.port": "0",
        "rest.bind-address": "127.0.0.1",
        "rest.bind-port": "0",
        "io.tmp.dirs": str(directory),
        "$internal.deployment.config-dir": str(conf),
        "slotmanager.number-of-slots.min": str(slots),
    }
    command = [
        str(java.executable),
        *("-Xmx1024m", "-Xms256m", "-XX:+IgnoreUnrecognizedVMOptions"),
        *home.module_options(),
        *java.version_options(),
        *("-classpath", home.class_path()),
        "org.apache.flink.kubernetes.entrypoint.KubernetesSessionClusterEntrypoint",
        *(word for key, value in options.items() for word in ("-D", f"{key}={value}")),
    ]
    environ = {
        **os.environ,
        "FLINK_CONF_DIR": str(conf),
        "KUBECONFIG": str(config_file),
        "_POD_IP_ADDRESS": "127.0.0.1",
        "FLINK_LIB_DIR": str(home.lib),
        "FLINK_OPT_DIR": str(home.opt),
        "FLINK_PLUGINS_DIR": str(home.plugins),
    }
    assert names.deployment_name("demo") == "demo"
    with (directory / "log").open("wb") as log:
        async with process(*command, env=environ, stdout=log, stderr=log) as running:
            yield running.pid


# --- what is measured ------------------------------------------------------------------------


async def measure(way: str, pods: int) -> Result:
    """One way, once."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = await stack.enter_async_context(api_server())
        config_file, broker_pid = kubeconfig(server.url, directory / "kubeconfig"), None
        if way == "broker":
            broker_pid, config_file = await stack.enter_async_context(broker(server, directory))
        before = (await server.ask("times"))["requests"]
        pid = await stack.enter_async_context(
            jobmanager(config_file, directory / "jobmanager", pods)
        )
        seen = await until(server, pods)
        return Result(
            way,
            seen["times"][pods - 1] - seen["times"][0],
            (seen["requests"] - before) / pods,
            Usage.of(pid),
            Usage.of(server.pid),
            None if broker_pid is None else Usage.of(broker_pid),
        )


async def until(server: Server, pods: int) -> dict[str, Any]:
    """The server's answer, when all pods are there."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        seen = await server.ask("times")
        if len(seen["times"]) >= pods:
            return seen
        await asyncio.sleep(0.5)
    raise RuntimeError(f"only {len(seen['times'])} of {pods} pods after {SECONDS:.0f} s")


async def run(pods: int, rounds: int) -> None:
    """Measure in turn, and print."""
    results = []
    for _ in range(rounds):
        for way in ("driver", "broker"):
            results.append(await measure(way, pods))
            print(_line(results[-1], pods), flush=True)
    medians = {
        way: statistics.median(r.seconds for r in results if r.way == way)
        for way in ("driver", "broker")
    }
    print(
        f"median: {pods / medians['driver']:.0f} pods a second by Flink's driver, "
        f"{pods / medians['broker']:.0f} through the broker; "
        f"{100 * (medians['broker'] / medians['driver'] - 1):+.0f} % time"
    )


def _line(result: Result, pods: int) -> str:
    parts = [("JobManager", result.jobmanager), ("API server", result.server)]
    if result.broker is not None:
        parts.append(("broker", result.broker))
    used = ", ".join(f"{name} {u.cpu:.1f} s CPU {u.peak:.0f} MB" for name, u in parts)
    return (
        f"{result.way}: {pods} pods in {result.seconds:.1f} s ({pods / result.seconds:.0f}/s), "
        f"{result.requests:.2f} requests a pod; {used}"
    )


async def hold(count: int) -> None:
    """The broker's memory with so many pods, all of which were told to a watcher."""
    import ssl

    import aiohttp
    import yaml

    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        async with api_server() as server:
            await server.ask(f"fill {count}")
            async with broker(server, directory) as (pid, config_file):
                found = yaml.safe_load(config_file.read_text())
                cluster = found["clusters"][0]["cluster"]
                import base64

                authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
                context = ssl.create_default_context(cadata=authority)
                token = found["users"][0]["user"]["token"]
                async with aiohttp.ClientSession(
                    cluster["server"], headers={"Authorization": f"Bearer {token}"}
                ) as session:
                    path = "/api/v1/namespaces/default/pods"
                    listed: dict[str, Any] = {}
                    while len(listed.get("items") or ()) < count:
                        async with session.get(path, ssl=context) as answer:
                            listed = await answer.json()
                        await asyncio.sleep(0.2)
                    query = f"?watch=true&resourceVersion=0&labelSelector={LABELS}"
                    async with session.ws_connect(f"{path}{query}", ssl=context) as socket:
                        for _ in range(count):
                            await socket.receive_str()
                usage = Usage.of(pid)
                print(
                    f"{count:,} pods held and watched: {usage.peak:.0f} MB, {usage.cpu:.1f} s CPU"
                )


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--hold", type=int, metavar="N")
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
    elif options.hold:
        asyncio.run(hold(options.hold))
    else:
        asyncio.run(run(options.pods, options.rounds))


if __name__ == "__main__":
    main()
