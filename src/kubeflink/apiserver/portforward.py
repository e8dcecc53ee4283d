"""`pods/portforward` over a WebSocket, in the two protocols that clients speak.

`v4.channel.k8s.io`: the ports are in the query; port number i has channel 2i for data and channel
2i+1 for errors. A message begins with the channel's byte, and the server's first message on each
channel is the port number (two bytes, little endian). One WebSocket is one connection to each port.

`SPDY/3.1+portforward.k8s.io`: the WebSocket carries a byte stream of SPDY frames. For each
connection the client opens a pair of streams with the same `requestid`: one of type `error`, one of
type `data`. What is on the error stream when it ends is the error; empty means none. This is what
`kubectl` uses from 1.31 on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from aiohttp import WSMsgType, web

from kubeflink.apiserver import statuses
from kubeflink.apiserver.spdy import (
    DataReceived,
    PingReceived,
    SpdyConnection,
    SpdyError,
    StreamOpened,
    StreamReset,
)
from kubeflink.errors import ApiStatusError

CHANNELS = "v4.channel.k8s.io"
SPDY = "SPDY/3.1+portforward.k8s.io"
_CHUNK = 64 * 1024
_WAITING_FRAMES = 64
"""Frames of one connection that wait for a slow pod; then the client has to wait too."""

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[int], Awaitable[Connection]]


async def forward(
    request: web.BaseRequest, ports: list[int], connect: Connect
) -> web.StreamResponse:
    """Serve one client until it goes or, with channels, until the pod has ended all connections."""
    if request.headers.get("Upgrade", "").lower() != "websocket":
        raise statuses.bad_request(
            "Upgrade request required: port-forward is served over WebSocket (kubectl 1.31 and "
            "newer)"
        )
    offered = [
        each.strip() for each in request.headers.get("Sec-WebSocket-Protocol", "").split(",")
    ]
    if SPDY not in offered and not ports:
        raise statuses.bad_request('query parameter "ports" is required')
    socket = web.WebSocketResponse(protocols=(SPDY, CHANNELS), compress=False, timeout=2)
    await socket.prepare(request)
    if socket.ws_protocol == SPDY:
        await _SpdySession(socket, connect).serve()
    else:
        await _ChannelSession(socket, ports, connect).serve()
    return socket


@asynccontextmanager
async def _connected(connect: Connect, port: int) -> AsyncIterator[Connection]:
    reader, writer = await connect(port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(OSError):  # the other side may have closed it first
            await writer.wait_closed()


def _complaint(port: int, error: Exception) -> str:
    reason = error.message if isinstance(error, ApiStatusError) else str(error)
    return f"error forwarding port {port} to pod: {reason}"


async def _copy(reader: asyncio.StreamReader, send: Callable[[bytes], Awaitable[None]]) -> None:
    while chunk := await reader.read(_CHUNK):
        await send(chunk)


class _ChannelSession:
    """One client that speaks channels."""

    def __init__(self, socket: web.WebSocketResponse, ports: list[int], connect: Connect) -> None:
        self._socket = socket
        self._ports = ports
        self._connect = connect
        self._writers: dict[int, asyncio.StreamWriter] = {}

    async def serve(self) -> None:
        """Connect all ports, then pass data on until everything has ended."""
        for index, port in enumerate(self._ports):
            for channel in (2 * index, 2 * index + 1):
                await self._send(channel, port.to_bytes(2, "little"))
        async with asyncio.TaskGroup() as tasks:
            ready = asyncio.Event()
            pod_side = tasks.create_task(self._pod_side(ready), name="portforward-pod")
            await ready.wait()
            await self._client_side()
            pod_side.cancel()

    async def _pod_side(self, ready: asyncio.Event) -> None:
        left = len(self._ports)

        def connected() -> None:
            nonlocal left
            left -= 1
            if not left:
                ready.set()

        async with asyncio.TaskGroup() as tasks:
            for index, port in enumerate(self._ports):
                tasks.create_task(self._pod_port(index, port, connected))
        await self._socket.close(code=1000)

    async def _pod_port(self, index: int, port: int, connected: Callable[[], None]) -> None:
        try:
            async with _connected(self._connect, port) as (reader, writer):
                self._writers[2 * index] = writer
                connected()
                await _copy(reader, lambda chunk: self._send(2 * index, chunk))
        except (OSError, ApiStatusError) as error:
            if 2 * index not in self._writers:
                connected()
            if not self._socket.closed:
                await self._send(2 * index + 1, _complaint(port, error).encode())
        finally:
            self._writers.pop(2 * index, None)

    async def _client_side(self) -> None:
        async for message in self._socket:
            if message.type != WSMsgType.BINARY or not message.data:
                continue
            writer = self._writers.get(message.data[0])
            if writer is not None and not writer.is_closing():
                writer.write(message.data[1:])
                try:
                    await writer.drain()
                except OSError:
                    continue  # the pod's side tells the client

    async def _send(self, channel: int, data: bytes) -> None:
        try:
            await self._socket.send_bytes(bytes([channel]) + data)
        except ConnectionError:
            return  # the client went; reading from it ends as well


@dataclass(slots=True)
class _Pair:
    """The two streams of one connection; a stream is 0 until the client has opened it."""

    port: int
    error_stream: int = 0
    data_stream: int = 0
    received: asyncio.Queue[bytes] = field(default_factory=lambda: asyncio.Queue(_WAITING_FRAMES))
    task: asyncio.Task[None] | None = None

    def let_go(self) -> None:
        """Drop what nobody will read: who waits for room reads for all other connections, too."""
        while not self.received.empty():
            self.received.get_nowait()


class _SpdySession:
    """One client that speaks SPDY; empty bytes in a pair's queue are the end of its data."""

    def __init__(self, socket: web.WebSocketResponse, connect: Connect) -> None:
        self._socket = socket
        self._connect = connect
        self._spdy = SpdyConnection()
        self._pairs: dict[str, _Pair] = {}
        self._by_stream: dict[int, _Pair] = {}

    async def serve(self) -> None:
        """Take frames until the client goes."""
        async with asyncio.TaskGroup() as tasks:
            try:
                async for message in self._socket:
                    if message.type == WSMsgType.BINARY:
                        await self._take(message.data, tasks)
            except SpdyError as error:
                await self._socket.close(code=1002, message=str(error).encode()[:120])
            for pair in self._pairs.values():
                if pair.task is not None:
                    pair.task.cancel()

    async def _take(self, data: bytes, tasks: asyncio.TaskGroup) -> None:
        for event in self._spdy.feed(data):
            match event:
                case StreamOpened():
                    await self._opened(event, tasks)
                case DataReceived(stream, payload, finished):
                    await self._received(stream, payload, finished)
                case StreamReset(stream):
                    pair = self._by_stream.get(stream)
                    if pair is not None and pair.task is not None:
                        pair.task.cancel()
                case PingReceived(number):
                    await self._send(self._spdy.ping(number))

    async def _opened(self, event: StreamOpened, tasks: asyncio.TaskGroup) -> None:
        headers = {name.lower(): value for name, value in event.headers.items()}
        kind, port = headers.get("streamtype", ""), headers.get("port", "")
        if kind not in ("error", "data") or not port.isdigit():
            await self._send(self._spdy.reset(event.stream))
            return
        await self._send(self._spdy.reply(event.stream))
        identity = headers.get("requestid", str(event.stream))
        pair = self._pairs.setdefault(identity, _Pair(int(port)))
        if kind == "error":
            pair.error_stream = event.stream
        else:
            pair.data_stream = event.stream
            self._by_stream[event.stream] = pair
        if pair.error_stream and pair.data_stream:
            pair.task = tasks.create_task(self._forward(identity, pair), name="portforward")

    async def _received(self, stream: int, payload: bytes, finished: bool) -> None:
        pair = self._by_stream.get(stream)
        if pair is None:
            return
        if pair.task is None and pair.received.full():
            raise SpdyError("data on a stream whose error stream was not opened")
        if payload:
            await pair.received.put(payload)
        if finished:
            await pair.received.put(b"")

    async def _forward(self, identity: str, pair: _Pair) -> None:
        complaint = ""
        try:
            async with _connected(self._connect, pair.port) as (reader, writer):
                await self._exchange(pair, reader, writer)
        except (OSError, ApiStatusError) as error:
            complaint = _complaint(pair.port, error)
        finally:
            self._pairs.pop(identity, None)
            self._by_stream.pop(pair.data_stream, None)
            pair.let_go()
        await self._send(self._spdy.data(pair.error_stream, complaint.encode(), finished=True))
        await self._send(self._spdy.data(pair.data_stream, b"", finished=True))

    async def _exchange(
        self, pair: _Pair, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Until the pod has ended its side; what the client still sends then has no receiver."""

        async def to_client(chunk: bytes) -> None:
            await self._send(self._spdy.data(pair.data_stream, chunk))

        # No task group: an error of the pod's side has to come out as it is.
        to_pod = asyncio.create_task(_write(pair.received, writer), name="portforward-to-pod")
        try:
            await _copy(reader, to_client)
        finally:
            to_pod.cancel()
            await asyncio.wait([to_pod])

    async def _send(self, frame: bytes) -> None:
        try:
            await self._socket.send_bytes(frame)
        except ConnectionError:
            return  # the client went; reading from it ends as well


async def _write(received: asyncio.Queue[bytes], writer: asyncio.StreamWriter) -> None:
    try:
        while data := await received.get():
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        return  # the pod closed; the reading side tells the client
