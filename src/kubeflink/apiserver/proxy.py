"""`services/[SCHEME:]NAME[:PORT]/proxy/PATH`: requests that go on to what a Service leads to.

Bodies are streamed in both directions with constant memory, so a jar of any size can be uploaded
through it. The client's credentials are for this server and are not passed on.
"""

from __future__ import annotations

from typing import Protocol

import aiohttp
from aiohttp import web

from kubeflink.apiserver import statuses
from kubeflink.apiserver.paths import Target

_CHUNK = 64 * 1024
# Headers of one connection, not of the message; and what aiohttp sets by itself.
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "expect",
        "host",
        "authorization",
    }
)


class ServiceProxy(Protocol):
    """Knows where a Service leads to."""

    async def address(self, namespace: str, service: str, port: str) -> tuple[str, int]:
        """Host and port behind a port of a Service, given by name or number ("" for its only one).

        `NotFoundError` where there is no such Service, `ServerError` (503) where nothing is behind.
        """


class ProxyHandler:
    """Passes requests on, by one HTTP client that is made for the first of them."""

    def __init__(self, proxy: ServiceProxy | None) -> None:
        self._proxy = proxy
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """End the connections to what is behind."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def handle(
        self, request: web.BaseRequest, target: Target, *, answer_is_lost: bool = False
    ) -> web.StreamResponse:
        """Pass one request on and its answer back.

        One that is going to be lost is not sent piece by piece, for then it would have arrived.
        """
        if self._proxy is None:
            raise statuses.method_not_allowed()
        scheme, service, port = _split(target.name)
        host, number = await self._proxy.address(target.namespace or "", service, port)
        query = request.raw_path.partition("?")[2]
        url = f"{scheme}://{host}:{number}{target.rest or '/'}" + (f"?{query}" if query else "")
        try:
            return await self._pass_on(request, url, answer_is_lost)
        except aiohttp.ClientConnectorError as error:
            raise statuses.unavailable(
                f"error trying to reach service: dial tcp {host}:{number}: {error}"
            ) from error
        except aiohttp.ClientConnectionError as error:
            # In the words of a real API server, for they tell that the request may have arrived.
            what = "connection reset by peer" if isinstance(error, OSError) else "EOF"
            raise statuses.unavailable(f"error trying to reach service: {what}") from error

    async def _pass_on(
        self, request: web.BaseRequest, url: str, answer_is_lost: bool
    ) -> web.StreamResponse:
        from yarl import URL

        body = request.content.iter_chunked(_CHUNK) if request.body_exists else None
        headers = {
            name: value
            for name, value in request.headers.items()
            if name.lower() not in _HOP_BY_HOP and name.lower() != "content-encoding"
        }
        async with self._client().request(
            request.method,
            URL(url, encoded=True),
            headers=headers,
            data=body,
            allow_redirects=False,
            ssl=False,  # what is behind is inside the cluster, and a real API server trusts it too
        ) as answer:
            if answer_is_lost:
                return web.Response(body=await answer.read())
            response = web.StreamResponse(status=answer.status, reason=answer.reason)
            for name, value in answer.headers.items():
                if name.lower() not in _HOP_BY_HOP:
                    response.headers.add(name, value)
            await response.prepare(request)
            try:
                async for chunk in answer.content.iter_chunked(_CHUNK):
                    await response.write(chunk)
            except aiohttp.ClientError as error:
                # The head is sent; only a cut connection still tells that the body is not whole.
                raise ConnectionResetError(f"the answer of {url} broke off") from error
            await response.write_eof()
            return response

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            # Bodies pass as they are, compressed or not. The one limit is for silence.
            self._session = aiohttp.ClientSession(
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=600),
            )
        return self._session


def _split(name: str) -> tuple[str, str, str]:
    """Scheme, Service and port of `demo-rest`, `demo-rest:rest`, `https:demo-rest:8081`."""
    parts = name.split(":")
    if len(parts) == 1:
        return "http", parts[0], ""
    if len(parts) == 2:
        return "http", parts[0], parts[1]
    if len(parts) == 3 and parts[0] in ("", "http", "https"):
        return parts[0] or "http", parts[1], parts[2]
    raise statuses.bad_request(f'invalid service request "{name}"')
