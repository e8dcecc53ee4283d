"""The broker's own connections: whoever uses the client above them must not be able to tell.

Each case is run over httpx2's connections, too, and both have to come to the same.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import web

from kubeflink import errors, objects
from kubeflink.broker.connections import WHOLE, AiohttpConnections
from kubeflink.kube import KubeClient, Limits
from support.api_stub import ApiStub, break_at_once, carry_out_and_break, watching

PODS = "/api/v1/namespaces/flink-jobs/pods"
ONCE = Limits(total=0.0, first_contact=0.0, internal=0.0)
SOME = Limits(total=60.0, first_contact=60.0, internal=60.0, pause=0.02)


@pytest.fixture(params=["aiohttp", "httpx2"])
def connections(request: pytest.FixtureRequest) -> Any:
    return AiohttpConnections if request.param == "aiohttp" else None


Connect = Callable[..., KubeClient]


@pytest.fixture
async def connect(connections: Any, tmp_path: Path) -> AsyncIterator[Connect]:
    made: list[KubeClient] = []

    def connect(stub: ApiStub, cluster: str = "", limits: Limits = ONCE) -> KubeClient:
        made.append(
            KubeClient.connect(
                kubeconfig=stub.kubeconfig(tmp_path, cluster=cluster),
                environ={},
                limits=limits,
                connections=connections,
            )
        )
        return made[-1]

    yield connect
    for client in made:
        await client.close()


def pod(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}


async def why_unreachable(call: Awaitable[object]) -> str:
    with pytest.raises(errors.ApiUnreachableError) as caught:
        await call
    return caught.value.message.rpartition(": ")[2]


async def test_objects_go_there_and_back(connect: Connect) -> None:
    async with ApiStub() as stub:
        client = connect(stub)
        made = await client.create(pod("a"))
        assert made == await client.get(objects.PODS, "a") == stub.objects[f"{PODS}/a"]
        listed = await client.list(objects.PODS, labels={"app": "ä b"})
        await client.delete(objects.PODS, "a", uid=objects.uid_of(made))

    assert [objects.name_of(each) for each in listed.items] == ["a"]
    assert stub.objects == {}
    assert [seen.query for seen in stub.seen if "labelSelector" in seen.query] == [
        {"limit": "500", "labelSelector": "app=ä b"}
    ]
    for seen in stub.seen:
        told = dict(seen.header_items)
        assert told["User-Agent"].startswith("kubeflink/")
        assert told["Accept"] == "application/json"
        assert told.get("Content-Type") == ("application/json" if seen.body else None)
        assert len(told) == len(seen.header_items), "a header was sent twice"


async def test_connections_are_used_again(connect: Connect) -> None:
    peers = set()

    async def note(request: web.Request, stub: ApiStub) -> None:
        assert request.transport is not None
        peers.add(request.transport.get_extra_info("peername"))

    async with ApiStub() as stub:
        client = connect(stub)
        stub.faults = [("POST", note)] * 20
        for number in range(20):
            await client.create(pod(f"pod-{number}"))

    assert len(peers) == 1


async def test_a_large_body_arrives(connect: Connect) -> None:
    text = "x" * (WHOLE + 1)
    async with ApiStub() as stub:
        made = await connect(stub).create({**pod("a"), "text": text})
    assert made["text"] == text


async def test_what_is_compressed_is_unpacked(connect: Connect) -> None:
    async def zipped(request: web.Request, stub: ApiStub) -> web.Response:
        assert "gzip" in request.headers["Accept-Encoding"]
        body = gzip.compress(json.dumps(pod("a")).encode())
        headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
        return web.Response(body=body, headers=headers)

    async with ApiStub() as stub:
        stub.faults = [("GET", zipped)]
        assert await connect(stub).get(objects.PODS, "a") == pod("a")


async def test_a_watch_tells_what_comes_and_can_be_left(connect: Connect) -> None:
    gone = asyncio.Event()

    async def watch(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        try:
            return await watching({"type": "ADDED", "object": pod("a")}, stay=True)(request, stub)
        finally:
            gone.set()

    async with ApiStub() as stub:
        stub.watches = [watch]
        events = connect(stub).watch(objects.PODS, resource_version="1")
        first = await anext(events)
        assert (first.type, first.object) == ("ADDED", pod("a"))
        await events.aclose()
        async with asyncio.timeout(30):
            await gone.wait()


async def test_a_silent_watch_is_given_up(connect: Connect) -> None:
    async with ApiStub() as stub:
        stub.watches = [watching(silent=True)]
        client = connect(stub)
        events = client.watch(objects.PODS, resource_version="1", timeout_seconds=1, grace=0.2)
        assert await why_unreachable(anext(events)) == "no answer within the time limit"


async def test_a_watch_that_breaks_off_is_broken(connect: Connect) -> None:
    async def breaks(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        response = await watching({"type": "ADDED", "object": pod("a")})(request, stub)
        assert request.transport is not None
        request.transport.abort()
        return response

    async with ApiStub() as stub:
        stub.watches = [breaks]
        events = connect(stub).watch(objects.PODS, resource_version="1")
        await anext(events)
        broke = "the connection broke before the answer"
        assert await why_unreachable(anext(events)) == broke


@pytest.mark.parametrize("fault", [break_at_once, carry_out_and_break])
@pytest.mark.parametrize("warm", [False, True])
async def test_a_lost_answer_is_told_and_nothing_is_sent_twice(
    connect: Connect, fault: Any, warm: bool
) -> None:
    async with ApiStub() as stub:
        client = connect(stub)
        stub.store(f"{PODS}/a", pod("a"))
        if warm:
            await client.get(objects.PODS, "a")
        stub.seen.clear()
        stub.faults = [("DELETE", fault)]
        why = await why_unreachable(client.delete(objects.PODS, "a"))

    assert why == "the connection broke before the answer"
    assert stub.count("DELETE") == 1


async def test_a_create_whose_answer_is_lost_finds_its_object(connect: Connect) -> None:
    async with ApiStub() as stub:
        stub.faults = [("POST", carry_out_and_break)]
        made = await connect(stub, limits=SOME).create(pod("a"))
    assert made == stub.objects[f"{PODS}/a"]


async def test_an_answer_that_is_no_http_is_no_answer(connect: Connect) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"hello\r\n\r\n")
        writer.close()

    async with _server(talk) as stub:
        why = await why_unreachable(connect(stub).get(objects.PODS, "a"))
    assert why == "the connection broke before the answer"


async def test_nobody_listens(connect: Connect) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        stub = ApiStub(port=taken.getsockname()[1])
        why = await why_unreachable(connect(stub).get(objects.PODS, "a"))
    assert why == "connection refused"


async def test_tls_is_checked_and_its_errors_are_plain(connect: Connect, tmp_path: Path) -> None:
    authority, other = trustme.CA(), trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("the-server.test").configure_cert(tls)
    for name, made in (("right", authority), ("wrong", other)):
        made.cert_pem.write_to_path(str(tmp_path / f"{name}.crt"))
    named = "tls-server-name: the-server.test"

    async with ApiStub(tls=tls) as stub:
        stub.store(f"{PODS}/a", pod("a"))
        right = f"certificate-authority: {tmp_path}/right.crt"
        assert await connect(stub, f"{right}, {named}").get(objects.PODS, "a")
        for wrong in (right, f"certificate-authority: {tmp_path}/wrong.crt, {named}"):
            with pytest.raises(errors.ApiUnreachableError, match="certificate is not trusted"):
                # Not even tried again: this does not pass by itself.
                await connect(stub, wrong, SOME).get(objects.PODS, "a")


@asynccontextmanager
async def _server(talk: Any) -> AsyncIterator[ApiStub]:
    """Something that listens and is no API server, under the name of one."""
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield ApiStub(port=server.sockets[0].getsockname()[1])
