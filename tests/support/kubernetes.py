"""The project's own API server with objects in memory, and just enough around it for clusters.

There is no kubelet: a test says what pods exist and how they are. A garbage collector removes what
an owner leaves behind, and requests through the service proxy go wherever the test says.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from kubeflink import errors, objects
from kubeflink.apiserver import statuses
from kubeflink.apiserver.deletion import DeleteOptions
from kubeflink.apiserver.faults import FaultPlan
from kubeflink.apiserver.pods import LogOptions
from kubeflink.apiserver.reviews import Attributes
from kubeflink.apiserver.server import ApiServer
from kubeflink.apiserver.store import ObjectStore
from kubeflink.kube.access import ClusterAccess
from kubeflink.kube.client import KubeClient
from kubeflink.kube.exchange import Limits
from kubeflink.objects import JsonObject, Resource

FLINK_LABELS = {"app": "demo", "type": "flink-native-kubernetes"}

_COLLECTED = (objects.SERVICES, objects.CONFIG_MAPS, objects.PODS, objects.SECRETS)


@dataclass
class Behind:
    """Where the service proxy leads to: `host:port` by Service name."""

    places: dict[str, tuple[str, int]] = field(default_factory=dict)

    async def address(self, namespace: str, service: str, port: str) -> tuple[str, int]:
        if service not in self.places:
            raise statuses.unavailable(f'no endpoints available for service "{service}"')
        return self.places[service]


@dataclass
class Rights:
    """An authorizer: everything is allowed but what is named, such as `create services/proxy`."""

    denied: set[str] = field(default_factory=set)

    def allows(self, attributes: Attributes) -> bool:
        resource = "/".join(filter(None, [attributes.resource, attributes.subresource]))
        return f"{attributes.verb} {resource}" not in self.denied


@dataclass
class Pods:
    """A pod backend: the lines that a test lets pods log, and where their ports lead to."""

    lines: dict[str, list[str]] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    cut: dict[str, str] = field(default_factory=dict)
    """Pods whose log is cut, once for all who follow it: `closed` as at its end, or `broken`."""
    place: tuple[str, int] | None = None

    async def log(
        self, namespace: str, pod: str, container: str, options: LogOptions
    ) -> AsyncIterator[bytes]:
        if pod not in self.lines:
            raise errors.BadRequestError(f"container in pod {pod} is waiting to start", code=400)
        tail = options.tail_lines
        position = 0 if tail is None else max(0, len(self.lines[pod]) - tail)
        while True:
            is_last = not options.follow or pod in self.ended
            for line in self.lines[pod][position:]:
                yield f"{line}\n".encode()
                position += 1
            if options.follow and (how := self.cut.pop(pod, None)):
                if how == "broken":
                    raise errors.ServerError("the node has gone", code=500)
                return
            if is_last:
                return
            await asyncio.sleep(0.02)

    async def connect(
        self, namespace: str, pod: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.place is None:
            raise ConnectionRefusedError(f"nobody listens on {port}")
        return await asyncio.open_connection(*self.place)


@dataclass
class SmallKubernetes:
    """One API server, its store and a client of it."""

    store: ObjectStore
    server: ApiServer
    client: KubeClient
    behind: Behind
    faults: FaultPlan
    rights: Rights
    pods: Pods

    async def add_pod(
        self,
        name: str,
        status: JsonObject,
        *,
        component: str = "jobmanager",
        image: str = "flink:9.9",
        node: str | None = None,
    ) -> None:
        """A pod of the cluster `demo`, or of its broker, which has not the labels of a Flink."""
        is_broker = component == "broker"
        labels = {"app": "demo"} if is_broker else FLINK_LABELS
        container = {
            "name": "broker" if is_broker else "flink-main-container",
            "image": image,
            "ports": [{"name": "rest", "containerPort": 8081}],
            "resources": {"limits": {"memory": "1728Mi"}},
        }
        pod = {
            "metadata": {"name": name, "labels": {**labels, "component": component}},
            "spec": {"containers": [container], **({"nodeName": node} if node else {})},
        }
        await self.add(objects.PODS, pod)
        await self.set_status(name, status)

    async def set_status(self, name: str, status: JsonObject) -> None:
        """What a kubelet would say about a pod."""
        pod = await self.store.get(objects.PODS, "default", name)
        await self.store.replace(
            objects.PODS, "default", {**pod, "status": status}, subresource="status"
        )

    async def add(self, resource: Resource, obj: JsonObject, namespace: str = "default") -> Any:
        where = namespace if resource.namespaced else None
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
        return await self.store.create(resource, where, body)

    async def names(self, resource: Resource, namespace: str = "default") -> list[str]:
        found = await self.store.list(resource, namespace if resource.namespaced else None)
        return [objects.name_of(obj) for obj in found.items]

    async def remove(self, resource: Resource, name: str, namespace: str = "default") -> None:
        with contextlib.suppress(errors.NotFoundError):
            await self.store.delete(resource, namespace, name, DeleteOptions())

    async def until_asked(self, method: str, path: str) -> None:
        """Waits until a request of that method, whose path matches, has come in."""
        for _ in range(1000):
            if any(
                re.search(path, seen) for called, seen in self.faults.requests if called == method
            ):
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"no {method} {path}")

    async def collect_garbage(self) -> None:
        """Removes, again and again, what has an owner that does not exist."""
        while True:
            deployments = (await self.store.list(objects.DEPLOYMENTS)).items
            alive = {objects.uid_of(obj) for obj in deployments}
            for resource in _COLLECTED:
                for obj in (await self.store.list(resource)).items:
                    owners = objects.owner_uids(obj)
                    if owners and not owners & alive:
                        where = objects.namespace_of(obj) or ""
                        await self.remove(resource, objects.name_of(obj), where)
            await asyncio.sleep(0.02)


@asynccontextmanager
async def small_kubernetes(*, in_cluster: bool = False) -> AsyncIterator[SmallKubernetes]:
    """One of its own on a free port, ended at the end."""
    behind, faults, rights, pods = Behind(), FaultPlan(), Rights(), Pods()
    store = ObjectStore(namespaces=("default", "other"))
    async with ApiServer(
        store, proxy=behind, faults=faults, authorizer=rights, backend=pods
    ) as server:
        access = ClusterAccess(
            server=server.url, namespace="default", origin="a test", in_cluster=in_cluster
        )
        limits = Limits(total=5.0, first_contact=1.0, internal=2.0)
        async with KubeClient.of(access, environ={}, limits=limits) as client:
            kubernetes = SmallKubernetes(store, server, client, behind, faults, rights, pods)
            collector = asyncio.create_task(kubernetes.collect_garbage(), name="collector")
            try:
                yield kubernetes
            finally:
                collector.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await collector
