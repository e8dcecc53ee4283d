"""By which way this process reaches a cluster's REST API.

Flink's client answers two questions as one. The *address* is what a user may open in a browser: see
`addresses`. The *route* is what this process uses: the address where it works from here, otherwise
a way through the API server, which works wherever `kubectl` does: its service proxy, or a
port-forward to the JobManager's pod where the proxy may not be used, or does not exist: that is
known beforehand from an access review, or seen when the proxy refuses (once: `_FORWARDING`).

| Service type | route from outside |
|---|---|
| ClusterIP, headless | API server |
| NodePort | the address |
| LoadBalancer | the address; while that is pending, API server |

Whether the REST API speaks TLS is known from the access's `rest_tls`, or seen when Flink sends
whoever speaks plainly to where TLS is spoken (once, too). A service proxy trusts whatever
certificate it is shown and has none to show itself. So who says whom to trust, or who asks, gets a
port-forward with TLS from end to end; for all others the API server stands as surety, as it does
for plain HTTP.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal
from weakref import WeakSet

from kubeflink import objects
from kubeflink.cluster.addresses import (
    INTERNAL_IP,
    address_of,
    cluster_port,
    note_tls,
    rest_port,
    scheme_of,
)
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
from kubeflink.kube import handshake
from kubeflink.kube.backoff import Backoff
from kubeflink.kube.client import KubeClient
from kubeflink.kube.outage import Outage
from kubeflink.objects import SERVICES, JsonObject, Resource
from kubeflink.rest import RETRY_SECONDS
from kubeflink.spec import names

if TYPE_CHECKING:
    import httpx2

    from kubeflink.config.rest_tls import RestTls
    from kubeflink.kube.portforward import PortForward
    from kubeflink.rest import FlinkClient
    from kubeflink.rest.transport import Onlooker, Way

logger = logging.getLogger(__name__)

SERVICE_PROXY: Final = Resource("", "v1", "ServiceProxyOptions", "services/proxy")
PORT_FORWARD: Final = Resource("", "v1", "PodPortForwardOptions", "pods/portforward")
"""As a right in RBAC."""

_FORWARDING: WeakSet[KubeClient] = WeakSet()
"""Clients whose API server has refused to be a service proxy."""


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
    port = rest_port(service).get("name") or cluster_port(service)
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
    onlooker: Onlooker | None = None,
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
                waiting = _forwarded(client, way, patience, onlooker)
                forward = await resources.enter_async_context(waiting)
                url = f"{url}127.0.0.1:{forward.port}"
            http = _direct_client(client, way, url, to_one_pod=to_one_pod)
            return await resources.enter_async_context(http), url

        async def detour(error: KubeflinkError) -> Way:
            """TLS where it is wanted, or a port-forward in the place of the service proxy."""
            nonlocal route
            if isinstance(error, RestTlsError):
                other = _secured(client, route)
                note_tls(client, route.namespace, route.service)
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
            onlooker=onlooker,
            detour=detour,
        )


@asynccontextmanager
async def _forwarded(
    client: KubeClient, route: Route, patience: float, onlooker: Onlooker | None
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
                seen = None if onlooker is None else await onlooker.look(has_answered=False)
                pause = backoff.pause()
                outage.failed(seen or error.message, limit=patience, pause=pause)
                if not await deadline.pause(pause):
                    outage.given_up()
                    unreachable = RestUnreachableError(
                        f"Flink's REST API at {route.where} cannot be reached: {error.message}"
                    )
                    if onlooker is not None:
                        unreachable = await onlooker.explain(unreachable, has_answered=False)
                    raise unreachable from error
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

        async def prepare(request: httpx2.Request) -> None:
            request.extensions["trace"] = handshake.trace()
            if name is not None:
                request.extensions["sni_hostname"] = name

        how["event_hooks"] = {"request": [prepare]}
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
