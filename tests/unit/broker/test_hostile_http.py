"""What can be tried with HTTP itself: the broker gives nothing away, changes nothing, and goes on.

The JobManager's token is known to the attacker, but where it is said that it is not.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from kubeflink.apiserver.server import ApiServer
from kubeflink.apiserver.store import ObjectStore
from kubeflink.broker.process import Broker
from kubeflink.spec.certificates import issue
from support.broker import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    PODS,
    SELECTOR,
    SERVICES,
    THEIRS,
    TOKEN,
    JobManager,
    RealCluster,
    jobmanager,
)

NAME = "demo-taskmanager-1-1"
HA_NAME = "demo-cluster-config-map"

# One broker stands all of it.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def flink(broker: Broker, cluster: RealCluster) -> AsyncIterator[JobManager]:
    """A JobManager; whatever was tried before, it gets a worker afterwards, and nothing else is."""
    async with jobmanager(broker) as flink:
        before = await cluster.everything()
        yield flink
        assert await cluster.everything() == before
        assert (await flink.ask(1))[0] == 201
        assert list(await cluster.pods()) == [NAME]
        assert (await flink.call("DELETE", f"{PODS}/{NAME}"))[0] == 200
        assert THEIRS not in json.dumps(list(await flink.workers()))


async def raw(broker: Broker, text: bytes, seconds: float = 1.0) -> bytes:
    """What comes back for these bytes, until the connection is closed or nothing comes any more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.server.port)
    answer = b""
    try:
        writer.write(text)
        await writer.drain()
        while True:
            async with asyncio.timeout(seconds):
                chunk = await reader.read(65536)
            if not chunk:
                break
            answer += chunk
    except (TimeoutError, ConnectionError):
        pass
    finally:
        writer.close()
    return answer


async def all_of(flink: JobManager, texts: Mapping[str, bytes]) -> dict[str, bytes]:
    """The answers to all of these, each over a connection of its own, side by side."""
    turns = asyncio.Semaphore(40)

    async def one(text: bytes) -> bytes:
        async with turns:
            return await raw(flink.broker, text)

    answers = await asyncio.gather(*map(one, texts.values()))
    return dict(zip(texts, answers, strict=True))


def asking(method: str, path: str, rest: str = "\r\n") -> bytes:
    """A request after which the connection is closed."""
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    return f"{head}Authorization: Bearer {TOKEN}\r\n{rest}".encode()


def statuses_in(answer: bytes) -> list[int]:
    lines = [line for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.")]
    return [int(line.split()[1]) for line in lines]


# --- requests within requests ------------------------------------------------------------------

BEARER = f"Authorization: Bearer {TOKEN}\r\n".encode()
SECRETS = b"GET /api/v1/namespaces/default/configmaps/plain HTTP/1.1\r\nHost: x\r\n"
DELETION = f"DELETE {DEPLOYMENTS}/demo HTTP/1.1\r\nHost: x\r\n".encode()
HEAD = f"GET {PODS} HTTP/1.1\r\nHost: x\r\n".encode() + BEARER

SMUGGLED = {
    "two lengths": HEAD + b"Content-Length: 0\r\nContent-Length: 44\r\n\r\n" + DELETION + b"\r\n",
    "a length and chunks": HEAD
    + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    + DELETION
    + b"\r\n",
    "chunks by another name": HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + DELETION,
    "chunks twice": HEAD
    + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n"
    + DELETION,
    "a blank before the colon": HEAD + b"Content-Length : 44\r\n\r\n" + DELETION,
    "a folded header": HEAD + b"X: a\r\n b\r\nContent-Length: 0\r\n\r\n",
    "a bare line feed": HEAD + b"X: y\nContent-Length: 44\r\n\r\n" + DELETION,
    "a negative length": HEAD + b"Content-Length: -1\r\n\r\n",
    "a length with a sign": HEAD + b"Content-Length: +44\r\n\r\n" + DELETION,
    "a chunk that is no number": HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + DELETION,
    "a chunk of all memory": HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx",
    "the token only in the first": HEAD + b"\r\n" + DELETION + b"\r\n" + SECRETS + b"\r\n",
    "a null byte": f"GET {PODS}\0 HTTP/1.1\r\nHost: x\r\n".encode() + BEARER + b"\r\n",
    "another protocol": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS where there is none": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64,
    "a whole URL": b"GET http://169.254.169.254/latest HTTP/1.1\r\nHost: x\r\n" + BEARER + b"\r\n",
    "a tunnel": b"CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: x\r\n" + BEARER + b"\r\n",
    "an unknown method": f"STEAL {PODS} HTTP/1.1\r\nHost: x\r\n".encode() + BEARER + b"\r\n",
}


async def test_requests_within_requests(flink: JobManager) -> None:
    answers = await all_of(flink, SMUGGLED)

    for name, answer in answers.items():
        first, *more = statuses_in(answer) or [400]
        assert first in (200, 400, 403, 404, 405, 415), name
        assert set(more) <= {400, 401}, name
        assert THEIRS.encode() not in answer, name


# --- too much ----------------------------------------------------------------------------------

TOO_LARGE = {
    "a long header": HEAD + b"X: " + b"x" * 1_000_000 + b"\r\n\r\n",
    "many headers": HEAD + b"".join(b"X%d: x\r\n" % n for n in range(20_000)) + b"\r\n",
    "a long path": b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nHost: x\r\n" + BEARER + b"\r\n",
    "a header without end": HEAD + b"X" * 2_000_000,
}


@pytest.mark.parametrize("text", TOO_LARGE.values(), ids=TOO_LARGE.keys())
async def test_heads_that_are_too_large(flink: JobManager, text: bytes) -> None:
    assert set(statuses_in(await raw(flink.broker, text))) <= {400, 404, 431}


async def test_a_body_that_never_comes(flink: JobManager) -> None:
    """Somebody waits for it; nobody else waits for him."""
    head = f"POST {PODS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n".encode()
    text = head + BEARER + b"Content-Length: 100000000000\r\n\r\n{"
    waiting = [asyncio.create_task(raw(flink.broker, text, seconds=30.0)) for _ in range(50)]
    await asyncio.sleep(0.2)
    assert await flink.workers() == {}
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_body_that_becomes_large_when_it_is_unpacked(flink: JobManager) -> None:
    body = gzip.compress(b" " * 50_000_000)
    status = await posted(flink, body, **{"Content-Encoding": "gzip"})
    assert status in (400, 413, 415)


async def test_a_stranger_with_a_body_is_sent_away(flink: JobManager) -> None:
    head = f"POST {PODS} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n".encode()
    answer = await raw(flink.broker, head)
    assert statuses_in(answer) == [401]
    assert b"connection: close" in answer.lower()


async def are_cut_off(server: ApiServer, connections: int, opening: bytes) -> None:
    """That the server ends connections which stop within these bytes, each at another one."""
    silent = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(connections)]
    for number, (_, writer) in enumerate(silent):
        writer.write(opening[:number])
    for reader, writer in silent:
        async with asyncio.timeout(20):
            with suppress(ConnectionError):
                assert await reader.read() == b""
        writer.close()


async def test_connections_that_say_nothing_do_not_stay() -> None:
    async with ApiServer(ObjectStore(), token=TOKEN, first_request=0.3) as server:
        await are_cut_off(server, 50, b"GET / HTTP/1.1\r\nX: ")


async def test_nor_do_those_that_do_not_shake_hands(tmp_path: Path) -> None:
    """TLS comes before the first request; a stranger needs no more for it than a connection."""
    issued, pem = issue("server", "authority", ("127.0.0.1",)), tmp_path / "server.pem"
    pem.write_bytes(issued.key + issued.certificate)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pem)
    async with ApiServer(ObjectStore(), token=TOKEN, tls=tls, first_request=0.3) as server:
        await are_cut_off(server, 20, b"\x16\x03\x01\x02\x00\x01")


async def test_who_has_asked_once_may_think(flink: JobManager) -> None:
    """A connection that is kept is not cut between two requests."""
    async with ApiServer(ObjectStore(), token=TOKEN, first_request=0.2) as server:
        connector = aiohttp.TCPConnector(limit=1)
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
            for _ in range(2):
                async with session.get(f"{server.url}{PODS}") as answer:
                    assert answer.status == 200
                await asyncio.sleep(0.5)
            assert len(connector._conns) == 1


async def test_hundreds_of_watches(flink: JobManager) -> None:
    url = f"{flink.broker.server.url}{PODS}?{SELECTOR}&watch=true"
    connector = aiohttp.TCPConnector(limit=0)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with AsyncExitStack() as stack:
        made = aiohttp.ClientSession(connector=connector, headers=headers)
        session = await stack.enter_async_context(made)
        for _ in range(400):
            await stack.enter_async_context(session.ws_connect(url))
        assert await flink.workers() == {}


async def test_a_watcher_that_talks(flink: JobManager) -> None:
    """What comes from the other side of a watch is for nobody."""
    url = f"{flink.broker.server.url}{PODS}?{SELECTOR}&watch=true"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession(headers=headers) as session, session.ws_connect(url) as ws:
        for _ in range(20):
            await ws.send_bytes(b"\0" * 100_000)
        assert await flink.workers() == {}


# --- bodies ------------------------------------------------------------------------------------


async def posted(flink: JobManager, body: bytes, path: str = PODS, **headers: str) -> int:
    headers = {"Content-Type": "application/json", **headers}
    headers["Authorization"] = f"Bearer {TOKEN}"
    async with aiohttp.ClientSession() as session:
        url = f"{flink.broker.server.url}{path}"
        async with session.post(url, data=body, headers=headers) as answer:
            await answer.read()
            return answer.status


DEEP = {
    "lists": b"[" * 200_000,
    "objects": b'{"a":' * 200_000,
    "a deep name": b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":' + b"[" * 900 + b"]" * 900
    + b"}}",
    "deep labels": b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"demo-taskmanager-1-1",'
    b'"labels":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}}",
}  # fmt: skip


@pytest.mark.parametrize("body", DEEP.values(), ids=DEEP.keys())
async def test_bodies_that_are_deep(flink: JobManager, body: bytes) -> None:
    assert await posted(flink, body) in (400, 403)


async def test_a_deep_part_of_a_pod_is_left_out(flink: JobManager, cluster: RealCluster) -> None:
    deep: Any = 1
    for _ in range(200):
        deep = {"a": [deep]}
    request = flink.request(1)
    request["spec"]["volumes"] = deep
    request["metadata"]["annotations"] = deep
    for _ in range(2):
        status, _ = await flink.call("POST", PODS, request)
        assert status in (201, 400)
    for name in await cluster.pods():
        assert '"a"' not in json.dumps((await cluster.pods())[name]["metadata"])
        assert (await flink.call("DELETE", f"{PODS}/{name}"))[0] == 200


async def test_keys_that_are_there_twice(flink: JobManager, cluster: RealCluster) -> None:
    """There is one reader: what was checked is what the pod is made from."""
    text = json.dumps(flink.request(1))
    other = json.dumps(flink.request(1)["metadata"]).replace(NAME, "coredns")
    for twice in (
        text.replace('"metadata":', f'"metadata": {other}, "metadata":', 1),
        text[:-1] + f', "metadata": {other}}}',
        text[:-1] + ', "kind": "Secret"}',
        text.replace('"spec":', '"spec": {"hostNetwork": true}, "spec":', 1),
    ):
        status = await posted(flink, twice.encode())
        for name, pod in (await cluster.pods()).items():
            assert (name, status) == (NAME, 201)
            assert not pod["spec"].get("hostNetwork")
            await flink.call("DELETE", f"{PODS}/{name}")


FORMS = [
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain",
    "application/octet-stream",
    "application/cbor",
]


@pytest.mark.parametrize("form", FORMS)
async def test_bodies_in_other_forms(flink: JobManager, cluster: RealCluster, form: str) -> None:
    pod = json.dumps(flink.request(1)).encode()
    for body in (
        pod,
        b"k8s\0" + pod,
        b"a: &a [x, x]\nb: [*a, *a]",
        b'[{"op":"remove","path":"/"}]',
    ):
        assert await posted(flink, body, **{"Content-Type": form}) == 415
    kinds = {"Content-Type": form}
    status, _ = await flink.call("PATCH", f"{CONFIG_MAPS}/{HA_NAME}", {"data": {}}, **kinds)
    assert status == 415


# --- paths and queries -------------------------------------------------------------------------

ELSEWHERE = [
    f"/{CONFIG_MAPS}/plain",
    f"{CONFIG_MAPS}//plain",
    f"{CONFIG_MAPS}/./plain",
    f"{CONFIG_MAPS}/{HA_NAME}/../plain",
    f"{CONFIG_MAPS}/{HA_NAME}/%2e%2e/plain",
    f"{CONFIG_MAPS}/{HA_NAME}%2f..%2fplain",
    f"{CONFIG_MAPS}/{HA_NAME}%00plain",
    f"{CONFIG_MAPS}/{HA_NAME};plain",
    f"{CONFIG_MAPS}/{HA_NAME}%0d%0aX:%20y",
    f"{CONFIG_MAPS}/%70lain",
    f"{CONFIG_MAPS}/demo-{'A' * 32}-config-map",
    f"{CONFIG_MAPS}/{HA_NAME}/status",
    f"{CONFIG_MAPS}\\plain",
    "/api/v1/namespaces/default/pods/../configmaps/plain",
    "/api/v1/namespaces/default/%73ecrets",
    "/api/v1/namespaces/%64efault/configmaps/plain",
    "/api/v1/namespaces/default%20/pods",
    "/api/v1/namespaces/DEFAULT/pods",
    "/api/v1/namespaces//pods",
    "/api/v1/namespaces/default/services/demo-rest:rest/proxy/jobs",
    "/api/v1/namespaces/default/services/https:demo-rest:rest/proxy",
    "/api/v1/watch/namespaces/default/configmaps",
    "/api/v1/proxy/namespaces/default/services/demo-rest",
    "/apis/apps/v1/namespaces/default/deployments/demo/../../secrets",
    "/apis/apps/v1/namespaces/default/deployments/demo/scale",
    "/apis/apps/v1/namespaces/default/deployments/demo/status",
    "/apis/apps/v1beta1/namespaces/default/deployments/demo",
    "/apis//v1/namespaces/default/configmaps/plain",
    "/api/v1/pods%3fnamespace=default",
    f"/-/{TOKEN}x{CONFIG_MAPS}/plain",
    f"/-/{TOKEN}{CONFIG_MAPS}/plain",
    f"/-/{TOKEN}/-/{TOKEN}{PODS}",
]


async def test_paths_that_lead_elsewhere(flink: JobManager) -> None:
    rest = "Content-Type: application/merge-patch+json\r\nContent-Length: 2\r\n\r\n{}"
    texts = {
        f"{method} {path}": asking(method, path, rest)
        for path in ELSEWHERE
        for method in ("GET", "PUT", "DELETE", "PATCH")
    }

    for name, answer in (await all_of(flink, texts)).items():
        assert set(statuses_in(answer)) <= {400, 401, 403, 404, 405}, name
        assert THEIRS.encode() not in answer, name


QUERIES = [
    "labelSelector=app%3Dother",
    "labelSelector=app%20in%20(demo%2Cother)",
    "labelSelector=!app",
    "labelSelector=%28%28%28",
    "fieldSelector=metadata.namespace%3Dkube-system",
    "fieldSelector=metadata.name%3Dplain",
    "fieldSelector=data.k%3Dx",
    "fieldSelector=spec.serviceAccountName%3Dadmin",
    "limit=1",
    "limit=-1",
    "limit=99999999999999999999",
    "limit=x",
    "continue=eyJydiI6MX0",
    "continue=%00",
    "limit=1&continue=../../secrets",
    "resourceVersion=1&resourceVersionMatch=Exact",
    "resourceVersion=-1",
    "resourceVersion=99999999999999999999999999",
    "resourceVersion=x",
    "namespace=kube-system",
    "allNamespaces=true",
    "dryRun=All",
    "pretty=true",
    "timeoutSeconds=-5",
    "as=system:admin",
    "watch=false&watch=true&timeoutSeconds=1",
    "watch=true&timeoutSeconds=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
    "watch=true&resourceVersion=x",
    "watch=true&resourceVersion=-1",
    "watch=true&resourceVersion=99999999999999999999999999&timeoutSeconds=1",
    "watch=true&timeoutSeconds=nan",
]


async def test_queries_that_ask_for_more(flink: JobManager) -> None:
    texts = {
        f"{path}?{query}": asking("GET", f"{path}?{query}")
        for path in (PODS, CONFIG_MAPS)
        for query in QUERIES
    }

    for name, answer in (await all_of(flink, texts)).items():
        assert set(statuses_in(answer)) <= {200, 400, 403, 410, 504}, name
        for word in (THEIRS.encode(), b"kube-system", b'"plain"'):
            assert word not in answer, name


IMPERSONATION = {
    "Impersonate-User": "system:admin",
    "Impersonate-Group": "system:masters",
    "X-Remote-User": "system:admin",
    "X-Remote-Group": "system:masters",
    "X-Forwarded-For": "127.0.0.1",
    "X-Http-Method-Override": "DELETE",
    "X-Original-URL": f"{CONFIG_MAPS}/plain",
    "Accept": "application/vnd.kubernetes.protobuf",
}


async def test_headers_that_ask_for_more(flink: JobManager) -> None:
    asked = (("GET", f"{CONFIG_MAPS}/plain"), ("DELETE", f"{SERVICES}/demo-rest"))
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {TOKEN}"}) as session:
        for header, value in IMPERSONATION.items():
            for method, path in asked:
                url = f"{flink.broker.server.url}{path}"
                async with session.request(method, url, headers={header: value}) as answer:
                    assert answer.status == 403, header
                    assert THEIRS.encode() not in await answer.read(), header


UPGRADES = [
    (f"{PODS}/{NAME}/exec?command=sh&stdin=true&stdout=true", "websocket"),
    (f"{PODS}/{NAME}/attach?stdin=true", "websocket"),
    (f"{PODS}/{NAME}/portforward?ports=8081", "websocket"),
    (f"{PODS}/{NAME}/exec?command=sh", "SPDY/3.1"),
    (f"{CONFIG_MAPS}/plain?watch=true", "websocket"),
    (f"{CONFIG_MAPS}/plain", "websocket"),
    ("/api/v1/namespaces/kube-system/configmaps?watch=true", "websocket"),
    ("/api/v1/namespaces/default/secrets?watch=true", "websocket"),
    (f"{SERVICES}?watch=true", "websocket"),
    (f"{DEPLOYMENTS}?watch=true", "websocket"),
    ("/", "h2c"),
]


async def test_upgrades_of_what_is_no_watch(flink: JobManager) -> None:
    key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    texts = {
        f"{path} {protocol}": (
            f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n{key}"
        ).encode()
        + BEARER
        + b"\r\n"
        for path, protocol in UPGRADES
    }

    for name, answer in (await all_of(flink, texts)).items():
        assert set(statuses_in(answer)) <= {400, 403, 404}, name
        assert THEIRS.encode() not in answer, name
