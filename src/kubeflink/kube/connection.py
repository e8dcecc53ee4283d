"""The HTTP connection to one API server: TLS, proxy, credentials.

Everything that proves identity sits in the transport, below the HTTP client: so each user of the
client (objects, watches, WebSockets, Flink's REST through the service proxy) is authenticated in
the same way, and none of them can forget it.

A 401 is answered by one renewal of the credential and one repetition. The server has refused the
request before doing anything, so this never does something twice; only a body that is a stream
cannot be sent again, and then the 401 goes to the caller, with fresh credentials for the next try.

A plug-in may give a client certificate. TLS shows it once per connection, so a new certificate
needs new connections: the pool with the old one takes no new request and is closed when its last
response has been read. The same goes for certificates and authorities in files, which others renew
while a long-lived process runs: whether they have changed is looked at before each request. Files
that do not fit together (the one is renewed already, the other not yet) change nothing.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import httpx2
import msgspec
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import Cluster, Context
from lightkube.core.generic_client import BasicRequest, GenericAsyncClient

from kubeflink.errors import KubeconfigError
from kubeflink.kube import handshake
from kubeflink.kube.access import ClientCertificate, ClusterAccess, ServerTls
from kubeflink.kube.credentials import Credential, CredentialSource, source_of
from kubeflink.kube.headers import impersonation_headers

logger = logging.getLogger(__name__)

CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 60.0
"""Seconds of silence that end a request. The API server itself gives up after 60 s."""

KEEP_ALIVE = 30.0
"""Seconds that an idle connection is kept."""

OpenConnections = Callable[[ssl.SSLContext], httpx2.AsyncBaseTransport]
"""Gives a transport with connections of its own, all with this TLS context."""


def open_client(
    access: ClusterAccess,
    *,
    user_agent: str,
    environ: Mapping[str, str],
    connections: OpenConnections | None = None,
) -> tuple[Any, ClusterTransport]:
    """lightkube's client over our transport. Nothing is sent. Raises `KubeconfigError`.

    A proxy is one that `access` names; the environment is for the credentials alone. `connections`
    take the place of httpx2's own where there is no proxy.
    """
    transport = ClusterTransport(access, environ=environ, connections=connections)
    config = SingleConfig(
        context_name=access.context or "default",
        context=Context(cluster=access.cluster_name or "default", namespace=access.namespace),
        cluster=Cluster(server=access.server),
    )
    parameters = _Connection(transport=transport, user_agent=user_agent)
    try:
        return _Client(parameters, config, transport), transport
    except httpx2.InvalidURL as error:
        raise KubeconfigError(f"The server of {access.origin} is no URL: {error}") from error


class _Client(GenericAsyncClient):
    """lightkube's client without what costs time and is of no use towards an API server.

    A URL is put together once for each path: to parse one takes longer than all else that is done
    to a request before it is sent. And requests go straight to the transport, not through the flows
    for redirects, cookies and other kinds of authentication than ours.
    """

    def __init__(
        self, parameters: _Connection, config: SingleConfig, transport: ClusterTransport
    ) -> None:
        super().__init__(parameters, config)
        self._transport = transport
        self._common_headers = self._client.headers.multi_items()
        self._url = lru_cache(maxsize=128)(self._absolute)

    @property
    def credentials_since(self) -> float:
        """See `CredentialSource.free_since`."""
        return self._transport.credentials.free_since

    async def send(self, req: httpx2.Request, stream: bool = False) -> httpx2.Response:
        response = await self._transport.handle_async_request(req)
        response.request = req
        logger.debug("%s %s: %d", req.method, req.url, response.status_code)
        if not stream:
            try:
                await response.aread()
            except BaseException:
                await response.aclose()
                raise
        return response

    def build_adapter_request(self, br: BasicRequest) -> httpx2.Request:
        url = self._url(br.url)
        if br.params:
            url = url.copy_with(params=br.params)
        body = None if br.data is None else msgspec.json.encode(br.data)
        kind = {} if body is None else {"Content-Type": "application/json"}
        return httpx2.Request(
            br.method,
            url,
            headers=[*self._common_headers, *{**kind, **(br.headers or {})}.items()],
            content=body,
            extensions={"timeout": (br.timeout or self._client.timeout).as_dict()},
        )

    def _absolute(self, path: str) -> httpx2.URL:
        return self._client.build_request("GET", path).url


class _Connection(ConnectionParams):
    """lightkube's connection parameters, with our transport in place of its TLS and auth."""

    def __init__(self, *, transport: ClusterTransport, user_agent: str) -> None:
        super().__init__(
            timeout=httpx2.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT, pool=None),
            trust_env=False,
        )
        self._transport = transport
        self._headers = {"User-Agent": user_agent, "Accept": "application/json"}

    def httpx_params(self, config: SingleConfig) -> dict[str, Any]:
        return {
            "base_url": config.cluster.server,
            "transport": self._transport,
            "timeout": self.timeout,
            "trust_env": False,
            "headers": self._headers,
        }


class ClusterTransport(httpx2.AsyncBaseTransport):
    """Sends requests to one API server as one account."""

    def __init__(
        self,
        access: ClusterAccess,
        *,
        environ: Mapping[str, str],
        connections: OpenConnections | None = None,
    ) -> None:
        self._access = access
        self._is_secure = access.server.startswith("https://")
        self._connections = connections if access.proxy_url is None else None
        self.credentials: CredentialSource = source_of(access.credentials, environ)
        impersonation = access.credentials.impersonation
        self._extra_headers = impersonation_headers(impersonation) if impersonation else []
        self._pool = self._open_pool(Credential())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        credential = await self.credentials.current()
        response = await self._send(request, credential)
        if response.status_code != httpx2.codes.UNAUTHORIZED:
            return response
        try:
            renewed = await self.credentials.renewed(credential)
        except BaseException:
            await response.aclose()
            raise
        if renewed is None or not isinstance(request.stream, httpx2.ByteStream):
            return response
        await response.aclose()
        return await self._send(request, renewed)

    async def renew_credentials(self) -> None:
        """Get other credentials, after a refusal that did not come as an answer (a watch event)."""
        await self.credentials.renewed(await self.credentials.current())

    async def aclose(self) -> None:
        await self._pool.transport.aclose()

    async def _send(self, request: httpx2.Request, credential: Credential) -> httpx2.Response:
        if credential.authorization is not None:
            request.headers["Authorization"] = credential.authorization
        if self._extra_headers:
            kept = [pair for pair in request.headers.raw if not _impersonates(pair)]
            request.headers = httpx2.Headers([*kept, *self._extra_headers])
        if self._access.tls.server_name:
            request.extensions = {
                **request.extensions,
                "sni_hostname": self._access.tls.server_name,
            }
        if self._is_secure:
            request.extensions = {**request.extensions, "trace": handshake.trace()}
        old, self._pool = self._pool, self._pool_for(credential)
        if old is not self._pool:
            await old.retire()
        return await self._pool.send(request)

    def _pool_for(self, credential: Credential) -> _Pool:
        """The present pool, or a new one where it would show or trust what is out of date."""
        if (credential.certificate, credential.key) != self._pool.certificate:
            return self._open_pool(credential)
        if self._pool.files == self._files():
            return self._pool
        try:
            return self._open_pool(credential)
        except KubeconfigError as error:
            logger.info("%s; going on with what was read before", error.message)
            return self._pool

    def _files(self) -> tuple[tuple[int, ...] | None, ...]:
        """What tells whether a file that TLS needs is another one than before."""
        shown = self._access.credentials.certificate or ClientCertificate()
        files = (self._access.tls.ca_file, shown.certificate_file, shown.key_file)
        return tuple(_state(file) for file in files if file is not None)

    def _open_pool(self, credential: Credential) -> _Pool:
        files = self._files()
        tls = tls_context(self._access, credential)
        if self._connections is not None:
            transport = self._connections(tls)
        else:
            transport = _httpx_connections(tls, self._access.proxy_url)
        return _Pool(transport, (credential.certificate, credential.key), files)


def _state(file: Path) -> tuple[int, ...] | None:
    try:
        found = file.stat()
    except OSError:  # whoever needs it says so
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _httpx_connections(tls: ssl.SSLContext, proxy: str | None) -> httpx2.AsyncBaseTransport:
    try:
        return httpx2.AsyncHTTPTransport(
            verify=tls,
            trust_env=False,
            # No limit on connections: each watch holds one, and a request that waits silently
            # for one of them to end would wait for ever.
            limits=httpx2.Limits(keepalive_expiry=KEEP_ALIVE, max_keepalive_connections=20),
            proxy=proxy,
            socket_options=list(socket_options()),
        )
    except httpx2.InvalidURL:  # it may hold a password, and so may the error
        raise KubeconfigError("The URL of the proxy cannot be used") from None
    except ImportError as error:
        raise KubeconfigError(
            "The way to the API server is a SOCKS proxy, for which a package is missing",
            hint="Install it with: pip install socksio",
        ) from error


def _impersonates(header: tuple[bytes, bytes]) -> bool:
    return header[0].lower().startswith(b"impersonate-")


class _Pool:
    """The connections that show one client certificate, and the responses still being read.

    `files` is the state of the files that TLS was set up from.
    """

    def __init__(
        self,
        transport: httpx2.AsyncBaseTransport,
        certificate: tuple[str | None, str | None],
        files: tuple[tuple[int, ...] | None, ...],
    ) -> None:
        self.transport = transport
        self.certificate = certificate
        self.files = files
        self.retired = False
        self._active = 0

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        self._active += 1
        try:
            response = await self.transport.handle_async_request(request)
        except BaseException:
            await self.finish_one()
            raise
        if response.is_closed:  # it has been read already
            await self.finish_one()
            return response
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _CountedStream(response.stream, self)
        return response

    async def retire(self) -> None:
        """Take no further request; close when the last response has been read."""
        self.retired = True
        if self._active == 0:
            await self.transport.aclose()

    async def finish_one(self) -> None:
        """One response has been read or given up."""
        self._active -= 1
        if self.retired and self._active == 0:
            await self.transport.aclose()


class _CountedStream(httpx2.AsyncByteStream):
    """The body of a response, telling its pool when it is closed."""

    def __init__(self, inner: httpx2.AsyncByteStream, pool: _Pool) -> None:
        self._inner = inner
        self._pool: _Pool | None = pool

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            yield chunk

    async def aclose(self) -> None:
        pool, self._pool = self._pool, None
        try:
            await self._inner.aclose()
        finally:
            if pool is not None:
                await pool.finish_one()


def tls_context(access: ClusterAccess, credential: Credential) -> ssl.SSLContext:
    """The TLS context for this server and client certificate. Raises `KubeconfigError`."""
    if access.server.startswith("http://"):
        # Never used; loading the system's authorities would cost 20 ms for nothing.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context = _server_context(access.tls)
    certificate = access.credentials.certificate
    if credential.certificate is not None:
        certificate = ClientCertificate(
            certificate_data=credential.certificate, key_data=credential.key
        )
    if certificate is not None:
        _load_certificate(context, certificate)
    return context


def _server_context(tls: ServerTls) -> ssl.SSLContext:
    if not (tls.insecure or tls.ca_file or tls.ca_data):
        return httpx2.create_ssl_context(trust_env=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if tls.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    # Go takes any certificate among the authorities as an anchor, and does not insist on the
    # extensions that OpenSSL's strict mode wants: clusters have such authorities.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    source = str(tls.ca_file) if tls.ca_file else "certificate-authority-data"
    try:
        context.load_verify_locations(cafile=tls.ca_file, cadata=tls.ca_data)
    except (OSError, ValueError) as error:
        raise KubeconfigError(f"Cannot use {source}: {_reason(error)}") from error
    return context


def _load_certificate(context: ssl.SSLContext, certificate: ClientCertificate) -> None:
    """Load a client certificate; OpenSSL takes files only, so data is written for a moment."""

    def no_passphrase() -> str:
        raise KubeconfigError(
            "The client key is encrypted",
            hint="Store it without a passphrase, as kubectl needs it too.",
        )

    with (
        _as_file(certificate.certificate_file, certificate.certificate_data) as certificate_file,
        _as_file(certificate.key_file, certificate.key_data) as key_file,
    ):
        try:
            context.load_cert_chain(certificate_file, key_file, password=no_passphrase)
        except (OSError, ValueError) as error:
            source = certificate.certificate_file or "client-certificate-data"
            raise KubeconfigError(
                f"Cannot use the client certificate {source}: {_reason(error)}"
            ) from error


@contextlib.contextmanager
def _as_file(file: Path | None, data: str | None) -> Iterator[Path]:
    if data is None:
        assert file is not None
        yield file
        return
    descriptor, name = tempfile.mkstemp(prefix="kubeflink-", suffix=".pem")  # mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(data)
        yield Path(name)
    finally:
        os.unlink(name)


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return getattr(error, "reason", None) or "not a certificate and key that OpenSSL can read"
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def socket_options() -> Iterator[tuple[int, int, int]]:
    """For each connection: no delay of small writes, and probes that find a dead peer within about
    45 s, where the system can be told so.
    """
    yield (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    idle = getattr(socket, "TCP_KEEPIDLE", getattr(socket, "TCP_KEEPALIVE", None))
    for option, value in (
        (idle, 30),
        (getattr(socket, "TCP_KEEPINTVL", None), 5),
        (getattr(socket, "TCP_KEEPCNT", None), 3),
    ):
        if option is not None:
            yield (socket.IPPROTO_TCP, option, value)
    yield (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
