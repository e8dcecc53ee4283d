"""`pods/log` and `pods/portforward`: what only the one who runs the pods can answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

from aiohttp import web

from kubeflink import objects
from kubeflink.apiserver import paths, statuses
from kubeflink.apiserver.paths import Target
from kubeflink.apiserver.store import Store
from kubeflink.errors import ApiStatusError
from kubeflink.objects import JsonObject


class PodBackend(Protocol):
    """Runs the pods. Errors are `ApiStatusError`s."""

    def log(
        self,
        namespace: str,
        pod: str,
        container: str,
        *,
        tail_lines: int | None = None,
        follow: bool = False,
        previous: bool = False,
        since_seconds: int | None = None,
        limit_bytes: int | None = None,
    ) -> AsyncIterator[bytes]:
        """The container's output; with `follow` until the container ends."""

    async def connect(
        self, namespace: str, pod: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to a port of the pod; `OSError` where nothing listens."""


class PodHandlers:
    """The subresources of pods that need a backend."""

    def __init__(self, store: Store, backend: PodBackend | None) -> None:
        self._store = store
        self._backend = backend

    async def log(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        """Stream the log of one container as plain text."""
        if request.method != "GET":
            raise statuses.method_not_allowed()
        if self._backend is None:
            raise statuses.method_not_allowed()
        pod = await self._store.get(target.resource, target.namespace, target.name)
        query = request.query
        container = _container(pod, query.get("container", ""))
        lines = self._backend.log(
            target.namespace or "",
            target.name,
            container,
            tail_lines=paths.integer(query, "tailLines"),
            follow=paths.flag(query, "follow"),
            previous=paths.flag(query, "previous"),
            since_seconds=paths.integer(query, "sinceSeconds"),
            limit_bytes=paths.integer(query, "limitBytes"),
        )
        return await _stream(request, lines)

    async def port_forward(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        """Connect a client to ports of a pod."""
        raise statuses.method_not_allowed()


async def _stream(request: web.BaseRequest, lines: AsyncIterator[bytes]) -> web.StreamResponse:
    """Text as it comes. An error before the first bytes is the answer, a later one cuts it off."""
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    response.enable_chunked_encoding()
    async for chunk in lines:
        if not response.prepared:
            await response.prepare(request)
        try:
            await response.write(chunk)
        except ApiStatusError as error:
            raise ConnectionResetError("the log broke off") from error
    if not response.prepared:
        await response.prepare(request)
    await response.write_eof()
    return response


def _container(pod: JsonObject, wanted: str) -> str:
    """The container whose log is meant; 400 where there are several or it does not exist."""
    spec, name = pod["spec"], objects.name_of(pod)
    regular = [each["name"] for each in spec.get("containers") or []]
    initial = [each["name"] for each in spec.get("initContainers") or []]
    if wanted:
        if wanted not in (*regular, *initial):
            raise statuses.bad_request(f"container {wanted} is not valid for pod {name}")
        return wanted
    if len(regular) == 1 and not initial:
        return str(regular[0])
    annotated = objects.annotations_of(pod).get("kubectl.kubernetes.io/default-container")
    if annotated in regular:
        return str(annotated)
    if len(regular) == 1:
        return str(regular[0])
    choices = f"choose one of: [{' '.join(regular)}]"
    if initial:
        choices += f" or one of the init containers: [{' '.join(initial)}]"
    raise statuses.bad_request(f"a container name must be specified for pod {name}, {choices}")
