"""Reflectors against a real API server: its own restarts, versions that are gone, its time-outs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from kubeflink import objects
from kubeflink.errors import GoneError
from kubeflink.kube.backoff import Backoff
from kubeflink.kube.client import KubeClient
from kubeflink.kube.reflector import Reflector
from kubeflink.objects import JsonObject
from support.control_plane import ApiServerProgram, ControlPlane
from support.real_cluster import Namespace, eventually


def quick() -> Backoff:
    return Backoff(first=0.1, longest=1.0)


def config_map(name: str, **data: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def test_changes_are_told_in_order(namespace: Namespace) -> None:
    client = namespace.client
    labels = {"app": "demo"}
    await client.create({**config_map("a"), "metadata": {"name": "a", "labels": labels}})
    async with Reflector(client, objects.CONFIG_MAPS, labels=labels) as reflector:
        changes = reflector.changes()
        first = await anext(changes)
        assert (first.type, objects.name_of(first.object)) == ("added", "a")
        await client.create(config_map("unseen"))
        await client.patch(objects.CONFIG_MAPS, "a", {"data": {"k": "v"}})
        await client.create({**config_map("b"), "metadata": {"name": "b", "labels": labels}})
        await client.delete(objects.CONFIG_MAPS, "a")
        # It leaves the selection, which is an end for whoever looks at the selection.
        await client.patch(objects.CONFIG_MAPS, "b", {"metadata": {"labels": {"app": None}}})
        seen = [await anext(changes) for _ in range(4)]
        assert [(each.type, objects.name_of(each.object)) for each in seen] == [
            ("modified", "a"),
            ("added", "b"),
            ("deleted", "a"),
            ("deleted", "b"),
        ]
        await changes.aclose()


async def test_watches_that_time_out_lose_nothing(namespace: Namespace) -> None:
    client = namespace.client
    async with Reflector(
        client, objects.CONFIG_MAPS, watch_seconds=1.0, backoff=quick()
    ) as reflector:
        for index in range(40):
            await client.create(config_map(f"c-{index}"))
            await asyncio.sleep(0.1)
        async with asyncio.timeout(60):
            await reflector.wait_for(lambda store: "c-39" in store or None)
        assert {f"c-{index}" for index in range(40)} <= set(reflector.store)


# --- a second API server, which may be stopped ---------------------------------------------------


@pytest.fixture
async def restarted(
    namespace: Namespace, control_plane: ControlPlane
) -> AsyncIterator[tuple[ApiServerProgram, KubeClient]]:
    """An API server of the test's own over the same objects, and a client of it."""
    with control_plane.another_apiserver("kube-apiserver-2", "--watch-cache=false") as server:
        kubeconfig = control_plane.kubeconfig(namespace=namespace.name, server=server.url)
        async with KubeClient.connect(kubeconfig=kubeconfig, environ={}) as client:
            yield server, client


async def test_an_api_server_that_starts_again(
    namespace: Namespace,
    control_plane: ControlPlane,
    restarted: tuple[ApiServerProgram, KubeClient],
) -> None:
    """While it is away objects come and go, and what it remembered of them is thrown away."""
    server, client = restarted
    await namespace.client.create(config_map("before"))
    await namespace.client.create(config_map("removed"))
    seen: list[tuple[str, str]] = []
    async with Reflector(client, objects.CONFIG_MAPS, backoff=quick()) as reflector:

        async def listen() -> None:
            async for change in reflector.changes():
                seen.append((change.type, objects.name_of(change.object)))

        listening = asyncio.create_task(listen())
        server.program.stop()

        async def is_noticed() -> bool:
            return reflector.outage is not None

        await eventually(is_noticed, "the outage is noticed")
        old = reflector.resource_version
        await namespace.client.delete(objects.CONFIG_MAPS, "removed")
        await namespace.client.create(config_map("after"))
        control_plane.compact()
        server.start()
        async with asyncio.timeout(120):
            await reflector.wait_for(lambda store: "after" in store or None)
        assert reflector.outage is None
        assert "removed" not in reflector.store
        listening.cancel()
    assert seen.count(("deleted", "removed")) == 1
    assert seen.count(("added", "after")) == 1

    with pytest.raises(GoneError, match=r"too old|compacted"):
        async for _ in client.watch(objects.CONFIG_MAPS, resource_version=old, timeout_seconds=5):
            pass


async def test_a_page_that_is_too_old(
    namespace: Namespace,
    control_plane: ControlPlane,
    restarted: tuple[ApiServerProgram, KubeClient],
) -> None:
    """410 in the middle of a list, which the client answers by a list without pages."""
    _, client = restarted
    for index in range(5):
        await namespace.client.create(config_map(f"c-{index}"))
    path = objects.CONFIG_MAPS.collection_path(namespace.name)
    page = (await client.http.get(path, params={"limit": 2})).json()
    await namespace.client.create(config_map("later"))
    control_plane.compact()

    answer = await client.http.get(
        path, params={"limit": 2, "continue": page["metadata"]["continue"]}
    )

    assert (answer.status_code, answer.json()["reason"]) == (410, "Expired")
