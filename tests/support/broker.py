"""A broker between a stand-in for the JobManager and an API server of our own as the real one."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from kubeflink import config, objects, spec
from kubeflink.apiserver.faults import FaultPlan
from kubeflink.apiserver.reviews import Attributes, Authorizer
from kubeflink.apiserver.server import ApiServer
from kubeflink.apiserver.store import ObjectStore
from kubeflink.broker.blueprint import Blueprint, ClusterFiles, make_blueprint, read_blueprint
from kubeflink.broker.connections import AiohttpConnections
from kubeflink.broker.driver import Timing
from kubeflink.broker.process import ONE_ATTEMPT, Broker, Listening
from kubeflink.broker.tally import NOTE
from kubeflink.config.versions import FlinkVersion
from kubeflink.kube import KubeClient
from kubeflink.objects import JsonObject, owner_reference
from kubeflink.spec import JobManagerSpec, names

TOKEN = "a-token-of-the-jobmanager"
PODS = "/api/v1/namespaces/default/pods"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SERVICES = "/api/v1/namespaces/default/services"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SELECTOR = "labelSelector=app%3Ddemo%2Ccomponent%3Dtaskmanager%2Ctype%3Dflink-native-kubernetes"

SIZES: Mapping[str, str] = {
    "jobmanager.memory.process.size": "1600m",
    "taskmanager.memory.process.size": "1728m",
    "taskmanager.numberOfTaskSlots": "1",
}

HA: Mapping[str, str] = {
    "high-availability.type": "kubernetes",
    "high-availability.storageDir": "file:///ha",
}

THEIRS = "what is in it is theirs"
"""In ConfigMaps that are none of the broker's business."""

QUICK = Timing(
    answer=3.0, unclaimed=1.0, refused_first=0.01, refused_longest=0.05, retry_first=0.01
)


async def until(holds: Callable[[], Awaitable[object]], timeout: float = 20.0) -> None:
    """Wait until something is true; fails the test when it does not become so."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if await holds():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not become true")


def cluster_spec(options: Mapping[str, str] | None = None, version: str = "2.3") -> JobManagerSpec:
    """The objects of the session cluster `demo`."""
    given = {"kubernetes.cluster-id": "demo", **SIZES, **(options or {})}
    loaded = config.load(conf_dir=None, dynamic=list(given.items()), version=version, environ={})
    return spec.build_jobmanager(spec.session_configuration(loaded), environ={})


def blueprint_of(
    built: JobManagerSpec,
    deployment: JsonObject,
    directory: Path,
    version: FlinkVersion | None = None,
) -> Blueprint:
    """The blueprint, as a broker whose pod mounts the cluster's ConfigMaps reads it.

    The version is that of the image, if it is not given.
    """
    maps = {objects.name_of(o): o for o in built.accompanying if o["kind"] == "ConfigMap"}
    conf = directory / "mounted"
    conf.mkdir(parents=True)
    for name, text in maps[names.config_map_name(built.cluster_id)]["data"].items():
        (conf / name).write_text(text, encoding="utf-8")
    template = maps.get(names.pod_template_config_map_name(built.cluster_id))
    text = None if template is None else next(iter(template["data"].values()))
    return make_blueprint(
        built.cluster_id,
        built.namespace,
        deployment,
        ClusterFiles(conf, text),
        version or _version(built),
    )


def _version(built: JobManagerSpec) -> FlinkVersion:
    containers = built.deployment["spec"]["template"]["spec"]["containers"]
    (image,) = (c["image"] for c in containers if c["name"] == names.MAIN_CONTAINER)
    version = config.versions.version_of_image(image)
    assert version is not None
    return version


@dataclass
class RealCluster:
    """The API server with a deployed cluster `demo` in it."""

    store: ObjectStore
    server: ApiServer
    faults: FaultPlan
    deployment: JsonObject = field(default_factory=dict)

    @property
    def uid(self) -> str:
        return objects.uid_of(self.deployment)

    async def pods(self) -> dict[str, JsonObject]:
        found = (await self.store.list(objects.PODS, "default")).items
        return {objects.name_of(pod): pod for pod in found}

    async def everything(self) -> dict[str, list[JsonObject]]:
        """All objects that there are, by the plural of their kind."""
        return {
            resource.plural: [dict(obj) for obj in (await self.store.list(resource)).items]
            for resource in objects.RESOURCES
        }

    async def set_status(self, name: str, **status: Any) -> None:
        pod = await self.store.get(objects.PODS, "default", name)
        pod["status"] = {**(pod.get("status") or {}), **status}
        await self.store.replace(objects.PODS, "default", pod, subresource="status")

    async def written(self) -> list[tuple[str, str]]:
        return self.writes()

    def writes(self) -> list[tuple[str, str]]:
        """All requests that change pods, in order."""
        return [r for r in self.faults.requests if r[0] != "GET" and "/pods" in r[1]]


class RoleOf:
    """An authorizer that allows what a Role's rules allow, and the deploying client everything."""

    def __init__(self, rules: list[JsonObject]) -> None:
        self.rules = rules

    def allows(self, attributes: Attributes) -> bool:
        return any(
            attributes.group in rule["apiGroups"]
            and "/".join(filter(None, (attributes.resource, attributes.subresource)))
            in rule["resources"]
            and attributes.verb in rule["verbs"]
            and attributes.namespace == "default"
            and ("resourceNames" not in rule or attributes.name in rule["resourceNames"])
            for rule in self.rules
        )


@asynccontextmanager
async def real_cluster(
    built: JobManagerSpec, authorizer: Authorizer | None = None
) -> AsyncIterator[RealCluster]:
    """An API server with the cluster's objects."""
    store, faults = ObjectStore(), FaultPlan()
    async with ApiServer(store, faults=faults, authorizer=authorizer) as server:
        cluster = RealCluster(store, server, faults)
        cluster.deployment = await store.create(objects.DEPLOYMENTS, "default", built.deployment)
        owner = [owner_reference(cluster.deployment)]
        for obj in built.accompanying:
            owned = {**obj, "metadata": {**obj["metadata"], "ownerReferences": owner}}
            await store.create(objects.resource_of(obj), "default", owned)
        yield cluster


def kubeconfig(server: ApiServer, directory: Path) -> Path:
    """A kubeconfig for a server without TLS and token."""
    directory.mkdir(exist_ok=True)
    path = directory / "kubeconfig"
    context = {"name": "test", "context": {"cluster": "test", "user": "test"}}
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "test", "cluster": {"server": server.url}}],
                "users": [{"name": "test", "user": {}}],
                "contexts": [context],
                "current-context": "test",
            }
        )
    )
    return path


@asynccontextmanager
async def one_attempt_client(cluster: RealCluster, directory: Path) -> AsyncIterator[KubeClient]:
    """The client that a broker is given."""
    path = kubeconfig(cluster.server, directory)
    async with KubeClient.connect(
        kubeconfig=path, environ={}, limits=ONE_ATTEMPT, connections=AiohttpConnections
    ) as client:
        yield client


@asynccontextmanager
async def running_broker(
    cluster: RealCluster, directory: Path, *, timing: Timing = QUICK
) -> AsyncIterator[Broker]:
    """A broker for `demo`, listening without TLS."""
    async with one_attempt_client(cluster, directory) as client:
        blueprint = await read_blueprint(client, "demo", "default")
        async with Broker(client, blueprint, Listening(TOKEN, None), timing=timing) as broker:
            await broker.ready()
            yield broker


def kill(broker: Broker) -> None:
    """End all that runs and all connections at once, as the end of the process would."""
    broker.server.drop_connections()
    for task in asyncio.all_tasks():
        if task.get_name() == "part of the broker" or task.get_name().startswith("create demo-"):
            task.cancel()


class JobManager:
    """What a JobManager says to its broker, and what it hears."""

    def __init__(self, broker: Broker, session: aiohttp.ClientSession) -> None:
        self.broker = broker
        self._session = session

    async def call(
        self, method: str, path: str, body: Any = None, *, token: str | None = TOKEN, **headers: str
    ) -> tuple[int, JsonObject]:
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        data = None if body is None else json.dumps(body).encode()
        headers.setdefault("Content-Type", "application/json; charset=utf-8")
        url = f"{self.broker.server.url}{path}"
        async with self._session.request(method, url, data=data, headers=headers) as answer:
            return answer.status, json.loads(await answer.read() or b"{}")

    async def ask(self, index: int, attempt: int = 1, **changes: Any) -> tuple[int, JsonObject]:
        """Ask for a worker, as Flink does."""
        return await self.call("POST", PODS, self.request(index, attempt, **changes))

    def request(self, index: int, attempt: int = 1, **changes: Any) -> JsonObject:
        return worker_request(self.broker.blueprint, index, attempt, **changes)

    async def workers(self) -> dict[str, JsonObject]:
        status, found = await self.call("GET", f"{PODS}?{SELECTOR}&resourceVersion=0")
        assert status == 200
        return {objects.name_of(pod): pod for pod in found["items"]}

    @asynccontextmanager
    async def watch(self, version: str = "0") -> AsyncIterator[Events]:
        url = f"{self.broker.server.url}{PODS}?{SELECTOR}&resourceVersion={version}&watch=true"
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with self._session.ws_connect(url, headers=headers) as socket:
            yield Events(socket)


class Events:
    """The events of a watch over WebSocket, as fabric8 reads them."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self.version = ""

    async def next(self, timeout: float = 20.0) -> tuple[str, JsonObject]:
        event = json.loads(await self._socket.receive_str(timeout=timeout))
        self.version = event["object"]["metadata"]["resourceVersion"]
        return event["type"], event["object"]

    async def until(self, kind: str, name: str) -> JsonObject:
        """The next event of this kind about this pod."""
        while True:
            seen, obj = await self.next()
            assert seen != "ERROR", obj
            if (seen, objects.name_of(obj)) == (kind, name):
                return obj


@asynccontextmanager
async def jobmanager(broker: Broker) -> AsyncIterator[JobManager]:
    """A stand-in for the JobManager of a broker."""
    async with aiohttp.ClientSession() as session:
        yield JobManager(broker, session)


@asynccontextmanager
async def brokered(
    built: JobManagerSpec, directory: Path, authorizer: Authorizer | None = None
) -> AsyncIterator[tuple[RealCluster, JobManager]]:
    """A deployed cluster, and its JobManager at a broker."""
    async with (
        real_cluster(built, authorizer) as cluster,
        running_broker(cluster, directory) as broker,
        jobmanager(broker) as flink,
    ):
        yield cluster, flink


async def noted(cluster: RealCluster, broker: Broker) -> None:
    """Let the broker write its note for a first worker, so that nothing is written later on."""

    async def is_written() -> bool:
        service = await cluster.store.get(objects.SERVICES, "default", "demo-rest")
        return NOTE in objects.annotations_of(service)

    async with jobmanager(broker) as flink:
        assert (await flink.ask(1))[0] == 201
        await until(is_written)
        path = f"{PODS}/{names.taskmanager_pod_name('demo', 1, 1)}"
        assert (await flink.call("DELETE", path))[0] == 200


def worker_request(
    blueprint: Blueprint, index: int = 1, attempt: int = 1, **changes: Any
) -> JsonObject:
    """The pod that Flink's driver would post; `changes` are members of its spec."""
    from kubeflink.spec.taskmanager import RequestedTaskManager, build_requested_taskmanager

    name = names.taskmanager_pod_name(blueprint.cluster_id, attempt, index)
    properties = {
        "taskmanager.resource-id": name,
        "web.tmpdir": f"/tmp/flink-web-{attempt}",
        "jobmanager.rpc.port": "6123",
    }
    requested = RequestedTaskManager(name, properties, blueprint.worker)
    pod = build_requested_taskmanager(
        blueprint.running, requested, deployment=blueprint.deployment, inputs=blueprint.inputs
    )
    pod["spec"] |= changes
    return pod
