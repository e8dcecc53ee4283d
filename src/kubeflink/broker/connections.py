"""The broker's connections to the API server: aiohttp's, below the client of `kube`.

A request over httpx2's own connections takes a millisecond of CPU time, most of it below httpx2
itself, which is several times what the broker does with a pod. aiohttp, which the broker has anyway
because it is a server, reads and writes HTTP in a fifth of that. Above the connections nothing
changes: credentials, errors and retries are those of `kube`, so aiohttp's errors become httpx2's.

What a broker does not need is not there: proxies (a client that has one keeps httpx2's
connections) and upgrades to other protocols.
"""

from __future__ import annotations

import io
import socket
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from typing import Any

import aiohttp
import httpx2
from yarl import URL

from kubeflink.kube.connection import KEEP_ALIVE, socket_options

WHOLE = 1 << 20
"""Bytes of a body that is sent or read at once. That of a watch has no known length."""


class AiohttpConnections(httpx2.AsyncBaseTransport):
    """Sends httpx2's requests over aiohttp's connections; there are as many as are wanted at once.

    `tls` is for https. Belongs to the event loop of its first request.
    """

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, whose body is still to be read. Raises httpx2's `TransportError`."""
        if self._session is None:
            self._session = self._open()
        try:
            answer = await self._session.request(
                request.method,
                URL(str(request.url), encoded=True),
                headers=request.headers.multi_items(),
                data=_body(request),
                timeout=_timeout(request.extensions.get("timeout") or {}),
                server_hostname=request.extensions.get("sni_hostname"),
                allow_redirects=False,
            )
            body = None
            if answer.content_length is not None and answer.content_length <= WHOLE:
                body = await answer.read()
        except aiohttp.ClientConnectorError as error:
            raise _as_httpx(error, request) from error.os_error
        except aiohttp.ClientError as error:
            raise _as_httpx(error, request) from error
        return httpx2.Response(
            answer.status,
            headers=list(answer.raw_headers),
            content=body,
            stream=_Body(answer, request) if body is None else None,
            extensions={
                "http_version": b"HTTP/1.1",
                "reason_phrase": (answer.reason or "").encode("latin-1", "replace"),
            },
        )

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=self._tls, limit=0, keepalive_timeout=KEEP_ALIVE, socket_factory=_socket
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent", "Content-Type"),
            # The bytes as they come: httpx2 decodes what is compressed.
            auto_decompress=False,
        )
        # What is repeated is decided above: of a DELETE whose answer got lost it has to be known
        # that it was sent twice. As aiohttp's own test client does it; there is no argument for it.
        session._retry_connection = False
        return session


class _Body(httpx2.AsyncByteStream):
    """The body of an answer; closing it before its end closes the connection."""

    def __init__(self, answer: aiohttp.ClientResponse, request: httpx2.Request) -> None:
        self._answer = answer
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._answer.content.iter_any():
                yield chunk
        except aiohttp.ClientError as error:
            raise _as_httpx(error, self._request) from error

    async def aclose(self) -> None:
        self._answer.release()


def _socket(address: Any) -> socket.socket:
    family, kind, protocol = address[:3]
    made = socket.socket(family, kind, protocol)
    for option in socket_options():
        made.setsockopt(*option)
    return made


def _body(request: httpx2.Request) -> bytes | io.BytesIO | AsyncIterable[bytes] | None:
    if isinstance(request.stream, httpx2.ByteStream):
        # Large ones go out in parts, so that others are served in between.
        large = len(request.content) > WHOLE
        return io.BytesIO(request.content) if large else request.content or None
    assert isinstance(request.stream, AsyncIterable)
    return request.stream


def _timeout(seconds: Mapping[str, float | None]) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(
        total=None, sock_connect=seconds.get("connect"), sock_read=seconds.get("read")
    )


def _as_httpx(error: aiohttp.ClientError, request: httpx2.Request) -> httpx2.TransportError:
    """The error that httpx2's own connections would have raised."""
    kind: type[httpx2.TransportError]
    match error:
        case aiohttp.ConnectionTimeoutError():
            kind = httpx2.ConnectTimeout
        case aiohttp.ServerTimeoutError():
            kind = httpx2.ReadTimeout
        case aiohttp.ClientConnectorError():
            kind = httpx2.ConnectError
        case aiohttp.ClientOSError():
            kind = httpx2.ReadError
        case _:  # disconnected, cut off, or no HTTP
            kind = httpx2.RemoteProtocolError
    return kind(str(error) or type(error).__name__, request=request)
