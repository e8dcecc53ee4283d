"""The listening part of the server: it waits for nobody who does not say what he wants.

aiohttp gives a new connection all the time it likes for its first request, and asyncio a minute for
the TLS handshake before it. Whoever opens connections and says nothing, or one letter a minute,
would hold them all without ever having shown a token.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

from aiohttp import web

FIRST_REQUEST_SECONDS = 10.0
"""How long a new connection may take for the head of its first request."""


class Listener(web.Server):
    """An aiohttp server that cuts connections whose first request does not come."""

    def __init__(self, handler: Any, *, first_request: float, **options: Any) -> None:
        super().__init__(handler, **options)
        self._first_request = first_request
        self._silent: dict[web.RequestHandler, asyncio.TimerHandle] = {}

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Begin to wait for the first request."""
        super().connection_made(handler, transport)
        loop = asyncio.get_running_loop()
        self._silent[handler] = loop.call_later(self._first_request, transport.abort)

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        """Wait no more."""
        self._forget(handler)
        super().connection_lost(handler, exc)

    def heard(self, request: web.BaseRequest) -> None:
        """A request has come over its connection."""
        self._forget(request.protocol)

    def _forget(self, handler: web.RequestHandler) -> None:
        waiting = self._silent.pop(handler, None)
        if waiting is not None:
            waiting.cancel()


class Site(web.BaseSite):
    """Where a `Listener` listens. Each TLS handshake may take `handshake` seconds, at both ends."""

    def __init__(
        self,
        runner: web.ServerRunner,
        host: str,
        port: int,
        *,
        tls: ssl.SSLContext | None,
        handshake: float,
    ) -> None:
        super().__init__(runner, ssl_context=tls)
        self._host, self._port, self._handshake = host, port, handshake

    @property
    def name(self) -> str:
        """The address, as aiohttp's sites have it."""
        return f"{'https' if self._ssl_context else 'http'}://{self._host}:{self._port}"

    async def start(self) -> None:
        """Listen. `OSError` when the port is taken."""
        await super().start()
        server = self._runner.server
        assert server is not None
        handshake = self._handshake if self._ssl_context else None
        self._server = await asyncio.get_running_loop().create_server(
            server,
            self._host,
            self._port,
            ssl=self._ssl_context,
            ssl_handshake_timeout=handshake,
            ssl_shutdown_timeout=handshake,
            backlog=self._backlog,
        )
