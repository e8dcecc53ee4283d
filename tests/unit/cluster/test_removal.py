"""Taking a cluster away: only what is its own, and until it is gone."""

from __future__ import annotations

import asyncio

import pytest

from kubeflink import objects
from kubeflink.apiserver.faults import Fault
from kubeflink.cluster import deployment, removal
from kubeflink.errors import ClusterError, ClusterNotFoundError, WaitTimeoutError
from kubeflink.objects import CONFIG_MAPS, DEPLOYMENTS, PODS, SERVICES
from kubeflink.spec import JobManagerSpec
from support.kubernetes import FLINK_LABELS, SmallKubernetes

from .conftest import give_to_operator

JOB = "0123456789abcdef0123456789abcdef"
OTHER_JOB = "f" * 32
LABELS = {"1.20": {**FLINK_LABELS, "configmap-type": "high-availability"}, "2.3": FLINK_LABELS}
"""Of the ConfigMaps of high availability, as the Flink of that version makes them."""


async def add_ha_data(kubernetes: SmallKubernetes, version: str = "2.3") -> None:
    labels = LABELS[version]
    store = {f"executionPlan-{OTHER_JOB}": "", "org.apache.flink.k8s.leader.restserver": ""}
    cluster = {"metadata": {"name": "demo-cluster-config-map", "labels": labels}, "data": store}
    await kubernetes.add(CONFIG_MAPS, cluster)
    job = {"metadata": {"name": f"demo-{JOB}-config-map", "labels": labels}}
    await kubernetes.add(CONFIG_MAPS, job)


@pytest.mark.parametrize("version", LABELS)
async def test_it_stays_until_everything_is_gone(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec, version: str
) -> None:
    await deployment.deploy(kubernetes.client, demo_spec)
    await add_ha_data(kubernetes, version)
    told: list[str] = []

    await removal.delete(kubernetes.client, "demo", on_remaining=told.append)

    assert await kubernetes.names(DEPLOYMENTS) == []
    assert await kubernetes.names(SERVICES) == []
    assert sorted(await kubernetes.names(CONFIG_MAPS)) == [
        f"demo-{JOB}-config-map",
        "demo-cluster-config-map",
    ]


@pytest.mark.parametrize("version", LABELS)
async def test_the_data_of_high_availability_goes_on_demand_also_later(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec, version: str
) -> None:
    await deployment.deploy(kubernetes.client, demo_spec)
    await add_ha_data(kubernetes, version)
    other = {"metadata": {"name": "x", "labels": {**LABELS[version], "app": "other"}}}
    await kubernetes.add(CONFIG_MAPS, other)
    await removal.delete(kubernetes.client, "demo")

    await removal.delete(kubernetes.client, "demo", ha_data="delete")

    assert await kubernetes.names(CONFIG_MAPS) == ["x"]
    with pytest.raises(ClusterNotFoundError):
        await removal.delete(kubernetes.client, "demo", ha_data="delete")


async def test_which_jobs_a_new_cluster_would_recover(kubernetes: SmallKubernetes) -> None:
    await add_ha_data(kubernetes)

    found = await removal.ha_config_maps(kubernetes.client, "demo")

    assert set(removal.recoverable_jobs(found, "demo")) == {JOB, OTHER_JOB}


async def test_pods_that_do_not_end_are_named_at_the_limit(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec
) -> None:
    await deployment.deploy(kubernetes.client, demo_spec)
    pod = {
        "metadata": {
            "name": "demo-taskmanager-1-1",
            "labels": FLINK_LABELS,
            "finalizers": ["example.org/stay"],
        },
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    await kubernetes.add(PODS, pod)

    with pytest.raises(WaitTimeoutError, match="pods are still there: demo-taskmanager-1-1"):
        await removal.delete(kubernetes.client, "demo", timeout=1)


async def test_a_cluster_that_is_made_anew_meanwhile_is_not_waited_for(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec
) -> None:
    first = await deployment.deploy(kubernetes.client, demo_spec)
    await kubernetes.client.delete(DEPLOYMENTS, "demo", uid=first.uid)
    await removal.wait_gone(kubernetes.client, "demo", "default", uid=first.uid, timeout=30)
    second = await deployment.deploy(kubernetes.client, demo_spec)

    async with asyncio.timeout(30):
        await removal.wait_gone(kubernetes.client, "demo", "default", uid=first.uid, timeout=20)
    assert objects.uid_of(await kubernetes.client.get(DEPLOYMENTS, "demo")) == second.uid


async def test_a_deployment_that_is_not_flinks_is_no_cluster(kubernetes: SmallKubernetes) -> None:
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    body = {
        "metadata": {"name": "web", "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
    await kubernetes.add(DEPLOYMENTS, body)

    with pytest.raises(ClusterNotFoundError, match="not that of a Flink cluster"):
        await removal.delete(kubernetes.client, "web")
    assert await kubernetes.names(DEPLOYMENTS) == ["web"]


async def test_what_an_operator_rules_is_left_to_it(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec
) -> None:
    deployed = await deployment.deploy(kubernetes.client, demo_spec)
    await give_to_operator(kubernetes, deployed)

    with pytest.raises(ClusterError, match="FlinkDeployment mine"):
        await removal.delete(kubernetes.client, "demo")
    await removal.delete(kubernetes.client, "demo", force=True)
    assert await kubernetes.names(DEPLOYMENTS) == []


async def test_a_deletion_whose_answer_got_lost_has_happened(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec
) -> None:
    await deployment.deploy(kubernetes.client, demo_spec)
    kubernetes.faults.add(Fault("/deployments/demo", "DELETE", 1, drop="after"))

    await removal.delete(kubernetes.client, "demo")

    assert await kubernetes.names(SERVICES) == []
