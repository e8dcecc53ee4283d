"""Clusters whose JobManager may create nothing: real Flink, with its broker as a process.

How every kind of cluster stands the death of its JobManager in broker mode is shown by
`test_failover`, with the same table as without one.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kubeflink import ApplicationCluster, SessionCluster, objects
from kubeflink.cluster import runner
from kubeflink.cluster.sql import runnable_script
from kubeflink.kube.client import KubeClient
from kubeflink.local.cluster import EmbeddedCluster
from kubeflink.local.settings import BackOff, Settings
from kubeflink.objects import JsonObject
from support.embedded import (
    JVM_SECONDS,
    SMALL_SESSION,
    embedded_cluster,
    eventually,
    pod_log,
)
from support.failover import CountingJob, kill, kill_broker, pods_of
from support.flink_jars import flink_jars
from support.shell import Shell

pytestmark = [pytest.mark.flink, pytest.mark.timeout(1200)]

BROKER: Mapping[str, str] = {"kubeflink.broker.enabled": "true"}
QUICK_HEARTBEAT = {"heartbeat.timeout": "10s", "heartbeat.interval": "2s"}
VERSIONS = ("2.3.0", "1.20.5")


@asynccontextmanager
async def kubernetes(version: str = "2.3.0") -> AsyncIterator[EmbeddedCluster]:
    homes = () if version == "2.3.0" else (flink_jars(version),)
    settings = Settings(back_off=BackOff(initial=0.5, maximum=4.0), flink_homes=homes)
    async with embedded_cluster(settings=settings) as cluster:
        yield cluster


@asynccontextmanager
async def session(
    cluster: EmbeddedCluster, version: str, **options: str
) -> AsyncIterator[SessionCluster]:
    async with SessionCluster.temporary(
        "demo",
        options={**SMALL_SESSION, **QUICK_HEARTBEAT, **BROKER, **options},
        flink_version=version,
        kubeconfig=cluster.kubeconfig,
        timeout=JVM_SECONDS,
    ) as made:
        yield made


async def broker_pod(client: KubeClient) -> JsonObject | None:
    pods = (await client.list(objects.PODS, labels={"app": "demo", "component": "broker"})).items
    running = [pod for pod in pods if pod["status"].get("phase") == "Running"]
    return running[0] if running else None


async def workers(client: KubeClient) -> dict[str, JsonObject]:
    return await pods_of(client, "demo", "taskmanager")


async def no_workers(client: KubeClient) -> bool:
    return not await workers(client)


async def rows(job: CountingJob, more_than: int) -> bool:
    return len(await asyncio.to_thread(job.committed)) > more_than


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_job_gets_its_workers_and_loses_them_again(version: str, tmp_path: Path) -> None:
    """And TaskManagers and the broker are killed meanwhile; nothing is lost, nothing is left."""
    async with kubernetes(version) as kube, kube.client() as client:
        async with session(kube, version) as cluster:
            await _check_jobmanager(kube, client)
            assert await workers(client) == {}

            counting = CountingJob(tmp_path / "output", total=600, rate=40)
            job = await cluster.submit_sql(counting.script)
            waiting = asyncio.create_task(job.wait(timeout=JVM_SECONDS))
            await eventually(lambda: rows(counting, 60), "some output")

            # Killed while nothing is to be done: the job does not even notice.
            before = await workers(client)
            await kill_broker(client, "demo")
            await eventually(lambda: rows(counting, 120), "more output")
            assert (await workers(client)).keys() == before.keys()

            # Killed while a TaskManager has to be replaced.
            (worker,) = before.values()
            kill(worker)
            await kill_broker(client, "demo")
            await waiting
            counting.check()

            await eventually(lambda: no_workers(client), "idle TaskManagers are released")
            described = await cluster.describe()
            assert [one for one in described.troubles if one.kind == "broker"] == []
        await eventually(lambda: _nothing_is_left(kube), "nothing is left")


async def _check_jobmanager(kube: EmbeddedCluster, client: KubeClient) -> None:
    (jobmanager,) = (await pods_of(client, "demo", "jobmanager")).values()
    assert jobmanager["spec"]["automountServiceAccountToken"] is False
    pod = await eventually(lambda: broker_pod(client), "a broker runs")
    log = await pod_log(kube, objects.name_of(pod), "broker")
    assert "the broker of demo in namespace default listens" in log


async def _nothing_is_left(kube: EmbeddedCluster) -> bool:
    found = [
        obj
        for resource in objects.RESOURCES
        for obj in (await kube.store.list(resource)).items
        if objects.labels_of(obj).get("app") == "demo"
    ]
    return not found


async def test_high_availability_through_the_broker(tmp_path: Path) -> None:
    """JobManager and broker are killed at once; the job goes on with the TaskManagers it has."""
    options = {
        "high-availability.type": "kubernetes",
        "high-availability.storageDir": (tmp_path / "ha").as_uri(),
        "high-availability.kubernetes.leader-election.lease-duration": "5s",
        "high-availability.kubernetes.leader-election.renew-deadline": "4s",
        "high-availability.kubernetes.leader-election.retry-period": "1s",
        "resourcemanager.previous-worker.recovery.timeout": "60s",
    }
    async with (
        kubernetes() as kube,
        kube.client() as client,
        session(kube, "2.3.0", **options) as cluster,
    ):
        counting = CountingJob(tmp_path / "output", total=800, rate=40)
        job = await cluster.submit_sql(counting.script)
        waiting = asyncio.create_task(job.wait(timeout=JVM_SECONDS))
        await eventually(lambda: rows(counting, 60), "some output")
        before = await workers(client)
        (jobmanager,) = (await pods_of(client, "demo", "jobmanager")).values()

        kill(jobmanager)
        await kill_broker(client, "demo")

        assert (await waiting).succeeded
        counting.check()
        assert before.keys() <= (await workers(client)).keys() | before.keys()
        (worker,) = before.values()
        assert worker["spec"]["automountServiceAccountToken"] is False
        said = [line.text async for line in cluster.logs(component="broker")]
        assert [line for line in said if "refused" in line] == []  # Flink asks for nothing else


async def test_an_application_takes_itself_away(tmp_path: Path) -> None:
    counting = CountingJob(tmp_path / "output", total=200, rate=100)
    async with kubernetes() as kube:
        app = await ApplicationCluster.deploy(
            f"local://{runner.jar()}",
            "demo",
            entry_class=runner.MAIN_CLASS,
            args=runnable_script(counting.script),
            options={**SMALL_SESSION, **BROKER},
            kubeconfig=kube.kubeconfig,
        )
        async with app:
            assert (await app.wait(timeout=JVM_SECONDS)).succeeded
        counting.check()
        await eventually(lambda: _nothing_is_left(kube), "nothing is left")


async def test_a_broker_and_its_limits_are_described() -> None:
    """By the command line: a cluster with a broker, and a job that is refused its workers.

    The limit is raised while the job waits. The end is that of `kubectl delete deployment demo`:
    what a broker is made of goes with it.
    """
    async with kubernetes() as kube, kube.client() as client:
        shell = Shell(kube.kubeconfig, {})
        words = [f"-D{key}={value}" for key, value in SMALL_SESSION.items()]
        limit = "-Dkubeflink.broker.limit.pods=0"
        await shell.succeed("session", "start", "demo", "--broker", limit, *words)
        script = (
            "CREATE TABLE s (n BIGINT) WITH ('connector' = 'datagen');"
            "CREATE TABLE k (n BIGINT) WITH ('connector' = 'blackhole');"
            "INSERT INTO k SELECT n FROM s"
        )
        await shell.succeed("run", "--session", "demo", "-d", "--sql", script)

        async def told() -> bool:
            found = (await shell.succeed("describe", "demo", "--output", "json")).json
            sentences = [each["sentence"] for each in found["troubles"]]
            components = [(each["component"], each["phase"]) for each in found["pods"]]
            assert components == [("jobmanager", "Running"), ("broker", "Running")]
            return any("kubeflink.broker.limit.pods allows 0" in each for each in sentences)

        await eventually(told, "the limit is told")
        assert await workers(client) == {}
        log = (await shell.succeed("logs", "demo", "--broker")).out
        assert "the broker of demo in namespace default listens" in log
        assert "WARNING no TaskManager is added" in log
        await _raise_limit(client)
        await eventually(lambda: workers(client), "the job gets its worker")
        (listed,) = (await shell.succeed("clusters", "--output", "json")).json
        assert (listed["name"], listed["has_broker"]) == ("demo", True)
        await client.delete(objects.DEPLOYMENTS, "demo")
        await eventually(lambda: _nothing_is_left(kube), "nothing is left")


async def _raise_limit(client: KubeClient) -> None:
    """As `docs/broker.md` says it: in the ConfigMap, and for a new broker."""
    found = await client.get(objects.CONFIG_MAPS, "flink-config-demo")
    text = found["data"]["config.yaml"]
    raised = re.sub(r"(limit:\n +pods: )'0'", r"\1'1'", text)
    assert raised != text
    await client.replace({**found, "data": {**found["data"], "config.yaml": raised}})
    pod = await eventually(lambda: broker_pod(client), "a broker runs")
    await client.delete(objects.PODS, objects.name_of(pod))
