"""A cluster that takes itself away, where it may; and no step of it is lost with its broker."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubeflink import objects
from kubeflink.apiserver.faults import Fault
from kubeflink.broker.ending import MARK
from kubeflink.errors import NotFoundError
from kubeflink.objects import JsonObject
from kubeflink.spec import JobManagerSpec, Program, names
from support import clusters
from support.broker import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    HA,
    SERVICES,
    JobManager,
    RealCluster,
    RoleOf,
    brokered,
    jobmanager,
    kill,
    real_cluster,
    running_broker,
    until,
)

BROKER: Mapping[str, object] = {"kubeflink.broker.enabled": True}
SELF_DELETION: Mapping[str, object] = {"kubeflink.broker.self-deletion": True}
READ_FILES = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
"""To read the cluster's configuration, which the broker's pod mounts."""

SCALE = f"{DEPLOYMENTS}/demo/scale"
REST = f"{SERVICES}/demo-rest"
OPTIONS = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}


def session(*options: Mapping[str, object]) -> JobManagerSpec:
    return clusters.session({k: v for each in (BROKER, *options) for k, v in each.items()})


def application(*options: Mapping[str, object], version: str = "2.3.0") -> JobManagerSpec:
    values = {k: v for each in (BROKER, *options) for k, v in each.items()}
    return clusters.application(Program(uri=clusters.JAR), values, version=version)


def role_of(built: JobManagerSpec) -> RoleOf:
    """The rights that the cluster is deployed with, and no others."""
    (role,) = (obj for obj in built.accompanying if obj["kind"] == "Role")
    return RoleOf([*role["rules"], READ_FILES])


def running(
    built: JobManagerSpec, directory: Path
) -> AbstractAsyncContextManager[tuple[RealCluster, JobManager]]:
    return brokered(built, directory, role_of(built))


async def end(flink: JobManager) -> int:
    """What a JobManager asks for at its end."""
    status, _ = await flink.call("DELETE", f"{DEPLOYMENTS}/demo", OPTIONS)
    return status


async def deployment(cluster: RealCluster) -> JsonObject | None:
    try:
        return await cluster.store.get(objects.DEPLOYMENTS, "default", "demo")
    except NotFoundError:
        return None


async def is_gone(cluster: RealCluster) -> bool:
    return await deployment(cluster) is None


def writes(cluster: RealCluster) -> list[tuple[str, str]]:
    return [request for request in cluster.faults.requests if request[0] != "GET"]


@pytest.mark.parametrize("built", [session(), session(HA)], ids=["no HA", "HA"])
async def test_a_session_does_not_end_itself(built: JobManagerSpec, tmp_path: Path) -> None:
    """Whoever reaches the REST API can ask for it; and the broker has no right for it either."""
    async with running(built, tmp_path) as (cluster, flink):
        assert await end(flink) == 403

        assert writes(cluster) == []
        (trouble,) = flink.broker.report.troubles
        assert "kubeflink.broker.self-deletion" in trouble.text


@pytest.mark.parametrize(
    "built", [application(), session(SELF_DELETION)], ids=["application", "session that may"]
)
async def test_without_data_to_clean_up_it_is_one_write(
    built: JobManagerSpec, tmp_path: Path
) -> None:
    async with running(built, tmp_path) as (cluster, flink):
        assert await end(flink) == 200
        assert await is_gone(cluster)
        assert await end(flink) == 404  # asked again, because the answer got lost

        assert writes(cluster) == [("DELETE", f"{DEPLOYMENTS}/demo")]


def test_an_application_that_may_not() -> None:
    built = application({"kubeflink.broker.self-deletion": False})

    assert not any("delete" in r["verbs"] for r in role_of(built).rules if "apps" in r["apiGroups"])


HA_CLUSTERS = {
    "application": application(HA),
    "application of 1.20": application(HA, version="1.20.5"),
    "session that may": session(HA, SELF_DELETION),
}


def jobmanager_pod() -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "jm", "labels": names.jobmanager_labels("demo")},
        "spec": {"containers": [{"name": "main", "image": "flink"}]},
    }


@pytest.mark.parametrize("built", HA_CLUSTERS.values(), ids=HA_CLUSTERS.keys())
async def test_the_deployment_stays_until_the_jobmanager_has_cleaned_up(
    built: JobManagerSpec, tmp_path: Path
) -> None:
    """Flink removes its data after it has asked for the end; its broker has to be there."""
    name = names.high_availability_config_map_name("demo")
    async with running(built, tmp_path) as (cluster, flink):
        await cluster.store.create(objects.PODS, "default", jobmanager_pod())
        data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        assert (await flink.call("POST", CONFIG_MAPS, data))[0] == 201

        for _ in range(2):  # its answer may get lost
            assert await end(flink) == 200
        await asyncio.sleep(1.0)
        found = await deployment(cluster)
        assert found is not None
        assert found["spec"]["replicas"] == 0
        assert (await flink.call("DELETE", f"{CONFIG_MAPS}/{name}"))[0] == 200

        await cluster.store.delete(objects.PODS, "default", "jm")
        await until(lambda: is_gone(cluster))


@dataclass(frozen=True)
class Step:
    """Where the broker is killed. `asked_again`: whether the JobManager has to repeat itself."""

    method: str
    path: str
    drop: str
    asked_again: bool


STEPS = {
    "before the mark": Step("PUT", REST, "before", asked_again=True),
    "after the mark": Step("PUT", REST, "after", asked_again=False),
    "before it is scaled to none": Step("PATCH", SCALE, "before", asked_again=False),
    "after it is scaled to none": Step("PATCH", SCALE, "after", asked_again=False),
    "before it is deleted": Step("DELETE", f"{DEPLOYMENTS}/demo$", "before", asked_again=False),
    "after it is deleted": Step("DELETE", f"{DEPLOYMENTS}/demo$", "after", asked_again=False),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS.keys())
async def test_a_broker_that_is_killed_at_any_step_of_the_end(step: Step, tmp_path: Path) -> None:
    """The next one goes on, without being asked again wherever that has been written down."""
    built = HA_CLUSTERS["application"]
    async with real_cluster(built, role_of(built)) as cluster:
        fault = Fault(step.path, step.method, delay=0.2, drop=step.drop)  # type: ignore[arg-type]
        async with running_broker(cluster, tmp_path) as broker, jobmanager(broker) as flink:
            cluster.faults.add(fault)
            asking = asyncio.create_task(end(flink))
            await until(lambda: struck(fault))
            await asyncio.sleep(0.1 if step.drop == "before" else 0.4)
            asking.cancel()  # else it asks the broker that is being killed again
            kill(broker)
            await asyncio.gather(asking, return_exceptions=True)
        assert await is_gone(cluster) == (step is STEPS["after it is deleted"])

        if await is_gone(cluster):
            return  # and the broker with it
        async with running_broker(cluster, tmp_path) as broker, jobmanager(broker) as flink:
            if step.asked_again:
                assert await end(flink) == 200
            await until(lambda: is_gone(cluster))


async def struck(fault: Fault) -> bool:
    return fault.struck > 0


async def test_a_cluster_that_rests_is_left_alone(tmp_path: Path) -> None:
    """Somebody has scaled it to none; and a mark of a former cluster says nothing about this one"""
    built = HA_CLUSTERS["application"]
    async with real_cluster(built, role_of(built)) as cluster:
        resting = await cluster.store.get(objects.DEPLOYMENTS, "default", "demo")
        resting["spec"]["replicas"] = 0
        await cluster.store.replace(objects.DEPLOYMENTS, "default", resting)
        service = await cluster.store.get(objects.SERVICES, "default", "demo-rest")
        service["metadata"]["annotations"] = {MARK: "the uid of another cluster"}
        await cluster.store.replace(objects.SERVICES, "default", service)

        async with running_broker(cluster, tmp_path):
            await until(lambda: was_read(cluster, REST))
            await asyncio.sleep(1.0)

        assert not await is_gone(cluster)
        assert writes(cluster) == []


async def test_an_api_server_that_is_away_when_the_broker_comes_back(tmp_path: Path) -> None:
    built = HA_CLUSTERS["application"]
    async with real_cluster(built, role_of(built)) as cluster:
        service = await cluster.store.get(objects.SERVICES, "default", "demo-rest")
        service["metadata"]["annotations"] = {MARK: cluster.uid}
        await cluster.store.replace(objects.SERVICES, "default", service)
        cluster.faults.add(Fault(REST, "GET", times=3, status=503))
        cluster.faults.add(Fault(SCALE, "PATCH", times=2, status=500))

        async with running_broker(cluster, tmp_path):
            await until(lambda: is_gone(cluster))


async def was_read(cluster: RealCluster, path: str) -> bool:
    return cluster.faults.count("GET", path) > 0
