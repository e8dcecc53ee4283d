"""Services that can be reached: a port of 127.0.0.1 for each port of each Service.

What a Service leads to is looked up for each new connection, so a changed `targetPort`, a restarted
or replaced pod count at once; a connection that exists stays with the process it goes to. Only
ready pods are chosen, in turn; with `publishNotReadyAddresses` all that run.

A NodePort Service is reached on its node port, as everywhere. The other types get a port too, from
the same range, because nothing here has the cluster's addresses; it is told in the annotation
`kubeflink.io/addresses`, such as `rest=127.0.0.1:30123`. A LoadBalancer is in addition reached on
its own port and then has the ingress 127.0.0.1; while somebody else has that port it stays pending.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from kubeflink import objects
from kubeflink.apiserver import statuses
from kubeflink.apiserver.admission import AdmissionRequest
from kubeflink.apiserver.store import Store, modify
from kubeflink.errors import NotFoundError
from kubeflink.local.command import HOST
from kubeflink.local.deployment_status import is_ready
from kubeflink.local.events import EventRecorder
from kubeflink.local.node import NODE_NAME
from kubeflink.local.ports import NODE_PORTS, PortBook
from kubeflink.local.relay import Relay
from kubeflink.local.watching import reconcile_on_changes
from kubeflink.objects import JsonObject

ADDRESSES_ANNOTATION = "kubeflink.io/addresses"

_SEAT_PREFIX = "service "
_PERIOD = 30.0  # seconds; a port that was taken may be free again

_RelayKey: TypeAlias = tuple[str, int]

PortOf: TypeAlias = Callable[[JsonObject, int | str], Awaitable[int | None]]
"""Given a pod and one of its ports by number or name, the real port; None if it has none (yet)."""


class NodePortAdmission:
    """Gives Services node ports that are really free on this machine."""

    def __init__(self, book: PortBook) -> None:
        self._book = book

    def admit(self, request: AdmissionRequest) -> None:
        """Fill in node ports that the request and the stored Service leave open."""
        spec = request.object.get("spec") or {}
        if request.resource != objects.SERVICES or not _has_node_ports(spec):
            return
        stored = ((request.previous or {}).get("spec") or {}).get("ports") or ()
        before = {_port_name(port): port.get("nodePort") for port in stored}
        for port in spec.get("ports") or ():
            if port.get("nodePort") or before.get(_port_name(port)):
                continue
            seat = _seat(request.object, port)
            known = self._book.get(seat) if request.previous is not None else None
            port["nodePort"] = known or self._book.assign(seat, NODE_PORTS)


class ServiceController:
    """Listens for all Services and tells where. A `ServiceProxy` of the API server."""

    def __init__(
        self, store: Store, events: EventRecorder, book: PortBook, port_of: PortOf
    ) -> None:
        self._store = store
        self._events = events
        self._book = book
        self._port_of = port_of
        self._relays: dict[_RelayKey, Relay] = {}
        self._turns = itertools.count()

    async def run(self) -> None:
        """Until it is cancelled; then nothing listens any more."""
        try:
            resources = (objects.SERVICES, objects.PODS, objects.ENDPOINTS)
            await reconcile_on_changes(self._store, resources, self.reconcile, period=_PERIOD)
        finally:
            for relay in self._relays.values():
                relay.close()
            self._relays.clear()

    async def address(self, namespace: str, service: str, port: str) -> tuple[str, int]:
        """Where a port of a Service leads to now, by its name or number ("" for its only one)."""
        found = await self._store.get(objects.SERVICES, namespace, service)
        ports = found["spec"].get("ports") or []
        chosen = [each for each in ports if port in ("", each.get("name"), str(each["port"]))]
        if not chosen or (not port and len(ports) > 1):
            raise statuses.unavailable(f'no endpoints available for service "{service}"')
        target = await self._target(found, chosen[0])
        if target is None:
            raise statuses.unavailable(f'no endpoints available for service "{service}"')
        return HOST, target

    # What is listened on.

    async def reconcile(self) -> None:
        """One look at all Services."""
        services = [
            service
            for service in (await self._store.list(objects.SERVICES)).items
            if service["spec"].get("selector")
        ]
        wanted: set[_RelayKey] = set()
        seats: set[str] = set()
        for service in services:
            seats |= {_seat(service, port) for port in _ports(service)}
            wanted |= await self._serve(service)
            await self._write_endpoints(service)
        for key in self._relays.keys() - wanted:
            self._relays.pop(key).close()
        old = [seat for seat in self._book.seats() if seat.startswith(_SEAT_PREFIX)]
        self._book.release(set(old) - seats)

    async def _serve(self, service: JsonObject) -> set[_RelayKey]:
        """Listen for one Service; returns what has to be listened on."""
        keys: set[_RelayKey] = set()
        addresses = []
        for port in _ports(service):
            number = self._port_to_listen_on(service, port)
            keys.add((objects.uid_of(service), number))
            if await self._listen(service, port, number):
                addresses.append(f"{_port_name(port)}={HOST}:{number}")
        await self._annotate(service, ",".join(addresses))
        if service["spec"].get("type") == "LoadBalancer":
            keys |= await self._serve_load_balancer(service)
        return keys

    def _port_to_listen_on(self, service: JsonObject, port: JsonObject) -> int:
        seat = _seat(service, port)
        if port.get("nodePort"):
            self._book.claim(seat, port["nodePort"])
            return int(port["nodePort"])
        known = self._book.get(seat)
        if known is not None and (objects.uid_of(service), known) in self._relays:
            return known
        return self._book.assign(seat, NODE_PORTS)

    async def _listen(self, service: JsonObject, port: JsonObject, number: int) -> bool:
        """Listen on a port for a port of the Service; False, with an event, when it is taken."""
        key = (objects.uid_of(service), number)
        if key in self._relays:
            return True
        namespace, name = objects.namespace_of(service) or "", objects.name_of(service)
        relay = Relay(lambda: self.address(namespace, name, _port_name(port)))
        try:
            await relay.listen(HOST, number)
        except OSError as error:
            message = f"cannot listen on {HOST}:{number}: {error.strerror}"
            await self._events.record(service, "Warning", "PortUnavailable", message)
            return False
        self._relays[key] = relay
        return True

    async def _serve_load_balancer(self, service: JsonObject) -> set[_RelayKey]:
        """Listen on the Service's own ports as well, and tell the ingress once all of them do."""
        numbers = {int(port["port"]): port for port in _ports(service)}
        listening = [await self._listen(service, port, n) for n, port in numbers.items()]
        balancer = {"ingress": [{"ip": HOST}]} if all(listening) else {}

        def change(stored: JsonObject) -> JsonObject:
            return {**stored, "status": {"loadBalancer": balancer}}

        if (service.get("status") or {}).get("loadBalancer") != balancer:
            await self._modify(service, change, subresource="status")
        return {(objects.uid_of(service), number) for number in numbers}

    # What is told.

    async def _annotate(self, service: JsonObject, addresses: str) -> None:
        if objects.annotations_of(service).get(ADDRESSES_ANNOTATION, "") == addresses:
            return

        def change(stored: JsonObject) -> JsonObject:
            annotations = stored["metadata"].setdefault("annotations", {})
            annotations[ADDRESSES_ANNOTATION] = addresses
            return stored

        await self._modify(service, change)

    async def _modify(
        self,
        service: JsonObject,
        change: Callable[[JsonObject], JsonObject],
        *,
        subresource: Literal["", "status"] = "",
    ) -> None:
        uid = objects.uid_of(service)
        namespace, name = objects.namespace_of(service), objects.name_of(service)
        try:
            await modify(
                self._store,
                objects.SERVICES,
                namespace,
                name,
                lambda stored: change(stored) if objects.uid_of(stored) == uid else stored,
                subresource=subresource,
            )
        except NotFoundError:
            return  # Deleted in the meantime.

    async def _write_endpoints(self, service: JsonObject) -> None:
        """The Endpoints of a Service: each pod that is chosen, with its real ports."""
        namespace, name = objects.namespace_of(service) or "", objects.name_of(service)
        subsets = [await self._subset(service, pod) for pod in await self._pods_of(service)]
        wanted: JsonObject = {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": dict(objects.labels_of(service)),
                "ownerReferences": [objects.owner_reference(service)],
            },
            "subsets": subsets,
        }
        try:
            stored = await self._store.get(objects.ENDPOINTS, namespace, name)
        except NotFoundError:
            await self._store.create(objects.ENDPOINTS, namespace, wanted)
            return
        if stored.get("subsets") != subsets or objects.owner_uids(stored) != objects.owner_uids(
            wanted
        ):
            await self._store.replace(objects.ENDPOINTS, namespace, wanted)

    async def _subset(self, service: JsonObject, pod: JsonObject) -> JsonObject:
        ports = []
        for port in _ports(service):
            number = await self._port_of(pod, _target_port(port))
            if number is not None:
                name = {"name": port["name"]} if port.get("name") else {}
                ports.append({**name, "port": number, "protocol": "TCP"})
        target = {
            "kind": "Pod",
            "name": objects.name_of(pod),
            "namespace": objects.namespace_of(pod),
            "uid": objects.uid_of(pod),
        }
        address = {"ip": HOST, "nodeName": NODE_NAME, "targetRef": target}
        return {"addresses": [address], "ports": ports}

    # Where a Service leads to.

    async def _target(self, service: JsonObject, port: JsonObject) -> int | None:
        """The real port of one of the pods, in turn."""
        pods = await self._pods_of(service)
        if not pods:
            return None
        pod = pods[next(self._turns) % len(pods)]
        return await self._port_of(pod, _target_port(port))

    async def _pods_of(self, service: JsonObject) -> list[JsonObject]:
        selector = service["spec"].get("selector") or {}
        is_chosen = _runs if service["spec"].get("publishNotReadyAddresses") else is_ready
        pods = (await self._store.list(objects.PODS, objects.namespace_of(service))).items
        return [
            pod
            for pod in pods
            if selector.items() <= objects.labels_of(pod).items()
            and "deletionTimestamp" not in pod["metadata"]
            and is_chosen(pod)
        ]


def _runs(pod: JsonObject) -> bool:
    return (pod.get("status") or {}).get("phase") == "Running"


def _ports(service: JsonObject) -> list[JsonObject]:
    return list(service["spec"].get("ports") or ())


def _has_node_ports(spec: JsonObject) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def _port_name(port: JsonObject) -> str:
    """How a port of a Service is told from the others: its name, or its number."""
    return str(port.get("name") or port["port"])


def _target_port(port: JsonObject) -> int | str:
    target: int | str = port.get("targetPort") or port["port"]
    return target


def _seat(service: JsonObject, port: JsonObject) -> str:
    namespace = objects.namespace_of(service) or "default"
    return f"{_SEAT_PREFIX}{namespace}/{objects.name_of(service)} {_port_name(port)}"
