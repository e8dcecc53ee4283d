from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from kubeflink.apiserver.server import ApiServer
from kubeflink.apiserver.store import ObjectStore


@pytest.fixture
def store() -> ObjectStore:
    return ObjectStore()


@pytest.fixture
async def server(store: ObjectStore) -> AsyncIterator[ApiServer]:
    async with ApiServer(store) as running:
        yield running


@pytest.fixture
async def http(server: ApiServer) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(server.url) as session:
        yield session
