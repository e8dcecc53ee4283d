"""Watches as fabric8 (WebSocket) and everybody else (chunked lines) uses them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from kubeflink import objects
from kubeflink.apiserver.faults import Fault
from kubeflink.apiserver.server import ApiServer
from kubeflink.apiserver.store import ObjectStore
from support.manifests import CONFIG_MAPS, PODS, config_map, pod

LIMIT = 20.0


async def lines(answer: aiohttp.ClientResponse, count: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(LIMIT):
        return [json.loads(await answer.content.readline()) for _ in range(count)]


async def frames(socket: aiohttp.ClientWebSocketResponse, count: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(LIMIT):
        return [json.loads(await socket.receive_str()) for _ in range(count)]


def told(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"]["name"]) for event in events]


async def version(http: aiohttp.ClientSession, path: str) -> str:
    return str((await (await http.get(path)).json())["metadata"]["resourceVersion"])


async def test_lines_tell_what_is_there_and_then_what_changes(http: aiohttp.ClientSession) -> None:
    await http.post(CONFIG_MAPS, json=config_map("a"))

    async with http.get(f"{CONFIG_MAPS}?watch=true") as answer:
        assert told(await lines(answer, 1)) == [("ADDED", "a")]
        await http.post(CONFIG_MAPS, json=config_map("b"))
        await http.put(f"{CONFIG_MAPS}/a", json=config_map("a", key="1"))
        await http.delete(f"{CONFIG_MAPS}/b")
        assert told(await lines(answer, 3)) == [
            ("ADDED", "b"),
            ("MODIFIED", "a"),
            ("DELETED", "b"),
        ]


async def test_a_websocket_tells_the_same_and_answers_pings(http: aiohttp.ClientSession) -> None:
    start = await version(http, CONFIG_MAPS)
    path = f"{CONFIG_MAPS}?watch=true&allowWatchBookmarks=true&resourceVersion={start}"

    async with http.ws_connect(path, autoping=False, compress=15) as socket:
        assert socket.compress == 0
        await http.post(CONFIG_MAPS, json=config_map("a"))
        assert told(await frames(socket, 1)) == [("ADDED", "a")]
        await socket.ping(b"still there?")
        async with asyncio.timeout(LIMIT):
            pong = await socket.receive()
        assert (pong.type, pong.data) == (aiohttp.WSMsgType.PONG, b"still there?")
        await http.delete(f"{CONFIG_MAPS}/a")
        assert told(await frames(socket, 1)) == [("DELETED", "a")]


async def test_a_watch_goes_on_from_a_version(http: aiohttp.ClientSession) -> None:
    await http.post(CONFIG_MAPS, json=config_map("a"))
    start = await version(http, CONFIG_MAPS)
    await http.post(CONFIG_MAPS, json=config_map("b"))
    await http.delete(f"{CONFIG_MAPS}/a")

    async with http.get(f"{CONFIG_MAPS}?watch=1&resourceVersion={start}") as answer:
        assert told(await lines(answer, 2)) == [("ADDED", "b"), ("DELETED", "a")]


async def test_an_object_enters_and_leaves_a_selector(http: aiohttp.ClientSession) -> None:
    await http.post(CONFIG_MAPS, json=config_map("a"))
    start = await version(http, CONFIG_MAPS)

    path = f"{CONFIG_MAPS}?watch=1&labelSelector=x=1&resourceVersion={start}"
    async with http.get(path) as answer:
        await http.put(f"{CONFIG_MAPS}/a", json=config_map("a", {"x": "1"}))
        await http.put(f"{CONFIG_MAPS}/a", json=config_map("a", {"x": "1"}, k="v"))
        await http.put(f"{CONFIG_MAPS}/a", json=config_map("a", {"x": "2"}))
        left = await version(http, CONFIG_MAPS)
        await http.post(CONFIG_MAPS, json=config_map("b", {"x": "1"}))
        events = await lines(answer, 4)
    assert told(events) == [
        ("ADDED", "a"),
        ("MODIFIED", "a"),
        ("DELETED", "a"),
        ("ADDED", "b"),
    ]
    # As it was last seen, not with labels that the watcher did not ask for.
    assert events[2]["object"]["metadata"]["labels"] == {"x": "1"}
    assert events[2]["object"]["metadata"]["resourceVersion"] == left


@pytest.mark.parametrize("kind", ["lines", "websocket"])
async def test_a_version_that_is_forgotten_is_gone(
    http: aiohttp.ClientSession, store: ObjectStore, kind: str
) -> None:
    start = await version(http, CONFIG_MAPS)
    await http.post(CONFIG_MAPS, json=config_map("a"))
    store.expire_history()

    path = f"{CONFIG_MAPS}?watch=1&resourceVersion={start}"
    if kind == "lines":
        async with http.get(path) as answer:
            (event,) = await lines(answer, 1)
            assert await answer.content.readline() == b""
    else:
        async with http.ws_connect(path) as socket:
            (event,) = await frames(socket, 1)
            closed = await socket.receive(timeout=LIMIT)
            assert (closed.type, closed.data) == (aiohttp.WSMsgType.CLOSE, 1000)
    assert event["type"] == "ERROR"
    assert event["object"]["code"] == 410
    assert event["object"]["reason"] == "Expired"
    assert event["object"]["message"].startswith("too old resource version: ")


async def test_a_version_of_another_life_is_gone(http: aiohttp.ClientSession) -> None:
    async with http.get(f"{CONFIG_MAPS}?watch=1&resourceVersion={2**62}") as answer:
        (event,) = await lines(answer, 1)
    assert event["object"]["code"] == 410


async def test_only_the_newest_changes_are_kept() -> None:
    store = ObjectStore(history=10)
    for number in range(100):
        await store.create(objects.CONFIG_MAPS, "default", config_map(f"m{number}"))
    listed = await store.list(objects.CONFIG_MAPS)
    versions = [int(obj["metadata"]["resourceVersion"]) for obj in listed.items]

    recent = store.watch(objects.CONFIG_MAPS, resource_version=str(max(versions) - 10))
    assert len(await recent.batch()) == 10
    with pytest.raises(Exception, match="too old resource version"):
        store.watch(objects.CONFIG_MAPS, resource_version=str(min(versions)))


async def test_a_watch_ends_at_its_time(http: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(LIMIT):
        async with http.get(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1") as answer:
            assert await answer.read() == b""
        async with http.ws_connect(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1") as socket:
            closed = await socket.receive()
    assert (closed.type, closed.data) == (aiohttp.WSMsgType.CLOSE, 1000)


async def test_a_watch_list_ends_its_first_part_with_a_bookmark(
    http: aiohttp.ClientSession,
) -> None:
    await http.post(CONFIG_MAPS, json=config_map("a"))

    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    async with http.get(f"{CONFIG_MAPS}?{query}&allowWatchBookmarks=true") as answer:
        added, mark = await lines(answer, 2)
    assert added["type"] == "ADDED"
    assert mark["type"] == "BOOKMARK"
    assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(mark["object"]["metadata"]["resourceVersion"]) >= int(
        added["object"]["metadata"]["resourceVersion"]
    )


async def test_a_stopping_server_ends_watches_in_order(store: ObjectStore) -> None:
    async with aiohttp.ClientSession() as http:
        server = ApiServer(store)
        await server.start()
        path = f"{server.url}{CONFIG_MAPS}?watch=1"
        async with http.ws_connect(path) as socket, http.get(path) as answer:
            await server.stop()
            async with asyncio.timeout(LIMIT):
                assert await answer.read() == b""
                closed = await socket.receive()
    assert (closed.type, closed.data) == (aiohttp.WSMsgType.CLOSE, 1000)


async def test_many_watchers_hear_every_change(http: aiohttp.ClientSession) -> None:
    async def follow() -> list[tuple[str, str]]:
        async with http.get(f"{PODS}?watch=1&resourceVersion={start}") as answer:
            ready.release()
            return told(await lines(answer, 50))

    start, ready = await version(http, PODS), asyncio.Semaphore(0)
    async with asyncio.TaskGroup() as tasks:
        followers = [tasks.create_task(follow()) for _ in range(20)]
        for _ in followers:
            await ready.acquire()
        for number in range(50):
            await http.post(PODS, json=pod(f"p{number}"))
    expected = [("ADDED", f"p{number}") for number in range(50)]
    assert [follower.result() for follower in followers] == [expected] * 20


async def test_planned_faults_break_watches(http: aiohttp.ClientSession, server: ApiServer) -> None:
    server.faults.add(Fault(path="watch=1", watch="gone"))
    async with http.get(f"{CONFIG_MAPS}?watch=1") as answer:
        (event,) = await lines(answer, 1)
    assert event["object"]["code"] == 410

    await http.post(CONFIG_MAPS, json=config_map("a"))
    server.faults.add(Fault(path="watch=1", watch="silent"))
    async with http.get(f"{CONFIG_MAPS}?watch=1") as answer:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await answer.content.readline()

    async with http.get(f"{CONFIG_MAPS}?watch=1") as answer:
        await lines(answer, 1)
        server.drop_connections()
        with pytest.raises(aiohttp.ClientError):
            await answer.content.readline()
