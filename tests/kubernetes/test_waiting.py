"""Waiting for a cluster on a real Kubernetes: why it does not become ready, in its own words."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from kubeflink import objects
from kubeflink.cluster import deployment, readiness
from kubeflink.errors import ClusterFailedError, ClusterNotFoundError, WaitTimeoutError
from support.clusters import session
from support.fake_node import StatusOf, node, running, tolerations, waiting
from support.real_cluster import QUOTAS, Namespace, eventually


async def deploy(namespace: Namespace, **options: object) -> None:
    chosen = {"kubernetes.namespace": namespace.name, **tolerations(namespace), **options}
    await deployment.deploy(namespace.client, session(chosen))


async def failure(namespace: Namespace, timeout: float = 60.0) -> ClusterFailedError:
    """The cause that ends the wait, before its limit."""
    with pytest.raises(ClusterFailedError) as caught:
        await readiness.wait_ready(namespace.client, "demo", timeout=timeout)
    return caught.value


async def last_seen(namespace: Namespace, timeout: float = 4.0) -> WaitTimeoutError:
    """What is told at the limit of a wait."""
    with pytest.raises(WaitTimeoutError) as caught:
        await readiness.wait_ready(namespace.client, "demo", timeout=timeout)
    return caught.value


async def scheduled_or_refused(namespace: Namespace) -> None:
    """Wait until the scheduler has had its say about the JobManager's pod."""

    async def look() -> bool:
        pods = (await namespace.client.list(objects.PODS)).items
        return any(pod["status"].get("conditions") for pod in pods)

    await eventually(look, "the scheduler has looked at the pod")


async def test_no_node(namespace: Namespace) -> None:
    await deploy(namespace)
    await scheduled_or_refused(namespace)
    error = await last_seen(namespace)
    assert "gets no node: no nodes available to schedule pods" in error.message


async def test_too_little_memory(namespace: Namespace) -> None:
    async with node(namespace, capacity={"cpu": "8", "memory": "1Gi"}):
        await deploy(namespace)
        await scheduled_or_refused(namespace)
        error = await last_seen(namespace)
    assert "0/1 nodes are available: 1 Insufficient memory" in error.message
    assert "it asks for cpu 1, memory 1600Mi" in error.message
    assert error.hint is not None
    assert "Ask for less cpu or memory" in error.hint


async def test_a_taint(namespace: Namespace) -> None:
    async with node(namespace):
        await deploy(namespace, **{"kubernetes.jobmanager.tolerations": "key:x,operator:Exists"})
        await scheduled_or_refused(namespace)
        error = await last_seen(namespace)
    assert "untolerated taint" in error.message
    assert error.hint is not None
    assert "kubernetes.jobmanager.tolerations" in error.hint


async def test_a_node_selector(namespace: Namespace) -> None:
    async with node(namespace):
        await deploy(namespace, **{"kubernetes.jobmanager.node-selector": "disk:ssd"})
        await scheduled_or_refused(namespace)
        error = await last_seen(namespace)
    assert error.hint is not None
    assert "kubernetes.jobmanager.node-selector" in error.hint


async def test_a_claim_that_is_missing(namespace: Namespace) -> None:
    async with node(namespace):
        await deploy(namespace, **{"kubernetes.persistent-volume-claims": "data:/data"})
        await scheduled_or_refused(namespace)
        error = await last_seen(namespace)
    assert 'persistentvolumeclaim "data" not found' in error.message
    assert error.hint is not None
    assert "PersistentVolumeClaim's name" in error.hint


async def test_a_quota(namespace: Namespace) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small"},
        "spec": {"hard": {"requests.memory": "1Gi"}},
    }
    await namespace.add(quota)

    async def is_counted() -> bool:
        path = QUOTAS.path("small", namespace.name)
        return bool((await namespace.client.http.get(path)).json()["status"].get("hard"))

    await eventually(is_counted, "the quota is in force")
    await deploy(namespace)
    error = await failure(namespace)
    assert "No pod of Deployment demo can be created" in error.message
    assert "exceeded quota: small, requested: requests.memory=1600Mi" in error.message
    assert error.hint is not None
    assert "ResourceQuota" in error.hint


async def test_a_service_account_that_is_missing(namespace: Namespace) -> None:
    await deploy(namespace, **{"kubernetes.service-account": "nobody"})
    error = await failure(namespace)
    assert f"error looking up service account {namespace.name}/nobody" in error.message
    assert error.hint is not None
    assert "Create the service account" in error.hint


async def test_a_namespace_that_wants_restricted_pods(namespace: Namespace) -> None:
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    await namespace.client.patch(objects.NAMESPACES, namespace.name, label)
    await deploy(namespace)
    error = await failure(namespace)
    assert 'violates PodSecurity "restricted:latest"' in error.message
    assert error.hint is not None
    assert "pod template" in error.hint


PULL = "failed to pull and unpack image: docker.io/library/flinc:2.3: not found"
CASES: Mapping[str, tuple[StatusOf, str]] = {
    "never pulled": (
        waiting("ErrImageNeverPull", 'Container image "flink:2.3" is not present with pull policy'),
        "is not on the node and may not be pulled",
    ),
    "no image name": (
        waiting("InvalidImageName", 'Failed to apply default image tag "flink:2.3:x"'),
        "is no valid image name",
    ),
    "crash loop": (
        waiting(
            "CrashLoopBackOff",
            "back-off 10s restarting failed container",
            restartCount=2,
            lastState={"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
        ),
        "was OOMKilled: it used more memory than its limit of 1600Mi",
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_a_container_that_does_not_start(namespace: Namespace, case: str) -> None:
    status_of, told = CASES[case]
    async with node(namespace, status_of):
        await deploy(namespace)
        error = await failure(namespace)
    assert told in error.message


async def test_an_image_that_cannot_be_pulled_is_told_at_the_limit(namespace: Namespace) -> None:
    async with node(namespace, waiting("ImagePullBackOff", f'Back-off pulling image: "{PULL}"')):
        await deploy(namespace)
        await scheduled_or_refused(namespace)
        error = await last_seen(namespace)
    assert "cannot be pulled (ImagePullBackOff: Back-off" in error.message


async def test_a_log_that_cannot_be_had_is_no_obstacle(namespace: Namespace) -> None:
    """The API server cannot reach the kubelet: then the container's end is told without it."""
    ended = {"terminated": {"exitCode": 1, "reason": "Error", "message": "out of luck"}}
    status_of = waiting("CrashLoopBackOff", "back-off", restartCount=3, lastState=ended)
    async with node(namespace, status_of, internal_ip="127.0.0.1"):
        await deploy(namespace)
        error = await failure(namespace)
    assert "ended with exit code 1: out of luck" in error.message


async def test_a_cluster_that_is_removed_meanwhile(namespace: Namespace) -> None:
    await deploy(namespace)
    waiting_for_it = asyncio.create_task(
        readiness.wait_ready(namespace.client, "demo", timeout=60), name="wait"
    )
    await scheduled_or_refused(namespace)
    await namespace.client.delete(objects.DEPLOYMENTS, "demo")
    with pytest.raises(ClusterNotFoundError):
        await waiting_for_it


async def test_a_pod_that_runs_and_does_not_answer(namespace: Namespace) -> None:
    """The Service has an endpoint, on which nobody listens."""
    async with node(namespace, running):
        await deploy(namespace)

        async def is_running() -> bool:
            pods = (await namespace.client.list(objects.PODS)).items
            return any(pod["status"].get("phase") == "Running" for pod in pods)

        await eventually(is_running, "the pod runs")
        error = await last_seen(namespace, timeout=15.0)
    assert "not ready after 15 s" in error.message
