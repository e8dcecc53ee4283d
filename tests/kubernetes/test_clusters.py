"""Making and removing clusters: what is there afterwards, and what is not."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from typing import Any

import pytest

from kubeflink import objects
from kubeflink.cluster import deployment, removal
from kubeflink.cluster.addresses import address_of
from kubeflink.cluster.difference import differences
from kubeflink.cluster.endpoint import rest_service, route_to
from kubeflink.errors import ClusterExistsError, ClusterNotFoundError, ConflictError, InvalidError
from kubeflink.kube.client import KubeClient
from kubeflink.kube.creation import is_creation_of
from kubeflink.objects import JsonObject
from kubeflink.spec import JobManagerSpec
from support.clusters import session
from support.real_cluster import Namespace, eventually, namespace_of

BROKER = {"kubeflink.broker.enabled": "true"}


def demo(namespace: Namespace, **options: object) -> JobManagerSpec:
    return session({"kubernetes.namespace": namespace.name, **options})


async def settled(namespace: Namespace, deployments: int = 1) -> dict[str, set[str]]:
    """All that there is, once the controllers have made of the Deployments what they do."""

    async def look() -> dict[str, set[str]] | None:
        found = await namespace.everything()
        return found if len(found["pods"]) == deployments else None

    return await eventually(look, "the Deployments have pods")


async def until_only(namespace: Namespace, before: dict[str, set[str]]) -> None:
    """Wait until there is what there was before, and nothing else."""

    async def look() -> bool:
        return await namespace.everything() == before

    await eventually(look, f"only {before} is left")


@pytest.mark.parametrize("options", [{}, BROKER], ids=["plain", "with broker"])
async def test_a_cluster_comes_and_goes_as_a_whole(
    namespace: Namespace, options: dict[str, str]
) -> None:
    foreign = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "demo-notes"}}
    await namespace.client.create({**foreign, "data": {"a": "b"}})
    before = await namespace.everything()
    spec = demo(namespace, **options)

    deployed = await deployment.deploy(namespace.client, spec)
    made = await settled(namespace, 2 if options else 1)

    for obj in (deployed.deployment, *deployed.accompanying):
        assert objects.name_of(obj) in made[objects.resource_of(obj).plural]
    assert all(objects.owner_uids(o) == {deployed.uid} for o in deployed.accompanying)
    await removal.delete(namespace.client, "demo", timeout=60)
    await until_only(namespace, before)


async def test_the_wait_for_the_end_is_over_when_all_is_over(namespace: Namespace) -> None:
    """Nothing that is looked at is left when `delete` returns, and the name is free again."""
    for _ in range(3):
        await deployment.deploy(namespace.client, demo(namespace))
        await settled(namespace)
        await removal.delete(namespace.client, "demo", timeout=60)
        found = await namespace.everything()
        assert (found["deployments"], found["pods"], found["services"]) == (set(), set(), set())


async def test_a_cluster_that_exists_is_left_alone(namespace: Namespace) -> None:
    deployed = await deployment.deploy(namespace.client, demo(namespace))
    there = await settled(namespace)

    with pytest.raises(ClusterExistsError, match="exists already in namespace"):
        await deployment.deploy(namespace.client, demo(namespace))

    found = await namespace.client.get(objects.DEPLOYMENTS, "demo")
    assert objects.uid_of(found) == deployed.uid
    assert await namespace.everything() == there


async def test_a_foreign_service_stops_a_deployment_and_stays(namespace: Namespace) -> None:
    """What was made before the conflict is taken back, all of it."""
    port = {"name": "web", "port": 80}
    foreign: JsonObject = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "demo-rest"},
        "spec": {"ports": [port], "selector": {"app": "shop"}},
    }
    service = await namespace.client.create(foreign)
    before = await namespace.everything()

    with pytest.raises(ClusterExistsError, match=r"demo-rest in namespace .* is not this"):
        await deployment.deploy(namespace.client, demo(namespace))

    await until_only(namespace, before)
    kept = await namespace.client.get(objects.SERVICES, "demo-rest")
    assert objects.uid_of(kept) == objects.uid_of(service)


async def test_a_foreign_deployment_is_not_removed(namespace: Namespace) -> None:
    labels = {"app": "demo"}
    container = {"name": "shop", "image": "shop:1"}
    await namespace.client.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "demo", "labels": labels},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
        }
    )
    before = await settled(namespace)

    with pytest.raises(ClusterExistsError, match="is not Flink's"):
        await deployment.deploy(namespace.client, demo(namespace))
    with pytest.raises(ClusterNotFoundError, match="is not that of a Flink"):
        await removal.delete(namespace.client, "demo")

    assert await namespace.everything() == before


async def test_a_deployment_that_is_interrupted_leaves_nothing(
    namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted when one of its objects is made and the answer is not there yet, for each."""
    before = await namespace.everything()
    spec = demo(namespace, **BROKER)
    for number in range(1, len(spec.accompanying) + 2):
        with monkeypatch.context() as patch:
            made, answer = hold_creation(patch, number)
            async with asyncio.timeout(30), asyncio.TaskGroup() as group:
                task = group.create_task(deployment.deploy(namespace.client, spec))
                await made.wait()
                task.cancel()
                await asyncio.sleep(0)
                answer.set()
            assert task.cancelled()

        await until_only(namespace, before)


def hold_creation(patch: pytest.MonkeyPatch, number: int) -> tuple[asyncio.Event, asyncio.Event]:
    """Hold the answer of the creation with this number; events: it was made, the answer comes."""
    create = KubeClient.create
    made, answer = asyncio.Event(), asyncio.Event()
    numbers = itertools.count(1)

    async def held(self: KubeClient, *args: Any, **options: Any) -> JsonObject:
        current = next(numbers)
        created = await create(self, *args, **options)
        if current == number:
            made.set()
            await answer.wait()
        return created

    patch.setattr(KubeClient, "create", held)
    return made, answer


async def test_what_the_server_refuses_is_taken_back(namespace: Namespace) -> None:
    """A name that only the server knows to be too long, after the Deployment was made."""
    before = await namespace.everything()
    spec = demo(namespace)
    service, *others = spec.accompanying
    wrong = {**service, "spec": {**service["spec"], "ports": [{"name": "a_b", "port": 0}]}}
    refused = replace(spec, accompanying=(*others, wrong))

    with pytest.raises(InvalidError, match=r"spec\.ports\[0\]"):
        await deployment.deploy(namespace.client, refused)

    await until_only(namespace, before)


async def test_a_deletion_is_for_this_very_object(namespace: Namespace) -> None:
    deployed = await deployment.deploy(namespace.client, demo(namespace))
    for kind, name in ((objects.DEPLOYMENTS, "demo"), (objects.SERVICES, "demo-rest")):
        with pytest.raises(ConflictError, match="the UID in the precondition"):
            await namespace.client.delete(kind, name, uid="3d1d5b1c-6bc5-4d17-9cc9-a5a3f31c5a91")
    assert objects.uid_of(await namespace.client.get(objects.DEPLOYMENTS, "demo")) == deployed.uid


async def test_an_older_accompanying_object_of_the_cluster_is_replaced(
    namespace: Namespace,
) -> None:
    """What a deployment that broke off in the middle has left without an owner."""
    spec = demo(namespace)
    for obj in spec.accompanying:
        await namespace.client.create(obj)

    deployed = await deployment.deploy(namespace.client, spec)

    for obj in spec.accompanying:
        found = await namespace.client.get(objects.resource_of(obj), objects.name_of(obj))
        assert objects.owner_uids(found) == {deployed.uid}


async def test_what_was_just_deployed_is_no_difference(namespace: Namespace) -> None:
    """The server writes quantities in its own way, and completes what it stores."""
    options = {
        "jobmanager.memory.process.size": "2048m",
        "kubernetes.jobmanager.cpu.amount": "0.5",
        "kubernetes.jobmanager.cpu.limit-factor": "2.5",
        "kubernetes.rest-service.exposed.type": "NodePort",
    }
    spec = demo(namespace, **options)
    await deployment.deploy(namespace.client, spec)

    assert await differences(namespace.client, spec) == []
    changed = demo(namespace, **options, **{"kubernetes.container.image.ref": "other:1"})
    assert len(await differences(namespace.client, changed)) > 0


async def test_a_creation_whose_answer_got_lost_is_recognised(namespace: Namespace) -> None:
    """The server adds defaults; the object is still known to be what was asked for."""
    spec = demo(namespace, **BROKER)
    for obj in (spec.deployment, *spec.accompanying):
        await namespace.client.create(obj)
        found = await namespace.client.get(objects.resource_of(obj), objects.name_of(obj))
        assert is_creation_of(obj, found, since=0.0), objects.name_of(obj)


@pytest.mark.parametrize("kind", ["ClusterIP", "Headless_ClusterIP", "NodePort", "LoadBalancer"])
async def test_every_exposed_type_has_a_way_to_it(namespace: Namespace, kind: str) -> None:
    options = {"kubernetes.rest-service.exposed.type": kind}
    await deployment.deploy(namespace.client, demo(namespace, **options))
    service = await rest_service(namespace.client, "demo", namespace.name)

    if kind == "LoadBalancer":
        pending = await address_of(namespace.client, service, load_balancer_seconds=0.5)
        assert pending.pending is not None
        service["status"] = {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}
        path = objects.SERVICES.path("demo-rest/status", namespace.name)
        assert (await namespace.client.http.put(path, json=service)).is_success
        service = await rest_service(namespace.client, "demo", namespace.name)
        address = await address_of(namespace.client, service)
        assert address.url == "http://192.0.2.7:8081"
    route = await route_to(namespace.client, "demo", namespace.name)
    assert route.kind == ("direct" if kind == "LoadBalancer" else "service proxy")


async def test_high_availability_data_outlives_the_cluster(namespace: Namespace) -> None:
    """It has no owner, so that the garbage collector leaves it; it goes on demand."""
    options = {
        "high-availability.type": "kubernetes",
        "high-availability.storageDir": "s3://bucket/ha",
    }
    await deployment.deploy(namespace.client, demo(namespace, **options))
    labels = {"app": "demo", "type": "flink-native-kubernetes"}
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "demo-cluster-config-map", "labels": labels},
    }
    await namespace.client.create(config_map)
    await removal.delete(namespace.client, "demo", timeout=60)
    assert "demo-cluster-config-map" in await namespace.names(objects.CONFIG_MAPS)

    await removal.delete(namespace.client, "demo", ha_data="delete", timeout=60)

    assert "demo-cluster-config-map" not in await namespace.names(objects.CONFIG_MAPS)


async def test_another_namespace_is_not_touched(namespace: Namespace) -> None:
    """Same name, two namespaces: each has its own."""
    async with namespace_of(namespace.control_plane, f"{namespace.name}-b") as other:
        await deployment.deploy(namespace.client, demo(namespace))
        await deployment.deploy(other.client, demo(other))
        there = await settled(other)
        await removal.delete(namespace.client, "demo", timeout=60)
        assert await other.everything() == there
