"""What a JobManager writes besides pods: target ports with host network, and its leadership."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from kubeflink import objects
from kubeflink.apiserver.metadata import copy_json
from kubeflink.objects import JsonObject
from kubeflink.spec.broker import role_rules
from support.broker import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    HA,
    SERVICES,
    TOKEN,
    Events,
    JobManager,
    RealCluster,
    RoleOf,
    cluster_spec,
    jobmanager,
    real_cluster,
    running_broker,
)

HOST_NETWORK = {
    "kubernetes.hostnetwork.enabled": "true",
    "kubeflink.broker.self-deletion": "true",
}
LEADER = "control-plane.alpha.kubernetes.io/leader"
NAME = "demo-cluster-config-map"
READ_FILES = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}


@pytest.fixture
async def host_network() -> AsyncIterator[RealCluster]:
    rules = [*role_rules("demo", self_deletion=True), READ_FILES]
    async with real_cluster(cluster_spec(HOST_NETWORK), RoleOf(rules)) as cluster:
        yield cluster


@pytest.fixture
async def high_availability() -> AsyncIterator[RealCluster]:
    rules = role_rules("demo", high_availability=True)
    async with real_cluster(cluster_spec(HA), RoleOf(rules)) as cluster:
        yield cluster


@pytest.fixture
async def flink(host_network: RealCluster, tmp_path: Path) -> AsyncIterator[JobManager]:
    async with running_broker(host_network, tmp_path) as broker, jobmanager(broker) as flink:
        yield flink


@pytest.fixture
async def leader(high_availability: RealCluster, tmp_path: Path) -> AsyncIterator[JobManager]:
    async with running_broker(high_availability, tmp_path) as broker, jobmanager(broker) as flink:
        yield flink


async def service(flink: JobManager, name: str) -> JsonObject:
    status, found = await flink.call("GET", f"{SERVICES}/{name}")
    assert status == 200
    return found


async def test_target_ports_are_written(flink: JobManager, host_network: RealCluster) -> None:
    before = await host_network.store.get(objects.SERVICES, "default", "demo-rest")
    asked = await service(flink, "demo-rest")
    asked["spec"]["ports"][0]["targetPort"] = 42807

    status, answer = await flink.call("PUT", f"{SERVICES}/demo-rest", asked)

    assert status == 200
    assert answer["spec"]["ports"][0]["targetPort"] == 42807
    after = await host_network.store.get(objects.SERVICES, "default", "demo-rest")
    expected = copy_json(before)
    expected["spec"]["ports"][0]["targetPort"] = 42807
    expected["metadata"]["resourceVersion"] = after["metadata"]["resourceVersion"]
    assert after == expected


async def test_both_ports_of_the_internal_service(
    flink: JobManager, host_network: RealCluster
) -> None:
    for port, number in (("jobmanager-rpc", 41001), ("blobserver", 41002)):
        asked = await service(flink, "demo")
        (entry,) = (each for each in asked["spec"]["ports"] if each["name"] == port)
        entry["targetPort"] = number
        assert (await flink.call("PUT", f"{SERVICES}/demo", asked))[0] == 200

    stored = await host_network.store.get(objects.SERVICES, "default", "demo")
    ports = {port["name"]: port["targetPort"] for port in stored["spec"]["ports"]}
    assert ports == {"jobmanager-rpc": 41001, "blobserver": 41002}


async def test_nothing_else_of_a_service_can_be_changed(
    flink: JobManager, host_network: RealCluster
) -> None:
    before = await host_network.store.get(objects.SERVICES, "default", "demo-rest")
    asked = await service(flink, "demo-rest")
    asked["spec"] |= {"selector": {"app": "database"}, "type": "LoadBalancer"}
    asked["spec"]["externalIPs"] = ["6.6.6.6"]
    asked["spec"]["ports"][0] |= {"port": 443, "nodePort": 30443}
    asked["spec"]["ports"].append({"name": "ssh", "port": 22, "targetPort": 22222})
    asked["metadata"]["annotations"] = {"cloud/expose": "everything"}
    asked["metadata"]["ownerReferences"] = []

    assert (await flink.call("PUT", f"{SERVICES}/demo-rest", asked))[0] == 200

    assert await host_network.store.get(objects.SERVICES, "default", "demo-rest") == before


@pytest.mark.parametrize("port", [22, 1, 1023, 65536, -1, 10250000])
async def test_ports_that_are_no_jobmanagers(flink: JobManager, port: int) -> None:
    asked = await service(flink, "demo-rest")
    asked["spec"]["ports"][0]["targetPort"] = port

    assert (await flink.call("PUT", f"{SERVICES}/demo-rest", asked))[0] == 403


async def test_an_old_version_conflicts(flink: JobManager, host_network: RealCluster) -> None:
    """Flink reads again and tries once more."""
    asked = await service(flink, "demo-rest")
    current = await host_network.store.get(objects.SERVICES, "default", "demo-rest")
    current["metadata"]["labels"]["new"] = "yes"
    await host_network.store.replace(objects.SERVICES, "default", current)
    asked["spec"]["ports"][0]["targetPort"] = 42807

    assert (await flink.call("PUT", f"{SERVICES}/demo-rest", asked))[0] == 409


async def test_ports_stay_without_host_network(leader: JobManager) -> None:
    asked = await service(leader, "demo-rest")
    asked["spec"]["ports"][0]["targetPort"] = 42807

    assert (await leader.call("PUT", f"{SERVICES}/demo-rest", asked))[0] == 403


async def test_a_cluster_that_was_made_anew_is_another_one(
    flink: JobManager, host_network: RealCluster
) -> None:
    await host_network.store.delete(objects.DEPLOYMENTS, "default", "demo")
    built = cluster_spec(HOST_NETWORK)
    await host_network.store.create(objects.DEPLOYMENTS, "default", built.deployment)

    assert (await flink.call("GET", f"{DEPLOYMENTS}/demo"))[0] == 404
    assert (await flink.call("DELETE", f"{DEPLOYMENTS}/demo"))[0] == 404
    await host_network.store.get(objects.DEPLOYMENTS, "default", "demo")


# --- high availability -----------------------------------------------------------------------


def election(holder: str, **metadata: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": NAME,
            "namespace": "default",
            "labels": {"app": "demo", "type": "flink-native-kubernetes"},
            "annotations": {LEADER: holder},
            **metadata,
        },
    }


async def test_a_leader_is_elected(leader: JobManager, high_availability: RealCluster) -> None:
    """The calls of fabric8's elector, in their order."""
    assert (await leader.call("GET", f"{CONFIG_MAPS}/{NAME}"))[0] == 404
    status, made = await leader.call("POST", CONFIG_MAPS, election("one"))
    assert status == 201
    version = made["metadata"]["resourceVersion"]

    patch = election("one, renewed", resourceVersion=version)
    kind = {"Content-Type": "application/merge-patch+json; charset=utf-8"}
    status, renewed = await leader.call("PATCH", f"{CONFIG_MAPS}/{NAME}", patch, **kind)
    assert (status, renewed["metadata"]["annotations"][LEADER]) == (200, "one, renewed")

    # Another JobManager that has seen the first version only.
    late = election("two", resourceVersion=version)
    assert (await leader.call("PATCH", f"{CONFIG_MAPS}/{NAME}", late, **kind))[0] == 409
    assert (await leader.call("PUT", f"{CONFIG_MAPS}/{NAME}", late))[0] == 409
    assert (await leader.call("POST", CONFIG_MAPS, election("two")))[0] == 409

    _, current = await leader.call("GET", f"{CONFIG_MAPS}/{NAME}")
    current["data"] = {"org.apache.flink.k8s.leader.restserver": "id,http://127.0.0.1:8081"}
    assert (await leader.call("PUT", f"{CONFIG_MAPS}/{NAME}", current))[0] == 200

    stored = await high_availability.store.get(objects.CONFIG_MAPS, "default", NAME)
    assert stored["data"] == current["data"]
    assert stored["metadata"]["annotations"] == {LEADER: "one, renewed"}
    assert "ownerReferences" not in stored["metadata"]  # it outlives the cluster


async def test_only_one_of_two_that_write_at_once_wins(leader: JobManager) -> None:
    _, made = await leader.call("POST", CONFIG_MAPS, election("nobody"))
    version = made["metadata"]["resourceVersion"]
    kind = {"Content-Type": "application/merge-patch+json"}
    attempts = (
        leader.call(
            "PATCH", f"{CONFIG_MAPS}/{NAME}", election(str(n), resourceVersion=version), **kind
        )
        for n in range(8)
    )

    statuses = sorted(status for status, _ in await asyncio.gather(*attempts))

    assert statuses == [200] + [409] * 7


async def test_watches_by_name_see_their_own(
    leader: JobManager, high_availability: RealCluster
) -> None:
    job = f"demo-{'a' * 32}-config-map"
    query = f"fieldSelector=metadata.name%3D{NAME}"
    status, listed = await leader.call("GET", f"{CONFIG_MAPS}?{query}&resourceVersion=0")
    assert (status, listed["items"]) == (200, [])
    version = listed["metadata"]["resourceVersion"]
    url = f"{leader.broker.server.url}{CONFIG_MAPS}?{query}&resourceVersion={version}&watch=true"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession() as session, session.ws_connect(url, headers=headers) as ws:
        events = Events(ws)
        other = election("x")
        other["metadata"]["name"] = job
        await leader.call("POST", CONFIG_MAPS, other)
        await leader.call("POST", CONFIG_MAPS, election("one"))
        added = await events.until("ADDED", NAME)
        assert added["metadata"]["annotations"] == {LEADER: "one"}
        # Somebody else writes: a JobManager that bypasses the broker, or a human.
        stored = await high_availability.store.get(objects.CONFIG_MAPS, "default", NAME)
        stored["data"] = {"key": "value"}
        await high_availability.store.replace(objects.CONFIG_MAPS, "default", stored)
        changed = await events.until("MODIFIED", NAME)
        assert changed["data"] == {"key": "value"}
        await leader.call("DELETE", f"{CONFIG_MAPS}/{NAME}")
        await events.until("DELETED", NAME)


async def test_sixty_jobs_need_one_watch_upstream(
    leader: JobManager, high_availability: RealCluster
) -> None:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        url = f"{leader.broker.server.url}{CONFIG_MAPS}"
        sockets = []
        for number in range(180):
            query = f"fieldSelector=metadata.name%3Ddemo-{number // 3:032x}-config-map&watch=true"
            sockets.append(await session.ws_connect(f"{url}?{query}", headers=headers))
        last = election("x")
        last["metadata"]["name"] = f"demo-{59:032x}-config-map"
        assert (await leader.call("POST", CONFIG_MAPS, last))[0] == 201
        for socket in sockets[-3:]:
            await Events(socket).until("ADDED", last["metadata"]["name"])
        for socket in sockets:
            await socket.close()
    assert high_availability.faults.count("GET", "/configmaps.*watch=true") <= 2


async def test_cleaning_up_by_label_takes_what_is_flinks(
    leader: JobManager, high_availability: RealCluster
) -> None:
    """Up to Flink 1.20 that is how a cluster removes its data at its end."""
    await leader.call("POST", CONFIG_MAPS, election("one"))
    selector = "labelSelector=app%3Ddemo%2Ctype%3Dflink-native-kubernetes"

    status, _ = await leader.call("DELETE", f"{CONFIG_MAPS}?{selector}")

    assert status == 200
    left = (await high_availability.store.list(objects.CONFIG_MAPS, "default")).items
    assert [objects.name_of(each) for each in left] == ["flink-config-demo"]


async def test_without_high_availability_there_are_no_config_maps(flink: JobManager) -> None:
    for method, path in (("GET", CONFIG_MAPS), ("GET", f"{CONFIG_MAPS}/{NAME}")):
        assert (await flink.call(method, path))[0] == 403
    assert (await flink.call("POST", CONFIG_MAPS, election("one")))[0] == 403
