"""The Kubernetes HTTP API as a server on aiohttp.

One low-level handler takes every request through the same steps: a planned fault, the bearer token,
what the path names, the authorizer, the handler; and it turns every error of the tree into a
`Status`. The server knows nothing of processes: what it cannot answer from its `Store` it asks a
`PodBackend` (logs, port-forward) or a `ServiceProxy` (where a Service leads to).

A token comes in the `Authorization` header or in the path (`/-/TOKEN/api/v1/...`). The second form
is for clients over plain HTTP: `kubectl` and everything on client-go drop all credentials of a
kubeconfig whose server is not https, but every client keeps a path that its server URL has.

A handler is cancelled when its client goes away; that is how a watch of a dead client ends.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import ssl
from collections.abc import Callable
from types import TracebackType
from typing import Self

from aiohttp import web

from kubeflink.apiserver import paths, reviews, statuses
from kubeflink.apiserver.bodies import json_response, read_object
from kubeflink.apiserver.discovery import Discovery
from kubeflink.apiserver.faults import Fault, FaultPlan
from kubeflink.apiserver.handlers import ResourceHandlers
from kubeflink.apiserver.listener import FIRST_REQUEST_SECONDS, Listener, Site
from kubeflink.apiserver.paths import Target
from kubeflink.apiserver.pods import PodBackend, PodHandlers
from kubeflink.apiserver.proxy import ProxyHandler, ServiceProxy
from kubeflink.apiserver.resources import Registry
from kubeflink.apiserver.reviews import AllowAll, Attributes, Authorizer
from kubeflink.apiserver.store import Store
from kubeflink.errors import ApiStatusError, KubeflinkError, LocalError

log = logging.getLogger(__name__)

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get"}
_PUBLIC = frozenset({"/healthz", "/livez", "/readyz", "/version"})
_TOKEN_PATH = "/-/"

REMEMBERED = 1000
"""How many of its last requests a server remembers; one that was given a plan remembers all."""
_TOO_DEEP = "the body of the request is nested too deeply"
_FORMS = ("application/json", "application/merge-patch+json")


class ApiServer:
    """Serves a `Store` as a Kubernetes API; an async context manager, or `start` and `stop`.

    `token`: the bearer token that every request must carry, None to let everybody in. `user` is
    who such a client is. `registry` says which kinds are served. `port` 0 takes a free one. `tls`
    is a server-side context, None for plain HTTP. `watch_duration` in seconds, lowest and highest.
    With `resources_only` there is nothing but resources: no discovery, no reviews, no health, and
    no answer at all without the token; and bodies are JSON, in one of the two forms of Flink.
    `first_request`: seconds that a new connection has for asking something, and for a TLS handshake
    before it. `on_refused` is called with the code, method and path of a request that was not let
    in (401), that the authorizer refused (403), or, with `resources_only`, that names no resource
    (404).
    """

    def __init__(
        self,
        store: Store,
        *,
        token: str | None = None,
        user: str = "kubernetes-admin",
        backend: PodBackend | None = None,
        proxy: ServiceProxy | None = None,
        authorizer: Authorizer | None = None,
        registry: Registry | None = None,
        faults: FaultPlan | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        watch_duration: tuple[float, float] = (1800.0, 3600.0),
        resources_only: bool = False,
        first_request: float = FIRST_REQUEST_SECONDS,
        on_refused: Callable[[int, str, str], None] | None = None,
    ) -> None:
        self.store = store
        self._on_refused = on_refused
        self._resources_only = resources_only
        self.faults = faults or FaultPlan(remember=REMEMBERED)
        self._token = token
        self._user = user
        self._authorizer = authorizer or AllowAll()
        self._registry = registry or Registry()
        self._resources = ResourceHandlers(store, watch_duration=watch_duration)
        self._pods = PodHandlers(store, backend)
        self._proxy = ProxyHandler(proxy)
        self._discovery = Discovery(self._registry)
        self._host, self._port, self._tls = host, port, tls
        self._server: Listener | None = None
        self._first_request = first_request
        self._runner: web.ServerRunner | None = None

    @property
    def host(self) -> str:
        """The address that is listened on."""
        return self._host

    @property
    def port(self) -> int:
        """The port that is listened on; the one asked for before the start."""
        return self._port

    @property
    def url(self) -> str:
        """The base URL, without a trailing slash."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{'https' if self._tls else 'http'}://{host}:{self._port}"

    @property
    def url_with_token(self) -> str:
        """A base URL that is all a client needs. It is a secret when there is a token."""
        return self.url if self._token is None else f"{self.url}{_TOKEN_PATH}{self._token}"

    async def start(self) -> None:
        """Listen. `LocalError` when the port is taken."""
        self._server = Listener(
            self._answer,
            first_request=self._first_request,
            handler_cancellation=True,
            access_log=None,
        )
        self._runner = web.ServerRunner(self._server, shutdown_timeout=1.0)
        await self._runner.setup()
        site = Site(
            self._runner, self._host, self._port, tls=self._tls, handshake=self._first_request
        )
        try:
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            self._runner = None
            raise LocalError(
                f"cannot listen on {self._host}:{self._port}: {error.strerror or error}",
                hint="Choose another port, or end the process that has it.",
            ) from error
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """End all watches in order and all connections, and stop to listen."""
        if self._runner is None:
            return
        runner, self._runner = self._runner, None
        self._resources.close_watches()
        await asyncio.sleep(0)
        await self._proxy.close()
        await runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    def close_watches(self) -> None:
        """End all watches as a server does that is about to restart."""
        self._resources.close_watches()

    def drop_connections(self) -> None:
        """Cut all connections without a word, as a crash does; the server goes on listening."""
        for connection in self._server.connections if self._server else ():
            if connection.transport is not None:
                connection.transport.abort()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        assert self._server is not None
        self._server.heard(request)
        fault = self.faults.strike(request.method, request.raw_path)
        try:
            if fault is not None:
                await self._suffer(request, fault)
            response = await self._route(request, fault)
        except ApiStatusError as error:
            response = _error_response(request, error)
        except KubeflinkError as error:
            log.warning("%s %s: %s", request.method, request.path, error)
            response = _error_response(request, statuses.internal(error.message))
        except ConnectionError:
            raise
        except RecursionError:
            response = _error_response(request, statuses.bad_request(_TOO_DEEP))
        except Exception as error:
            # A bug: the client gets a 500 as from a real server, the log gets the traceback.
            log.exception("%s %s", request.method, request.path)
            response = _error_response(request, statuses.internal(repr(error)))
        if fault is not None and fault.drop == "after":
            _cut(request)
        return response

    async def _suffer(self, request: web.BaseRequest, fault: Fault) -> None:
        await asyncio.sleep(fault.delay)
        if fault.drop == "before":
            _cut(request)
            raise ConnectionResetError("cut by a planned fault")
        if fault.status:
            raise statuses.failure(
                fault.status, fault.message, reason=fault.reason, retry_after=fault.retry_after
            )

    async def _route(self, request: web.BaseRequest, fault: Fault | None) -> web.StreamResponse:
        path, given = _split_token(request)
        if path not in _PUBLIC or self._resources_only:
            self._authenticate(request, given)
        await _invite(request)
        if self._resources_only:
            return await self._resource(request, path, fault)
        if path == reviews.SELF_SUBJECT_ACCESS_REVIEWS and request.method == "POST":
            review = await read_object(request)
            answer = reviews.self_subject_access_review(review, self._user, self._authorizer)
            return json_response(answer, 201)
        target = paths.parse_target(path, self._registry)
        if target is None:
            return self._other(request, path)
        self._authorize(request, target)
        return await self._on_target(request, target, fault)

    async def _resource(
        self, request: web.BaseRequest, path: str, fault: Fault | None
    ) -> web.StreamResponse:
        target = paths.parse_target(path, self._registry)
        if target is None:
            self._refused(404, request)
            raise statuses.no_such_path()
        self._authorize(request, target)
        _check_form(request)
        return await self._on_target(request, target, fault)

    async def _on_target(
        self, request: web.BaseRequest, target: Target, fault: Fault | None
    ) -> web.StreamResponse:
        match target.subresource:
            case "log":
                return await self._pods.log(request, target)
            case "portforward":
                return await self._pods.port_forward(request, target)
            case "exec" | "attach":
                return await self._pods.refuse_exec(request, target)
            case "proxy":
                is_lost = fault is not None and fault.drop == "after"
                return await self._proxy.handle(request, target, answer_is_lost=is_lost)
            case _:
                return await self._resources.handle(request, target, fault)

    def _other(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        """Discovery, OpenAPI, health; 404 for everything that is not served."""
        if path not in _PUBLIC:
            attributes = Attributes(self._user, request.method.lower(), path=path)
            # What is served is no secret: discovery is open to all who are let in.
            if not self._discovery.serves(path) and not self._authorizer.allows(attributes):
                raise reviews.forbidden(attributes)
        answer = self._discovery.answer(path, request.headers.get("Accept", ""))
        if answer is None:
            raise statuses.no_such_path()
        if request.method not in ("GET", "HEAD"):
            raise statuses.method_not_allowed()
        return web.Response(body=answer.body, headers={"Content-Type": answer.content_type})

    def _refused(self, code: int, request: web.BaseRequest) -> None:
        if self._on_refused is not None:
            self._on_refused(code, request.method, _split_token(request)[0])

    def _authenticate(self, request: web.BaseRequest, given: str) -> None:
        if self._token is not None and not hmac.compare_digest(
            given.encode(), self._token.encode()
        ):
            self._refused(401, request)
            raise statuses.unauthorized()

    def _authorize(self, request: web.BaseRequest, target: Target) -> None:
        verb = _VERBS.get(request.method, request.method.lower())
        if request.method == "GET" and paths.flag(request.query, "watch"):
            verb = "watch"
        elif not target.name and verb in ("get", "delete"):
            verb = "list" if verb == "get" else "deletecollection"
        attributes = Attributes(
            self._user,
            verb,
            target.resource.group,
            target.resource.plural,
            target.subresource,
            target.namespace or "",
            target.name,
        )
        if not self._authorizer.allows(attributes):
            self._refused(403, request)
            raise reviews.forbidden(attributes)


def _split_token(request: web.BaseRequest) -> tuple[str, str]:
    """The path without a token, and the token that the request carries (empty: none)."""
    path = request.raw_path.partition("?")[0]
    if path.startswith(_TOKEN_PATH):
        token, slash, rest = path[len(_TOKEN_PATH) :].partition("/")
        return slash + rest or "/", token
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    return path, given.strip() if scheme.lower() == "bearer" else ""


async def _invite(request: web.BaseRequest) -> None:
    """Tell a client that asks first (curl with a large body does) to send its body."""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the answer itself has not begun


def _check_form(request: web.BaseRequest) -> None:
    """415 for a body in a form that a JobManager does not use: YAML, protobuf, other patches."""
    if not request.body_exists:
        return
    packed = request.headers.get("Content-Encoding", "identity").lower() != "identity"
    if packed or request.content_type not in _FORMS:
        raise statuses.failure(415, f"the body must be one of: {', '.join(_FORMS)}")


def _cut(request: web.BaseRequest) -> None:
    if request.transport is not None:
        request.transport.abort()


def _error_response(request: web.BaseRequest, error: ApiStatusError) -> web.Response:
    """The `Status` as an answer, or a cut connection where an answer has begun already."""
    if request.writer.output_size:
        _cut(request)
        raise ConnectionResetError(error.message)
    response = json_response(error.status, error.code)
    if error.code == 401:
        response.force_close()  # a stranger is not to hold a connection
    if error.retry_after is not None:
        response.headers["Retry-After"] = str(max(1, round(error.retry_after)))
    return response
