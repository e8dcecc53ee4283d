"""Where a cluster's REST API is, for a user's browser.

The address depends on the type of the live `<id>-rest` Service alone, never on what the client's
own configuration says: a session that was made on port 8081 is not on another port because somebody
passes `-Drest.port`.

| Service type | address |
|---|---|
| ClusterIP, headless | `<id>-rest.<namespace>:port`, inside the cluster only |
| NodePort | a ready, schedulable node and the node port |
| LoadBalancer | the ingress's IP or name, or pending |

Flink's client gives a node's address with the Service's port while a LoadBalancer is pending, which
never works, and picks any node; see docs/deviations.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from kubeflink import objects
from kubeflink.cluster.clock import Deadline
from kubeflink.errors import ForbiddenError
from kubeflink.kube.client import KubeClient
from kubeflink.objects import NODES, PODS, SERVICES, JsonObject
from kubeflink.spec import names

INTERNAL_IP: Final = "InternalIP"
"""The default of kubernetes.rest-service.exposed.node-port-address-type."""

_POLL_SECONDS = 1.0

_SPEAKING_TLS: WeakKeyDictionary[KubeClient, set[tuple[str, str]]] = WeakKeyDictionary()
"""The Services, by namespace and name, behind which TLS was found to be spoken."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the REST API and the web interface of a cluster are.

    `url` is None while there is none that could work; `pending` then says what is missing.
    `is_internal` addresses resolve inside the Kubernetes cluster only.
    """

    service_type: str
    url: str | None
    is_internal: bool = False
    pending: str | None = None


async def address_of(
    client: KubeClient,
    service: JsonObject,
    *,
    address_type: str = INTERNAL_IP,
    load_balancer_seconds: float = 0.0,
) -> Address:
    """The address of a live rest Service; a pending LoadBalancer is waited for within the limit."""
    scheme = scheme_of(client, service)
    service_type = _type_of(service)
    if service_type == "NodePort":
        return await _node_port_address(client, service, address_type, scheme)
    if service_type == "LoadBalancer":
        return await _load_balancer_address(client, service, scheme, load_balancer_seconds)
    host = names.service_address(objects.name_of(service), objects.namespace_of(service) or "")
    return Address(service_type, f"{scheme}://{host}:{cluster_port(service)}", is_internal=True)


def scheme_of(client: KubeClient, service: JsonObject) -> str:
    """`https` for a rest Service whose JobManager is known to speak TLS."""
    found = (objects.namespace_of(service) or client.namespace, objects.name_of(service))
    is_known = found in _SPEAKING_TLS.get(client, ())
    return "https" if is_known or client.access.rest_tls is not None else "http"


def note_tls(client: KubeClient, namespace: str, service: str) -> None:
    """From now on `https` for this rest Service: TLS was found to be spoken behind it."""
    _SPEAKING_TLS.setdefault(client, set()).add((namespace, service))


async def _node_port_address(
    client: KubeClient, service: JsonObject, address_type: str, scheme: str
) -> Address:
    port = rest_port(service).get("nodePort")
    if port is None:
        return Address("NodePort", None, pending="the Service has no node port yet")
    host = await _node_address(client, service, address_type)
    if host is None:
        missing = f"no node is ready and has an address of type {address_type}"
        return Address("NodePort", None, pending=missing)
    return Address("NodePort", f"{scheme}://{_in_url(host)}:{port}")


async def _node_address(client: KubeClient, service: JsonObject, address_type: str) -> str | None:
    """A node's address; without the right to list nodes, that of the JobManager's own node."""
    try:
        nodes = (await client.list(NODES)).items
    except ForbiddenError:
        if address_type != INTERNAL_IP:
            raise
        return await _host_ip(client, service)
    for node in nodes:
        if not _is_usable(node):
            continue
        for address in (node.get("status") or {}).get("addresses") or ():
            if address.get("type") == address_type and address.get("address"):
                return str(address["address"])
    return None


async def _host_ip(client: KubeClient, service: JsonObject) -> str | None:
    cluster_id = objects.labels_of(service).get(names.LABEL_APP, "")
    pods = await client.list(
        PODS, objects.namespace_of(service), labels=names.jobmanager_labels(cluster_id)
    )
    addresses = [(pod.get("status") or {}).get("hostIP") for pod in pods.items]
    return next((str(address) for address in addresses if address), None)


def _is_usable(node: JsonObject) -> bool:
    """Whether traffic to a node can be expected to work: ready, and not cordoned.

    A node that tells nothing about its readiness is taken as ready.
    """
    if (node.get("spec") or {}).get("unschedulable"):
        return False
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = [each.get("status") for each in conditions if each.get("type") == "Ready"]
    return not ready or ready[0] == "True"


async def _load_balancer_address(
    client: KubeClient, service: JsonObject, scheme: str, seconds: float
) -> Address:
    deadline = Deadline.after(seconds)
    while True:
        host = _ingress(service)
        if host is not None:
            url = f"{scheme}://{_in_url(host)}:{cluster_port(service)}"
            return Address("LoadBalancer", url)
        if not await deadline.pause(_POLL_SECONDS):
            pending = "the load balancer has no address yet"
            return Address("LoadBalancer", None, pending=pending)
        name, namespace = objects.name_of(service), objects.namespace_of(service)
        service = await client.get(SERVICES, name, namespace)


def _ingress(service: JsonObject) -> str | None:
    status = (service.get("status") or {}).get("loadBalancer") or {}
    for entry in status.get("ingress") or ():
        host = entry.get("ip") or entry.get("hostname")
        if host:
            return str(host)
    return None


def _type_of(service: JsonObject) -> str:
    return str((service.get("spec") or {}).get("type") or "ClusterIP")


def rest_port(service: JsonObject) -> dict[str, Any]:
    """The entry for REST among the Service's ports: by name, or the only one."""
    ports: list[dict[str, Any]] = (service.get("spec") or {}).get("ports") or []
    named = [port for port in ports if port.get("name") == names.REST_PORT]
    return (named or ports or [{"port": 8081}])[0]


def cluster_port(service: JsonObject) -> int:
    """The port inside the cluster; of a headless Service that of the pods, for DNS names them."""
    port = rest_port(service)
    is_headless = (service.get("spec") or {}).get("clusterIP") == "None"
    if is_headless and isinstance(port.get("targetPort"), int):
        return int(port["targetPort"])
    return int(port["port"])


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
