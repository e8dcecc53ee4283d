"""What happens to an object between the request and the store: admission.

An `Admission` sees each creation and update after defaulting and validation. It may change
the object, or refuse it by raising an `ApiStatusError`. The embedded Kubernetes puts its allocation
of node ports and addresses here; tests put policies here. `ServiceAddresses` is what a store does
for Services when nobody else does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Literal, Protocol

from kubeflink import objects
from kubeflink.apiserver import statuses
from kubeflink.objects import JsonObject, Resource


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """One write on its way into the store.

    `object` is the request's own copy and may be changed in place. `previous` is the stored object,
    None for a creation. `existing` lists the stored objects of a resource, of all namespaces; they
    are shared and read-only. With `dry_run` nothing may be kept for the object.
    """

    operation: Literal["CREATE", "UPDATE"]
    resource: Resource
    object: JsonObject
    previous: JsonObject | None
    existing: Callable[[Resource], Iterable[JsonObject]]
    dry_run: bool = False


class Admission(Protocol):
    """One step; the steps of a store run in the order in which they were given."""

    def admit(self, request: AdmissionRequest) -> None:
        """Change `request.object` in place, or raise an `ApiStatusError` to refuse it."""


class ServiceAddresses:
    """Gives Services a cluster IP and node ports, from what the other Services leave free."""

    def __init__(
        self, network: str = "10.96.0.0/16", node_ports: range = range(30000, 32768)
    ) -> None:
        self._network = IPv4Network(network)
        self._node_ports = node_ports

    def admit(self, request: AdmissionRequest) -> None:
        """Fill in what the request left open; keep what the stored Service has."""
        if request.resource != objects.SERVICES:
            return
        spec = request.object["spec"]
        others = [
            service
            for service in request.existing(objects.SERVICES)
            if objects.uid_of(service) != objects.uid_of(request.object)
        ]
        self._cluster_ip(spec, request.previous, others)
        if spec.get("type") in ("NodePort", "LoadBalancer"):
            self._allocate_node_ports(request, spec, others)
        else:
            for port in spec.get("ports") or ():
                port.pop("nodePort", None)

    def _cluster_ip(
        self, spec: JsonObject, previous: JsonObject | None, others: list[JsonObject]
    ) -> None:
        if spec.get("type") == "ExternalName":
            return
        if not spec.get("clusterIP"):
            stored = ((previous or {}).get("spec") or {}).get("clusterIP")
            spec["clusterIP"] = stored or self._free_address(others)
        spec["clusterIPs"] = [spec["clusterIP"]]

    def _free_address(self, others: list[JsonObject]) -> str:
        taken = {service["spec"].get("clusterIP") for service in others}
        # The first address is the one of the API server's own Service in every cluster.
        for number in range(2, self._network.num_addresses - 1):
            address = str(self._network[number])
            if address not in taken:
                return address
        raise statuses.internal("failed to allocate a serviceIP: range is full")

    def _allocate_node_ports(
        self, request: AdmissionRequest, spec: JsonObject, others: list[JsonObject]
    ) -> None:
        taken = {
            port["nodePort"]
            for service in others
            for port in service["spec"].get("ports") or ()
            if port.get("nodePort")
        }
        stored = {
            (port.get("name"), port.get("port")): port.get("nodePort")
            for port in ((request.previous or {}).get("spec") or {}).get("ports") or ()
        }
        for index, port in enumerate(spec.get("ports") or ()):
            wanted = port.get("nodePort") or stored.get((port.get("name"), port.get("port")))
            if wanted:
                self._check(request, index, wanted, taken)
            else:
                wanted = self._free_port(taken)
            port["nodePort"] = wanted
            taken.add(wanted)

    def _check(self, request: AdmissionRequest, index: int, wanted: int, taken: set[int]) -> None:
        field, name = f"spec.ports[{index}].nodePort", objects.name_of(request.object)
        if wanted not in self._node_ports:
            low, high = self._node_ports[0], self._node_ports[-1]
            why = (
                f"provided port is not in the valid range. The range of valid ports is {low}-{high}"
            )
        elif wanted in taken:
            why = "provided port is already allocated"
        else:
            return
        cause = statuses.invalid_value(field, wanted, why)
        raise statuses.invalid(request.resource, name, [cause])

    def _free_port(self, taken: set[int]) -> int:
        for port in self._node_ports:
            if port not in taken:
                return port
        raise statuses.internal("failed to allocate a nodePort: range is full")
