"""Every failover: real Flink on the embedded Kubernetes, killed under a job that counts.

The outcomes are those of `support.failover_table`, which the documentation shows as well. Times are
shortened by options, so that a failover takes seconds.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio

from kubeflink import ApplicationCluster, Job, SessionCluster, objects
from kubeflink.cluster import runner
from kubeflink.cluster.cluster import FlinkCluster
from kubeflink.cluster.job import JobOutcome
from kubeflink.cluster.sql import runnable_script
from kubeflink.errors import JobFailedError, KubeflinkError, RestUnreachableError
from kubeflink.kube.client import KubeClient
from kubeflink.kube.portforward import PortForward
from kubeflink.local.cluster import EmbeddedCluster
from kubeflink.local.settings import BackOff, Settings
from kubeflink.objects import JsonObject
from kubeflink.spec import names
from support.embedded import JVM_SECONDS, SMALL_SESSION, embedded_cluster, eventually
from support.failover import (
    CountingJob,
    check_rows,
    kill,
    kill_broker,
    leader_of,
    pods_of,
    target_ports,
)
from support.failover_table import TABLE, Fate, Ports, Row, Workers
from support.flink_jars import flink_jars

pytestmark = [
    pytest.mark.flink,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
]

NEWEST, OLDER = "2.3.0", "1.20.5"
"""The Flink versions that run: the newest of each major version."""

_ELECTION = "high-availability.kubernetes.leader-election"
QUICK_LEASE = {
    f"{_ELECTION}.lease-duration": "3s",
    f"{_ELECTION}.renew-deadline": "2s",
    f"{_ELECTION}.retry-period": "500ms",
}
CALM_LEASE = {
    f"{_ELECTION}.lease-duration": "15s",
    f"{_ELECTION}.renew-deadline": "12s",
    f"{_ELECTION}.retry-period": "1s",
}
"""For a JobManager that is to keep its lead while its machine is busy, or its broker is started
again. It costs nothing where the next one has to start first."""
LONG_LEASE = {
    f"{_ELECTION}.lease-duration": "120s",
    f"{_ELECTION}.renew-deadline": "100s",
    f"{_ELECTION}.retry-period": "2s",
}
QUICK_HEARTBEAT = {"heartbeat.timeout": "10s", "heartbeat.interval": "2s"}
PATIENCE_WITH_WORKERS = {
    "resourcemanager.previous-worker.recovery.timeout": "60s",
    "resourcemanager.taskmanager-timeout": "60s",
}
"""Else a new JobManager may ask for TaskManagers before the old ones have registered, or release
them as idle before a program has come to its job again."""
QUICK_LOSS = {"resourcemanager.taskmanager-registration.timeout": "60s"}
IDLE_WORKERS_STAY = {"resourcemanager.taskmanager-timeout": "20min"}
"""For those that come back to a session which has lost their job."""

ROWS_BEFORE_THE_KILL = 100
ENDLESS = 100_000
"""Rows for more than half an hour; the source keeps all that are to come in its checkpoints.

A job that is to end has rows for 20 s, or 40 s where more is killed before its JobManager is: it
must not have ended by then.
"""

_OPTION = {"session": "session", "application": "app"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kubernetes() -> AsyncIterator[EmbeddedCluster]:
    homes = (flink_jars(OLDER),)
    settings = Settings(back_off=BackOff(initial=0.5, maximum=4.0), flink_homes=homes)
    async with embedded_cluster(settings=settings) as kubernetes:
        yield kubernetes


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(kubernetes: EmbeddedCluster) -> AsyncIterator[KubeClient]:
    async with kubernetes.client() as client:
        yield client


def ha_options(directory: Path) -> dict[str, str]:
    storage = directory / "ha"
    return {
        "high-availability.type": "kubernetes",
        "high-availability.storageDir": storage.as_uri(),
    }


@asynccontextmanager
async def session(
    kubernetes: EmbeddedCluster, name: str, options: dict[str, str], version: str = NEWEST
) -> AsyncIterator[SessionCluster]:
    """A session that is stopped at the end, with all its data; nothing of it is left then."""
    cluster = await SessionCluster.deploy(
        name,
        options={**SMALL_SESSION, **options},
        flink_version=version,
        kubeconfig=kubernetes.kubeconfig,
        timeout=JVM_SECONDS,
    )
    async with cluster:
        try:
            yield cluster
        finally:
            await cluster.delete(ha_data="delete")
    await nothing_is_left(kubernetes, name)


async def nothing_is_left(kubernetes: EmbeddedCluster, name: str) -> None:
    """No object and no process of a cluster."""
    for resource in (objects.DEPLOYMENTS, objects.PODS, objects.SERVICES, objects.CONFIG_MAPS):
        found = (await kubernetes.store.list(resource)).items
        assert [
            objects.name_of(obj) for obj in found if objects.labels_of(obj).get("app") == name
        ] == []
    processes = await asyncio.create_subprocess_exec(
        "ps", "-A", "-ww", "-o", "args=", stdout=asyncio.subprocess.PIPE
    )
    listed, _ = await processes.communicate()
    mine = f"{kubernetes.state.pods}/default_{name}-"
    assert [line for line in listed.decode().splitlines() if mine in line] == []

    async def no_file() -> bool:
        return not [path for path in kubernetes.state.pods.iterdir() if f"_{name}-" in path.name]

    await eventually(no_file, "no directory of a pod is left")


async def has_rows(job: CountingJob, more_than: int) -> bool:
    return len(await asyncio.to_thread(job.committed)) > more_than


async def is_running(job: Job) -> bool:
    """Whether all tasks run; a JobManager that has just taken over may not know the job yet."""
    try:
        details = await job.details()
    except KubeflinkError:
        return False
    running = details.status_counts.get("RUNNING", 0)
    return details.state == "RUNNING" and running == len(details.vertices)


async def was_restored(job: Job) -> bool:
    """Whether the job was restored from a checkpoint."""
    try:
        return (await job.checkpoints()).latest.restored is not None
    except KubeflinkError:
        return False


# --- the table ---------------------------------------------------------------------------------


@dataclass
class Run:
    """A cluster with its counting job, and what was seen of it before the JobManager was killed."""

    row: Row
    client: KubeClient
    cluster: FlinkCluster
    counting: CountingJob
    job: Job
    waiting: asyncio.Task[JobOutcome]
    services: dict[str, JsonObject] = field(default_factory=dict)
    workers: dict[str, str] = field(default_factory=dict)

    async def look(self) -> None:
        self.services = await services_of(self.client, self.row.name)
        self.workers = await workers_of(self.client, self.row.name)

    async def kill_others(self) -> None:
        """Kill the broker, and then the TaskManager together with the broker, and go on."""
        before = len(self.counting.committed())
        await kill_broker(self.client, self.row.name)
        await eventually(
            lambda: has_rows(self.counting, before + 50), "the job goes on without a broker"
        )
        assert await workers_of(self.client, self.row.name) == self.workers

        for pod in (await pods_of(self.client, self.row.name, "taskmanager")).values():
            kill(pod)
        await kill_broker(self.client, self.row.name)
        await eventually(lambda: was_restored(self.job), "the job is restored after the loss")
        await eventually(lambda: is_running(self.job), "the job runs on another TaskManager")
        before = len(self.counting.committed())
        await eventually(lambda: has_rows(self.counting, before), "it makes progress there")
        lost = self.workers
        await self.look()
        assert len(self.workers) == len(lost)
        assert not self.workers.keys() & lost.keys()

    async def kill_jobmanager(self) -> None:
        (pod,) = (await pods_of(self.client, self.row.name, "jobmanager")).values()
        kill(pod)


async def services_of(client: KubeClient, cluster_id: str) -> dict[str, JsonObject]:
    services = await client.list(objects.SERVICES, labels=names.common_labels(cluster_id))
    return {objects.name_of(service): service for service in services.items}


async def workers_of(client: KubeClient, cluster_id: str) -> dict[str, str]:
    """The living TaskManager pods: uid by name. None of them was started twice."""
    pods = await pods_of(client, cluster_id, "taskmanager")
    for pod in pods.values():
        assert all(each["restartCount"] == 0 for each in pod["status"]["containerStatuses"])
    return {name: objects.uid_of(pod) for name, pod in pods.items()}


@asynccontextmanager
async def running(
    row: Row,
    kubernetes: EmbeddedCluster,
    directory: Path,
    *,
    broker: bool = False,
    version: str = NEWEST,
) -> AsyncIterator[Run]:
    """The cluster of a row, when its job has made some progress and is waited for."""
    options = {"kubeflink.broker.enabled": str(broker).lower()}
    if row.host_network:
        options["kubernetes.hostnetwork.enabled"] = "true"
    if row.high_availability:
        options |= {**ha_options(directory), **CALM_LEASE, **PATIENCE_WITH_WORKERS}
    else:
        # TaskManagers learn by their heartbeat that a JobManager is gone. With high availability
        # they are told; there a JobManager that stands still for longer than the timeout, while it
        # plans an application's SQL on a busy machine, would only have them replaced.
        options |= QUICK_HEARTBEAT
        options |= QUICK_LOSS if row.workers is Workers.REPLACED else IDLE_WORKERS_STAY
    total = ENDLESS if row.job is Fate.LOST else 2000 if broker else 1000
    counting = CountingJob(directory / "output", total=total, rate=50)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(kubernetes.client())
        cluster: FlinkCluster
        if row.kind == "session":
            made = await stack.enter_async_context(session(kubernetes, row.name, options, version))
            job = await made.submit_sql(counting.script)
            waiting = asyncio.create_task(job.wait(timeout=JVM_SECONDS, check=False))
            cluster = made
        else:
            app = await stack.enter_async_context(
                application(kubernetes, row.name, options, counting, version)
            )
            job = await eventually(lambda: _first_job(app), "the application's job")
            waiting = asyncio.create_task(app.wait(timeout=JVM_SECONDS, check=False))
            cluster = app
        try:
            await eventually(lambda: has_rows(counting, ROWS_BEFORE_THE_KILL), "some output")
            run = Run(row, client, cluster, counting, job, waiting)
            await run.look()
            yield run
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)


@asynccontextmanager
async def application(
    kubernetes: EmbeddedCluster,
    name: str,
    options: dict[str, str],
    counting: CountingJob,
    version: str = NEWEST,
) -> AsyncIterator[ApplicationCluster]:
    """An application that takes itself away at its end."""
    app = await ApplicationCluster.deploy(
        f"local://{runner.jar()}",
        name,
        entry_class=runner.MAIN_CLASS,
        args=runnable_script(counting.script),
        options={**SMALL_SESSION, **options},
        flink_version=version,
        kubeconfig=kubernetes.kubeconfig,
    )
    async with app:
        try:
            await app.wait_started(timeout=JVM_SECONDS)
            yield app
        except BaseException:
            await app.delete(ha_data="delete")
            raise
        await eventually(lambda: _is_gone(app), "the application gone by itself")
        await eventually(lambda: _nothing_is_left(kubernetes, name), "nothing left of it")


async def _is_gone(app: ApplicationCluster) -> bool:
    return not await app.exists()


async def _nothing_is_left(kubernetes: EmbeddedCluster, name: str) -> bool:
    try:
        await nothing_is_left(kubernetes, name)
    except AssertionError:
        return False
    return True


async def _first_job(cluster: FlinkCluster) -> Job | None:
    jobs = await cluster.jobs()
    return cluster.job(jobs[0].id) if jobs else None


def version_of(row: Row, turn: int) -> str:
    """The version by which a row with a broker is proved in a turn.

    In each turn both versions run a session and an application, with and without high
    availability, and with and without host network; in two turns they run all there is.
    """
    odd = (row.kind == "session") ^ row.host_network ^ row.high_availability
    return (NEWEST, OLDER)[odd ^ (turn > 1)]


TURNS = [1, 2] if os.environ.get("KUBEFLINK_ALL_FAILOVERS") else [1]


@pytest.mark.parametrize(
    "turn", [0, *TURNS], ids=lambda turn: f"broker-{turn}" if turn else "alone"
)
@pytest.mark.parametrize("high_availability", [False, True], ids=["no-ha", "ha"])
@pytest.mark.parametrize("host_network", [False, True], ids=["pod-network", "host-network"])
async def test_the_jobmanager_is_killed(
    host_network: bool,
    high_availability: bool,
    turn: int,
    kubernetes: EmbeddedCluster,
    tmp_path: Path,
) -> None:
    """The rows of the table, a session and an application side by side.

    A broker changes nothing about the outcome. It is killed before, and so is a TaskManager.
    """
    wanted = (host_network, high_availability)
    rows = [row for row in TABLE if (row.host_network, row.high_availability) == wanted]
    assert {row.kind for row in rows} == {"session", "application"}
    async with asyncio.TaskGroup() as group:
        for row in rows:
            version = version_of(row, turn) if turn else NEWEST
            proof = prove(row, kubernetes, tmp_path / row.name, broker=bool(turn), version=version)
            group.create_task(proof, name=row.name)


async def prove(
    row: Row,
    kubernetes: EmbeddedCluster,
    directory: Path,
    *,
    broker: bool,
    version: str = NEWEST,
) -> None:
    """Do what the row is about, and look whether it is as the row says."""
    async with running(row, kubernetes, directory, broker=broker, version=version) as run:
        if broker:
            await run.kill_others()
        rest = PortForward(run.client, "rest", service=f"{row.name}-rest", patience=60.0)
        async with rest, asyncio.TaskGroup() as calls:
            assert await overview_by(rest)
            await run.kill_jobmanager()

            # Made while nobody serves; each of them has to wait and to succeed.
            calls.create_task(answered(run.cluster.jobs))
            listing = ("list", f"--{_OPTION[row.kind]}", row.name)
            calls.create_task(answered(lambda: command_line(kubernetes, *listing)))
            calls.create_task(eventually(lambda: overview_by(rest), "the port-forward goes on"))
            if row.workers is not Workers.STAY:
                # From now on, for it can be seen for a time only.
                calls.create_task(check_old_workers(run))

        await check_ports(run)
        await CHECKS[row.job](run)


async def answered(ask: Callable[[], Awaitable[object]]) -> None:
    """Until a request was answered; on a busy machine a JobManager starts for longer than a minute.

    That is how long a request waits by itself.
    """

    async def succeeds() -> bool:
        try:
            await ask()
        except RestUnreachableError:
            return False
        return True

    await eventually(succeeds, "an answer")


async def overview_by(forward: PortForward) -> bool:
    """Whether the REST API answers at the local port; a connection may break, the port may not."""
    async with httpx2.AsyncClient(trust_env=False, timeout=60.0) as http:
        try:
            return (await http.get(f"{forward.url}/overview")).is_success
        except httpx2.TransportError:
            return False


async def command_line(kubernetes: EmbeddedCluster, *words: str) -> None:
    """One command of the command line, in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kubeflink", *words),
        env={**os.environ, "KUBECONFIG": str(kubernetes.kubeconfig)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await asyncio.wait_for(process.communicate(), JVM_SECONDS)
    told = output.decode()
    last = told.rpartition("kubeflink: ")[2]
    if "cannot be reached" in last or "does not answer" in last:
        raise RestUnreachableError(told)
    assert process.returncode == 0, told


async def check_ports(run: Run) -> None:
    """The Services have the target ports of the row, and nothing else of them has changed."""

    async def followed() -> bool:
        now = _ports(await services_of(run.client, run.row.name))
        before = _ports(run.services)
        assert now.keys() == before.keys()
        return all(now[name] != before[name] for name in now)

    if run.row.ports is Ports.STAY:
        assert _ports(await services_of(run.client, run.row.name)) == _ports(run.services)
    else:
        await eventually(followed, "the Services have the new ports")
    assert (
        set(_ports(run.services))
        == {
            Ports.REST: {"rest"},
            Ports.ALL: {"rest", "jobmanager-rpc", "blobserver"},
            Ports.STAY: {"rest"}
            if run.row.high_availability
            else {"rest", "jobmanager-rpc", "blobserver"},
        }[run.row.ports]
    )
    after = await services_of(run.client, run.row.name)
    assert {name: _without_target_ports(one) for name, one in after.items()} == {
        name: _without_target_ports(one) for name, one in run.services.items()
    }


def _ports(services: dict[str, JsonObject]) -> dict[str, int]:
    return {
        port["name"]: port["targetPort"]
        for service in services.values()
        for port in service["spec"]["ports"]
    }


def _without_target_ports(service: JsonObject) -> JsonObject:
    # The version, and in the annotations a broker's note.
    changing = ("resourceVersion", "annotations")
    metadata = {key: one for key, one in service["metadata"].items() if key not in changing}
    ports = [{**port, "targetPort": None} for port in service["spec"]["ports"]]
    return {**service, "metadata": metadata, "spec": {**service["spec"], "ports": ports}}


async def check_that_it_goes_on(run: Run) -> None:
    """The same job, restored from a checkpoint, on the same TaskManagers; its output is right."""
    await eventually(lambda: was_restored(run.job), "the job is restored from a checkpoint")
    await eventually(lambda: is_running(run.job), "the job runs again")
    assert await workers_of(run.client, run.row.name) == run.workers

    outcome = await run.waiting

    assert (outcome.job_id, outcome.state) == (run.job.id, "FINISHED")
    run.counting.check()


async def check_that_it_is_lost(run: Run) -> None:
    """Nobody knows the job; what it had written is right; the cluster takes new jobs."""
    with pytest.raises(JobFailedError, match="does not know it any more"):
        await run.waiting
    check_rows(run.counting.committed())
    assert isinstance(run.cluster, SessionCluster)

    again = CountingJob(run.counting.directory.with_name("again"), total=100, rate=100)
    outcome = await (await run.cluster.submit_sql(again.script)).wait(timeout=JVM_SECONDS)

    assert outcome.succeeded
    again.check()
    if run.row.workers is Workers.REPLACED:
        await check_that_old_workers_go(run)


async def check_that_it_begins_anew(run: Run) -> None:
    """The program runs again from its beginning: what was written before is there twice."""
    outcome = await run.waiting

    assert outcome.state == "FINISHED"
    assert outcome.job_id != run.job.id
    numbers = Counter(number for _, number, _ in run.counting.committed())
    assert set(numbers) == set(range(1, run.counting.total + 1))
    assert max(numbers.values()) == 2


CHECKS: dict[Fate, Callable[[Run], Awaitable[None]]] = {
    Fate.GOES_ON: check_that_it_goes_on,
    Fate.LOST: check_that_it_is_lost,
    Fate.BEGINS_ANEW: check_that_it_begins_anew,
}


async def check_old_workers(run: Run) -> None:
    """Those of before come back after their heartbeat timeout, or are noticed and explained."""

    async def registered() -> bool:
        try:
            known = {worker.id for worker in await run.cluster.taskmanagers()}
        except KubeflinkError:
            return False  # not back yet
        return run.workers.keys() <= known

    before = str(_ports(run.services).get("jobmanager-rpc"))

    async def explained() -> str | None:
        troubles = (await run.cluster.describe()).troubles
        unregistered = [one.sentence for one in troubles if one.kind == "unregistered"]
        return next((each for each in unregistered if f"port {before}" in each), None)

    if run.row.workers is Workers.COME_BACK:
        await eventually(registered, "the old TaskManagers register")
    else:
        told = await eventually(explained, "the old TaskManagers are explained")
        ports = await target_ports(run.client, run.row.name)
        assert f"now it is on {ports['jobmanager-rpc']}" in told


async def check_that_old_workers_go(run: Run) -> None:
    """The JobManager gives those up that never register."""

    async def gone() -> bool:
        return not run.workers.keys() & (await workers_of(run.client, run.row.name)).keys()

    await eventually(gone, "the old TaskManagers are deleted")


# --- standby JobManagers -----------------------------------------------------------------------


@pytest.mark.parametrize("host_network", [False, True], ids=["pod network", "host network"])
async def test_the_leader_is_killed_ten_times(
    host_network: bool, kubernetes: EmbeddedCluster, client: KubeClient, tmp_path: Path
) -> None:
    kills = 3 if host_network else 10
    options = {
        **ha_options(tmp_path),
        **QUICK_LEASE,
        **QUICK_HEARTBEAT,
        **PATIENCE_WITH_WORKERS,
        "kubernetes.jobmanager.replicas": "2",
        "kubernetes.hostnetwork.enabled": str(host_network).lower(),
    }
    name = f"two-{'host' if host_network else 'pod'}"
    counting = CountingJob(tmp_path / "output", total=ENDLESS, rate=40)
    async with session(kubernetes, name, options) as cluster:
        job = await cluster.submit_sql(counting.script)
        workers: dict[str, str] = {}
        for number in range(kills):
            rows = len(counting.committed())
            await eventually(lambda: is_running(job), f"the job runs before kill {number}")
            await eventually(lambda: has_rows(counting, rows), "the job makes progress")  # noqa: B023
            await eventually(lambda: _all_ready(cluster), "both JobManagers are ready")
            workers = workers or await workers_of(client, name)

            leader = await leader_of(client, name)
            kill(leader)

            await cluster.overview()  # made while nobody leads; it waits
            new = await eventually(lambda: _other_leader(client, name, leader), "a new leader")  # noqa: B023
            assert objects.uid_of(new) != objects.uid_of(leader)
        await eventually(lambda: is_running(job), "the job runs after the last kill")
        assert await workers_of(client, name) == workers

        await job.stop(directory=tmp_path.as_uri(), drain=True)

        assert (await job.wait(timeout=JVM_SECONDS)).succeeded
        counting.check_so_far()


async def _all_ready(cluster: SessionCluster) -> bool:
    return (await cluster.describe()).summary.status == "Ready"


async def _other_leader(client: KubeClient, name: str, old: JsonObject) -> JsonObject | None:
    try:
        leader = await leader_of(client, name)
    except AssertionError:  # it has died, and nobody has followed yet
        return None
    return leader if objects.uid_of(leader) != objects.uid_of(old) else None


# --- TaskManagers ------------------------------------------------------------------------------


async def test_taskmanagers_are_killed_at_random_for_two_minutes(
    kubernetes: EmbeddedCluster, client: KubeClient, tmp_path: Path
) -> None:
    chance = random.Random(24947)
    options = {**ha_options(tmp_path), **QUICK_LEASE, **QUICK_HEARTBEAT}
    countings = [CountingJob(tmp_path / str(n), total=ENDLESS, rate=40) for n in range(2)]
    async with session(kubernetes, "victims", options) as cluster:
        jobs = [await cluster.submit_sql(counting.script) for counting in countings]
        for counting in countings:
            await eventually(lambda: has_rows(counting, 0), "some output")  # noqa: B023
        loop = asyncio.get_running_loop()
        end, killed = loop.time() + 120.0, 0
        while loop.time() < end:
            await asyncio.sleep(chance.uniform(2.0, 12.0))
            pods = await pods_of(client, "victims", "taskmanager")
            alive = [pod for _, pod in sorted(pods.items()) if pod["status"]["phase"] == "Running"]
            if alive:
                kill(chance.choice(alive))
                killed += 1
        assert killed > 2
        for job, counting in zip(jobs, countings, strict=True):
            rows = len(counting.committed())
            await eventually(lambda: is_running(job), "the job runs again")  # noqa: B023
            await eventually(lambda: has_rows(counting, rows), "it makes progress")  # noqa: B023

            await job.stop(directory=tmp_path.as_uri(), drain=True)

            assert (await job.wait(timeout=JVM_SECONDS)).succeeded
            counting.check_so_far()


# --- the API server ----------------------------------------------------------------------------


async def test_the_api_server_is_away_for_half_a_minute(
    kubernetes: EmbeddedCluster, client: KubeClient, tmp_path: Path
) -> None:
    options = {
        "plain": {},
        "patient": {**ha_options(tmp_path / "patient"), **LONG_LEASE},
        "default": ha_options(tmp_path / "default"),
    }
    async with AsyncExitStack() as stack:
        clusters = {
            name: await stack.enter_async_context(session(kubernetes, f"away-{name}", added))
            for name, added in options.items()
        }
        countings = {
            name: CountingJob(tmp_path / name / "output", total=2400, rate=40) for name in options
        }
        jobs = {
            name: await cluster.submit_sql(countings[name].script)
            for name, cluster in clusters.items()
        }
        for counting in countings.values():
            await eventually(lambda: has_rows(counting, 0), "some output")  # noqa: B023
        before = {name: await restarts(client, f"away-{name}") for name in options}

        async with asyncio.TaskGroup() as calls:
            waits = {
                name: calls.create_task(job.wait(timeout=2 * JVM_SECONDS, check=False))
                for name, job in jobs.items()
            }
            await asyncio.sleep(1.0)
            await kubernetes.server.stop()
            asked = [calls.create_task(job.cluster.jobs()) for job in jobs.values()]
            await asyncio.sleep(30.0)
            assert not any(call.done() for call in asked)
            await kubernetes.server.start()
            for call in asked:
                assert await call
            for name, job in jobs.items():
                if name == "default":
                    await eventually(lambda: was_restored(job), "the job is restored")  # noqa: B023
                else:
                    assert not await was_restored(job)

        for name, wait in waits.items():
            assert (wait.result().job_id, wait.result().state) == (jobs[name].id, "FINISHED")
            countings[name].check()
            assert await restarts(client, f"away-{name}") == before[name]


async def restarts(client: KubeClient, name: str) -> dict[str, int]:
    """How often each JobManager was started again, by the pod's uid."""
    return {
        objects.uid_of(pod): pod["status"]["containerStatuses"][0]["restartCount"]
        for pod in (await pods_of(client, name, "jobmanager")).values()
    }
