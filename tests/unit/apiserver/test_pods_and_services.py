"""Logs, port-forward and the service proxy: what leads to something behind the server."""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from kubeflink import objects
from kubeflink.apiserver import statuses
from kubeflink.apiserver.pods import LogOptions
from kubeflink.apiserver.server import ApiServer
from kubeflink.apiserver.spdy import DICTIONARY
from kubeflink.apiserver.store import ObjectStore
from support.manifests import PODS, SERVICES, pod

LIMIT = 20.0


class Behind:
    """A backend and a service proxy: logs from memory, everything else leads to one port."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self.asked: dict[str, Any] = {}
        self.more = asyncio.Event()
        self.ended = asyncio.Event()

    async def log(
        self, namespace: str, pod: str, container: str, options: LogOptions
    ) -> AsyncIterator[bytes]:
        self.asked = {"container": container, "options": options}
        try:
            if options.previous:
                raise statuses.bad_request(f'previous terminated container "{container}" not found')
            if not options.follow:
                yield b"one\ntwo\n"
                return
            while True:
                await self.more.wait()
                self.more.clear()
                yield b"more\n"
        finally:
            self.ended.set()

    async def connect(
        self, namespace: str, pod: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", port)

    async def address(self, namespace: str, service: str, port: str) -> tuple[str, int]:
        if service != "web":
            raise statuses.not_found(objects.SERVICES, service)
        self.asked = {"port": port}
        return "127.0.0.1", self.port


@pytest.fixture
def behind() -> Behind:
    return Behind()


@pytest.fixture
async def server(store: ObjectStore, behind: Behind) -> AsyncIterator[ApiServer]:
    async with ApiServer(store, backend=behind, proxy=behind) as running:
        await store.create(objects.PODS, "default", pod("p", nodeName="local"))
        state = {**pod("p"), "status": {"phase": "Running"}}
        await store.replace(objects.PODS, "default", state, subresource="status")
        yield running


async def test_a_log_with_its_options(http: aiohttp.ClientSession, behind: Behind) -> None:
    async with http.get(f"{PODS}/p/log?tailLines=5&limitBytes=10&sinceSeconds=3") as answer:
        assert answer.content_type == "text/plain"
        assert await answer.text() == "one\ntwo\n"
    assert behind.asked == {
        "container": "main",
        "options": LogOptions(tail_lines=5, limit_bytes=10, since_seconds=3),
    }


async def test_a_followed_log_comes_as_it_is_written(
    http: aiohttp.ClientSession, behind: Behind
) -> None:
    async with asyncio.timeout(LIMIT):
        async with http.get(f"{PODS}/p/log?follow=true") as answer:
            for _ in range(3):
                behind.more.set()
                assert await answer.content.readline() == b"more\n"
            answer.close()
        # The backend's generator ends when the client has gone.
        await behind.ended.wait()


async def test_logs_that_are_not_there(http: aiohttp.ClientSession) -> None:
    for query, code, message in (
        ("p/log?previous=true", 400, 'previous terminated container "main" not found'),
        ("p/log?container=other", 400, "container other is not valid for pod p"),
        ("p/log?timestamps=true", 400, "timestamps of log lines are not kept by this server"),
        ("q/log", 404, 'pods "q" not found'),
    ):
        async with http.get(f"{PODS}/{query}") as answer:
            assert answer.status == code
            assert (await answer.json())["message"] == message
    several = pod("s")
    several["spec"]["containers"] += [{"name": "side", "image": "x"}]
    await http.post(PODS, json=several)
    async with http.get(f"{PODS}/s/log") as answer:
        message = (await answer.json())["message"]
    assert message == "a container name must be specified for pod s, choose one of: [main side]"


async def test_exec_is_refused_in_a_sentence(http: aiohttp.ClientSession) -> None:
    async with http.post(f"{PODS}/p/exec?command=ls") as answer:
        assert answer.status == 405
        assert "exec is not available" in (await answer.json())["message"]


@asynccontextmanager
async def shouting() -> AsyncIterator[int]:
    """A TCP server that answers everything in capitals, and ends after the client has."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            writer.write(data.upper())
            await writer.drain()
        writer.write(b"bye")
        writer.close()
        await writer.wait_closed()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listener:
        yield listener.sockets[0].getsockname()[1]


async def test_port_forward_in_channels(http: aiohttp.ClientSession) -> None:
    async with shouting() as first, shouting() as second, asyncio.timeout(LIMIT):
        path = f"{PODS}/p/portforward?ports={first},{second}"
        async with http.ws_connect(path, protocols=("v4.channel.k8s.io",)) as socket:
            assert socket.protocol == "v4.channel.k8s.io"
            for channel, port in enumerate((first, first, second, second)):
                assert await socket.receive_bytes() == struct.pack("<BH", channel, port)
            await socket.send_bytes(b"\x02two")
            assert await socket.receive_bytes() == b"\x02TWO"
            large = b"x" * 300_000
            await socket.send_bytes(b"\x00" + large)
            received = b""
            while len(received) < len(large):
                message = await socket.receive_bytes()
                assert message[0] == 0
                received += message[1:]
            assert received == large.upper()


async def test_a_port_where_nothing_listens(http: aiohttp.ClientSession) -> None:
    async with shouting() as port:
        pass
    async with asyncio.timeout(LIMIT):
        path = f"{PODS}/p/portforward?ports={port}"
        async with http.ws_connect(path, protocols=("v4.channel.k8s.io",)) as socket:
            await socket.receive_bytes()
            await socket.receive_bytes()
            complaint = await socket.receive_bytes()
            closed = await socket.receive()
    assert complaint.startswith(b"\x01error forwarding port %d to pod" % port)
    assert (closed.type, closed.data) == (aiohttp.WSMsgType.CLOSE, 1000)


async def test_port_forward_that_is_refused(http: aiohttp.ClientSession) -> None:
    await http.post(PODS, json=pod("waiting"))
    for path, message in (
        ("p/portforward?ports=1", "Upgrade request required"),
        ("waiting/portforward?ports=1", "pod waiting is not running"),
    ):
        async with http.get(f"{PODS}/{path}") as answer:
            assert answer.status == 400
            assert (await answer.json())["message"].startswith(message)
    for query in ("", "?ports=x", "?ports=0", "?ports=99999"):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await http.ws_connect(f"{PODS}/p/portforward{query}")
        assert refused.value.status == 400


class SpdyClient:
    """The client's side of SPDY, written apart from the server's."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._deflate = zlib.compressobj(zdict=DICTIONARY)
        self._buffer = b""

    async def open(self, stream: int, **headers: str) -> None:
        plain = struct.pack(">I", len(headers))
        for text in (part for pair in headers.items() for part in pair):
            plain += struct.pack(">I", len(text)) + text.encode()
        block = self._deflate.compress(plain) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        await self.control(1, struct.pack(">IIH", stream, 0, 0) + block)

    async def control(self, kind: int, payload: bytes) -> None:
        await self._socket.send_bytes(struct.pack(">HHI", 0x8003, kind, len(payload)) + payload)

    async def data(self, stream: int, data: bytes, *, last: bool = False) -> None:
        frame = struct.pack(">II", stream, last << 24 | len(data)) + data
        # In two messages, because SPDY frames and WebSocket messages need not agree.
        await self._socket.send_bytes(frame[:5])
        await self._socket.send_bytes(frame[5:])

    async def frame(self) -> tuple[int, int, bytes]:
        """First word, flags, payload."""
        while True:
            if len(self._buffer) >= 8:
                first, second = struct.unpack_from(">II", self._buffer)
                end = 8 + (second & 0xFFFFFF)
                if len(self._buffer) >= end:
                    payload, self._buffer = self._buffer[8:end], self._buffer[end:]
                    return first, second >> 24, payload
            self._buffer += await self._socket.receive_bytes()


SPDY = "SPDY/3.1+portforward.k8s.io"


async def test_port_forward_in_spdy(http: aiohttp.ClientSession) -> None:
    async with shouting() as port, asyncio.timeout(LIMIT):
        offered = (SPDY, "v4.channel.k8s.io")
        async with http.ws_connect(f"{PODS}/p/portforward", protocols=offered) as socket:
            assert socket.protocol == SPDY
            client = SpdyClient(socket)
            await client.control(6, struct.pack(">I", 7))
            assert await client.frame() == (0x80030006, 0, struct.pack(">I", 7))
            for number in (0, 1):
                streams = (4 * number + 1, 4 * number + 3)
                for stream, kind in zip(streams, ("error", "data"), strict=True):
                    await client.open(
                        stream, streamtype=kind, port=str(port), requestid=str(number)
                    )
                    first, _, reply = await client.frame()
                    assert (first, reply[:4]) == (0x80030002, struct.pack(">I", stream))
                await client.data(streams[1], b"hello %d" % number)
                assert await client.frame() == (streams[1], 0, b"HELLO %d" % number)
            await client.data(3, b"", last=True)
            assert await client.frame() == (3, 0, b"bye")
            assert [await client.frame() for _ in range(2)] == [(1, 1, b""), (3, 1, b"")]
            await client.data(7, b"still")
            assert await client.frame() == (7, 0, b"STILL")


async def test_spdy_tells_of_a_port_where_nothing_listens(http: aiohttp.ClientSession) -> None:
    async with shouting() as port:
        pass
    async with asyncio.timeout(LIMIT):
        async with http.ws_connect(f"{PODS}/p/portforward", protocols=(SPDY,)) as socket:
            client = SpdyClient(socket)
            await client.open(1, streamtype="error", port=str(port), requestid="0")
            await client.open(3, streamtype="data", port=str(port), requestid="0")
            frames = [await client.frame() for _ in range(4)]
            assert frames[2][:2] == (1, 1)
            assert frames[2][2].startswith(b"error forwarding port %d" % port)
            await client.open(5, streamtype="stdin")
            first, _, reset = await client.frame()
            assert (first, reset[:4]) == (0x80030003, struct.pack(">I", 5))


async def test_a_pod_that_hangs_up_on_an_upload_stops_no_other_connection(
    http: aiohttp.ClientSession,
) -> None:
    """Such as a JobManager that ends while a jar is sent to it."""
    hang_up = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        await hang_up.wait()
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    hanging = listener.sockets[0].getsockname()[1]
    path = f"{PODS}/p/portforward"
    async with (
        listener,
        shouting() as port,
        asyncio.timeout(LIMIT),
        http.ws_connect(path, protocols=(SPDY,)) as socket,
    ):
        client = SpdyClient(socket)
        await client.open(1, streamtype="error", port=str(hanging), requestid="0")
        await client.open(3, streamtype="data", port=str(hanging), requestid="0")

        async def upload() -> None:
            for _ in range(400):
                await client.data(3, b"x" * 100_000)
            await client.open(5, streamtype="error", port=str(port), requestid="1")
            await client.open(7, streamtype="data", port=str(port), requestid="1")
            await client.data(7, b"hello")

        async with asyncio.TaskGroup() as tasks:
            uploading = tasks.create_task(upload())
            # The pod does not read, so it does not come to its end.
            await asyncio.wait({uploading}, timeout=0.5)
            assert not uploading.done()
            hang_up.set()
            while (await client.frame())[::2] != (7, b"HELLO"):
                pass


async def test_data_without_an_error_stream_does_not_pile_up(http: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(LIMIT):
        async with http.ws_connect(f"{PODS}/p/portforward", protocols=(SPDY,)) as socket:
            client = SpdyClient(socket)
            await client.open(3, streamtype="data", port="1", requestid="0")
            await client.frame()
            for _ in range(65):
                await client.data(3, b"x")
            closed = await socket.receive()
    assert (closed.type, closed.data) == (aiohttp.WSMsgType.CLOSE, 1002)


async def test_spdy_that_is_none_ends_the_connection(http: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(LIMIT):
        async with http.ws_connect(f"{PODS}/p/portforward", protocols=(SPDY,)) as socket:
            await socket.send_bytes(b"\x80\x02" + b"\0" * 20)
            closed = await socket.receive()
    assert (closed.type, closed.data) == (aiohttp.WSMsgType.CLOSE, 1002)


@asynccontextmanager
async def application(behind: Behind) -> AsyncIterator[list[dict[str, Any]]]:
    """An HTTP server behind the Service `web` that tells what it was asked."""
    seen: list[dict[str, Any]] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        size = 0
        async for chunk in request.content.iter_any():
            size += len(chunk)
        seen.append(
            {
                "line": f"{request.method} {request.raw_path}",
                "headers": dict(request.headers),
                "size": size,
            }
        )
        if request.path == "/moved":
            raise web.HTTPFound("/elsewhere")
        if request.path == "/gone":
            assert request.transport is not None
            request.transport.abort()
        if request.path == "/broken":
            response = web.StreamResponse(headers={"Content-Length": "10"})
            await response.prepare(request)
            await response.write(b"half")
            assert request.transport is not None
            request.transport.abort()
            return response
        return web.json_response({"size": size}, status=202, headers={"X-Own": "1"})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    behind.port = runner.addresses[0][1]
    try:
        yield seen
    finally:
        await runner.cleanup()


async def test_the_proxy_passes_requests_on(
    http: aiohttp.ClientSession, behind: Behind, server: ApiServer
) -> None:
    async with application(behind) as seen:
        path = f"{SERVICES}/web:rest/proxy/jobs/a%20b?x=%2F&y"
        exact = URL(f"{server.url}{path}", encoded=True)
        headers = {"Authorization": "Bearer secret", "X-Mine": "2"}
        async with http.post(exact, data=b"body", headers=headers) as answer:
            assert answer.status == 202
            assert answer.headers["X-Own"] == "1"
            assert await answer.json() == {"size": 4}
        assert behind.asked == {"port": "rest"}
        (asked,) = seen
        assert asked["line"] == "POST /jobs/a%20b?x=%2F&y"
        assert asked["headers"]["X-Mine"] == "2"
        assert "Authorization" not in asked["headers"]

        async with http.get(f"{SERVICES}/web/proxy", allow_redirects=False) as answer:
            assert answer.status == 202
        assert seen[-1]["line"] == "GET /"
        async with http.get(f"{SERVICES}/web/proxy/moved", allow_redirects=False) as answer:
            assert answer.status == 302


async def test_the_proxy_streams_uploads(http: aiohttp.ClientSession, behind: Behind) -> None:
    async def jar() -> AsyncIterator[bytes]:
        for _ in range(200):
            yield b"x" * 65536

    async with application(behind) as seen, asyncio.timeout(60):
        async with http.post(f"{SERVICES}/web:8081/proxy/jars/upload", data=jar()) as answer:
            assert await answer.json() == {"size": 200 * 65536}
        assert seen[0]["headers"].get("Transfer-Encoding") == "chunked"


async def test_a_client_that_asks_before_it_sends_a_body_is_told_to(
    server: ApiServer, behind: Behind
) -> None:
    async with application(behind) as seen, asyncio.timeout(LIMIT):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        head = f"POST {SERVICES}/web/proxy/jars HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n"
        writer.write(head.encode() + b"Expect: 100-continue\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"body")
        assert (await reader.readline()).startswith(b"HTTP/1.1 202 ")
        writer.close()
        await writer.wait_closed()
    assert seen[0]["size"] == 4
    assert "Expect" not in seen[0]["headers"]


async def test_the_proxy_tells_of_what_is_not_there(
    http: aiohttp.ClientSession, behind: Behind
) -> None:
    async with application(behind):
        async with http.get(f"{SERVICES}/web/proxy/broken") as answer:
            with pytest.raises(aiohttp.ClientPayloadError):
                await answer.read()
        async with http.get(f"{SERVICES}/other/proxy/") as answer:
            assert answer.status == 404
        async with http.get(f"{SERVICES}/a:b:c:d/proxy/") as answer:
            assert answer.status == 400
    async with http.get(f"{SERVICES}/web/proxy/") as answer:
        assert answer.status == 503
        assert (await answer.json())["message"].startswith("error trying to reach service")


async def test_a_log_that_breaks_off_is_cut(http: aiohttp.ClientSession, behind: Behind) -> None:
    async def broken(*asked: Any) -> AsyncIterator[bytes]:
        yield b"half"
        raise OSError("the file is gone")

    behind.log = broken  # type: ignore[method-assign]
    async with http.get(f"{PODS}/p/log") as answer:
        assert answer.status == 200
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.read()


async def test_a_server_that_hangs_up_may_have_done_what_it_was_asked(
    http: aiohttp.ClientSession, behind: Behind
) -> None:
    async with application(behind), http.post(f"{SERVICES}/web:rest/proxy/gone") as answer:
        message = (await answer.json())["message"]

    assert answer.status == 503
    assert message.removeprefix("error trying to reach service: ") in (
        "EOF",
        "connection reset by peer",
    )
