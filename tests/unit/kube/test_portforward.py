"""Port-forward: through the project's own API server, and through one that breaks streams."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from aiohttp import WSMsgType, web
from hypothesis import given
from hypothesis import strategies as st

from kubeflink import errors, objects
from kubeflink.apiserver.deletion import DeleteOptions
from kubeflink.apiserver.server import ApiServer
from kubeflink.apiserver.store import ObjectStore, modify
from kubeflink.kube import KubeClient, Limits, targets
from kubeflink.kube.access import ClusterAccess
from kubeflink.kube.portforward import Channels, PortForward
from kubeflink.objects import JsonObject
from support.api_stub import ApiStub, answer

LABELS = {"app": "demo"}
ATTENTION = 60.0


def pod(name: str, *, ready: bool = True, phase: str = "Running") -> JsonObject:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": LABELS},
        "spec": {
            "containers": [
                {"name": "main", "image": "i", "ports": [{"name": "rest", "containerPort": 8081}]}
            ]
        },
        "status": {"phase": phase, "conditions": conditions},
    }


def service(name: str = "demo-rest", target: int | str = 8081, **spec: Any) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {
            "selector": LABELS,
            "ports": [{"name": "web", "port": 80, "targetPort": target}],
            **spec,
        },
    }


class Pods:
    """Pods as TCP servers; each runs what it was given."""

    def __init__(self, store: ObjectStore) -> None:
        self.store = store
        self.connections = 0
        self._servers: dict[str, asyncio.Server] = {}

    async def run(self, name: str, serve: Any, **options: Any) -> None:
        """Start a pod whose port is served by `serve(reader, writer)`."""

        async def serve_and_close(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            self.connections += 1
            try:
                await serve(name, reader, writer)
            finally:
                writer.close()

        self._servers[name] = await asyncio.start_server(serve_and_close, "127.0.0.1", 0)
        await self.add(name, **options)

    async def add(self, name: str, **options: Any) -> None:
        made = pod(name, **options)
        await self.store.create(objects.PODS, "default", made)
        await modify(
            self.store,
            objects.PODS,
            "default",
            name,
            lambda stored: {**stored, "status": made["status"]},
            subresource="status",
        )

    async def remove(self, name: str) -> None:
        self._servers.pop(name).close()
        options = DeleteOptions(grace_period=0)
        await self.store.delete(objects.PODS, "default", name, options)

    def close(self) -> None:
        for server in self._servers.values():
            server.close()

    async def connect(
        self, namespace: str, name: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if port != 8081 or name not in self._servers:
            raise ConnectionRefusedError(f"nothing listens on {port}")
        address = self._servers[name].sockets[0].getsockname()
        return await asyncio.open_connection(*address)

    def log(self, *_: Any, **__: Any) -> AsyncIterator[bytes]:
        raise NotImplementedError


async def hello(name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """HTTP with keep-alive: says the pod's name and the size of what it got."""
    while head := await reader.readuntil(b"\r\n\r\n"):
        lines = head.decode().lower().split("\r\n")
        length = next((int(x.split(":")[1]) for x in lines if x.startswith("content-length")), 0)
        body = await reader.readexactly(length)
        text = f"{name} {hashlib.sha256(body).hexdigest()}".encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
        await writer.drain()


async def echo(name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


async def until_end(name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends a lot and ends: everything must arrive before the end does."""
    await reader.readline()
    for block in range(200):
        writer.write(bytes([block]) * 50_000)
        await writer.drain()


class Kubernetes:
    """The project's API server with pods behind it."""

    def __init__(self) -> None:
        self.store = ObjectStore(namespaces=("default",))
        self.pods = Pods(self.store)
        self.client: KubeClient


@pytest.fixture
async def kubernetes() -> AsyncIterator[Kubernetes]:
    made = Kubernetes()
    async with ApiServer(made.store, backend=made.pods) as server:
        access = ClusterAccess(server=server.url, namespace="default", origin="a test")
        limits = Limits(total=5.0, first_contact=1.0, internal=2.0)
        async with KubeClient.of(access, environ={}, limits=limits) as made.client:
            yield made
        made.pods.close()


@asynccontextmanager
async def http(forward: PortForward) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(
        base_url=forward.url, trust_env=False, timeout=ATTENTION
    ) as client:
        yield client


async def test_a_service_is_reached_through_its_ready_pod(kubernetes: Kubernetes) -> None:
    await kubernetes.store.create(objects.SERVICES, "default", service(target="rest"))
    await kubernetes.pods.run("pod-ready", hello)
    await kubernetes.pods.add("pod-starting", ready=False)
    await kubernetes.pods.add("pod-ended", phase="Succeeded")

    async with PortForward(kubernetes.client, "web", service="demo-rest") as forward:
        async with http(forward) as client:
            texts = [(await client.get("/")).text.split()[0] for _ in range(3)]
        assert forward.pod == "pod-ready"

    assert texts == ["pod-ready"] * 3
    assert kubernetes.pods.connections == 1


async def test_large_bodies_arrive_whole_both_ways(kubernetes: Kubernetes) -> None:
    body = random.Random(1).randbytes(5_000_000)
    await kubernetes.pods.run("one", hello)

    async with (
        PortForward(kubernetes.client, 8081, pod="one") as forward,
        http(forward) as client,
    ):
        answer = await client.post("/", content=body)

    assert answer.text == f"one {hashlib.sha256(body).hexdigest()}"


async def test_what_comes_before_the_end_arrives_before_the_end(kubernetes: Kubernetes) -> None:
    """Also when the local side has finished sending long before."""
    await kubernetes.pods.run("one", until_end)

    async with PortForward(kubernetes.client, 8081, pod="one") as forward:
        reader, writer = await asyncio.open_connection("127.0.0.1", forward.port)
        writer.write(b"go\n")
        writer.write_eof()
        async with asyncio.timeout(ATTENTION):
            received = await reader.read()
        writer.close()

    assert received == b"".join(bytes([block]) * 50_000 for block in range(200))


async def test_many_connections_at_once(kubernetes: Kubernetes) -> None:
    await kubernetes.pods.run("one", echo)

    async def talk(forward: PortForward, number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", forward.port)
        for turn in range(5):
            text = f"{number} {turn}\n".encode()
            writer.write(text)
            assert await asyncio.wait_for(reader.readline(), ATTENTION) == text
        writer.close()

    async with (
        PortForward(kubernetes.client, 8081, pod="one") as forward,
        asyncio.TaskGroup() as group,
    ):
        for number in range(20):
            group.create_task(talk(forward, number))

    assert kubernetes.pods.connections == 20


async def test_a_new_pod_is_followed_and_this_is_said(kubernetes: Kubernetes) -> None:
    notes: list[str] = []
    await kubernetes.store.create(objects.SERVICES, "default", service())
    await kubernetes.pods.run("first", hello)
    async with PortForward(
        kubernetes.client, 80, service="demo-rest", notify=notes.append
    ) as forward:
        async with http(forward) as client:
            assert (await client.get("/")).text.startswith("first")
        await kubernetes.pods.remove("first")
        async with http(forward) as client:
            asking = asyncio.create_task(client.get("/"))
            await asyncio.sleep(1)
            await kubernetes.pods.run("second", hello)
            async with asyncio.timeout(ATTENTION):
                assert (await asking).text.startswith("second")
        assert forward.pod == "second"

    assert "Pod first is gone; forwarding to second now" in notes


async def test_no_new_pod_in_time_ends_the_connection_and_not_the_listener(
    kubernetes: Kubernetes,
) -> None:
    notes: list[str] = []
    await kubernetes.store.create(objects.SERVICES, "default", service())
    await kubernetes.pods.run("first", hello)
    async with PortForward(
        kubernetes.client, 80, service="demo-rest", patience=0.5, notify=notes.append
    ) as forward:
        await kubernetes.pods.remove("first")
        async with http(forward) as client:
            with pytest.raises(httpx2.TransportError):
                await client.get("/")
        await kubernetes.pods.run("second", hello)
        async with http(forward) as client:
            assert (await client.get("/")).text.startswith("second")

    assert any("demo-rest" in note and "running" in note for note in notes)


async def test_of_two_pods_the_one_with_the_open_port_is_found(kubernetes: Kubernetes) -> None:
    """As with a standby JobManager on the host network, where the Service has the leader's port."""
    await kubernetes.store.create(objects.SERVICES, "default", service())
    await kubernetes.pods.run("leader", hello, ready=False)
    await kubernetes.pods.add("standby")
    async with PortForward(kubernetes.client, 80, service="demo-rest") as forward:
        assert forward.pod == "standby"
        async with http(forward) as client:
            with pytest.raises(httpx2.TransportError):
                await client.get("/")
            for _ in range(3):
                assert (await client.get("/")).text.startswith("leader")


async def test_a_port_where_nothing_listens_is_told(kubernetes: Kubernetes) -> None:
    notes: list[str] = []
    await kubernetes.pods.add("one")
    async with PortForward(kubernetes.client, 9, pod="one", notify=notes.append) as forward:
        reader, writer = await asyncio.open_connection("127.0.0.1", forward.port)
        writer.write(b"hello\n")
        async with asyncio.timeout(ATTENTION):
            assert await reader.read() == b""
        writer.close()
        while not notes:  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    assert "nothing listens on 9" in notes[0]


async def test_leaving_ends_connections_and_listener(kubernetes: Kubernetes) -> None:
    await kubernetes.pods.run("one", echo)
    before = asyncio.all_tasks()
    async with PortForward(kubernetes.client, 8081, pod="one") as forward:
        reader, writer = await asyncio.open_connection("127.0.0.1", forward.port)
        writer.write(b"x\n")
        assert await reader.readline() == b"x\n"

    async with asyncio.timeout(ATTENTION):
        assert await reader.read() == b""
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", forward.port)
    mine = {one.get_name() for one in asyncio.all_tasks() - before}
    assert not {name for name in mine if name.startswith("kubeflink port-forward")}


async def test_a_local_port_that_is_taken(kubernetes: Kubernetes) -> None:
    await kubernetes.pods.run("one", echo)
    async with PortForward(kubernetes.client, 8081, pod="one") as forward:
        with pytest.raises(errors.ClusterError, match=f"Cannot listen on .*:{forward.port}"):
            async with PortForward(kubernetes.client, 8081, pod="one", local_port=forward.port):
                pass


ENTERING = {
    "no such pod": ({"port": 8081, "pod": "none"}, errors.NotFoundError, "none"),
    "a pod that has ended": ({"port": 8081, "pod": "ended"}, errors.ClusterError, "Succeeded"),
    "no such service": ({"port": 80, "service": "none"}, errors.NotFoundError, "none"),
    "no such port": ({"port": 99, "service": "demo-rest"}, errors.ClusterError, "no port 99"),
    "no pod behind it": (
        {"port": 80, "service": "empty"},
        errors.ClusterError,
        "No pod of Service",
    ),
    "no selector": ({"port": 80, "service": "bare"}, errors.ClusterError, "selects no pods"),
}


@pytest.mark.parametrize("name", ENTERING)
async def test_what_stands_in_the_way_is_told_on_entering(
    kubernetes: Kubernetes, name: str
) -> None:
    options, kind, words = ENTERING[name]
    store = kubernetes.store
    await store.create(objects.SERVICES, "default", service())
    await store.create(objects.SERVICES, "default", service("empty", selector={"app": "other"}))
    await store.create(objects.SERVICES, "default", service("bare", selector={}))
    await kubernetes.pods.run("running", echo)
    await kubernetes.pods.add("ended", phase="Succeeded")

    with pytest.raises(kind, match=words):
        async with PortForward(kubernetes.client, **options):
            pass


# A server that breaks streams


def stream(*, requests: int | None = None, idle: float | None = None) -> Any:
    """Port-forward to an imagined HTTP server; ends after some requests or when idle."""

    async def serve(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=("v4.channel.k8s.io",))
        await socket.prepare(request)
        port = int(request.query["ports"]).to_bytes(2, "little")
        for channel in (b"\0", b"\1"):
            await socket.send_bytes(channel + port)
        left = requests
        while left is None or left > 0:
            try:
                message = await socket.receive(timeout=idle)
            except TimeoutError:
                break
            if message.type != WSMsgType.BINARY:
                break
            assert message.data[:1] == b"\0"
            await socket.send_bytes(b"\0HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            left = None if left is None else left - 1
        assert request.transport is not None
        request.transport.abort()
        return socket

    return serve


@pytest.fixture
async def forward(stub: ApiStub, client: KubeClient) -> AsyncIterator[PortForward]:
    stub.store("/api/v1/namespaces/flink-jobs/pods/one", pod("one"))
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(PortForward(client, 8081, pod="one"))


@pytest.mark.parametrize("how", [stream(requests=1), stream(idle=0.2)], ids=["request", "idle"])
async def test_streams_that_break_do_not_end_the_forwarding(
    stub: ApiStub, forward: PortForward, how: Any
) -> None:
    stub.port_forwards = how
    for _ in range(3):
        async with http(forward) as client:
            assert (await client.get("/")).text == "ok"
            await asyncio.sleep(0.3)


async def test_a_server_that_is_away_for_a_moment(stub: ApiStub, forward: PortForward) -> None:
    stub.port_forwards = stream()
    stub.faults = [("GET", answer(503)), ("GET", answer(500))]

    async with http(forward) as client:
        assert (await client.get("/")).text == "ok"


async def test_no_rights_are_told_at_once(
    stub: ApiStub, client: KubeClient, tmp_path: Path
) -> None:
    notes: list[str] = []
    words = (
        'pods "one" is forbidden: User "jane" cannot get resource "pods/portforward" in API group'
        ' "" in the namespace "flink-jobs"'
    )
    stub.store("/api/v1/namespaces/flink-jobs/pods/one", pod("one"))
    async with PortForward(client, 8081, pod="one", notify=notes.append) as forward:
        stub.port_forwards = answer(403, words)
        async with http(forward) as local:
            with pytest.raises(httpx2.TransportError):
                await local.get("/")

    assert notes == ['Account "jane" may not get pods/portforward in namespace "flink-jobs"']


# Choosing


def test_the_youngest_ready_pod_is_chosen() -> None:
    made = []
    for name, ready, created in (
        ("old", True, "2026-01-01T00:00:00Z"),
        ("young", True, "2026-01-02T00:00:00Z"),
        ("starting", False, "2026-01-03T00:00:00Z"),
    ):
        made.append(pod(name, ready=ready))
        made[-1]["metadata"]["creationTimestamp"] = created
    made.append(pod("going"))
    made[-1]["metadata"]["deletionTimestamp"] = "2026-01-04T00:00:00Z"

    def chosen(avoid: str | None = None) -> str:
        found = targets.choose(made, avoid)
        assert found is not None
        return objects.name_of(found)

    assert chosen() == "young"
    assert chosen(avoid="young") == "old"
    assert targets.choose(made[-1:]) is None
    only = targets.choose(made[1:2], avoid="young")
    assert only is not None


@given(
    st.lists(st.tuples(st.sampled_from([0, 1]), st.binary(max_size=8)), max_size=20),
    st.integers(1, 65535),
)
def test_channels_are_taken_apart(messages: list[tuple[int, bytes]], port: int) -> None:
    channels = Channels()
    announcements = [bytes([channel]) + port.to_bytes(2, "little") for channel in (0, 1)]

    taken = [channels.feed(one) for one in announcements]
    taken += [channels.feed(bytes([channel]) + payload) for channel, payload in messages]

    assert b"".join(data for data, _ in taken) == b"".join(p for c, p in messages if c == 0)
    assert taken[:2] == [(b"", "")] * 2
    assert channels.feed(b"") == (b"", "")
