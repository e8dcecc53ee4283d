"""For modules in which one broker stands all that is tried; the others bring their own cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kubeflink import objects
from kubeflink.broker.process import Broker
from support.broker import (
    HA,
    THEIRS,
    RealCluster,
    cluster_spec,
    noted,
    real_cluster,
    running_broker,
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster() -> AsyncIterator[RealCluster]:
    """A cluster with high availability, and ConfigMaps of others beside it."""
    async with real_cluster(cluster_spec(HA)) as cluster:
        for name in ("other-cluster-config-map", "plain"):
            config_map = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": name},
                "data": {"key": THEIRS},
            }
            await cluster.store.create(objects.CONFIG_MAPS, "default", config_map)
        yield cluster


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def broker(
    cluster: RealCluster, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Broker]:
    """Its broker, which has written what it writes once."""
    async with running_broker(cluster, tmp_path_factory.mktemp("broker")) as broker:
        await noted(cluster, broker)
        yield broker
