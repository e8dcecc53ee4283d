"""An API server for tests of clients: small, scriptable, and it counts what it is asked.

It is a real HTTP server with a dict of objects behind it. What makes it useful are its faults: for
each request `faults` may hold an answer to give first, so that a test can say "the first POST is
carried out but its answer is lost".
"""

from __future__ import annotations

import asyncio
import ssl
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any, Self

from aiohttp import web

Fault = Callable[[web.Request, "ApiStub"], Awaitable[web.StreamResponse | None]]
"""Gives the answer, or None to let the request through."""

BODY = web.RequestKey("body", Any)


@dataclass
class Seen:
    """One request as it came in."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    header_items: list[tuple[str, str]]
    raw_path: str = ""
    peer_certificate: Any = None


def status(code: int, message: str, reason: str = "", **more: Any) -> web.Response:
    """A `Status` as the API server writes it."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
        **more,
    }
    return web.json_response(body, status=code)


def answer(code: int, message: str = "no", reason: str = "", headers: Any = None) -> Fault:
    """A fault that answers with a Status."""

    async def fault(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        response = status(code, message, reason)
        response.headers.update(headers or {})
        return response

    return fault


async def carry_out_and_break(request: web.Request, stub: ApiStub) -> web.StreamResponse:
    """Do what was asked for, and close the connection without an answer."""
    await stub.serve(request)
    assert request.transport is not None
    request.transport.abort()
    raise web.HTTPInternalServerError  # never arrives


async def break_at_once(request: web.Request, stub: ApiStub) -> web.StreamResponse:
    """Close the connection without doing anything."""
    assert request.transport is not None
    request.transport.abort()
    raise web.HTTPInternalServerError  # never arrives


@dataclass
class ApiStub:
    """`async with ApiStub() as stub`: objects by path, requests seen, faults to come."""

    token: str | None = None
    tls: ssl.SSLContext | None = None
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    faults: list[tuple[str, Fault]] = field(default_factory=list)
    """Method and fault, each used once, in order."""
    watches: list[Fault] = field(default_factory=list)
    """What to do with each watch, in order; the last one stays."""
    denied: set[tuple[str, str]] = field(default_factory=set)
    """Verb and resource for which an access review says no."""
    clock_offset: timedelta = timedelta()
    """How far this server's clock is ahead."""
    date: str = ""
    """What it writes into the header `Date` instead of that."""
    port_forwards: Fault | None = None
    """How port-forwards are answered."""
    version: int = 100
    port: int = 0

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        app = web.Application(client_max_size=1 << 26)
        app.router.add_route("*", "/{path:.*}", self._handle)
        app.on_response_prepare.append(self._date)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1)
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        site = web.TCPSite(runner, "127.0.0.1", self.port, ssl_context=self.tls)
        await site.start()
        assert site._server is not None
        self.port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def kubeconfig(self, directory: Path, *, user: str = "{}", cluster: str = "") -> Path:
        """A kubeconfig for this server; `user` and `cluster` are further YAML flow text."""
        file = directory / "kubeconfig"
        more = f", {cluster}" if cluster else ""
        file.write_text(
            f"""
apiVersion: v1
kind: Config
current-context: stub
clusters: [{{name: stub, cluster: {{server: "{self.url}"{more}}}}}]
users: [{{name: tester, user: {user}}}]
contexts: [{{name: stub, context: {{cluster: stub, user: tester, namespace: flink-jobs}}}}]
"""
        )
        return file

    def count(self, method: str, part: str = "") -> int:
        return sum(1 for one in self.seen if one.method == method and part in one.path)

    async def _date(self, request: web.Request, response: web.StreamResponse) -> None:
        now = format_datetime(datetime.now(UTC) + self.clock_offset, usegmt=True)
        response.headers["Date"] = self.date or now

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = request[BODY] = await request.json() if request.can_read_body else None
        transport = request.transport
        certificate = transport.get_extra_info("peercert") if transport else None
        self.seen.append(
            Seen(
                request.method,
                request.path,
                dict(request.query),
                dict(request.headers),
                body,
                list(request.headers.items()),
                request.raw_path,
                certificate,
            )
        )
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            return status(401, "Unauthorized", "Unauthorized")
        for index, (method, fault) in enumerate(self.faults):
            if method in (request.method, "*"):
                del self.faults[index]
                response = await fault(request, self)
                return response if response is not None else await self.serve(request)
        return await self.serve(request)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """The answer without faults."""
        if request.query.get("watch") == "true":
            watch = self.watches.pop(0) if len(self.watches) > 1 else self.watches[0]
            response = await watch(request, self)
            assert response is not None
            return response
        if request.path.endswith("/portforward") and self.port_forwards is not None:
            forwarded = await self.port_forwards(request, self)
            assert forwarded is not None
            return forwarded
        body = request[BODY]
        match request.method:
            case "POST":
                return self._create(request.path, body)
            case "GET" if request.path in self.objects:
                return web.json_response(self.objects[request.path])
            case "GET" if request.path.rsplit("/", 1)[-1] in COLLECTIONS:
                return self._list(request)
            case "PUT" if request.path in self.objects:
                return web.json_response(self.store(request.path, body))
            case "PATCH" if request.path in self.objects:
                return web.json_response(
                    self.store(request.path, {**self.objects[request.path], **body})
                )
            case "DELETE" if request.path in self.objects:
                return self._delete(request.path, body or {})
        name = request.path.rsplit("/", 1)[-1]
        return status(404, f'things "{name}" not found', "NotFound")

    def store(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Put an object where a client finds it."""
        self.version += 1
        stamp = (datetime.now(UTC) + self.clock_offset).strftime("%Y-%m-%dT%H:%M:%SZ")
        metadata = {
            "uid": str(uuid.uuid4()),
            "creationTimestamp": stamp,
            **(body.get("metadata") or {}),
            "resourceVersion": str(self.version),
        }
        self.objects[path] = {**body, "metadata": metadata}
        return self.objects[path]

    def _create(self, collection: str, body: dict[str, Any]) -> web.Response:
        if collection.endswith("/selfsubjectaccessreviews"):
            asked = body["spec"]["resourceAttributes"]
            allowed = (asked["verb"], asked["resource"]) not in self.denied
            return web.json_response({**body, "status": {"allowed": allowed}}, status=201)
        path = f"{collection}/{body['metadata']['name']}"
        if path in self.objects:
            name = path.rsplit("/", 1)[-1]
            return status(409, f'things "{name}" already exists', "AlreadyExists")
        return web.json_response(self.store(path, body), status=201)

    def _list(self, request: web.Request) -> web.Response:
        items = [
            {key: value for key, value in one.items() if key not in ("kind", "apiVersion")}
            for path, one in self.objects.items()
            if path.rsplit("/", 1)[0] == request.path
        ]
        start = int(request.query.get("continue", 0))
        end = start + min(int(request.query.get("limit", 1000)), self.page)
        metadata = {"resourceVersion": str(self.version)}
        if end < len(items):
            metadata["continue"] = str(end)
        return web.json_response(
            {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items[start:end]}
        )

    page: int = 1000

    def _delete(self, path: str, options: dict[str, Any]) -> web.Response:
        uid = (options.get("preconditions") or {}).get("uid")
        if uid and uid != self.objects[path]["metadata"]["uid"]:
            return status(409, "the UID in the precondition does not match", "Conflict")
        self.version += 1
        del self.objects[path]
        return web.json_response({"kind": "Status", "apiVersion": "v1", "status": "Success"})


COLLECTIONS = ("pods", "services", "deployments", "configmaps", "events")


def watching(*events: Any, stay: bool = False, silent: bool = False) -> Fault:
    """A watch that sends these events, then ends or stays open."""

    async def fault(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for event in events:
            line = event if isinstance(event, bytes) else web.json_response(event).body
            await response.write(line + b"\n")  # type: ignore[operator]
        if stay or silent:
            await asyncio.sleep(3600)
        return response

    return fault
