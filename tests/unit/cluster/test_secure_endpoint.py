"""The way to a REST API with TLS: found out, through the API server, or from end to end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from kubeflink.cluster import endpoint
from kubeflink.cluster.addresses import address_of
from kubeflink.cluster.remote import RemoteCluster
from kubeflink.config.rest_tls import RestTls, given_files
from kubeflink.errors import RestTlsError
from kubeflink.kube.client import KubeClient
from kubeflink.objects import SERVICES
from support.certificates import Stores, make_stores
from support.kubernetes import FLINK_LABELS, SmallKubernetes
from support.scripted_server import (
    Answer,
    Doorkeeper,
    ScriptedServer,
    doorkeeper,
    scripted_server,
)
from support.silent_tls import silent_tls

OVERVIEW = Answer(200, {"flink-version": "2.3.0"})


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return make_stores(tmp_path_factory.mktemp("stores"))


@pytest.fixture
async def flink(stores: Stores) -> AsyncIterator[ScriptedServer]:
    async with scripted_server(stores.server_context()) as server:
        server.on("GET", "/overview", OVERVIEW)
        yield server


@pytest.fixture
async def door(flink: ScriptedServer) -> AsyncIterator[Doorkeeper]:
    async with doorkeeper(flink) as found:
        yield found


@pytest.fixture
async def demo(kubernetes: SmallKubernetes, door: Doorkeeper) -> SmallKubernetes:
    """A Kubernetes with a cluster `demo` whose REST API wants TLS."""
    service = {
        "metadata": {"name": "demo-rest", "labels": FLINK_LABELS},
        "spec": {"ports": [{"name": "rest", "port": 8081}], "selector": FLINK_LABELS},
    }
    await kubernetes.add(SERVICES, service)
    running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await kubernetes.add_pod("demo-a", running)
    kubernetes.behind.places["demo-rest"] = ("127.0.0.1", door.port)
    kubernetes.pods.place = ("127.0.0.1", door.port)
    return kubernetes


async def version(client: KubeClient) -> str:
    route = await endpoint.route_to(client, "demo")
    async with endpoint.connect(client, route, retry_seconds=5.0) as flink:
        return (await flink.overview()).flink_version


async def test_tls_is_found_out_once(demo: SmallKubernetes, door: Doorkeeper) -> None:
    assert await version(demo.client) == "2.3.0"
    assert await version(demo.client) == "2.3.0"

    assert door.sent_away == 1
    live = await endpoint.rest_service(demo.client, "demo", None)
    address = await address_of(demo.client, live)
    assert address.url == "https://demo-rest.default:8081"


async def test_a_first_request_with_a_body_arrives_once(
    demo: SmallKubernetes, flink: ScriptedServer
) -> None:
    flink.on("POST", "/jars/a/plan", Answer(200, {"plan": {"name": "a"}}))
    route = await endpoint.route_to(demo.client, "demo")

    async with endpoint.connect(demo.client, route) as found:
        assert await found.plan("a", args=["x"]) == {"name": "a"}

    (asked,) = flink.requests("POST")
    assert asked.json == {"programArgsList": ["x"]}


async def test_what_is_pinned_is_checked_from_end_to_end(
    demo: SmallKubernetes, door: Doorkeeper, stores: Stores, tmp_path: Path
) -> None:
    async def asked_with(tls: RestTls | None) -> str:
        async with KubeClient.of(replace(demo.client.access, rest_tls=tls)) as client:
            assert (await endpoint.route_to(client, "demo")).kind == "port-forward"
            return await version(client)

    other = make_stores(tmp_path)

    assert await asked_with(given_files(str(stores.authority_pem), None)) == "2.3.0"
    with pytest.raises(RestTlsError, match="not trusted"):
        await asked_with(given_files(str(other.authority_pem), None))
    assert door.sent_away == 0


async def test_an_address_that_wants_tls_says_how_to_speak_it(door: Doorkeeper) -> None:
    async with RemoteCluster("127.0.0.1", door.port) as remote:
        with pytest.raises(RestTlsError, match="speaks TLS") as refused:
            await remote.jobs()

    assert "security.ssl.rest.enabled=true" in str(refused.value.hint)


async def test_an_address_with_tls(flink: ScriptedServer, stores: Stores) -> None:
    port = int(flink.url.rpartition(":")[2])
    flink.on("GET", "/jobs/overview", Answer(200, {"jobs": []}))
    tls = given_files(str(stores.truststore), None, {"KUBEFLINK_REST_PASSWORD": stores.password})

    async with RemoteCluster("127.0.0.1", port, tls=tls) as remote:
        assert await remote.jobs() == ()


async def test_a_handshake_that_is_given_up_leaves_no_connection() -> None:
    async with (
        silent_tls() as server,
        RemoteCluster("127.0.0.1", server.port, tls=RestTls()) as remote,
    ):
        asking = asyncio.create_task(remote.jobs())
        await asyncio.wait_for(server.greeted.wait(), 60)
        asking.cancel()
        await asyncio.wait({asking})

        await asyncio.wait_for(server.closed.wait(), 60)


async def test_a_job_is_followed_without_a_kubernetes(flink_rest: ScriptedServer) -> None:
    job = "e1f121d9cab10446b84b486b38d83813"
    ended = {"jid": job, "name": "words", "state": "FINISHED"}
    flink_rest.on("GET", f"/jobs/{job}/status", Answer(200, {"status": "FINISHED"}))
    flink_rest.on("GET", f"/jobs/{job}", Answer(200, ended))
    flink_rest.on("GET", "/jobs/overview", Answer(200, {"jobs": [ended]}))
    port = int(flink_rest.url.rpartition(":")[2])

    async with asyncio.timeout(60), RemoteCluster("127.0.0.1", port) as remote:
        outcome = await remote.job(job).wait()

    assert outcome.state == "FINISHED"
