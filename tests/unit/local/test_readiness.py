"""When a container counts as ready whose server speaks TLS."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kubeflink.local.readiness import Readiness
from kubeflink.objects import JsonObject
from support.certificates import Stores, make_stores
from support.scripted_server import Answer, doorkeeper, scripted_server

PROBED: JsonObject = {"readinessProbe": {"httpGet": {"path": "/overview", "port": 8081}}}
POD: JsonObject = {"metadata": {"name": "demo"}, "spec": {"containers": [PROBED]}}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    directory: Path = tmp_path_factory.mktemp("stores")
    return make_stores(directory)


def readiness(port: int) -> Readiness:
    async def places(_pod: JsonObject, _port: int | str) -> list[int]:
        return [port]

    return Readiness(places)


async def test_with_tls_it_is_what_the_server_says(stores: Stores) -> None:
    async with scripted_server(stores.server_context()) as server, doorkeeper(server) as door:
        server.on("GET", "/overview", Answer(503), Answer(503), Answer(200, {}))

        async with asyncio.timeout(60):
            await readiness(door.port).wait(POD, PROBED)

        assert len(server.requests("GET", "/overview")) == 3
