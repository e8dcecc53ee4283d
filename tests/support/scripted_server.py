"""A real HTTP server that gives the answers which a test wrote down, in their order.

It stands for Flink's REST API (or any other) where a test needs an exact sequence: an error twice
and then success, a connection that breaks before or after the request was read, a slow answer. It
patches nothing: clients come over a socket.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass(frozen=True, slots=True)
class Answer:
    """`body` is sent as JSON unless it is text.

    `drop` breaks the connection instead; with `trickles` blanks come first, without an end.
    """

    status: int = 200
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False
    delay: float = 0.0
    trickles: bool = False

    def response(self) -> web.Response:
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return web.Response(
            status=self.status, text=text, content_type="application/json", headers=self.headers
        )


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it arrived; `size` is the length of its body, which is kept when it is small."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    size: int

    @property
    def json(self) -> Any:
        return json.loads(self.body)


_KEPT = 1 << 20


class ScriptedServer:
    """Answers by method and path; the last answer of a list is repeated, others are used once."""

    def __init__(self) -> None:
        self.url = ""
        self.seen: list[Seen] = []
        self._answers: dict[tuple[str, str], list[Answer]] = {}
        self._patterns: list[tuple[str, str]] = []

    def on(self, method: str, path: str, *answers: Answer) -> None:
        """What to answer from now on."""
        self._answers[method, path] = list(answers)

    def on_any(self, method: str, pattern: str, *answers: Answer) -> None:
        """The same for all paths of a form that have no answer of their own."""
        self._patterns.insert(0, (method, pattern))
        self._answers[method, pattern] = list(answers)

    def requests(self, method: str | None = None, path: str | None = None) -> list[Seen]:
        """What has arrived, in order."""
        return [
            seen
            for seen in self.seen
            if method in (None, seen.method) and path in (None, seen.path)
        ]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Records the request and gives the next answer; 404 as Flink does for an unknown path."""
        body, size = bytearray(), 0
        async for chunk in request.content.iter_any():
            size += len(chunk)
            if size <= _KEPT:
                body += chunk
        path = request.path
        self.seen.append(
            Seen(
                request.method,
                path,
                dict(request.query),
                {name.lower(): value for name, value in request.headers.items()},
                bytes(body),
                size,
            )
        )
        answers = self._answers.get((request.method, path)) or self._of_pattern(request)
        if not answers:
            errors = {"errors": [f"Unable to load requested file {path}."]}
            return web.json_response(errors, status=404)
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer.delay:
            await asyncio.sleep(answer.delay)
        if answer.drop:
            assert request.transport is not None
            request.transport.abort()
        if answer.trickles:
            return await _trickle(request)
        return answer.response()

    def _of_pattern(self, request: web.Request) -> list[Answer] | None:
        for method, pattern in self._patterns:
            if method == request.method and re.fullmatch(pattern, request.path):
                return self._answers[method, pattern]
        return None


async def _trickle(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "application/json"})
    await response.prepare(request)
    with suppress(ConnectionError):  # until the client has enough
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.05)
    return response


@asynccontextmanager
async def scripted_server(tls: ssl.SSLContext | None = None) -> AsyncIterator[ScriptedServer]:
    """One server on a port of its own, closed at the end."""
    server = ScriptedServer()
    app = web.Application(client_max_size=1 << 40)
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        scheme = "http" if tls is None else "https"
        server.url = f"{scheme}://127.0.0.1:{runner.addresses[0][1]}"
        yield server
    finally:
        await runner.cleanup()


@dataclass
class Doorkeeper:
    """Sends whoever speaks plainly to where TLS is spoken, as Flink's REST server does."""

    port: int = 0
    sent_away: int = 0


@asynccontextmanager
async def doorkeeper(server: ScriptedServer) -> AsyncIterator[Doorkeeper]:
    """One port before a server with TLS, which takes both."""
    found = Doorkeeper()
    behind = int(server.url.rpartition(":")[2])

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            first = await reader.read(1)
            if first == b"\x16":  # how a TLS record begins that carries a handshake
                await _relay(first, reader, writer, behind)
            elif first:
                found.sent_away += 1
                writer.write(
                    b"HTTP/1.1 301 Moved Permanently\r\nlocation: https://pod:8081/\r\n"
                    b"content-length: 0\r\nconnection: close\r\n\r\n"
                )
                await writer.drain()
        writer.close()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as listener:
        found.port = listener.sockets[0].getsockname()[1]
        yield found


async def _relay(
    first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int
) -> None:
    inner, outer = await asyncio.open_connection("127.0.0.1", port)
    outer.write(first)

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while chunk := await source.read(65536):
                target.write(chunk)
                await target.drain()
        target.close()

    async with asyncio.TaskGroup() as group:
        group.create_task(copy(reader, outer))
        group.create_task(copy(inner, writer))
