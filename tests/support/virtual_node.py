"""A node of the real Kubernetes whose pods are processes of this machine: real Flink on it.

The kubelet is that of the embedded Kubernetes (`kubeflink.local`), over a store that is the real
API server. So real Flink meets the real API server, with its RBAC, admission, garbage collector and
Deployments, while its JVMs are started as in the embedded cluster.

What a cluster's network would do is done here: JVMs listen on 127.0.0.1, which the real API server
takes for no address of a pod. Towards it pods have this machine's own address, on which relays pass
on what comes for a Service's endpoints.

Each container gets the credentials of its pod's service account, as a kubeconfig; one whose pod
wants no token gets none.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from kubeflink import objects
from kubeflink.apiserver.deletion import DeleteOptions, Deletion
from kubeflink.apiserver.metadata import copy_json
from kubeflink.apiserver.selectors import ALL, Selection
from kubeflink.apiserver.store import ObjectList
from kubeflink.apiserver.watch import WatchEvent
from kubeflink.errors import NotFoundError
from kubeflink.jvm.flink_home import find_homes
from kubeflink.jvm.java import find_java
from kubeflink.kube.client import KubeClient
from kubeflink.kube.reflector import Reflector
from kubeflink.kube.status import Call, error_of_response
from kubeflink.local.events import EventRecorder
from kubeflink.local.kubelet import Kubelet
from kubeflink.local.node import NODE_NAME, Node
from kubeflink.local.ports import PortBook
from kubeflink.local.processes import Guardian
from kubeflink.local.relay import Relay
from kubeflink.local.seats import Seats
from kubeflink.local.services import ServiceController
from kubeflink.local.settings import FAST_START, BackOff
from kubeflink.local.state import new_ephemeral, write_file
from kubeflink.objects import JsonObject, Resource
from support.real_cluster import Namespace, put_status

LOOPBACK = "127.0.0.1"
_TOKENS = "/var/run/secrets/kubernetes.io/serviceaccount"


def own_address() -> str:
    """An address of this machine that is none of the loopback's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing
        return str(probe.getsockname()[0])


@asynccontextmanager
async def virtual_node(namespace: Namespace, *, flink_homes: tuple[Path, ...] = ()) -> Any:
    """Run the pods of one namespace while the block lasts; all processes end with it."""
    async with AsyncExitStack() as exits:
        state = exits.enter_context(new_ephemeral())
        guardian = Guardian()
        guardian.start()
        exits.callback(guardian.stop)
        # For containers without a token: an address, and nobody to be.
        nobody = namespace.control_plane.write_kubeconfig({}, namespace=namespace.name)
        write_file(state.kubeconfig, nobody.read_text(), mode=0o600)
        book = PortBook(state.ports_file)
        node = Node(
            state=state,
            homes=find_homes(flink_homes),
            java=find_java(),
            ports=book,
            guardian=guardian,
            jvm_options=FAST_START,
            back_off=BackOff(initial=0.5, maximum=4.0),
        )
        store = await exits.enter_async_context(RealStore.open(namespace))
        kubelet = Kubelet(node, store, Seats(book))
        events = EventRecorder(store, "controller", NODE_NAME)
        services = ServiceController(store, events, book, kubelet.real_port)
        await _register(namespace.client, node)
        main = asyncio.create_task(_run(kubelet, services), name="virtual node")
        try:
            yield kubelet
        finally:
            main.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(main, return_exceptions=True)
            await kubelet.stop_everything(0.0)
            with contextlib.suppress(NotFoundError):
                await namespace.client.delete(objects.NODES, NODE_NAME)


async def _run(*parts: Any) -> None:
    async with asyncio.TaskGroup() as group:
        for part in parts:
            group.create_task(part.run(), name=type(part).__name__)


async def _register(client: KubeClient, node: Node) -> None:
    """The Node; admission marks it as not ready, so that the scheduler leaves its pods to us."""
    described = node.as_object("v1.36.0")
    made = await client.create({**described, "status": {}})
    described["status"]["addresses"] = [{"type": "InternalIP", "address": own_address()}]
    await put_status(client, objects.NODES, {**made, "status": described["status"]})


class RealStore:
    """A `Store` over the real API server, of one namespace, as the node's kubelet sees it."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._client = namespace.client
        self._address = own_address()
        self._relays: dict[int, Relay] = {}
        self._accounts: dict[str, Path] = {}
        self._watches: list[_Watch] = []
        self._tasks: set[asyncio.Future[None]] = set()

    @classmethod
    @asynccontextmanager
    async def open(cls, namespace: Namespace) -> AsyncIterator[RealStore]:
        store = cls(namespace)
        try:
            yield store
        finally:
            for watch in store._watches:
                await watch.end()
            for relay in store._relays.values():
                relay.close()

    async def create(
        self, resource: Resource, namespace: str | None, obj: JsonObject, *, dry_run: bool = False
    ) -> JsonObject:
        if resource == objects.ENDPOINTS:
            obj = self._relayed(obj)
        return await self._client.create(obj, namespace, dry_run=dry_run)

    async def get(self, resource: Resource, namespace: str | None, name: str) -> JsonObject:
        found = await self._client.get(resource, name, namespace)
        if resource == objects.ENDPOINTS:
            return _unrelayed(found, self._address)
        return await self._seen(resource, found)

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        selection: Selection = ALL,
        limit: int = 0,
        after: tuple[str, str] | None = None,
    ) -> ObjectList:
        found = await self._client.list(resource, namespace or self._namespace.name)
        items = [await self._seen(resource, obj) for obj in found.items]
        return ObjectList(items, found.resource_version)

    async def replace(
        self,
        resource: Resource,
        namespace: str | None,
        obj: JsonObject,
        *,
        subresource: Literal["", "status"] = "",
        dry_run: bool = False,
    ) -> JsonObject:
        if resource == objects.ENDPOINTS:
            stored = await self._client.get(resource, objects.name_of(obj), namespace)
            version = stored["metadata"]["resourceVersion"]
            relayed = self._relayed(obj)
            metadata = {**relayed["metadata"], "resourceVersion": version}
            return await self._client.replace({**relayed, "metadata": metadata})
        if resource == objects.PODS and not subresource:
            return await self._bind(obj)
        if subresource:
            if resource == objects.PODS:
                return await self._write_status(obj)
            return await self._send("PUT", resource, obj, "status")
        return await self._client.replace(obj, namespace, dry_run=dry_run)

    async def delete(
        self, resource: Resource, namespace: str | None, name: str, options: DeleteOptions
    ) -> Deletion:
        await self._client.delete(
            resource, name, namespace, uid=options.uid, grace_period=options.grace_period
        )
        return Deletion({}, gone=True)

    def watch(self, resource: Resource, namespace: str | None = None, **more: Any) -> _Watch:
        watch = _Watch(self._client, resource, self._seen)
        self._watches.append(watch)
        return watch

    # What differs between the API server's pods and the node's.

    async def _seen(self, resource: Resource, obj: JsonObject) -> JsonObject:
        """A pod as the kubelet sees it: on the loopback, with a kubeconfig instead of a token."""
        if resource != objects.PODS:
            return obj
        pod = copy_json(obj)
        status, spec = pod.get("status") or {}, pod["spec"]
        if status.get("podIP"):
            status |= {"podIP": LOOPBACK, "podIPs": [{"ip": LOOPBACK}]}
        tokens = {
            mount["name"]
            for container in _containers(spec)
            for mount in container.get("volumeMounts") or ()
            if mount["mountPath"] == _TOKENS
        }
        for container in _containers(spec):
            mounts = container.get("volumeMounts") or []
            container["volumeMounts"] = [m for m in mounts if m["name"] not in tokens]
            if any(mount["name"] in tokens for mount in mounts):
                path = await self._credentials(spec.get("serviceAccountName") or "default")
                container["env"] = [
                    {"name": "KUBECONFIG", "value": str(path)},
                    *(container.get("env") or ()),
                ]
        return pod

    async def _credentials(self, account: str) -> Path:
        if account not in self._accounts:
            self._accounts[account] = await self._namespace.as_account(account)
        return self._accounts[account]

    async def _write_status(self, pod: JsonObject) -> JsonObject:
        """The status without what is the API server's to say, and with addresses of its world."""
        status = {key: value for key, value in pod["status"].items() if key != "qosClass"}
        for one, many in (("podIP", "podIPs"), ("hostIP", "hostIPs")):
            if status.get(one):
                status |= {one: self._address, many: [{"ip": self._address}]}
        version = {"resourceVersion": pod["metadata"]["resourceVersion"]}
        body = {"metadata": version, "status": status}
        written = await self._send("PATCH", objects.PODS, pod, "status", body)
        return await self._seen(objects.PODS, written)

    async def _bind(self, pod: JsonObject) -> JsonObject:
        """What the embedded kubelet writes by itself is for a scheduler to say here."""
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": objects.name_of(pod), "uid": objects.uid_of(pod)},
            "target": {"apiVersion": "v1", "kind": "Node", "name": pod["spec"]["nodeName"]},
        }
        await self._send("POST", objects.PODS, pod, "binding", binding)
        return await self.get(objects.PODS, objects.namespace_of(pod), objects.name_of(pod))

    async def _send(
        self,
        method: str,
        resource: Resource,
        obj: JsonObject,
        subresource: str,
        body: JsonObject | None = None,
    ) -> JsonObject:
        name, namespace = objects.name_of(obj), objects.namespace_of(obj)
        path = resource.path(f"{name}/{subresource}", namespace)
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        answer = await self._client.http.request(
            method, path, json=body or obj, headers={"Content-Type": kind}
        )
        if not answer.is_success:
            call = Call("update", resource, namespace, name, subresource)
            raise error_of_response(answer, call, self._client.access)
        return dict(answer.json())

    def _relayed(self, endpoints: JsonObject) -> JsonObject:
        """The Endpoints with this machine's address, on which the same ports are passed on."""
        relayed = copy_json(endpoints)
        for subset in relayed.get("subsets") or ():
            for address in subset.get("addresses") or ():
                address["ip"] = self._address
            for port in subset.get("ports") or ():
                self._relay(port["port"])
        return relayed

    def _relay(self, port: int) -> None:
        if port not in self._relays:
            relay = self._relays[port] = Relay(lambda: _at_loopback(port))
            task = asyncio.ensure_future(relay.listen(self._address, port))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


async def _at_loopback(port: int) -> tuple[str, int]:
    return LOOPBACK, port


def _unrelayed(endpoints: JsonObject, address: str) -> JsonObject:
    found = copy_json(endpoints)
    for subset in found.get("subsets") or ():
        for each in subset.get("addresses") or ():
            each["ip"] = LOOPBACK if each["ip"] == address else each["ip"]
    return found


def _containers(spec: JsonObject) -> Iterator[JsonObject]:
    yield from spec.get("initContainers") or ()
    yield from spec["containers"]


class _Watch:
    """A `Watch` over a reflector, whose changes are told in batches."""

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        seen: Callable[[Resource, JsonObject], Awaitable[JsonObject]],
    ) -> None:
        self._events: asyncio.Queue[WatchEvent] = asyncio.Queue()
        self._task = asyncio.create_task(
            self._follow(client, resource, seen), name=f"watch of {resource.plural}"
        )

    async def batch(self) -> list[WatchEvent]:
        waiting = asyncio.create_task(self._events.get(), name="next event")
        try:
            await asyncio.wait({waiting, self._task}, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                self._task.result()
                raise AssertionError("a watch ends with an error")
            return [waiting.result()]
        finally:
            waiting.cancel()

    async def end(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(
        self,
        client: KubeClient,
        resource: Resource,
        seen: Callable[[Resource, JsonObject], Awaitable[JsonObject]],
    ) -> None:
        kinds = {"added": "ADDED", "modified": "MODIFIED", "deleted": "DELETED"}
        async with Reflector(client, resource) as reflector:
            async for change in reflector.changes():
                obj = await seen(resource, change.object)
                self._events.put_nowait(WatchEvent(kinds[change.type], obj))
