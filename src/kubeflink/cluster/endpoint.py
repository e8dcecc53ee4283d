"""Where a cluster's REST API is, and by which way this process reaches it.

Two questions that Flink's client answers as one. The *address* is what a user may open in a
browser; it depends on the type of the live `<id>-rest` Service alone, never on what the client's
own configuration says: a session that was made on port 8081 is not on another port because somebody
passes `-Drest.port`. The *route* is what this process uses: the address where it works from here,
otherwise a way through the API server, which works wherever `kubectl` does: its service proxy, or
a port-forward to the JobManager's pod where the proxy may not be used, or does not exist: that is
known beforehand from an access review, or seen when the proxy refuses (once: `_FORWARDING`).

| Service type | address | route from outside |
|---|---|---|
| ClusterIP, headless | `<id>-rest.<namespace>:port`, inside the cluster only | API server |
| NodePort | a ready, schedulable node and the node port | the same |
| LoadBalancer | the ingress's IP or name, or pending | the same, while pending API server |

Whether the REST API speaks TLS is known from the access's `rest_tls`, or seen when Flink sends
whoever speaks plainly to where TLS is spoken (once, too). A service proxy trusts whatever
certificate it is shown and has none to show itself. So who says whom to trust, or who asks, gets a
port-forward with TLS from end to end; for all others the API server stands as surety, as it does
for plain HTTP.

Flink's client gives a node's address with the Service's port while a LoadBalancer is pending, which
never works, and picks any node; see docs/deviations.md.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal
from weakref import WeakKeyDictionary, WeakSet

from kubeflink import objects
from kubeflink.cluster.clock import Deadline
from kubeflink.errors import (
    ClusterNotFoundError,
    ForbiddenError,
    KubeflinkError,
    NoPodRunningError,
    NotFoundError,
    RestTlsError,
    RestUnreachableError,
)
from kubeflink.kube.backoff import Backoff
from kubeflink.kube.client import KubeClient
from kubeflink.kube.outage import Outage
from kubeflink.objects import NODES, PODS, SERVICES, JsonObject, Resource
from kubeflink.rest import RETRY_SECONDS
from kubeflink.spec import names

if TYPE_CHECKING:
    import httpx2

    from kubeflink.config.rest_tls import RestTls
    from kubeflink.kube.portforward import PortForward
    from kubeflink.rest import FlinkClient
    from kubeflink.rest.transport import StillThere, Way

logger = logging.getLogger(__name__)

INTERNAL_IP: Final = "InternalIP"
"""The default of kubernetes.rest-service.exposed.node-port-address-type."""

LOAD_BALANCER_SECONDS = 60.0
"""How long a LoadBalancer is waited for before it is called pending."""

SERVICE_PROXY: Final = Resource("", "v1", "ServiceProxyOptions", "services/proxy")
PORT_FORWARD: Final = Resource("", "v1", "PodPortForwardOptions", "pods/portforward")
"""As a right in RBAC."""

_POLL_SECONDS = 1.0

_FORWARDING: WeakSet[KubeClient] = WeakSet()
"""Clients whose API server has refused to be a service proxy."""

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


@dataclass(frozen=True, slots=True)
class Route:
    """How this process reaches the REST API.

    `url` is absolute for the kind `direct` and a path on the API server for `service proxy`. For
    `port-forward` it has only the scheme: address and port are known when it is open.
    """

    kind: Literal["direct", "service proxy", "port-forward"]
    url: str
    where: str
    """How messages name it."""
    service: str = ""
    port: str | int = ""
    namespace: str = ""


async def rest_service(client: KubeClient, cluster_id: str, namespace: str | None) -> JsonObject:
    """The live `<id>-rest` Service; ClusterNotFoundError with similar names if it is not there.

    UsageError, without a request, for what can be no cluster's name.
    """
    name = names.rest_service_name(names.validate_sought_name(cluster_id))
    try:
        return await client.get(SERVICES, name, namespace)
    except NotFoundError as error:
        raise await not_found(client, cluster_id, namespace) from error


async def not_found(
    client: KubeClient, cluster_id: str, namespace: str | None
) -> ClusterNotFoundError:
    """The error for a cluster that does not exist, naming those that do."""
    import difflib

    where = namespace or client.namespace
    try:
        services = await client.list(SERVICES, where, labels={names.LABEL_TYPE: names.NATIVE_TYPE})
    except ForbiddenError:  # then there is nothing to suggest
        return ClusterNotFoundError(f"No Flink cluster {cluster_id} in namespace {where}")
    labels = (objects.labels_of(service) for service in services.items)
    there = sorted({found[names.LABEL_APP] for found in labels if names.LABEL_APP in found})
    near = difflib.get_close_matches(cluster_id, there, n=3, cutoff=0.6)
    hint = None
    if near:
        hint = f"Did you mean {' or '.join(near)}?"
    elif there:
        hint = f"There are: {', '.join(there[:10])}"
    elif where != client.access.namespace:
        hint = f"The kubeconfig context's own namespace is {client.access.namespace}"
    return ClusterNotFoundError(f"No Flink cluster {cluster_id} in namespace {where}", hint=hint)


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
    return Address(service_type, f"{scheme}://{host}:{_cluster_port(service)}", is_internal=True)


async def route_to(
    client: KubeClient,
    cluster_id: str,
    namespace: str | None = None,
    *,
    address_type: str = INTERNAL_IP,
) -> Route:
    """The way from here to a cluster's REST API. Raises ClusterNotFoundError."""
    service = await rest_service(client, cluster_id, namespace)
    where = f"cluster {cluster_id}"
    address = await address_of(client, service, address_type=address_type)
    name, space = objects.name_of(service), objects.namespace_of(service) or client.namespace
    port = _rest_port(service).get("name") or _cluster_port(service)
    if address.url is not None and (client.access.in_cluster or not address.is_internal):
        return Route("direct", address.url, f"{where} ({address.url})", name, port, space)
    path = client.service_proxy_path(name, port, space)
    route = Route("service proxy", path, f"{where} (through the API server)", name, port, space)
    if scheme_of(client, service) == "https":
        route = _secured(client, route)
    tls = client.access.rest_tls
    if (tls is not None and tls.is_pinned) or client in _FORWARDING:
        return _by_port_forward(route)
    if await _may_not_use_proxy(client, route):
        return _by_port_forward(route)
    return route


def scheme_of(client: KubeClient, service: JsonObject) -> str:
    """`https` for a rest Service whose JobManager is known to speak TLS."""
    found = (objects.namespace_of(service) or client.namespace, objects.name_of(service))
    is_known = found in _SPEAKING_TLS.get(client, ())
    return "https" if is_known or client.access.rest_tls is not None else "http"


def _secured(client: KubeClient, route: Route) -> Route:
    """The same with TLS."""
    if route.kind == "service proxy":
        path = client.service_proxy_path(f"https:{route.service}", route.port, route.namespace)
        return replace(route, url=path)
    plain, secure = route.url, route.url.replace("http://", "https://", 1)
    return replace(route, url=secure, where=route.where.replace(plain, secure))


async def _may_not_use_proxy(client: KubeClient, route: Route) -> bool:
    """Whether a port-forward has to take the place of the service proxy.

    Who may only read through the proxy, and not forward ports, reads. ForbiddenError for who may do
    neither, which no trying again would change.
    """
    where, service = route.namespace, route.service
    if await client.can_i("create", SERVICE_PROXY, where, service) is not False:
        return False
    reads, forwards = await asyncio.gather(
        client.can_i("get", SERVICE_PROXY, where, service),
        client.can_i("get", PORT_FORWARD, where),
    )
    if reads is False and forwards is False:
        raise ForbiddenError(
            f'You may neither get services/proxy nor pods/portforward in namespace "{where}": there'
            f" is no way to Flink's REST API behind Service {service}",
            code=403,
            reason="Forbidden",
            hint='Ask for a Role with apiGroups [""], resources ["services/proxy"], verbs ["get"];'
            ' to run and steer jobs also "create", "patch" and "delete"',
        )
    return forwards is not False


def _by_port_forward(route: Route) -> Route:
    """Another way to where a service proxy would lead."""
    scheme = "https" if "/https:" in route.url else "http"
    where = route.where.replace("(through the API server)", "(by port-forward)")
    return replace(route, kind="port-forward", url=f"{scheme}://", where=where)


@asynccontextmanager
async def connect(
    client: KubeClient,
    route: Route,
    *,
    retry_seconds: float = RETRY_SECONDS,
    to_one_pod: bool = False,
    still_there: StillThere | None = None,
) -> AsyncIterator[FlinkClient]:
    """A REST client for a route; its connections are closed at the end.

    A direct route gets an HTTP client of its own: the credentials for the API server are never
    sent to Flink. Behind one address there may be several JobManagers. With `to_one_pod` all
    requests go to the same one while that lives: a Service's balance is struck for each connection,
    so one connection has to do; a service proxy strikes it for each request, so a port-forward
    takes its place. It does so too, with a line about it, when the proxy turns out to refuse.

    A port-forward needs a pod that runs: it is waited for as long as a request is repeated, and its
    lack is a RestUnreachableError, as it is by any other way.
    """
    from kubeflink.rest import FlinkClient
    from kubeflink.rest.transport import Way

    if route.kind == "service proxy" and (to_one_pod or client in _FORWARDING):
        route = _by_port_forward(route)
    async with AsyncExitStack() as resources:

        async def opened(
            way: Route, patience: float = retry_seconds
        ) -> tuple[httpx2.AsyncClient, str]:
            """The HTTP client for a way, and its base URL; it lives as long as `resources`."""
            if way.kind == "service proxy":
                return client.http, way.url
            url = way.url
            if way.kind == "port-forward":
                waiting = _forwarded(client, way, patience, still_there)
                forward = await resources.enter_async_context(waiting)
                url = f"{url}127.0.0.1:{forward.port}"
            http = _direct_client(client, way, url, to_one_pod=to_one_pod)
            return await resources.enter_async_context(http), url

        async def detour(error: KubeflinkError) -> Way:
            """TLS where it is wanted, or a port-forward in the place of the service proxy."""
            nonlocal route
            if isinstance(error, RestTlsError):
                other = _secured(client, route)
                known = _SPEAKING_TLS.setdefault(client, set())
                known.add((route.namespace, route.service))
                logger.info("%s; going on with it", error.message)
            elif route.kind == "service proxy":
                other = _by_port_forward(route)
            else:
                raise error
            try:
                http, url = await opened(other, patience=0.0)
            except KubeflinkError as refused:
                logger.info("no port-forward either: %s", refused.message)
                raise error from refused
            if other.kind != route.kind and client not in _FORWARDING:
                _FORWARDING.add(client)
                logger.warning("%s; going on by port-forward", error.message)
            route = other
            return Way(http, url, other.where)

        http, url = await opened(route)
        yield FlinkClient(
            http,
            url,
            where=route.where,
            retry_seconds=retry_seconds,
            still_there=still_there,
            detour=detour,
        )


@asynccontextmanager
async def _forwarded(
    client: KubeClient, route: Route, patience: float, still_there: StillThere | None
) -> AsyncIterator[PortForward]:
    """A port-forward along a route, as soon as there is a pod to forward to."""
    from kubeflink.kube.portforward import PortForward

    outage, backoff, deadline = Outage(route.where), Backoff(), Deadline.after(patience)
    forward = PortForward(client, route.port, service=route.service, namespace=route.namespace)
    async with AsyncExitStack() as opened:
        while True:
            try:
                await opened.enter_async_context(forward)
                break
            except NoPodRunningError as error:
                if still_there is not None:
                    await still_there()
                pause = backoff.pause()
                outage.failed(error.message, limit=patience, pause=pause)
                if not await deadline.pause(pause):
                    outage.given_up()
                    raise RestUnreachableError(
                        f"Flink's REST API at {route.where} cannot be reached: {error.message}"
                    ) from error
        outage.over()
        yield forward


def _direct_client(
    client: KubeClient, route: Route, url: str, *, to_one_pod: bool
) -> httpx2.AsyncClient:
    import httpx2

    limits = httpx2.Limits(max_connections=1 if to_one_pod else 100)
    return http_client(url, client.access.rest_tls, limits=limits, name=_name_of(route))


def http_client(
    url: str, tls: RestTls | None, *, limits: httpx2.Limits | None = None, name: str | None = None
) -> httpx2.AsyncClient:
    """An HTTP client for a JobManager at this address, with TLS as it is said, or the system's.

    `name` is what its certificate must be for, where that is checked and the address is another.
    Reads files; raises ConfigurationError.
    """
    import httpx2

    from kubeflink.config.rest_tls import RestTls

    how: dict[str, Any] = {"trust_env": not is_near(url)}
    if limits is not None:
        how["limits"] = limits
    if url.startswith("https://"):
        from kubeflink.rest.tls import context_of

        how["verify"] = context_of(tls or RestTls())
        if name is not None:

            async def name_server(request: httpx2.Request) -> None:
                request.extensions["sni_hostname"] = name

            how["event_hooks"] = {"request": [name_server]}
    return httpx2.AsyncClient(**how)


def _name_of(route: Route) -> str | None:
    """The name that a JobManager's certificate has, where it is reached by a local port."""
    if route.kind != "port-forward":
        return None
    return names.service_address(route.service, route.namespace)


@asynccontextmanager
async def socket_of(
    client: KubeClient, route: Route, notify: Callable[[str], None] = logger.info
) -> AsyncIterator[tuple[str, int]]:
    """Host and port at which another program of this machine reaches the REST API.

    Where there is no direct way, a local port is forwarded for as long as the context is open, for
    such a program does not know the API server's service proxy; `notify` is told about it.
    """
    from urllib.parse import urlsplit

    if route.kind == "direct":
        parts = urlsplit(route.url)
        yield parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        return
    from kubeflink.kube.portforward import PortForward

    forward = PortForward(
        client, route.port, service=route.service, namespace=route.namespace, notify=notify
    )
    async with forward:
        notify(f"forwarding the local port {forward.port} to {route.service}")
        yield "127.0.0.1", forward.port


def is_near(url: str) -> bool:
    """Whether an address is private, or a bare or in-cluster name: never behind an HTTP proxy."""
    from urllib.parse import urlsplit

    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or host.count(".") < 2 or host.endswith(".local")


async def _node_port_address(
    client: KubeClient, service: JsonObject, address_type: str, scheme: str
) -> Address:
    port = _rest_port(service).get("nodePort")
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
        if not is_usable(node):
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


def is_usable(node: JsonObject) -> bool:
    """Whether traffic to a node can be expected to work: ready, and not cordoned.

    A node that tells nothing about its readiness is taken as ready.
    """
    if (node.get("spec") or {}).get("unschedulable"):
        return False
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = [condition.get("status") for condition in conditions if condition["type"] == "Ready"]
    return not ready or ready[0] == "True"


async def _load_balancer_address(
    client: KubeClient, service: JsonObject, scheme: str, seconds: float
) -> Address:
    deadline = Deadline.after(seconds)
    while True:
        host = _ingress(service)
        if host is not None:
            url = f"{scheme}://{_in_url(host)}:{_cluster_port(service)}"
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


def _rest_port(service: JsonObject) -> dict[str, Any]:
    """The entry for REST among the Service's ports: by name, or the only one."""
    ports: list[dict[str, Any]] = (service.get("spec") or {}).get("ports") or []
    named = [port for port in ports if port.get("name") == names.REST_PORT]
    return (named or ports or [{"port": 8081}])[0]


def _cluster_port(service: JsonObject) -> int:
    """The port inside the cluster; of a headless Service that of the pods, for DNS names them."""
    port = _rest_port(service)
    is_headless = (service.get("spec") or {}).get("clusterIP") == "None"
    if is_headless and isinstance(port.get("targetPort"), int):
        return int(port["targetPort"])
    return int(port["port"])


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
