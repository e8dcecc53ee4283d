"""`pods/log` and `pods/portforward`: what only the one who runs the pods can answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from aiohttp import web

from kubeflink import objects
from kubeflink.apiserver import paths, statuses
from kubeflink.apiserver.paths import Target
from kubeflink.apiserver.portforward import Connection, forward
from kubeflink.apiserver.store import Store
from kubeflink.errors import ApiStatusError
from kubeflink.objects import JsonObject

_PATIENCE = 0.5
"""Seconds in which a backend may still answer with an error instead of a log."""


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Which part of a log is asked for, by the members of Kubernetes' `PodLogOptions`."""

    tail_lines: int | None = None
    follow: bool = False
    previous: bool = False
    since_seconds: int | None = None
    limit_bytes: int | None = None


class PodBackend(Protocol):
    """Runs the pods. Errors are `ApiStatusError`s."""

    def log(
        self, namespace: str, pod: str, container: str, options: LogOptions
    ) -> AsyncIterator[bytes]:
        """The container's output; with `follow` until the container ends."""

    async def connect(self, namespace: str, pod: str, port: int) -> Connection:
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
        if paths.flag(query, "timestamps"):
            raise statuses.bad_request("timestamps of log lines are not kept by this server")
        options = LogOptions(
            tail_lines=paths.integer(query, "tailLines"),
            follow=paths.flag(query, "follow"),
            previous=paths.flag(query, "previous"),
            since_seconds=paths.integer(query, "sinceSeconds"),
            limit_bytes=paths.integer(query, "limitBytes"),
        )
        lines = self._backend.log(target.namespace or "", target.name, container, options)
        return await _stream(request, lines)

    async def port_forward(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        """Connect a client to ports of a pod; 400 for a pod that does not run."""
        if self._backend is None or request.method not in ("GET", "POST"):
            raise statuses.method_not_allowed()
        pod = await self._store.get(target.resource, target.namespace, target.name)
        if (pod.get("status") or {}).get("phase") != "Running":
            raise statuses.bad_request(f"pod {target.name} is not running")
        backend, namespace = self._backend, target.namespace or ""

        async def connect(port: int) -> Connection:
            return await backend.connect(namespace, target.name, port)

        return await forward(request, _ports(request), connect)

    async def refuse_exec(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        """`exec` and `attach` are recognised, to be refused in a sentence."""
        await self._store.get(target.resource, target.namespace, target.name)
        raise statuses.failure(
            405, f"{target.subresource} is not available on this API server: use logs instead"
        )


def _ports(request: web.BaseRequest) -> list[int]:
    """The ports of `?ports=8081,6123` or `?ports=8081&ports=6123`; 400 for what is no port."""
    ports = []
    for text in ",".join(request.query.getall("ports", [])).split(","):
        if not text:
            continue
        if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
            raise statuses.bad_request(f'unable to parse "{text}" as a port')
        ports.append(int(text))
    return ports


async def _stream(request: web.BaseRequest, lines: AsyncIterator[bytes]) -> web.StreamResponse:
    """Text as it comes. An error before the first bytes is the answer, a later one cuts it off."""
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    response.enable_chunked_encoding()
    chunk = asyncio.ensure_future(_next(lines))
    try:
        # A log that is followed may stay empty for long; its client should not wait for the head.
        await asyncio.wait({chunk}, timeout=_PATIENCE)
        if chunk.done():
            chunk.result()
        await response.prepare(request)
        while text := await chunk:
            await response.write(text)
            chunk = asyncio.ensure_future(_next(lines))
    except ApiStatusError as error:
        if response.prepared:
            raise ConnectionResetError("the log broke off") from error
        raise
    finally:
        chunk.cancel()
        await asyncio.wait({chunk})
        if isinstance(lines, AsyncGenerator):
            await lines.aclose()
    await response.write_eof()
    return response


async def _next(lines: AsyncIterator[bytes]) -> bytes:
    """The next text that is not empty; empty at the end."""
    async for text in lines:
        if text:
            return text
    return b""


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
