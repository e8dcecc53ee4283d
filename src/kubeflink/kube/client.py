"""The client of one API server: plain objects in, plain objects out.

lightkube prepares the requests, pages through lists and holds the connection; kubeconfig,
credentials, TLS, retries, errors and watches are ours (see the modules beside this one). Nothing
of lightkube or of the HTTP library is imported before `KubeClient.connect`.

A create whose answer got lost is repeated. When the repetition is told that the object exists, it
is looked at: if it has everything that was asked for and was not made before the first attempt, it
is the one that was created, and the call succeeds with it. Nothing is written into the object for
that purpose, since the objects are to be exactly Flink's.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from kubeflink import errors, objects
from kubeflink.kube import status, streams
from kubeflink.kube.access import ClusterAccess
from kubeflink.kube.creation import is_creation_of
from kubeflink.kube.exchange import DEFAULT_LIMITS, Exchange, Limits, Trail
from kubeflink.kube.kubeconfig import load
from kubeflink.kube.parameters import (
    Selector,
    dry_run_parameter,
    in_path,
    lightkube_class,
    log_parameters,
    selectors,
    with_body,
)
from kubeflink.kube.proxies import proxy_for
from kubeflink.kube.status import Call
from kubeflink.kube.streams import WatchEvent
from kubeflink.objects import JsonObject, Resource

if TYPE_CHECKING:
    import httpx2

    from kubeflink.kube.connection import ClusterTransport, OpenConnections

PAGE = 500
"""Objects per page of a list, as kubectl has it."""

Propagation = Literal["Background", "Foreground", "Orphan"]
PatchKind = Literal["merge", "json", "strategic", "apply"]
Objects = list[JsonObject]

PATCH_TYPES: Mapping[PatchKind, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}

ACCESS_REVIEWS = Resource(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    namespaced=False,
)


@dataclass(frozen=True, slots=True)
class ObjectList:
    """The objects of a collection at one version, from which a watch can go on."""

    items: tuple[JsonObject, ...]
    resource_version: str


class KubeClient:
    """Objects of one API server, as one account. Made by `connect`; closes its connections.

    `namespace` arguments default to the client's own namespace and are ignored for cluster-wide
    resources. Every call raises `ApiUnreachableError`, `ApiStatusError` (by code) and, when
    credentials cannot be had, `KubeconfigError`.
    """

    def __init__(
        self, access: ClusterAccess, exchange: Exchange, transport: ClusterTransport
    ) -> None:
        self.access = access
        self.namespace = access.namespace
        self.exchange = exchange
        self._transport = transport

    @classmethod
    def connect(
        cls,
        *,
        kubeconfig: Path | str | None = None,
        context: str | None = None,
        namespace: str | None = None,
        user_agent: str | None = None,
        environ: Mapping[str, str] = os.environ,
        limits: Limits = DEFAULT_LIMITS,
        connections: OpenConnections | None = None,
    ) -> KubeClient:
        """Make a client for the access that kubectl would use. No request is sent.

        `connections` are others than httpx2's own. Raises `KubeconfigError`.
        """
        access = load(kubeconfig, context, namespace=namespace, environ=environ)
        return cls.of(
            access, user_agent=user_agent, environ=environ, limits=limits, connections=connections
        )

    @classmethod
    def of(
        cls,
        access: ClusterAccess,
        *,
        user_agent: str | None = None,
        environ: Mapping[str, str] = os.environ,
        limits: Limits = DEFAULT_LIMITS,
        connections: OpenConnections | None = None,
    ) -> KubeClient:
        """Make a client for an access that is known already."""
        from kubeflink import __version__
        from kubeflink.kube.connection import open_client

        proxy = proxy_for(access.server, access.proxy_url, environ)
        access = replace(access, proxy_url=proxy)
        agent = user_agent or f"kubeflink/{__version__}"
        client, transport = open_client(
            access, user_agent=agent, environ=environ, connections=connections
        )
        return cls(access, Exchange(client, access, limits), transport)

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return self.access.server

    @property
    def http(self) -> httpx2.AsyncClient:
        """The authenticated HTTP client, with the API server as its base URL."""
        http: httpx2.AsyncClient = self._lightkube._client
        return http

    @property
    def _lightkube(self) -> Any:
        return self.exchange.client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections, those of open watches too."""
        await self._lightkube.close()

    async def renew_credentials(self) -> None:
        """Get other credentials if there are any. Raises `KubeconfigError`."""
        await self._transport.renew_credentials()

    def service_proxy_path(
        self, service: str, port: str | int, namespace: str | None = None
    ) -> str:
        """The path under which the API server passes requests on to a Service's port."""
        return objects.SERVICES.path(f"{service}:{port}/proxy", namespace or self.namespace)

    # Objects

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> JsonObject:
        """One object."""
        call = self._call("get", resource, namespace, name)
        response = await self.exchange.send(call, lambda: self._prepare("get", call))
        return self._object(response, call)

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        all_namespaces: bool = False,
        labels: Selector = None,
        fields: Selector = None,
        transform: Callable[[JsonObject], JsonObject] | None = None,
    ) -> ObjectList:
        """All objects that match, each with its `apiVersion` and `kind`.

        `transform` makes of each what is kept of it, page by page.
        """
        call = self._call("list", resource, namespace, all_namespaces=all_namespaces)
        parameters = selectors(labels, fields)
        try:
            return await self._pages(call, {"limit": PAGE, **parameters}, transform)
        except errors.GoneError:
            # The version of the first page is too old for the next one: take all at once.
            return await self._pages(call, parameters, transform)

    async def _pages(
        self,
        call: Call,
        parameters: dict[str, Any],
        transform: Callable[[JsonObject], JsonObject] | None,
    ) -> ObjectList:
        kind = {"apiVersion": call.resource.api_version, "kind": call.resource.kind}
        items: Objects = []
        while True:
            response = await self.exchange.send(
                call, lambda: self._prepare("list", call, parameters)
            )
            page = self._object(response, call)
            metadata = objects.metadata(page)
            found = page.get("items") or []
            if not isinstance(found, list) or not all(map(_is_object, found)):
                raise status.foreign(call, self.access)
            complete = ({**kind, **item} for item in found)
            items += complete if transform is None else map(transform, complete)
            if not metadata.get("continue"):
                return ObjectList(tuple(items), str(metadata.get("resourceVersion", "")))
            parameters["continue"] = metadata["continue"]

    async def create(
        self, obj: JsonObject, namespace: str | None = None, *, dry_run: bool = False
    ) -> JsonObject:
        """Create an object and give it back as the server has it.

        `ConflictError` when it exists already. Cancelling leaves it open whether it was created.
        """
        call = self._call_for("create", obj, namespace)
        trail = Trail()
        try:
            response = await self.exchange.send(
                call,
                lambda: self._prepare("post", call, dry_run_parameter(dry_run), obj),
                trail=trail,
            )
        except errors.ConflictError:
            if not trail.maybe_done or not call.name:
                raise
            found = await self.get(call.resource, call.name, call.namespace)
            since = self.exchange.server_time(trail.first_sent)
            if not is_creation_of(obj, found, since=since):
                raise
            return found
        return self._object(response, call)

    async def replace(
        self, obj: JsonObject, namespace: str | None = None, *, dry_run: bool = False
    ) -> JsonObject:
        """Replace an object; `ConflictError` when it carries an older resource version."""
        call = self._call_for("update", obj, namespace)
        response = await self.exchange.send(
            call, lambda: self._prepare("put", call, dry_run_parameter(dry_run), obj)
        )
        return self._object(response, call)

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: Any,
        namespace: str | None = None,
        *,
        kind: PatchKind = "merge",
        field_manager: str | None = None,
        force: bool = False,
        dry_run: bool = False,
    ) -> JsonObject:
        """Change an object. A JSON patch is repeated only if it was certainly not carried out."""
        call = self._call("patch", resource, namespace, name)
        parameters = {
            "fieldManager": field_manager or ("kubeflink" if kind == "apply" else None),
            "force": "true" if force else None,
            **dry_run_parameter(dry_run),
        }
        headers = {"Content-Type": PATCH_TYPES[kind]}
        response = await self.exchange.send(
            call,
            lambda: self._prepare("patch", call, parameters, body, headers),
            idempotent=kind != "json",
        )
        return self._object(response, call)

    async def scale(
        self, resource: Resource, name: str, replicas: int, namespace: str | None = None
    ) -> None:
        """Set how many pods a workload has, by its `scale` subresource."""
        call = self._call("patch", resource, namespace, name, subresource="scale")

        def request() -> Any:
            prepared = self._raw("PATCH", call, {})
            prepared.headers = {"Content-Type": PATCH_TYPES["merge"]}
            return with_body(prepared, {"spec": {"replicas": replicas}})

        await self.exchange.send(call, request)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        propagation: Propagation | None = "Background",
        grace_period: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """Delete an object, with `uid` only that very one (`ConflictError` if it is another).

        `grace_period` is in seconds. The object may still be there when this returns.
        """
        call = self._call("delete", resource, namespace, name)
        options: JsonObject = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if propagation is not None:
            options["propagationPolicy"] = propagation
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        if grace_period is not None:
            options["gracePeriodSeconds"] = grace_period
        if dry_run:
            options["dryRun"] = ["All"]
        trail = Trail()
        try:
            await self.exchange.send(
                call, lambda: with_body(self._prepare("delete", call), options), trail=trail
            )
        except errors.NotFoundError:
            if not trail.maybe_done:
                raise

    # Watching

    async def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        resource_version: str,
        all_namespaces: bool = False,
        labels: Selector = None,
        fields: Selector = None,
        timeout_seconds: int = 60,
        grace: float = 15.0,
    ) -> AsyncGenerator[WatchEvent, None]:
        """The changes after `resource_version`, until the server closes the watch.

        The server closes it after `timeout_seconds`; when it is silent for `grace` seconds more,
        the connection is taken for dead (`ApiUnreachableError`). Nothing is tried again in here,
        see `Reflector` for that. An ERROR event is raised as the error that it tells of, so a
        version that is too old is `GoneError` both when the watch is opened and later on.
        """
        call = self._call("watch", resource, namespace, all_namespaces=all_namespaces)
        parameters = {
            "resourceVersion": resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": timeout_seconds,
            **selectors(labels, fields),
        }
        request = self._prepare("list", call, parameters, watching=True)
        lines = streams.lines(self.exchange, call, request, silence=timeout_seconds + grace)
        async with aclosing(lines):
            async for line in lines:
                yield streams.event(line, call, self.access)

    # Logs, events, rights

    async def pod_logs(
        self,
        name: str,
        namespace: str | None = None,
        *,
        container: str | None = None,
        tail_lines: int | None = None,
        previous: bool = False,
    ) -> str:
        """What a container has logged so far, or its predecessor with `previous`."""
        call = self._call("get", objects.PODS, namespace, name, subresource="log")
        parameters = log_parameters(container, tail_lines, previous)
        response = await self.exchange.send(call, lambda: self._raw("GET", call, parameters))
        return response.content.decode("utf-8", "replace")

    async def follow_pod_logs(
        self,
        name: str,
        namespace: str | None = None,
        *,
        container: str | None = None,
        tail_lines: int | None = None,
    ) -> AsyncGenerator[str, None]:
        """Lines of a container's log as they come, until the container ends.

        A quiet container is no error: there is no limit on silence here, the caller sets one.
        """
        call = self._call("get", objects.PODS, namespace, name, subresource="log")
        parameters = {**log_parameters(container, tail_lines, False), "follow": "true"}
        lines = streams.lines(
            self.exchange, call, self._raw("GET", call, parameters), silence=None, last=True
        )
        async with aclosing(lines):
            async for line in lines:
                yield line.decode("utf-8", "replace")

    async def events_of(self, obj: JsonObject) -> Objects:
        """The events about an object, oldest first."""
        found = await self.list(
            objects.EVENTS,
            objects.namespace_of(obj),
            fields={
                "involvedObject.name": objects.name_of(obj),
                "involvedObject.uid": objects.uid_of(obj),
            },
        )
        return sorted(found.items, key=_event_time)

    async def can_i(
        self, verb: str, resource: Resource, namespace: str | None = None, name: str | None = None
    ) -> bool | None:
        """Whether the account may do this; None where the server does not answer such questions.

        A subresource is written as in RBAC, by a resource whose plural is `pods/log`.
        """
        call = self._call(verb, resource, namespace, name)
        plural, _, subresource = resource.plural.partition("/")
        attributes = {
            "verb": verb,
            "group": resource.group,
            "version": resource.version,
            "resource": plural,
            "subresource": subresource,
            "namespace": call.namespace or "",
            "name": name or "",
        }
        review = {
            "apiVersion": ACCESS_REVIEWS.api_version,
            "kind": ACCESS_REVIEWS.kind,
            "spec": {"resourceAttributes": {k: v for k, v in attributes.items() if v}},
        }
        asking = Call("create", ACCESS_REVIEWS)
        try:
            response = await self.exchange.send(
                asking, lambda: self._prepare("post", asking, obj=review)
            )
        except errors.ApiStatusError as error:
            if error.code not in (403, 404):
                raise
            return None
        answer = self._object(response, asking).get("status")
        return bool(answer.get("allowed")) if isinstance(answer, dict) else None

    # Requests

    def _call(
        self,
        verb: str,
        resource: Resource,
        namespace: str | None,
        name: str | None = None,
        *,
        all_namespaces: bool = False,
        subresource: str | None = None,
    ) -> Call:
        within = (namespace or self.namespace) if resource.namespaced else None
        return Call(verb, resource, None if all_namespaces else within, name, subresource)

    def _call_for(self, verb: str, obj: JsonObject, namespace: str | None) -> Call:
        own = objects.namespace_of(obj)
        if own and namespace and own != namespace:
            raise errors.UsageError(
                f'{obj["kind"]} {objects.name_of(obj)} belongs to namespace "{own}",'
                f' not to "{namespace}"'
            )
        resource = objects.resource_of(obj)
        return self._call(verb, resource, own or namespace, objects.name_of(obj) or None)

    def _prepare(
        self,
        method: str,
        call: Call,
        parameters: Mapping[str, Any] | None = None,
        obj: Any = None,
        headers: dict[str, str] | None = None,
        *,
        watching: bool = False,
    ) -> Any:
        """A request of lightkube's."""
        kind = lightkube_class(call.resource)
        if isinstance(obj, dict) and method != "patch":
            obj = kind(obj)
        everywhere = call.resource.namespaced and call.namespace is None
        return self._lightkube.prepare_request(
            method,
            res=kind,
            obj=obj,
            name=in_path(call.name),
            namespace="*" if everywhere else in_path(call.namespace),
            watch=watching,
            params=dict(parameters or {}),
            headers=headers,
        )

    def _object(self, response: httpx2.Response, call: Call) -> JsonObject:
        """The object or list in an answer; `ApiUnreachableError` if something else answered."""
        import msgspec

        try:
            decoded: JsonObject = msgspec.json.decode(response.content)
        except msgspec.DecodeError as error:
            raise status.foreign(call, self.access) from error
        if not _is_object(decoded):
            raise status.foreign(call, self.access)
        return decoded

    def _raw(self, method: str, call: Call, parameters: Mapping[str, Any]) -> Any:
        """A request for a subresource, which lightkube prepares for its own models only."""
        from lightkube.core.generic_client import BasicRequest

        name = f"{in_path(call.name)}/{call.subresource}"
        path = call.resource.path(name, in_path(call.namespace))
        return BasicRequest(method, path, params=dict(parameters))


def _is_object(value: Any) -> bool:
    """Whether a JSON value can be an object or a list of Kubernetes; items have no `kind`."""
    if not isinstance(value, dict) or not ("kind" in value or "metadata" in value):
        return False
    return isinstance(value.get("metadata", {}), dict)


def _event_time(event: JsonObject) -> str:
    times = (
        (event.get("series") or {}).get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event.get("firstTimestamp"),
        objects.metadata(event).get("creationTimestamp"),
    )
    return next((str(time) for time in times if time), "")
