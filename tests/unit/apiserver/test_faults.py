"""Planned faults: each does to a request what it says, and only as often as it says."""

from __future__ import annotations

import aiohttp
import pytest

from kubeflink import objects
from kubeflink.apiserver.faults import Fault, FaultPlan
from kubeflink.apiserver.server import REMEMBERED, ApiServer
from kubeflink.apiserver.store import ObjectStore
from kubeflink.errors import LocalError, NotFoundError
from support.manifests import CONFIG_MAPS, config_map


async def test_a_status_with_a_pause(http: aiohttp.ClientSession, server: ApiServer) -> None:
    fault = server.faults.add(
        Fault("configmaps", "GET", times=2, status=429, message="slow down", retry_after=3)
    )
    for _ in range(2):
        async with http.get(CONFIG_MAPS) as answer:
            assert answer.status == 429
            assert answer.headers["Retry-After"] == "3"
            status = await answer.json()
    assert (status["message"], status["reason"]) == ("slow down", "TooManyRequests")
    assert status["details"]["retryAfterSeconds"] == 3
    async with http.get(CONFIG_MAPS) as answer:
        assert answer.status == 200
    assert fault.struck == 2
    assert server.faults.count("GET", "configmaps$") == 3


async def test_a_fault_can_be_late_and_lasting(
    http: aiohttp.ClientSession, server: ApiServer
) -> None:
    fault = server.faults.add(Fault("configmaps", times=None, skip=1, status=503))
    seen = []
    for _ in range(4):
        async with http.get(CONFIG_MAPS) as answer:
            seen.append(answer.status)
    server.faults.remove(fault)
    async with http.get(CONFIG_MAPS) as answer:
        seen.append(answer.status)
    assert seen == [200, 503, 503, 503, 200]


@pytest.mark.parametrize(("drop", "stored"), [("before", False), ("after", True)])
async def test_a_cut_connection(
    http: aiohttp.ClientSession, server: ApiServer, store: ObjectStore, drop: str, stored: bool
) -> None:
    server.faults.add(Fault(method="POST", drop="before" if drop == "before" else "after"))
    with pytest.raises(aiohttp.ClientError):
        await http.post(CONFIG_MAPS, json=config_map("a"))
    if stored:
        await store.get(objects.CONFIG_MAPS, "default", "a")
    else:
        with pytest.raises(NotFoundError):
            await store.get(objects.CONFIG_MAPS, "default", "a")


async def test_a_delay(http: aiohttp.ClientSession, server: ApiServer) -> None:
    server.faults.add(Fault(delay=30))
    with pytest.raises(TimeoutError):
        await http.get(CONFIG_MAPS, timeout=aiohttp.ClientTimeout(0.3))


async def test_a_port_that_is_taken(server: ApiServer, store: ObjectStore) -> None:
    second = ApiServer(store, port=server.port)
    with pytest.raises(LocalError, match=f"cannot listen on 127.0.0.1:{server.port}"):
        await second.start()
    await second.stop()


async def test_a_server_comes_back_on_its_port(store: ObjectStore) -> None:
    first = ApiServer(store)
    await first.start()
    async with aiohttp.ClientSession() as http, http.get(f"{first.url}{CONFIG_MAPS}?watch=1"):
        await first.stop()
    async with (
        ApiServer(store, port=first.port) as again,
        aiohttp.ClientSession() as http,
        http.get(f"{again.url}/readyz") as answer,
    ):
        assert answer.status == 200


def test_a_server_that_lives_long_does_not_remember_all(server: ApiServer) -> None:
    plan = FaultPlan()
    for number in range(REMEMBERED + 10):
        for each in (server.faults, plan):
            each.strike("GET", f"/{number}")

    assert len(server.faults.requests) == REMEMBERED
    assert server.faults.requests[-1] == ("GET", f"/{REMEMBERED + 9}")
    assert len(plan.requests) == REMEMBERED + 10
