"""The client of one API server: plain objects in, plain objects out.

lightkube prepares the requests, pages through lists and holds the connection; kubeconfig,
credentials, TLS, retries, errors and watches are ours (see the modules beside this one). Nothing
of lightkube or of the HTTP library is imported before `KubeClient.connect`.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kubeflink import errors, objects
from kubeflink.kube import streams
from kubeflink.kube.access import ClusterAccess
from kubeflink.kube.exchange import DEFAULT_LIMITS, Exchange, Limits
from kubeflink.kube.kubeconfig import load
from kubeflink.kube.parameters import (
    Selector,
    log_parameters,
    selectors,
)
from kubeflink.kube.proxies import proxy_for
from kubeflink.kube.requests import Requests
from kubeflink.kube.status import Call
from kubeflink.kube.streams import WatchEvent
from kubeflink.kube.verbs import ObjectVerbs
from kubeflink.objects import JsonObject, Resource

if TYPE_CHECKING:
    import httpx2

    from kubeflink.kube.connection import ClusterTransport, OpenConnections

ACCESS_REVIEWS = Resource(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    namespaced=False,
)


class KubeClient(ObjectVerbs):
    """Objects of one API server, as one account. Made by `connect`; closes its connections.

    `namespace` arguments default to the client's own namespace and are ignored for cluster-wide
    resources. Every call raises `ApiUnreachableError`, `ApiStatusError` (by code) and, when
    credentials cannot be had, `KubeconfigError`.
    """

    def __init__(
        self, access: ClusterAccess, exchange: Exchange, transport: ClusterTransport
    ) -> None:
        super().__init__(exchange, Requests(exchange.client, access, access.namespace))
        self.access = access
        self.namespace = access.namespace
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
        call = self.requests.call("watch", resource, namespace, all_namespaces=all_namespaces)
        parameters = {
            "resourceVersion": resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": timeout_seconds,
            **selectors(labels, fields),
        }
        request = self.requests.prepare("list", call, parameters, watching=True)
        lines = streams.lines(self.exchange, call, request, silence=timeout_seconds + grace)
        async with aclosing(lines):
            async for line in lines:
                if line.strip():  # what stands between two events is no event
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
        call = self.requests.call("get", objects.PODS, namespace, name, subresource="log")
        parameters = log_parameters(container, tail_lines, previous)
        response = await self.exchange.send(
            call, lambda: self.requests.raw("GET", call, parameters)
        )
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
        call = self.requests.call("get", objects.PODS, namespace, name, subresource="log")
        parameters = {**log_parameters(container, tail_lines, False), "follow": "true"}
        lines = streams.lines(
            self.exchange, call, self.requests.raw("GET", call, parameters), silence=None, last=True
        )
        async with aclosing(lines):
            async for line in lines:
                yield line.decode("utf-8", "replace")

    async def events_of(self, obj: JsonObject) -> list[JsonObject]:
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
        call = self.requests.call(verb, resource, namespace, name)
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
                asking, lambda: self.requests.prepare("post", asking, obj=review)
            )
        except errors.ApiStatusError as error:
            if error.code not in (403, 404):
                raise
            return None
        answer = self.requests.object(response, asking).get("status")
        return bool(answer.get("allowed")) if isinstance(answer, dict) else None


def _event_time(event: JsonObject) -> str:
    times = (
        (event.get("series") or {}).get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event.get("firstTimestamp"),
        objects.metadata(event).get("creationTimestamp"),
    )
    return next((str(time) for time in times if time), "")
