"""Waiting for a cluster, and giving up with the cause."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kubeflink import config
from kubeflink.apiserver.faults import Fault
from kubeflink.cluster import deployment, readiness
from kubeflink.cluster.diagnosis import Observed
from kubeflink.cluster.observation import ClusterView
from kubeflink.cluster.session import SessionCluster
from kubeflink.errors import (
    ClusterFailedError,
    ClusterNotFoundError,
    ForbiddenError,
    WaitTimeoutError,
)
from kubeflink.objects import DEPLOYMENTS, PODS
from kubeflink.spec import JobManagerSpec
from support.kubernetes import FLINK_LABELS, SmallKubernetes
from support.scripted_server import Answer, ScriptedServer

Json = dict[str, Any]


async def add_pod(kubernetes: SmallKubernetes, status: Json) -> None:
    pod = {
        "metadata": {"name": "demo-7f", "labels": {**FLINK_LABELS, "component": "jobmanager"}},
        "spec": {"containers": [{"name": "flink-main-container", "image": "flink:9.9"}]},
    }
    made = await kubernetes.add(PODS, pod)
    await kubernetes.store.replace(
        PODS, "default", {**made, "status": status}, subresource="status"
    )


def waiting(reason: str, **more: Any) -> Json:
    entry = {"name": "flink-main-container", "image": "flink:9.9", "ready": False, **more}
    state = {"waiting": {"reason": reason, "message": "told"}}
    return {"phase": "Pending", "containerStatuses": [{**entry, "state": state}]}


async def test_ready_is_when_the_rest_api_answers(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec, flink_rest: ScriptedServer
) -> None:
    deployed = await deployment.deploy(kubernetes.client, demo_spec)
    stages: list[str] = []
    flink_rest.on(
        "GET",
        "/overview",
        Answer(503, {"errors": ["Service temporarily unavailable due to an ongoing leader"]}),
        Answer(500, {"errors": ["Internal server error."]}),
        Answer(200, {"flink-version": "2.3.0"}),
    )

    told: asyncio.Queue[str] = asyncio.Queue()

    async def come_up() -> None:
        stages.append(await told.get())
        await add_pod(kubernetes, {"phase": "Running"})
        stages.append(await told.get())
        host, port = flink_rest.url.removeprefix("http://").split(":")
        kubernetes.behind.places["demo-rest"] = (host, int(port))

    async with asyncio.TaskGroup() as group:
        group.create_task(come_up())
        overview = await readiness.wait_ready(
            kubernetes.client,
            "demo",
            uid=deployed.uid,
            timeout=30,
            on_stage=lambda stage: told.put_nowait(stage.text),
        )

    assert overview.flink_version == "2.3.0"
    assert stages == [
        "waiting for the JobManager pod",
        "waiting for the JobManager to serve",
    ]


@pytest.mark.parametrize("reason", ["ErrImageNeverPull", "InvalidImageName"])
async def test_a_final_cause_ends_the_wait(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec, reason: str
) -> None:
    await deployment.deploy(kubernetes.client, demo_spec)
    await add_pod(kubernetes, waiting(reason))

    stages: list[str] = []
    with pytest.raises(ClusterFailedError, match=r"flink:9\.9"):
        await readiness.wait_ready(
            kubernetes.client,
            "demo",
            timeout=60,
            on_stage=lambda stage: stages.append(stage.text),
        )
    assert stages == []  # the error tells it


async def test_a_cause_that_may_pass_is_told_at_the_limit(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec
) -> None:
    await deployment.deploy(kubernetes.client, demo_spec)
    await add_pod(kubernetes, waiting("ImagePullBackOff"))

    with pytest.raises(WaitTimeoutError, match=r"not ready after 1 s.*cannot be pulled"):
        await readiness.wait_ready(kubernetes.client, "demo", timeout=1)


async def test_where_to_look_is_the_clusters_own_namespace(
    kubernetes: SmallKubernetes, session_spec: Callable[..., JobManagerSpec]
) -> None:
    options = {"kubernetes.namespace": "other"}
    await deployment.deploy(kubernetes.client, session_spec(**options))

    with pytest.raises(WaitTimeoutError) as raised:
        await readiness.wait_ready(kubernetes.client, "demo", "other", timeout=0.3)
    assert raised.value.hint == "Look at it: kubeflink logs demo --namespace other"


async def test_a_cluster_that_goes_away_is_not_waited_for(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec
) -> None:
    await deployment.deploy(kubernetes.client, demo_spec)

    async def leave() -> None:
        await asyncio.sleep(0.5)
        await kubernetes.client.delete(DEPLOYMENTS, "demo")

    leaving = asyncio.create_task(leave())
    with pytest.raises(ClusterNotFoundError):
        await readiness.wait_ready(kubernetes.client, "demo", timeout=60)
    await leaving


async def test_a_cluster_of_the_same_name_is_another(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec
) -> None:
    await deployment.deploy(kubernetes.client, demo_spec)

    with pytest.raises(ClusterNotFoundError, match="replaced"):
        await readiness.wait_ready(kubernetes.client, "demo", uid="another", timeout=60)


async def test_an_api_server_that_fails_for_a_while_is_outlasted(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec, flink_rest: ScriptedServer
) -> None:
    await deployment.deploy(kubernetes.client, demo_spec)
    flink_rest.on("GET", "/overview", Answer(200, {"flink-version": "2.3.0"}))
    host, port = flink_rest.url.removeprefix("http://").split(":")
    kubernetes.behind.places["demo-rest"] = (host, int(port))
    kubernetes.faults.add(Fault("/services/demo-rest$", "GET", 2, status=503))

    overview = await readiness.wait_ready(kubernetes.client, "demo", timeout=60)

    assert overview.flink_version == "2.3.0"


async def test_not_being_allowed_to_look_is_an_answer(kubernetes: SmallKubernetes) -> None:
    kubernetes.faults.add(Fault("/services", "GET", None, status=403))

    with pytest.raises(ForbiddenError):
        await readiness.wait_ready(kubernetes.client, "demo", timeout=60)


def test_stages() -> None:
    def stage(status: Json) -> str:
        return ClusterView("demo", Observed({}, [{"status": status}])).stage()

    scheduled = [{"type": "PodScheduled", "status": "True"}]
    assert stage({"phase": "Pending"}) == "waiting for a node"
    assert stage({"phase": "Pending", "conditions": scheduled}).startswith("starting")


async def test_a_jobmanager_that_runs_and_does_not_serve_is_asked_for_its_log(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec
) -> None:
    await deployment.deploy(kubernetes.client, demo_spec)
    await kubernetes.add_pod("demo-7f", {"phase": "Running"})
    kubernetes.pods.lines["demo-7f"] = [
        "2026 ERROR x [] - Could not start",
        "java.nio.file.AccessDeniedException: s3://bucket/ha",
    ]

    with pytest.raises(WaitTimeoutError, match="AccessDeniedException: s3://bucket/ha"):
        await readiness.wait_ready(kubernetes.client, "demo", timeout=0.5)


async def test_a_start_that_is_cancelled_while_it_waits_leaves_nothing(
    kubernetes: SmallKubernetes,
) -> None:
    options = {
        "kubernetes.cluster-id": "demo",
        "jobmanager.memory.process.size": "1600m",
        "taskmanager.memory.process.size": "1728m",
    }
    waits = asyncio.Event()
    starting = asyncio.create_task(
        SessionCluster.deploy_configured(
            kubernetes.client,
            config.load(conf_dir=None, overrides=options, environ={}),
            on_stage=lambda _stage: waits.set(),
        )
    )
    await waits.wait()
    assert (await kubernetes.client.list(DEPLOYMENTS)).items

    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert (await kubernetes.client.list(DEPLOYMENTS)).items == ()


async def test_a_start_that_is_cancelled_spares_a_cluster_that_took_the_name(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec
) -> None:
    first = await deployment.deploy(kubernetes.client, demo_spec)
    waiting = deployment.taken_back_if_cancelled(kubernetes.client, "demo", "default", first.uid)
    await kubernetes.client.delete(DEPLOYMENTS, "demo")
    other = await kubernetes.client.create(demo_spec.deployment)
    with pytest.raises(asyncio.CancelledError):
        async with waiting:
            raise asyncio.CancelledError
    found = await kubernetes.client.get(DEPLOYMENTS, "demo")
    assert found["metadata"]["uid"] == other["metadata"]["uid"]


async def test_a_cancellation_is_not_taken_for_an_answer(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec, flink_rest: ScriptedServer
) -> None:
    """However near to an answer of the REST API it comes."""
    await deployment.deploy(kubernetes.client, demo_spec)
    host, port = flink_rest.url.removeprefix("http://").split(":")
    kubernetes.behind.places["demo-rest"] = (host, int(port))
    flink_rest.on("GET", "/overview", Answer(404))
    for turns in range(60):
        before = len(flink_rest.seen)
        waiting = asyncio.create_task(readiness.wait_ready(kubernetes.client, "demo", timeout=5.0))
        while len(flink_rest.seen) == before:  # noqa: ASYNC110 - each turn of the loop counts
            await asyncio.sleep(0)
        for _ in range(turns):
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
