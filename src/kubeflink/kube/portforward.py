"""A local port that leads to a port of a pod, through the API server.

Each local connection becomes one WebSocket to `pods/NAME/portforward` with the subprotocol
`v4.channel.k8s.io`. Its messages begin with a byte for the channel: 0 carries the data, 1 the
server's complaints; the first message on each channel is the port number (two bytes, little endian)
and no data. The protocol knows no half-closed connections: when the local side has finished
sending, what comes back is still delivered, and after a quiet moment the WebSocket is closed.

A stream may break at any time: API servers and load balancers in between end them, and the pod may
go. That ends one local connection, never the listener. The next connection asks anew which pod is
the right one if the last one failed, and waits a while for a new one: so a client that connects
again after a failover of the JobManager reaches the new pod.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from kubeflink import errors, objects
from kubeflink.kube import status, targets
from kubeflink.kube.backoff import Backoff
from kubeflink.kube.client import KubeClient
from kubeflink.kube.status import Call
from kubeflink.kube.targets import Target

if TYPE_CHECKING:
    from httpx2.websockets import AsyncWebSocketSession

logger = logging.getLogger(__name__)

SUBPROTOCOL = "v4.channel.k8s.io"
DATA, COMPLAINT = 0, 1

CHUNK = 64 * 1024
"""Bytes per message that is sent."""

MESSAGE_LIMIT = 4 * 1024 * 1024
"""Bytes of the longest message that is accepted."""

PING_INTERVAL = 20.0
"""Seconds between pings, which keep idle connections alive in load balancers."""

QUIET = 5.0
"""Seconds without data after which a connection ends whose local side has finished sending."""


class Channels:
    """Takes the messages of one WebSocket apart."""

    def __init__(self) -> None:
        self._announced: set[int] = set()

    def feed(self, message: bytes) -> tuple[bytes, str]:
        """The data and the complaint in a message; at most one of them is not empty."""
        if not message:
            return b"", ""
        channel, payload = message[0], message[1:]
        if channel not in self._announced:
            self._announced.add(channel)
            return b"", ""
        if channel == DATA:
            return payload, ""
        return b"", payload.decode("utf-8", "replace").strip()


class PortForward:
    """Listens while its context is open; leaving ends the listener and all its connections.

    Give either `pod`, which is followed nowhere, or `service`, whose pods are. `port` is the port
    of the pod or of the Service. Entering finds the pod and raises what stands in the way. `notify`
    gets a line for the user when the target changes or a connection cannot be made.
    """

    def __init__(
        self,
        client: KubeClient,
        port: int | str,
        *,
        pod: str | None = None,
        service: str | None = None,
        namespace: str | None = None,
        host: str = "127.0.0.1",
        local_port: int = 0,
        patience: float = 30.0,
        notify: Callable[[str], None] = logger.info,
    ) -> None:
        if (pod is None) == (service is None):
            raise ValueError("either a pod or a service")
        self._client = client
        self._wanted_port = port
        self._pod = pod
        self._service = service
        self._namespace = namespace or client.namespace
        self._host = host
        self._local_port = local_port
        self._patience = patience
        self._notify = notify
        self._target: Target | None = None
        self._failed: str | None = None
        self._last_pod: str | None = None
        self._choosing = asyncio.Lock()
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """The local port."""
        return self._local_port

    @property
    def url(self) -> str:
        """The local address as an http URL."""
        return f"http://{self._host}:{self._local_port}"

    @property
    def pod(self) -> str | None:
        """The pod that connections lead to at present."""
        return self._target.pod if self._target else None

    async def __aenter__(self) -> Self:
        self._target = await self._find()
        try:
            self._server = await asyncio.start_server(self._accept, self._host, self._local_port)
        except OSError as error:
            raise errors.ClusterError(
                f"Cannot listen on {self._host}:{self._local_port}: {error.strerror}",
                hint="Choose another local port.",
            ) from error
        self._local_port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        connections = list(self._connections)
        for connection in connections:
            connection.cancel()
        if connections:
            await asyncio.wait(connections)
        await self._server.wait_closed()

    # One connection

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(
            self._serve(reader, writer), name=f"kubeflink port-forward to {self._wanted_port}"
        )
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with contextlib.AsyncExitStack() as stack:
                session = await self._connect(stack)
                await pump(session, reader, writer)
        except errors.KubeflinkError as error:
            # Such as a closed port: of several pods, all but one may be without what is asked for.
            self._give_up_target()
            self._notify(error.message)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _connect(self, stack: contextlib.AsyncExitStack) -> AsyncWebSocketSession:
        """A stream to the right pod; within `patience` also to one that has yet to come."""
        backoff, deadline = Backoff(), time.monotonic() + self._patience
        while True:
            try:
                target = await self._current()
                stream = open_stream(self._client, target, self._namespace)
                return await stack.enter_async_context(stream)
            except errors.KubeflinkError as error:
                pause = backoff.pause()
                if not self._may_pass(error) or time.monotonic() + pause > deadline:
                    raise
                self._give_up_target()
                logger.info("Port-forward: %s; trying again in %.1f s", error.message, pause)
            await asyncio.sleep(pause)

    def _give_up_target(self) -> None:
        if self._target is not None:
            self._failed, self._target = self._target.pod, None

    def _may_pass(self, error: errors.KubeflinkError) -> bool:
        """Whether another attempt may meet a better pod or server."""
        if isinstance(error, errors.NotFoundError | errors.ClusterError):
            return self._service is not None
        return isinstance(
            error, errors.ApiUnreachableError | errors.ServerError | errors.TooManyRequestsError
        )

    async def _current(self) -> Target:
        async with self._choosing:
            if self._target is None:
                self._target = await self._find()
            return self._target

    async def _find(self) -> Target:
        if self._service is None:
            assert self._pod is not None
            return await targets.of_pod(
                self._client, self._pod, int(self._wanted_port), self._namespace
            )
        found = await targets.of_service(
            self._client, self._service, self._wanted_port, self._namespace, self._failed
        )
        if self._last_pod not in (None, found.pod):
            self._notify(f"Pod {self._last_pod} is gone; forwarding to {found.pod} now")
        self._last_pod = found.pod
        return found


@contextlib.asynccontextmanager
async def open_stream(
    client: KubeClient, target: Target, namespace: str
) -> AsyncIterator[AsyncWebSocketSession]:
    """A WebSocket to a port of a pod. Raises `ApiUnreachableError` and `ApiStatusError`."""
    import httpx2
    from httpx2.websockets import AsyncWebSocketSession

    call = Call("get", objects.PODS, namespace, target.pod, "portforward")
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(secrets.token_bytes(16)).decode("ascii"),
        "Sec-WebSocket-Protocol": SUBPROTOCOL,
    }
    path = objects.PODS.path(f"{target.pod}/portforward", namespace)
    request = client.http.build_request("GET", path, params={"ports": target.port}, headers=headers)
    try:
        response = await client.http.send(request, stream=True)
    except httpx2.RequestError as error:
        raise status.unreachable(error, client.access) from error
    try:
        if response.status_code != httpx2.codes.SWITCHING_PROTOCOLS:
            await response.aread()
            raise status.error_of_response(response, call, client.access)
        session = AsyncWebSocketSession(
            response.extensions["network_stream"],
            response=response,
            max_message_size_bytes=MESSAGE_LIMIT,
            keepalive_ping_interval_seconds=PING_INTERVAL,
            # A pong is not insisted on: it waits behind data that a slow reader has not taken yet.
            keepalive_ping_timeout_seconds=None,
        )
        async with session:
            yield session
    except ExceptionGroup as group:
        # The session runs in a task group, which wraps what is raised by its user as well.
        for cause in group.exceptions:
            if isinstance(cause, errors.KubeflinkError):
                raise cause from group
        raise errors.ApiUnreachableError(f"The port-forward to pod {target.pod} broke") from group
    finally:
        await response.aclose()


async def pump(
    session: AsyncWebSocketSession, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Carry bytes both ways until one side has ended. Raises `KubernetesError` on a complaint."""
    heard = time.monotonic()

    async def downward() -> None:
        nonlocal heard
        channels = Channels()
        async for message in _messages(session):
            heard = time.monotonic()
            data, complaint = channels.feed(message)
            if complaint:
                raise errors.KubernetesError(f"Port-forward: {complaint}")
            writer.write(data)
            await writer.drain()

    async def upward() -> None:
        while data := await reader.read(CHUNK):
            await session.send_bytes(bytes((DATA,)) + data)

    down, up = asyncio.create_task(downward()), asyncio.create_task(upward())
    try:
        await asyncio.wait((down, up), return_when=asyncio.FIRST_COMPLETED)
        while not down.done() and time.monotonic() - heard < QUIET:
            await asyncio.wait((down,), timeout=QUIET / 5)
    finally:
        for task in (down, up):
            task.cancel()
        await asyncio.wait((down, up))
    for task in (down, up):
        if not task.cancelled() and (error := task.exception()) is not None:
            _raise_unless_broken(error)


async def _messages(session: AsyncWebSocketSession) -> AsyncIterator[bytes]:
    """The binary messages until the other side closes."""
    from httpx2.websockets import WebSocketDisconnect

    while True:
        try:
            yield await session.receive_bytes()
        except WebSocketDisconnect:
            return


def _raise_unless_broken(error: BaseException) -> None:
    """A connection that breaks is the normal end of one; all else is told."""
    from httpx2.websockets import HTTPXWSException

    if isinstance(error, HTTPXWSException | OSError):
        logger.info("A stream of a port-forward broke: %r", error)
        return
    raise error
