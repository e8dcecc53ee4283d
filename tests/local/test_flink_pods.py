"""Real Flink in pods that are killed, replaced and thrown away."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

from kubeflink import ApplicationCluster, Job, SessionCluster, objects
from kubeflink.cluster import runner
from kubeflink.errors import KubeflinkError
from kubeflink.local import daemon
from kubeflink.local.cluster import EmbeddedCluster
from kubeflink.local.processes import start_time
from kubeflink.local.settings import Settings
from kubeflink.objects import JsonObject
from support.embedded import (
    JVM_SECONDS,
    SMALL_SESSION,
    embedded_cluster,
    eventually,
    main_process,
    pod_log,
)
from support.flink_jars import flink_jars

pytestmark = [
    pytest.mark.flink,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
]

ENDLESS = (
    "SET 'execution.checkpointing.interval' = '1s';"
    "CREATE TABLE dice (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '100');"
    "CREATE TABLE sink (n BIGINT) WITH ('connector' = 'blackhole');"
    "INSERT INTO sink SELECT n FROM dice;"
)
MAIN = "flink-main-container"


async def pods(kubernetes: EmbeddedCluster, component: str) -> list[JsonObject]:
    """The running pods of a component."""
    found = (await kubernetes.store.list(objects.PODS)).items
    return [
        pod
        for pod in found
        if objects.labels_of(pod).get("component") == component
        and pod["status"].get("phase") == "Running"
        and "deletionTimestamp" not in pod["metadata"]
    ]


async def is_running(job: Job) -> bool:
    """Whether the whole job runs; False while the JobManager cannot tell."""
    try:
        details = await job.details()
    except KubeflinkError:
        return False
    running = details.status_counts.get("RUNNING", 0)
    return details.state == "RUNNING" and running == len(details.vertices)


async def left_processes(kubernetes: EmbeddedCluster) -> list[int]:
    """The groups that still live of all pods that ever had a directory here."""
    return [
        group
        for worker in kubernetes.kubelet._workers.values()
        for group in worker.groups()
        if start_time(group) is not None
    ]


async def test_killed_processes_come_back_and_a_deleted_deployment_takes_all_with_it(
    kubernetes: EmbeddedCluster,
) -> None:
    session = await SessionCluster.deploy(
        "killed", options=SMALL_SESSION, kubeconfig=kubernetes.kubeconfig, timeout=JVM_SECONDS
    )
    async with session:
        job = await session.submit_sql(ENDLESS)
        await eventually(lambda: is_running(job), "the job runs")

        (worker,) = await pods(kubernetes, "taskmanager")
        os.kill(main_process(worker), signal.SIGKILL)

        async def replaced() -> bool:
            found = await pods(kubernetes, "taskmanager")
            return bool(found) and objects.name_of(found[0]) != objects.name_of(worker)

        await eventually(replaced, "Flink asks for another TaskManager")
        await eventually(lambda: is_running(job), "the job runs again")

        (jobmanager,) = await pods(kubernetes, "jobmanager")
        os.kill(main_process(jobmanager), signal.SIGKILL)

        async def restarted() -> bool:
            found = await pods(kubernetes, "jobmanager")
            return [pod["status"]["containerStatuses"][0]["restartCount"] for pod in found] == [1]

        await eventually(restarted, "the container is restarted in its pod")
        await session.wait_ready(timeout=JVM_SECONDS)
        assert await session.jobs() == (), "without high availability the job is lost"
        before = await pod_log(kubernetes, objects.name_of(jobmanager), MAIN, previous=True)
        assert objects.name_of(worker) in before, "the log of the killed start is kept"

        again = await session.submit_sql(ENDLESS)
        await eventually(lambda: is_running(again), "a job runs on the restarted JobManager")
        groups = await left_processes(kubernetes)
        await kubernetes.store.delete(objects.DEPLOYMENTS, "default", "killed")

        async def nothing_left() -> bool:
            left = [
                resource.plural
                for resource in (objects.PODS, objects.SERVICES, objects.CONFIG_MAPS)
                if (await kubernetes.store.list(resource)).items
            ]
            return not left and not any(start_time(group) for group in groups)

        assert groups
        await eventually(nothing_left, "objects and processes are gone")


async def test_two_clusters_start_at_once_and_a_deleted_jobmanager_keeps_its_ports(
    kubernetes: EmbeddedCluster,
) -> None:
    async def deploy(name: str) -> SessionCluster:
        return await SessionCluster.deploy(
            name, options=SMALL_SESSION, kubeconfig=kubernetes.kubeconfig, timeout=JVM_SECONDS
        )

    async with asyncio.TaskGroup() as group:
        deployed = [group.create_task(deploy(name)) for name in ("left", "right")]
    left, right = (task.result() for task in deployed)
    async with left, right:
        found = await pods(kubernetes, "jobmanager")
        mine = next(pod for pod in found if objects.labels_of(pod)["app"] == "left")
        before = await kubernetes.services.address("default", "left-rest", "rest")
        assert before != await kubernetes.services.address("default", "right-rest", "rest")
        await kubernetes.store.delete(objects.PODS, "default", objects.name_of(mine))

        async def replaced() -> bool:
            names = {objects.name_of(pod) for pod in await pods(kubernetes, "jobmanager")}
            return len(names) == 2 and objects.name_of(mine) not in names

        await eventually(replaced, "the Deployment makes another pod")
        await left.wait_ready(timeout=JVM_SECONDS)
        assert await kubernetes.services.address("default", "left-rest", "rest") == before
        await right.delete()
        assert (await left.overview()).slots_total == 0
        await left.delete()


async def test_on_the_host_network_services_carry_the_real_ports(
    kubernetes: EmbeddedCluster,
) -> None:
    options = {**SMALL_SESSION, "kubernetes.hostnetwork.enabled": True}
    async with SessionCluster.temporary(
        "host", options=options, kubeconfig=kubernetes.kubeconfig, timeout=JVM_SECONDS
    ) as session:

        async def target() -> int:
            service = await kubernetes.store.get(objects.SERVICES, "default", "host-rest")
            return int(service["spec"]["ports"][0]["targetPort"])

        first = await target()
        assert first != 8081
        (jobmanager,) = await pods(kubernetes, "jobmanager")
        os.kill(main_process(jobmanager), signal.SIGKILL)

        async def moved() -> bool:
            return await target() != first

        await eventually(moved, "the restarted JobManager tells its new port")
        await session.wait_ready(timeout=JVM_SECONDS)
        job = await session.submit_sql(ENDLESS)
        await eventually(lambda: is_running(job), "a job runs with TaskManagers on the host")


async def test_a_pod_template_reaches_taskmanagers_and_jars_come_from_mounts(
    kubernetes: EmbeddedCluster, tmp_path: Path
) -> None:
    jar = tmp_path / "jars/job.jar"
    jar.parent.mkdir()
    jar.write_bytes(runner.jar().read_bytes())
    template = tmp_path / "template.yaml"
    template.write_text(
        f"""
        apiVersion: v1
        kind: Pod
        metadata: {{labels: {{tier: mine}}}}
        spec:
          initContainers:
          - name: fetch
            image: busybox
            command: [cp, /host/job.jar, /usrlib/]
            volumeMounts: [{{name: usrlib, mountPath: /usrlib}}, {{name: host, mountPath: /host}}]
          containers:
          - name: flink-main-container
            volumeMounts: [{{name: usrlib, mountPath: /opt/flink/usrlib}}]
          volumes:
          - {{name: usrlib, emptyDir: {{}}}}
          - {{name: host, hostPath: {{path: {jar.parent}}}}}
        """
    )
    to_files = f"'connector'='filesystem','format'='csv','path'='{tmp_path}/out'"
    program = [
        "CREATE TABLE n (x INT) WITH ('connector'='datagen','number-of-rows'='10')",
        f"CREATE TABLE f (x INT) WITH ({to_files})",
        "INSERT INTO f SELECT x FROM n",
    ]
    app = await ApplicationCluster.deploy(
        "local:///opt/flink/usrlib/job.jar",
        "app",
        entry_class=runner.MAIN_CLASS,
        args=program,
        options={**SMALL_SESSION, "kubernetes.pod-template-file.default": str(template)},
        kubeconfig=kubernetes.kubeconfig,
    )
    async with app:

        async def worker() -> JsonObject | None:
            return next(iter(await pods(kubernetes, "taskmanager")), None)

        pod = await eventually(worker, "a TaskManager")
        assert objects.labels_of(pod)["tier"] == "mine"
        assert [each["name"] for each in pod["status"]["initContainerStatuses"]] == ["fetch"]
        outcome = await app.wait(timeout=JVM_SECONDS)
    assert outcome.succeeded

    async def gone() -> bool:
        return not (await kubernetes.store.list(objects.PODS)).items

    await eventually(gone, "the application removes itself")
    assert count_lines(tmp_path / "out") == 10


def count_lines(directory: Path) -> int:
    """The lines of all files that a job has written."""
    return sum(len(part.read_text().splitlines()) for part in directory.iterdir())


@pytest.fixture
def environ(tmp_path: Path) -> Mapping[str, str]:
    return {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}


async def test_a_job_goes_on_while_the_api_server_is_dead(environ: Mapping[str, str]) -> None:
    up = daemon.up(environ=environ)
    try:
        session = await SessionCluster.deploy(
            "stays", options=SMALL_SESSION, kubeconfig=up.kubeconfig, timeout=JVM_SECONDS
        )
        async with session:
            job = await session.submit_sql(ENDLESS)
            await eventually(lambda: is_running(job), "the job runs")
            started = (await job.details()).start_time
            assert up.pid is not None
            os.kill(up.pid, signal.SIGKILL)

            again = daemon.up(environ=environ)
            assert again.pid != up.pid
            await eventually(lambda: is_running(job), "the job still runs")
            details = await job.details()
            assert details.start_time == started
            assert not (await job.exceptions()).latest_stacktrace

            other = await session.submit_sql(ENDLESS)
            await eventually(lambda: is_running(other), "the JobManager gets another worker")
            await session.delete(timeout=JVM_SECONDS)
    finally:
        daemon.down(environ=environ)


@pytest.mark.parametrize("version", ["1.20.5"])
async def test_an_older_flink_runs_beside_the_newest(version: str, tmp_path: Path) -> None:
    settings = Settings(flink_homes=(flink_jars(version),))
    async with (
        embedded_cluster(settings=settings) as kubernetes,
        SessionCluster.temporary(
            "old",
            options=SMALL_SESSION,
            flink_version=version,
            kubeconfig=kubernetes.kubeconfig,
            timeout=JVM_SECONDS,
        ) as session,
    ):
        assert (await session.overview()).flink_version == version
        job = await session.submit_sql(ENDLESS)
        await eventually(lambda: is_running(job), "the job runs")
        await job.cancel()
