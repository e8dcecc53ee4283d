"""What befell TaskManagers is known after they have gone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubeflink.cluster import workers
from kubeflink.cluster.diagnosis import Diagnosis
from kubeflink.cluster.job_progress import JobProgress
from kubeflink.cluster.session import SessionCluster
from kubeflink.errors import JobFailedError
from kubeflink.objects import DEPLOYMENTS, PODS
from support.kubernetes import SmallKubernetes
from support.scripted_server import Answer, ScriptedServer

JOB = "e1f121d9cab10446b84b486b38d83813"
WORKER = "demo-taskmanager-1-1"
OOM_KILLED = {
    "phase": "Failed",
    "containerStatuses": [
        {
            "name": "flink-main-container",
            "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
        }
    ],
}


def details(state: str) -> Answer:
    return Answer(200, {"jid": JOB, "name": "words", "state": state, "vertices": []})


async def test_an_oom_killed_worker_explains_the_failure_of_its_job(
    demo: SessionCluster, kubernetes: SmallKubernetes, flink_rest: ScriptedServer
) -> None:
    told: list[Diagnosis] = []
    flink_rest.on("GET", f"/jobs/{JOB}", details("RUNNING"))
    flink_rest.on("GET", f"/jobs/{JOB}/exceptions", Answer(200, {}))
    await kubernetes.add_pod(WORKER, {"phase": "Running"}, component="taskmanager")

    def on_trouble(trouble: Diagnosis) -> None:
        told.append(trouble)
        flink_rest.on("GET", f"/jobs/{JOB}", details("FAILED"))

    async def kill() -> None:
        await kubernetes.set_status(WORKER, OOM_KILLED)
        await kubernetes.remove(PODS, WORKER)

    def on_progress(progress: JobProgress) -> None:
        if progress.state == "RUNNING":
            tasks.append(asyncio.ensure_future(kill()))

    tasks: list[Any] = []
    with pytest.raises(JobFailedError, match="OOMKilled") as caught:
        await demo.job(JOB).wait(timeout=60, on_progress=on_progress, on_trouble=on_trouble)
    await asyncio.gather(*tasks)

    assert [trouble.kind for trouble in told] == ["memory"]
    assert "1728Mi" in str(caught.value)
    assert "taskmanager.memory.process.size" in str(caught.value)


def pending() -> dict[str, Any]:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "message": "0/1 nodes: Insufficient cpu",
    }
    return {
        "metadata": {"name": WORKER, "uid": "1", "labels": {"component": "taskmanager"}},
        "status": {"phase": "Pending", "conditions": [condition]},
    }


async def test_waiting_for_a_node_is_no_trouble_until_it_lasts(
    kubernetes: SmallKubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = workers.WorkerWatch(kubernetes.client, "demo", "default")

    watch.look(pending())
    assert watch.troubles == ()
    monkeypatch.setattr(workers, "PASSING_SECONDS", 0.0)
    watch.look(pending())
    watch.look(pending())

    (trouble,) = watch.troubles
    assert "Insufficient cpu" in trouble.sentence


async def test_a_worker_that_is_released_is_no_trouble(kubernetes: SmallKubernetes) -> None:
    watch = workers.WorkerWatch(kubernetes.client, "demo", "default")
    pod = pending()
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    terminated = {"exitCode": 143, "reason": "Error"}
    entry = {"name": "flink-main-container", "state": {"terminated": terminated}}
    pod["status"] = {"phase": "Failed", "containerStatuses": [entry]}

    watch.look(pod)

    assert watch.troubles == ()


BROKER_RUNS = {
    "phase": "Running",
    "conditions": [
        {"type": "Ready", "status": "True", "lastTransitionTime": "2030-01-01T00:00:00Z"}
    ],
    "containerStatuses": [{"name": "broker", "ready": True, "state": {"running": {}}}],
}


def says(*troubles: tuple[str, bool]) -> Answer:
    told = [{"text": text, "seconds": 5, "lasting": lasting} for text, lasting in troubles]
    return Answer(200, {"unhealthy": None, "troubles": told})


async def test_a_broker_that_gives_no_worker_is_asked_why(
    with_broker: SessionCluster,
    kubernetes: SmallKubernetes,
    broker_status: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once for each trouble, whatever its numbers; what befell one request is not told."""
    monkeypatch.setattr(workers, "BROKER_SECONDS", 0.05)
    await kubernetes.add_pod("demo-broker-1", BROKER_RUNS, component="broker", node="n1")
    limit = "no TaskManager is added: {} of 2 cores are taken"
    broker_status.on("GET", "/status", says((limit.format(2), True), ("refused: a Secret", False)))
    told: asyncio.Queue[Diagnosis] = asyncio.Queue()

    async with with_broker.watch_workers(told.put_nowait) as watch:
        first = await asyncio.wait_for(told.get(), 60)
        broker_status.on(
            "GET", "/status", says((limit.format(1), True), ("pods cannot be created: quota", True))
        )
        second = await asyncio.wait_for(told.get(), 60)

    assert first.sentence == "the broker says: no TaskManager is added: 2 of 2 cores are taken"
    assert second.sentence == "the broker says: pods cannot be created: quota"
    assert (watch.troubles, told.empty()) == ((first, second), True)


async def test_a_broker_that_is_gone_is_why_no_worker_comes(
    with_broker: SessionCluster, kubernetes: SmallKubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "BROKER_SECONDS", 0.05)
    await kubernetes.remove(DEPLOYMENTS, "demo-broker")
    told: asyncio.Queue[Diagnosis] = asyncio.Queue()

    async with with_broker.watch_workers(told.put_nowait):
        trouble = await asyncio.wait_for(told.get(), 60)

    assert "demo-broker is gone" in trouble.sentence


async def test_a_cluster_without_a_broker_is_asked_once(
    demo: SessionCluster, kubernetes: SmallKubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "BROKER_SECONDS", 0.0)

    async with demo.watch_workers() as watch:
        await kubernetes.until_asked("GET", "/deployments/demo")
        asked = kubernetes.faults.count("GET", "/deployments/demo")
        await kubernetes.client.get(DEPLOYMENTS, "demo")
        await asyncio.sleep(0)

    assert kubernetes.faults.count("GET", "/deployments/demo") == asked + 1
    assert watch.troubles == ()


async def test_without_the_right_to_look_the_job_is_followed_all_the_same(
    demo: SessionCluster, kubernetes: SmallKubernetes, flink_rest: ScriptedServer
) -> None:
    kubernetes.rights.denied |= {"list pods", "watch pods"}
    flink_rest.on("GET", f"/jobs/{JOB}", details("FINISHED"))

    assert (await demo.job(JOB).wait(timeout=60)).succeeded
