"""What most of these tests run on; a module that wants it otherwise has its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from kubeflink.local.cluster import EmbeddedCluster
from support.embedded import embedded_cluster


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kubernetes() -> AsyncIterator[EmbeddedCluster]:
    """An embedded Kubernetes for the tests of one module."""
    async with embedded_cluster() as kubernetes:
        yield kubernetes
