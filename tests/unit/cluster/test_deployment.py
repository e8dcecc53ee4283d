"""Deploying a cluster whole or not at all, and leaving alone what is somebody else's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from kubeflink import objects
from kubeflink.apiserver.faults import Fault
from kubeflink.cluster import deployment
from kubeflink.errors import (
    ApiStatusError,
    ApiUnreachableError,
    ClusterExistsError,
    ForbiddenError,
    InvalidError,
)
from kubeflink.objects import CONFIG_MAPS, DEPLOYMENTS, SERVICES
from kubeflink.spec import JobManagerSpec
from support.kubernetes import FLINK_LABELS, SmallKubernetes

EVERYTHING = (DEPLOYMENTS, SERVICES, CONFIG_MAPS)


async def nothing_is_left(kubernetes: SmallKubernetes) -> bool:
    """The collector needs a moment to follow the Deployment."""
    for _ in range(100):
        if not [name for kind in EVERYTHING for name in await kubernetes.names(kind)]:
            return True
        await asyncio.sleep(0.02)
    return False


async def test_the_deployment_comes_first_and_owns_the_rest(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec
) -> None:
    deployed = await deployment.deploy(kubernetes.client, demo_spec)

    posts = [path for method, path in kubernetes.faults.requests if method == "POST"]
    kinds = [path.partition("?")[0].rpartition("/")[2] for path in posts]
    assert kinds == ["deployments", "services", "services", "configmaps"]
    assert deployed.uid
    for obj in deployed.accompanying:
        assert objects.owner_uids(obj) == {deployed.uid}
    assert sorted(await kubernetes.names(SERVICES)) == ["demo", "demo-rest"]


async def test_a_broker_goes_with_its_cluster(
    kubernetes: SmallKubernetes, session_spec: Callable[..., JobManagerSpec]
) -> None:
    """Whoever deletes the JobManager's Deployment, by whatever means: it owns all of it."""
    made = session_spec(**{"kubeflink.broker.enabled": "true"})
    deployed = await deployment.deploy(kubernetes.client, made)

    kinds = {obj["kind"] for obj in deployed.accompanying}
    assert {"Deployment", "ServiceAccount", "Role", "RoleBinding", "Secret"} < kinds
    for obj in deployed.accompanying:
        (owner,) = objects.metadata(obj)["ownerReferences"]
        assert (owner["kind"], owner["uid"]) == ("Deployment", deployed.uid)


async def test_a_deployment_of_somebody_else_is_named_and_left_alone(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec
) -> None:
    foreign = {
        "metadata": {"name": "demo", "labels": {"app": "not-flink"}},
        "spec": {
            "selector": {"matchLabels": {"app": "not-flink"}},
            "template": {
                "metadata": {"labels": {"app": "not-flink"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }
    before = await kubernetes.add(DEPLOYMENTS, foreign)

    with pytest.raises(ClusterExistsError, match="app=not-flink"):
        await deployment.deploy(kubernetes.client, demo_spec)

    after = await kubernetes.client.get(DEPLOYMENTS, "demo")
    assert objects.metadata(after) == objects.metadata(before)
    assert await kubernetes.names(SERVICES) == []
    assert not [call for call in kubernetes.faults.requests if call[0] == "DELETE"]


async def test_the_same_cluster_twice(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec
) -> None:
    first = await deployment.deploy(kubernetes.client, demo_spec)

    with pytest.raises(ClusterExistsError, match="Flink cluster demo exists already"):
        await deployment.deploy(kubernetes.client, demo_spec)

    assert objects.uid_of(await kubernetes.client.get(DEPLOYMENTS, "demo")) == first.uid


async def test_an_older_config_map_of_this_cluster_is_replaced(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec
) -> None:
    old = {"metadata": {"name": "flink-config-demo", "labels": FLINK_LABELS}, "data": {"old": "1"}}
    await kubernetes.add(CONFIG_MAPS, old)

    deployed = await deployment.deploy(kubernetes.client, demo_spec)

    now = await kubernetes.client.get(CONFIG_MAPS, "flink-config-demo")
    assert "old" not in now["data"]
    assert objects.owner_uids(now) == {deployed.uid}


async def test_a_config_map_of_somebody_else_is_refused_and_all_is_taken_back(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec
) -> None:
    foreign = {"metadata": {"name": "flink-config-demo"}, "data": {"mine": "1"}}
    before = await kubernetes.add(CONFIG_MAPS, foreign)

    with pytest.raises(ClusterExistsError, match="flink-config-demo"):
        await deployment.deploy(kubernetes.client, demo_spec)

    assert await kubernetes.client.get(CONFIG_MAPS, "flink-config-demo") == before
    await kubernetes.remove(CONFIG_MAPS, "flink-config-demo")
    assert await nothing_is_left(kubernetes)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault("/configmaps", "POST", None, status=403), ForbiddenError),
        (Fault("/services", "POST", None, skip=1, status=422, message="port taken"), InvalidError),
        (Fault("/configmaps", "POST", None, status=500), ApiStatusError),
        (Fault("/configmaps", "POST", None, drop="before"), ApiUnreachableError),
    ],
)
async def test_a_failure_on_the_way_leaves_nothing(
    kubernetes: SmallKubernetes,
    demo_spec: JobManagerSpec,
    fault: Fault,
    error: type[Exception],
) -> None:
    kubernetes.faults.add(fault)

    with pytest.raises(error):
        await deployment.deploy(kubernetes.client, demo_spec)

    assert await nothing_is_left(kubernetes)


async def test_what_cannot_be_taken_back_is_told(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec
) -> None:
    kubernetes.faults.add(Fault("/configmaps", "POST", None, status=403))
    kubernetes.faults.add(Fault("/deployments", "DELETE", None, status=403))

    with pytest.raises(ForbiddenError, match="kubectl delete deployment demo -n default"):
        await deployment.deploy(kubernetes.client, demo_spec)


@pytest.mark.parametrize("drop", ["before", "after"])
@pytest.mark.parametrize("path", ["/deployments", "/services", "/configmaps"])
async def test_lost_answers_make_neither_doubles_nor_failures(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec, path: str, drop: str
) -> None:
    kubernetes.faults.add(Fault(path, "POST", 1, drop=drop))  # type: ignore[arg-type]

    deployed = await deployment.deploy(kubernetes.client, demo_spec)

    assert await kubernetes.names(DEPLOYMENTS) == ["demo"]
    assert sorted(await kubernetes.names(SERVICES)) == ["demo", "demo-rest"]
    for obj in (await kubernetes.store.list(SERVICES, "default")).items:
        assert objects.owner_uids(obj) == {deployed.uid}


@pytest.mark.parametrize("path", ["/deployments$", "/services$", "/configmaps$"])
async def test_cancelled_in_the_middle_of_a_request_it_still_leaves_nothing(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec, path: str
) -> None:
    kubernetes.faults.add(Fault(path, "POST", 1, delay=0.5))
    task = asyncio.create_task(deployment.deploy(kubernetes.client, demo_spec))
    await kubernetes.until_asked("POST", path)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.6)  # what was under way has been carried out by now
    assert await nothing_is_left(kubernetes)


async def test_a_service_that_is_not_flinks_is_no_cluster(kubernetes: SmallKubernetes) -> None:
    service = {"metadata": {"name": "demo-rest"}, "spec": {"ports": [{"port": 80}]}}
    await kubernetes.add(SERVICES, service)

    with pytest.raises(ClusterExistsError, match="not that of a Flink cluster"):
        await deployment.find_rest_service(kubernetes.client, "demo")
    assert await deployment.find_rest_service(kubernetes.client, "none") is None


async def test_node_ports_that_are_refused_hint_at_the_way_without(
    kubernetes: SmallKubernetes, session_spec: Callable[..., JobManagerSpec]
) -> None:
    kubernetes.faults.add(
        Fault("/services", "POST", None, skip=1, status=403, message="no NodePort here")
    )
    node_port = session_spec(**{"kubernetes.rest-service.exposed.type": "NodePort"})

    with pytest.raises(ForbiddenError, match="ClusterIP"):
        await deployment.deploy(kubernetes.client, node_port)
