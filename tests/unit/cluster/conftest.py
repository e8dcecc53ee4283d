from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from kubeflink import config, objects, spec
from kubeflink.cluster import deployment
from kubeflink.cluster.session import SessionCluster
from kubeflink.spec import JobManagerSpec
from support.kubernetes import SmallKubernetes, small_kubernetes
from support.scripted_server import ScriptedServer, scripted_server


@pytest.fixture
async def kubernetes() -> AsyncIterator[SmallKubernetes]:
    async with small_kubernetes() as kubernetes:
        yield kubernetes


@pytest.fixture
async def flink_rest() -> AsyncIterator[ScriptedServer]:
    async with scripted_server() as server:
        yield server


@pytest.fixture
def demo_spec() -> JobManagerSpec:
    """What a session cluster called demo consists of."""
    return _session_spec()


@pytest.fixture
def session_spec() -> Callable[..., JobManagerSpec]:
    """The same, with options."""
    return _session_spec


def _session_spec(**options: str) -> JobManagerSpec:
    values = {
        "kubernetes.cluster-id": "demo",
        "jobmanager.memory.process.size": "1600m",
        "taskmanager.memory.process.size": "1728m",
        **options,
    }
    configuration = config.load(conf_dir=None, dynamic=tuple(values.items()), environ={})
    return spec.build_jobmanager(spec.session_configuration(configuration), environ={})


@pytest.fixture
async def with_broker(
    kubernetes: SmallKubernetes, flink_rest: ScriptedServer, broker_status: ScriptedServer
) -> AsyncIterator[SessionCluster]:
    """A session with a broker, whose Services lead to scripted servers. It has no pods yet."""
    made = _session_spec(**{"kubeflink.broker.enabled": "true"})
    deployed = await deployment.deploy(kubernetes.client, made)
    for service, server in (("demo-rest", flink_rest), ("demo-broker", broker_status)):
        host, port = server.url.removeprefix("http://").split(":")
        kubernetes.behind.places[service] = (host, int(port))
    async with SessionCluster(kubernetes.client, "demo", uid=deployed.uid) as cluster:
        yield cluster


@pytest.fixture
async def broker_status() -> AsyncIterator[ScriptedServer]:
    """The broker's port for health and metrics."""
    async with scripted_server() as server:
        yield server


@pytest.fixture
async def deployed_uid(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec, flink_rest: ScriptedServer
) -> str:
    """The Deployment's, of a cluster with a scripted REST API behind its Service."""
    deployed = await deployment.deploy(kubernetes.client, demo_spec)
    host, port = flink_rest.url.removeprefix("http://").split(":")
    kubernetes.behind.places["demo-rest"] = (host, int(port))
    return deployed.uid


@pytest.fixture
async def demo(kubernetes: SmallKubernetes, deployed_uid: str) -> AsyncIterator[SessionCluster]:
    """That cluster, as a session."""
    async with SessionCluster(kubernetes.client, "demo", uid=deployed_uid) as cluster:
        yield cluster


async def give_to_operator(kubernetes: SmallKubernetes, deployed: deployment.Deployed) -> None:
    """The cluster belongs to a FlinkDeployment from now on."""
    owner = {
        "apiVersion": "flink.apache.org/v1beta1",
        "kind": "FlinkDeployment",
        "name": "mine",
        "uid": "1",
    }
    metadata = {**objects.metadata(deployed.deployment), "ownerReferences": [owner]}
    await kubernetes.client.replace({**deployed.deployment, "metadata": metadata})
