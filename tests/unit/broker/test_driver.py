"""Workers are made once and released once, whatever happens in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from kubeflink import objects
from kubeflink.apiserver.faults import Fault
from kubeflink.spec.broker import role_rules
from support.broker import (
    PODS,
    QUICK,
    JobManager,
    RealCluster,
    RoleOf,
    cluster_spec,
    jobmanager,
    real_cluster,
    running_broker,
    until,
)

SCHEDULED = {"conditions": [{"type": "PodScheduled", "status": "True"}]}


@pytest.fixture
async def cluster() -> AsyncIterator[RealCluster]:
    rules = [
        *role_rules("demo"),
        # To read the cluster's configuration, which the broker's pod mounts.
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},
    ]
    async with real_cluster(cluster_spec(), RoleOf(rules)) as cluster:
        yield cluster


@pytest.fixture
async def flink(cluster: RealCluster, tmp_path: Path) -> AsyncIterator[JobManager]:
    async with running_broker(cluster, tmp_path) as broker, jobmanager(broker) as flink:
        yield flink


async def ask_and_go_away(flink: JobManager, cluster: RealCluster) -> None:
    """What a JobManager does that ends while its worker is being made."""
    asking = asyncio.create_task(flink.ask(1))
    await until(cluster.written)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)


async def until_deleted(cluster: RealCluster) -> None:
    """The pod, after it was made."""

    async def is_deleted() -> bool:
        return len(cluster.writes()) == 2

    await until(is_deleted)


async def test_a_worker_is_made_with_one_write(flink: JobManager, cluster: RealCluster) -> None:
    async with flink.watch() as events:
        status, answer = await flink.ask(1)
        added = await events.until("ADDED", "demo-taskmanager-1-1")

    assert status == 201
    assert answer["metadata"]["uid"] == added["metadata"]["uid"]
    assert cluster.writes() == [("POST", PODS)]
    pods = await cluster.pods()
    assert list(pods) == ["demo-taskmanager-1-1"]
    assert objects.owner_uids(pods["demo-taskmanager-1-1"]) == {cluster.uid}


async def test_what_happens_to_pods_is_told(flink: JobManager, cluster: RealCluster) -> None:
    async with flink.watch() as events:
        await flink.ask(1)
        await cluster.set_status("demo-taskmanager-1-1", **SCHEDULED)
        await events.until("ADDED", "demo-taskmanager-1-1")
        seen = await events.until("MODIFIED", "demo-taskmanager-1-1")
        assert seen["status"]["conditions"][0]["type"] == "PodScheduled"

        terminated = {"exitCode": 137, "reason": "OOMKilled"}
        statuses = [{"name": "flink-main-container", "state": {"terminated": terminated}}]
        await cluster.set_status("demo-taskmanager-1-1", phase="Failed", containerStatuses=statuses)
        seen = await events.until("MODIFIED", "demo-taskmanager-1-1")
        assert seen["status"]["phase"] == "Failed"
        assert seen["status"]["containerStatuses"][0]["state"]["terminated"] == terminated

        status, _ = await flink.call("DELETE", f"{PODS}/demo-taskmanager-1-1")
        assert status == 200
        await events.until("DELETED", "demo-taskmanager-1-1")
    assert (await flink.call("DELETE", f"{PODS}/demo-taskmanager-1-1"))[0] == 404
    assert [method for method, _ in cluster.writes()] == ["POST", "DELETE"]


async def test_the_same_request_again_is_the_same_pod(
    flink: JobManager, cluster: RealCluster
) -> None:
    _, first = await flink.ask(1)
    status, again = await flink.ask(1)

    assert status == 201
    assert again["metadata"]["uid"] == first["metadata"]["uid"]
    assert len(cluster.writes()) == 1


async def test_the_same_request_at_the_same_time_is_the_same_pod(
    flink: JobManager, cluster: RealCluster
) -> None:
    cluster.faults.add(Fault(method="POST", path="/pods", delay=0.3))

    answers = await asyncio.gather(*(flink.ask(1) for _ in range(5)))

    assert {status for status, _ in answers} == {201}
    assert len({answer["metadata"]["uid"] for _, answer in answers}) == 1
    assert len(cluster.writes()) == 1


async def test_another_request_for_a_name_that_is_taken_conflicts(flink: JobManager) -> None:
    await flink.ask(1)
    other = flink.request(1)
    line = other["spec"]["containers"][0]["args"][2]
    other["spec"]["containers"][0]["args"][2] = line.replace("flink-web-1", "flink-web-2")

    status, answer = await flink.call("POST", PODS, other)

    assert (status, answer["reason"]) == (409, "AlreadyExists")


async def test_a_pod_of_a_former_cluster_is_in_the_way(
    flink: JobManager, cluster: RealCluster
) -> None:
    """409 makes Flink take the next name, as with its own driver."""
    stale = flink.request(1)
    stale["metadata"]["ownerReferences"][0]["uid"] = "another"
    await cluster.store.create(objects.PODS, "default", stale)

    assert (await flink.ask(1))[0] == 409
    assert (await flink.ask(2))[0] == 201
    assert list(await flink.workers()) == ["demo-taskmanager-1-2"]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(method="POST", path="/pods$", times=3, status=500),
        Fault(method="POST", path="/pods$", times=3, status=503),
        Fault(method="POST", path="/pods$", times=2, status=429, retry_after=0.01),
        Fault(method="POST", path="/pods$", times=2, drop="before"),
        Fault(method="POST", path="/pods$", times=1, drop="after"),
    ],
    ids=["500", "503", "429", "cut before", "cut after"],
)
async def test_what_fails_for_a_moment_is_tried_again(
    flink: JobManager, cluster: RealCluster, fault: Fault
) -> None:
    cluster.faults.add(fault)

    status, answer = await flink.ask(1)

    assert status == 201
    assert {uid_of(pod) for pod in (await cluster.pods()).values()} == {uid_of(answer)}
    assert flink.broker.report.troubles == ()


async def test_a_quota_is_handed_on_and_told(flink: JobManager, cluster: RealCluster) -> None:
    told = 'pods "x" is forbidden: exceeded quota: q, requested: cpu=1, used: cpu=4'
    cluster.faults.add(Fault(method="POST", path="/pods$", times=2, status=403, message=told))

    assert [(await flink.ask(index))[0] for index in (1, 2)] == [403, 403]
    (trouble,) = flink.broker.report.troubles
    assert "exceeded quota: q" in trouble.text

    assert (await flink.ask(3))[0] == 201
    assert flink.broker.report.troubles == ()


async def test_a_right_that_owners_want_is_told_with_its_rule(
    flink: JobManager, cluster: RealCluster
) -> None:
    """As on OpenShift, where the broker's Role is not enough."""
    told = (
        'pods "x" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a'
        " resource you can't set finalizers on: , <nil>"
    )
    cluster.faults.add(Fault(method="POST", path="/pods$", times=1, status=403, message=told))

    assert (await flink.ask(1))[0] == 403

    (trouble,) = flink.broker.report.troubles
    assert "cannot set blockOwnerDeletion" in trouble.text
    assert '["deployments/finalizers"], verbs ["update"]' in trouble.text


async def test_an_api_server_that_stays_away_is_told_as_unavailable(
    flink: JobManager, cluster: RealCluster
) -> None:
    fault = cluster.faults.add(Fault(method="POST", path="/pods$", times=None, status=500))

    status, answer = await flink.ask(1)
    assert (status, answer["code"]) == (503, 503)

    cluster.faults.remove(fault)
    assert (await flink.ask(1))[0] == 201


async def test_a_jobmanager_that_goes_away_leaves_no_pod_behind(
    flink: JobManager, cluster: RealCluster
) -> None:
    cluster.faults.add(Fault(method="POST", path="/pods$", delay=0.3))
    await ask_and_go_away(flink, cluster)

    await until_deleted(cluster)
    assert [method for method, _ in cluster.writes()] == ["POST", "DELETE"]
    assert await cluster.pods() == {}


async def test_a_pod_that_was_asked_for_twice_and_answered_once_is_kept(
    flink: JobManager, cluster: RealCluster
) -> None:
    """A JobManager whose HTTP client has given up asks again while the pod is being made."""
    cluster.faults.add(Fault(method="POST", path="/pods$", delay=0.5))
    first = asyncio.create_task(flink.ask(1))
    await until(cluster.written)
    again = asyncio.create_task(flink.ask(1))
    await asyncio.sleep(0.1)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)

    assert (await again)[0] == 201
    await asyncio.sleep(1.5)  # longer than unclaimed pods are kept
    assert list(await cluster.pods()) == ["demo-taskmanager-1-1"]


async def test_a_pod_that_nobody_asks_for_again_is_not_left_behind(
    cluster: RealCluster, tmp_path: Path
) -> None:
    """Its JobManager was told to ask again, and ended."""
    hasty = replace(QUICK, answer=0.2)
    async with (
        running_broker(cluster, tmp_path, timing=hasty) as broker,
        jobmanager(broker) as flink,
    ):
        cluster.faults.add(Fault(method="POST", path="/pods$", delay=0.5))
        assert (await flink.ask(1))[0] == 503

        await until_deleted(cluster)
        assert await cluster.pods() == {}


async def test_a_list_says_nothing_about_a_pod_that_is_not_there_yet(
    flink: JobManager, cluster: RealCluster
) -> None:
    """The next JobManager has listed before the pod of the one before it was made."""
    cluster.faults.add(Fault(method="POST", path="/pods$", delay=0.5))
    await ask_and_go_away(flink, cluster)
    assert await flink.workers() == {}

    await until_deleted(cluster)
    assert await cluster.pods() == {}


async def test_a_pod_that_a_new_jobmanager_has_listed_is_kept(
    flink: JobManager, cluster: RealCluster
) -> None:
    cluster.faults.add(Fault(method="POST", path="/pods$", delay=0.2))
    await ask_and_go_away(flink, cluster)
    await until(flink.workers)

    await asyncio.sleep(1.5)  # longer than unclaimed pods are kept
    assert list(await cluster.pods()) == ["demo-taskmanager-1-1"]


async def test_deleting_is_tried_again(flink: JobManager, cluster: RealCluster) -> None:
    await flink.ask(1)
    cluster.faults.add(Fault(method="DELETE", times=2, status=500))

    assert (await flink.call("DELETE", f"{PODS}/demo-taskmanager-1-1"))[0] == 200
    assert await cluster.pods() == {}


async def test_ten_workers_at_once(flink: JobManager, cluster: RealCluster) -> None:
    answers = await asyncio.gather(*(flink.ask(index) for index in range(1, 11)))

    assert {status for status, _ in answers} == {201}
    assert len(await cluster.pods()) == 10
    assert len(cluster.writes()) == 10
    reads = [path for method, path in cluster.faults.requests if method == "GET"]
    assert len(reads) <= 6  # the blueprint, a list, a watch and a note: no read per pod


def uid_of(pod: dict[str, object]) -> str:
    return objects.uid_of(pod)
