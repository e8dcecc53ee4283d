"""What ends the wait for a JobManager that does not answer, and what is told of it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from kubeflink.cluster import deployment, endpoint
from kubeflink.cluster.onlooker import ClusterOnlooker
from kubeflink.cluster.session import SessionCluster
from kubeflink.errors import (
    ClusterFailedError,
    ClusterNotFoundError,
    KubeflinkError,
    RestUnreachableError,
)
from kubeflink.kube.outage import TELLER, Outage
from kubeflink.objects import DEPLOYMENTS
from kubeflink.rest import FlinkClient
from kubeflink.spec import JobManagerSpec
from support.kubernetes import SmallKubernetes
from support.scripted_server import Answer, ScriptedServer

NO_NODE = {
    "phase": "Pending",
    "conditions": [
        {"type": "PodScheduled", "status": "False", "message": "0/3 nodes: Insufficient cpu"}
    ],
}


def crashing(seconds: int = 9, **how: Any) -> dict[str, Any]:
    """A pod whose last run took so long, and ended by its own fault."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    times = {"startedAt": start, "finishedAt": start + timedelta(seconds=seconds)}
    ended = {"exitCode": 1, **{key: f"{at:%Y-%m-%dT%H:%M:%SZ}" for key, at in times.items()}, **how}
    container = {
        "name": "flink-main-container",
        "ready": False,
        "restartCount": 4,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": ended},
    }
    return {"phase": "Running", "containerStatuses": [container]}


LOG = [
    "2026 ERROR ClusterEntrypoint [] - Could not start cluster entrypoint",
    "java.nio.file.AccessDeniedException: s3://bucket/ha",
]


@pytest.fixture
async def silent(kubernetes: SmallKubernetes, demo_spec: JobManagerSpec) -> str:
    """The uid of a cluster whose Service leads nowhere."""
    return (await deployment.deploy(kubernetes.client, demo_spec)).uid


async def ask(kubernetes: SmallKubernetes, uid: str, seconds: float) -> KubeflinkError:
    """The error of a request that is repeated for so long."""
    onlooker = ClusterOnlooker(kubernetes.client, "demo", "default", uid)
    route = await endpoint.route_to(kubernetes.client, "demo")
    connected = endpoint.connect(kubernetes.client, route, retry_seconds=seconds, onlooker=onlooker)
    with pytest.raises(KubeflinkError) as raised:
        async with connected as flink:
            await flink.jobs()
    return raised.value


@pytest.mark.parametrize("by", ["service proxy", "port-forward"])
async def test_a_jobmanager_that_keeps_ending_is_not_waited_for(
    kubernetes: SmallKubernetes, silent: str, by: str
) -> None:
    await kubernetes.add_pod("demo-7f", crashing())
    kubernetes.pods.lines["demo-7f"] = LOG
    if by == "port-forward":
        kubernetes.rights.denied.add("create services/proxy")

    error = await ask(kubernetes, silent, seconds=3600.0)

    assert isinstance(error, ClusterFailedError)
    assert error.message == (
        "The Flink cluster demo does not serve: JobManager pod demo-7f ended with exit code 1:"
        " AccessDeniedException: s3://bucket/ha"
    )


async def test_a_cause_that_may_pass_is_told_at_the_end(
    kubernetes: SmallKubernetes, silent: str
) -> None:
    await kubernetes.add_pod("demo-7f", NO_NODE)

    error = await ask(kubernetes, silent, seconds=0.5)

    assert isinstance(error, RestUnreachableError)
    assert error.message.startswith(
        "The Flink cluster demo does not answer: JobManager pod demo-7f gets no node:"
        " 0/3 nodes: Insufficient cpu"
    )
    assert error.hint == "Ask for less cpu or memory, or add nodes"


async def test_a_port_forward_without_a_pod_tells_the_cause(
    kubernetes: SmallKubernetes, silent: str
) -> None:
    await kubernetes.add_pod("demo-7f", NO_NODE)
    kubernetes.rights.denied.add("create services/proxy")

    error = await ask(kubernetes, silent, seconds=0.5)

    assert isinstance(error, RestUnreachableError)
    assert "gets no node" in error.message


async def test_a_jobmanager_that_starts_is_waited_for(
    kubernetes: SmallKubernetes,
    silent: str,
    flink_rest: ScriptedServer,
) -> None:
    """And its error is that of the way to it, with where to look."""
    await kubernetes.add_pod("demo-7f", {"phase": "Running"})

    error = await ask(kubernetes, silent, seconds=0.5)

    assert isinstance(error, RestUnreachableError)
    assert "no endpoints available" in error.message
    assert error.hint == "Look at it: kubeflink describe demo"

    flink_rest.on(
        "GET",
        "/overview",
        Answer(503, {"errors": ["not yet"]}),
        Answer(200, {"flink-version": "2"}),
    )
    host, port = flink_rest.url.removeprefix("http://").split(":")
    kubernetes.behind.places["demo-rest"] = (host, int(port))
    async with SessionCluster(kubernetes.client, "demo", uid=silent) as cluster:
        assert (await cluster.overview()).flink_version == "2"


async def test_the_log_of_one_that_never_served_is_a_hint(
    kubernetes: SmallKubernetes, silent: str
) -> None:
    await kubernetes.add_pod("demo-7f", {"phase": "Running"})
    kubernetes.pods.lines["demo-7f"] = LOG

    error = await ask(kubernetes, silent, seconds=0.5)

    assert "no endpoints available" in error.message
    assert error.hint == (
        "The JobManager's log says: AccessDeniedException: s3://bucket/ha\n"
        "Look at it: kubeflink describe demo"
    )


async def test_one_that_has_answered_before_may_come_back(
    kubernetes: SmallKubernetes, flink_rest: ScriptedServer, deployed_uid: str
) -> None:
    """It served: with high availability a new one takes over. The cause is told at the end."""
    await kubernetes.add_pod("demo-7f", {"phase": "Running"})
    kubernetes.pods.lines["demo-7f"] = LOG
    flink_rest.on("GET", "/jobs/overview", Answer(200, {"jobs": []}))
    onlooker = ClusterOnlooker(kubernetes.client, "demo", "default", deployed_uid)
    route = await endpoint.route_to(kubernetes.client, "demo")
    async with endpoint.connect(
        kubernetes.client, route, retry_seconds=0.5, onlooker=onlooker
    ) as flink:
        await flink.jobs()
        del kubernetes.behind.places["demo-rest"]
        with pytest.raises(RestUnreachableError, match="no endpoints") as raised:
            await flink.jobs()
        assert raised.value.hint == "Look at it: kubeflink describe demo"
        await kubernetes.set_status("demo-7f", crashing())
        with pytest.raises(RestUnreachableError, match=r"does not answer: .* exit code 1"):
            await flink.jobs()


@pytest.mark.parametrize(
    ("status", "comes_back"),
    [
        (crashing(), False),
        (crashing(exitCode=239), False),
        (crashing(exitCode=137, reason="OOMKilled"), False),
        (crashing(exitCode=137), True),
        (crashing(exitCode=143), True),
        (crashing(seconds=3600), True),
    ],
    ids=["own-fault", "fatal-error", "memory", "killed", "terminated", "ran-for-long"],
)
async def test_one_that_has_served_or_was_killed_may_come_back(
    kubernetes: SmallKubernetes, silent: str, status: dict[str, Any], comes_back: bool
) -> None:
    await kubernetes.add_pod("demo-7f", status)
    error = await ask(kubernetes, silent, seconds=0.5)
    assert isinstance(error, RestUnreachableError) is comes_back
    assert isinstance(error, ClusterFailedError) is not comes_back


async def test_a_standby_may_take_over(kubernetes: SmallKubernetes, silent: str) -> None:
    await kubernetes.add_pod("demo-7f", crashing())
    container = {"name": "flink-main-container", "state": {"running": {}}, "ready": False}
    await kubernetes.add_pod("demo-8f", {"phase": "Running", "containerStatuses": [container]})
    assert isinstance(await ask(kubernetes, silent, seconds=0.5), RestUnreachableError)


async def test_nobody_looks_at_a_cluster_that_answers(
    kubernetes: SmallKubernetes, demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    flink_rest.on("GET", "/jobs/overview", Answer(200, {"jobs": []}))
    await demo.jobs()
    assert kubernetes.faults.count("GET", "/deployments") == 0
    assert kubernetes.faults.count("GET", "/pods") == 0


async def test_who_may_not_look_waits(kubernetes: SmallKubernetes, silent: str) -> None:
    await kubernetes.add_pod("demo-7f", crashing())
    kubernetes.rights.denied |= {"list pods"}

    error = await ask(kubernetes, silent, seconds=0.5)

    assert isinstance(error, RestUnreachableError)
    assert "no endpoints available" in error.message


async def test_a_cluster_that_has_gone_or_was_replaced(
    kubernetes: SmallKubernetes, silent: str
) -> None:
    with pytest.raises(ClusterNotFoundError, match="has gone away"):
        await ClusterOnlooker(kubernetes.client, "demo", "default", "another").look(
            has_answered=True
        )
    await kubernetes.client.delete(DEPLOYMENTS, "demo")
    with pytest.raises(ClusterNotFoundError, match="has gone away"):
        await ClusterOnlooker(kubernetes.client, "demo", "default", silent).look(has_answered=True)


async def test_a_cluster_that_does_not_serve_says_nothing_of_its_jobs(
    kubernetes: SmallKubernetes, silent: str
) -> None:
    await kubernetes.add_pod("demo-7f", crashing())
    async with SessionCluster(kubernetes.client, "demo", uid=silent) as cluster:
        assert await cluster.job("a" * 32).state() == "UNKNOWN"


async def test_what_is_waited_for_is_named_while_it_lasts(flink_rest: ScriptedServer) -> None:
    class Onlooker:
        async def look(self, *, has_answered: bool) -> str | None:
            return "JobManager pod demo-7f gets no node"

        async def explain(
            self, error: RestUnreachableError, *, has_answered: bool
        ) -> RestUnreachableError:
            return error

    told: list[str] = []

    def tell(outage: Outage, pause: float) -> None:
        told.append(outage.cause)

    async def ask() -> None:
        TELLER.set(tell)
        async with httpx2.AsyncClient() as http:
            await FlinkClient(http, flink_rest.url, onlooker=Onlooker()).jobs()

    flink_rest.on("GET", "/jobs/overview", Answer(503), Answer(200, {"jobs": []}))
    await asyncio.create_task(ask())
    assert told[0] == "JobManager pod demo-7f gets no node"
