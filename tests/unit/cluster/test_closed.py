"""What is used after it was closed says what it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing

import httpx2
import pytest

from kubeflink import objects
from kubeflink.cluster.remote import RemoteCluster
from kubeflink.cluster.session import SessionCluster
from kubeflink.kube import KubeClient
from kubeflink.rest import FlinkClient
from support.kubernetes import SmallKubernetes
from support.scripted_server import Answer, ScriptedServer


async def watch(client: KubeClient) -> None:
    async with aclosing(client.watch(objects.PODS, resource_version="1")) as events:
        async for _ in events:
            return


USES: dict[str, Callable[[KubeClient], Awaitable[object]]] = {
    "get": lambda client: client.get(objects.PODS, "a"),
    "list": lambda client: client.list(objects.PODS),
    "watch": watch,
    "log": lambda client: client.pod_logs("a"),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
async def test_a_client_of_an_api_server(
    kubernetes: SmallKubernetes, use: Callable[[KubeClient], Awaitable[object]]
) -> None:
    client = KubeClient.of(kubernetes.client.access, environ={})
    await client.close()

    with pytest.raises(RuntimeError, match=f"The client of the API server {client.server} is cl"):
        await use(client)


async def test_a_cluster(demo: SessionCluster, flink_rest: ScriptedServer) -> None:
    flink_rest.on("GET", "/jobs/overview", Answer(200, {"jobs": []}))
    assert await demo.jobs() == ()

    await demo.close()
    await demo.close()

    with pytest.raises(RuntimeError, match="<SessionCluster demo in namespace default> is closed"):
        await demo.jobs()


async def test_a_cluster_that_is_known_by_its_address(flink_rest: ScriptedServer) -> None:
    host, port = flink_rest.url.removeprefix("http://").split(":")
    async with RemoteCluster(host, int(port)) as remote:
        pass

    with pytest.raises(RuntimeError, match=f"<RemoteCluster {host}:{port}> is closed"):
        await remote.jobs()

    assert flink_rest.seen == []


async def test_a_client_of_flink(flink_rest: ScriptedServer) -> None:
    async with httpx2.AsyncClient(trust_env=False) as http:
        flink = FlinkClient(http, flink_rest.url, where="cluster demo")

    with pytest.raises(RuntimeError, match="REST API at cluster demo is closed"):
        await flink.jobs()
