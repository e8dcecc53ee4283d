"""A broker that begins while the API server is away."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from kubeflink.apiserver.faults import Fault
from kubeflink.broker.blueprint import Blueprint, read_blueprint
from kubeflink.broker.patience import awaited_blueprint
from kubeflink.broker.process import Broker, Listening
from kubeflink.errors import ForbiddenError, NotFoundError
from kubeflink.kube import KubeClient
from support.broker import (
    TOKEN,
    RealCluster,
    cluster_spec,
    kubeconfig,
    one_attempt_client,
    real_cluster,
    until,
)
from support.broker_process import broker_process, free_port, persistent_jobmanager


@pytest.fixture
async def cluster() -> AsyncIterator[RealCluster]:
    async with real_cluster(cluster_spec()) as cluster:
        yield cluster


@pytest.fixture
async def client(cluster: RealCluster, tmp_path: Path) -> AsyncIterator[KubeClient]:
    async with one_attempt_client(cluster, tmp_path) as client:
        yield client


async def asked(port: int, path: str) -> tuple[int, str]:
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}{path}") as answer,
        ):
            return answer.status, await answer.text()
    except aiohttp.ClientConnectorError:
        return 0, ""


async def test_the_clusters_deployment_is_waited_for(
    cluster: RealCluster, client: KubeClient
) -> None:
    away = cluster.faults.add(Fault(path="/deployments", times=None, status=503, message="no etcd"))
    port, told = free_port(), ""

    async def told_why() -> bool:
        nonlocal told
        told = (await asked(port, "/healthz"))[1]
        return "no etcd" in told

    async def read() -> Blueprint:
        return await read_blueprint(client, "demo", "default")

    waiting = asyncio.create_task(awaited_blueprint(read, host="127.0.0.1", metrics_port=port))
    await until(told_why)
    assert told.startswith("the API server is away: ")
    assert (await asked(port, "/livez"))[0] == 200
    assert "kubeflink_broker_api_server_up 0" in (await asked(port, "/metrics"))[1]
    cluster.faults.remove(away)

    assert (await waiting).cluster_id == "demo"
    assert (await asked(port, "/livez"))[0] == 0  # the port is left to the broker


async def test_what_is_final_ends_it(client: KubeClient) -> None:
    async def read() -> Blueprint:
        return await read_blueprint(client, "nope", "default")

    with pytest.raises(NotFoundError):
        await awaited_blueprint(read, host="127.0.0.1", metrics_port=0)


async def test_the_first_list_is_waited_for(cluster: RealCluster, client: KubeClient) -> None:
    blueprint = await read_blueprint(client, "demo", "default")
    away = cluster.faults.add(Fault(path="/pods", times=None, status=503, message="no etcd"))

    async with Broker(client, blueprint, Listening(TOKEN, None)) as broker:

        async def told_why() -> bool:
            return "pods cannot be listed" in (await asked(broker.monitor.port, "/healthz"))[1]

        await until(told_why)
        assert "no etcd" in str(broker.why_unhealthy())
        cluster.faults.remove(away)
        await broker.ready()
        assert await asked(broker.monitor.port, "/healthz") == (200, "ok\n")


async def test_a_first_list_that_is_forbidden(cluster: RealCluster, client: KubeClient) -> None:
    blueprint = await read_blueprint(client, "demo", "default")
    cluster.faults.add(Fault(path="/pods", status=503))
    cluster.faults.add(Fault(path="/pods", status=403))

    with pytest.raises(ForbiddenError):
        async with Broker(client, blueprint, Listening(TOKEN, None)) as broker:
            await broker.ready()


async def test_a_process_that_begins_too_early(cluster: RealCluster, tmp_path: Path) -> None:
    port = free_port()
    async with persistent_jobmanager(cluster, tmp_path, port) as flink:
        early = cluster.faults.add(Fault(path="/deployments", times=2, status=503))
        async with broker_process(cluster, tmp_path, port) as broker:
            assert await flink.ask(1) == 201
            assert broker.returncode is None
        assert early.struck == 2


async def test_in_the_foreground_a_wrong_address_is_told_at_once(
    cluster: RealCluster, tmp_path: Path
) -> None:
    cluster.faults.add(Fault(path="/deployments", times=None, status=503, message="no etcd"))
    broker = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kubeflink", "broker", "demo", "--port", "0"),
        *("--metrics-port", "0", "--kubeconfig", str(kubeconfig(cluster.server, tmp_path))),
        *("--write-kubeconfig", str(tmp_path / "made")),
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await broker.communicate()

    assert (broker.returncode, "no etcd" in said.decode()) == (1, True), said.decode()
    assert not (tmp_path / "made").exists()
