"""A cluster with a broker: what is shown of the broker, and what its troubles are taken for."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflink.cluster import description, readiness
from kubeflink.cluster.diagnosis import Diagnosis, Observed
from kubeflink.cluster.observation import ClusterView
from kubeflink.cluster.session import SessionCluster
from kubeflink.errors import ClusterFailedError, ClusterNotFoundError
from kubeflink.objects import DEPLOYMENTS
from support.kubernetes import SmallKubernetes
from support.scripted_server import Answer, ScriptedServer

Json = dict[str, Any]

POD = "demo-broker-1"
CRASHED = [
    "kubeflink: 2030-01-01 00:00:00,000 INFO the broker of demo begins",
    "kubeflink: Cannot reach the API server https://10.0.0.1: connection refused",
    "  The address is from the pod's service account;",
    "  is the cluster running?",
]


def ready(since: str = "2030-01-01T00:00:10Z", *, restarts: int = 0) -> Json:
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": since}
    container = {"name": "broker", "ready": True, "restartCount": restarts}
    return {
        "phase": "Running",
        "conditions": [condition],
        "containerStatuses": [{**container, "state": {"running": {}}}],
    }


def unready() -> Json:
    return {**ready(), "conditions": [{"type": "Ready", "status": "False"}]}


def waiting(reason: str, *, container: str = "broker", **more: Any) -> Json:
    state = {"waiting": {"reason": reason, "message": "told"}}
    entry = {"name": container, "image": "its:1", "ready": False, "state": state, **more}
    return {"phase": "Pending", "containerStatuses": [entry]}


def crash_loop(container: str, finished: str = "2030-01-01T00:00:05Z") -> Json:
    ended = {"exitCode": 1, "finishedAt": finished}
    last = {"restartCount": 3, "lastState": {"terminated": ended}}
    return {**waiting("CrashLoopBackOff", container=container, **last), "phase": "Running"}


def serve(flink: ScriptedServer) -> None:
    flink.on("GET", "/overview", Answer(200, {"flink-version": "2.3.0"}))
    flink.on("GET", "/jobs/overview", Answer(200, {"jobs": []}))
    flink.on("GET", "/taskmanagers", Answer(200, {"taskmanagers": []}))


async def add(kubernetes: SmallKubernetes, status: Json) -> None:
    await kubernetes.add_pod("demo-7f", {"phase": "Running"})
    await kubernetes.add_pod(POD, status, component="broker", node="n1")


# --- what is shown ------------------------------------------------------------------------------


async def test_a_broker_is_shown_with_the_cluster(
    with_broker: SessionCluster,
    kubernetes: SmallKubernetes,
    flink_rest: ScriptedServer,
    broker_status: ScriptedServer,
) -> None:
    serve(flink_rest)
    broker_status.on("GET", "/status", Answer(200, {"unhealthy": None, "troubles": []}))
    await add(kubernetes, ready(restarts=2))
    await kubernetes.add_pod("demo-taskmanager-1-1", {"phase": "Running"}, component="taskmanager")

    found = await with_broker.describe()

    assert [(pod.component, pod.name) for pod in found.pods] == [
        ("jobmanager", "demo-7f"),
        ("broker", POD),
        ("taskmanager", "demo-taskmanager-1-1"),
    ]
    shown = found.pods[1]
    assert (shown.phase, shown.restarts, shown.node) == ("Running", 2, "n1")
    assert (found.summary.has_broker, found.troubles) == (True, ())


async def test_a_broker_is_no_cluster_and_marks_its_own(
    with_broker: SessionCluster, kubernetes: SmallKubernetes
) -> None:
    (found,) = await description.clusters(kubernetes.client)

    assert (found.name, found.has_broker) == ("demo", True)


async def test_without_a_broker_nothing_is_asked_about_one(
    demo: SessionCluster, kubernetes: SmallKubernetes
) -> None:
    found = await demo.describe()

    assert not found.summary.has_broker
    assert not [path for _, path in kubernetes.faults.requests if "broker" in path]


@pytest.mark.parametrize(
    ("status", "words", "hint"),
    [
        (waiting("ImagePullBackOff"), "its image its:1 cannot be pulled", "kubeflink.broker.image"),
        (waiting("StartError"), "cannot be started", "kubeflink.broker.image"),
        (crash_loop("broker"), "exit code 1: Cannot reach the API server", "is the cluster runn"),
        (
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False"}]},
            "gets no node",
            None,
        ),
    ],
    ids=["image", "command", "crash loop", "node"],
)
async def test_a_broker_that_does_not_run(
    with_broker: SessionCluster,
    kubernetes: SmallKubernetes,
    status: Json,
    words: str,
    hint: str | None,
) -> None:
    """Its JobManager ends for it; the broker comes first, each trouble once."""
    kubernetes.pods.lines[POD] = CRASHED
    kubernetes.pods.lines["demo-7f"] = ["java.net.ConnectException: refused"]
    await kubernetes.add_pod("demo-7f", crash_loop("flink-main-container"))
    await kubernetes.add_pod(POD, status, component="broker")

    found = await with_broker.describe()

    first, second, *others = found.troubles
    assert first.sentence.startswith(f"Broker pod {POD}")
    assert words in first.sentence
    assert hint is None or hint in str(first.hint)
    assert found.pods[1].trouble == first
    assert second.sentence.startswith("JobManager pod demo-7f ended")
    assert not [each for each in others if "Broker" in each.sentence]


async def test_a_broker_that_is_not_ready_says_why(
    with_broker: SessionCluster,
    kubernetes: SmallKubernetes,
    flink_rest: ScriptedServer,
    broker_status: ScriptedServer,
) -> None:
    serve(flink_rest)
    unhealthy = {"unhealthy": "the API server is away: no route", "troubles": []}
    broker_status.on("GET", "/status", Answer(200, unhealthy))
    await add(kubernetes, unready())

    found = await with_broker.describe()

    (trouble,) = found.troubles
    assert trouble.sentence == (
        f"Broker pod {POD} runs and is not ready: the API server is away: no route"
    )
    assert found.pods[1].trouble == trouble
    assert trouble.hint is not None
    assert "logs demo --broker" in trouble.hint


async def test_a_limit_that_is_reached_is_a_trouble(
    with_broker: SessionCluster,
    kubernetes: SmallKubernetes,
    flink_rest: ScriptedServer,
    broker_status: ScriptedServer,
) -> None:
    serve(flink_rest)
    limit = {"text": "no TaskManager is added: limit.pods allows 0", "seconds": 3}
    broker_status.on("GET", "/status", Answer(200, {"troubles": [limit]}))
    await add(kubernetes, ready())

    found = await with_broker.describe()

    assert [each.sentence for each in found.troubles] == [f"the broker says: {limit['text']}"]


async def test_a_broker_without_an_answer(
    with_broker: SessionCluster, kubernetes: SmallKubernetes, flink_rest: ScriptedServer
) -> None:
    serve(flink_rest)
    del kubernetes.behind.places["demo-broker"]
    await add(kubernetes, ready())

    (trouble,) = (await with_broker.describe()).troubles

    assert "the broker does not answer (503)" in trouble.sentence


async def test_a_broker_that_may_not_be_asked_hides_nothing_else(
    with_broker: SessionCluster, kubernetes: SmallKubernetes
) -> None:
    kubernetes.rights.denied.add("get services/proxy")
    await add(kubernetes, ready())

    found = await with_broker.describe()

    assert found.pods[1].name == POD
    assert not [each for each in found.troubles if each.kind == "broker"]


async def test_a_deployment_of_the_broker_that_is_gone(
    with_broker: SessionCluster, kubernetes: SmallKubernetes
) -> None:
    await kubernetes.client.scale(DEPLOYMENTS, "demo-broker", 0)
    scaled = await with_broker.describe()
    await kubernetes.client.delete(DEPLOYMENTS, "demo-broker")
    gone = await with_broker.describe()

    assert "the Deployment demo-broker is scaled to none" in scaled.troubles[0].sentence
    assert "kubectl scale deployment demo-broker --replicas=1" in str(scaled.troubles[0].hint)
    assert "the Deployment demo-broker is gone" in gone.troubles[0].sentence


async def test_a_broker_whose_pod_cannot_be_made(
    with_broker: SessionCluster, kubernetes: SmallKubernetes
) -> None:
    deployment = await kubernetes.store.get(DEPLOYMENTS, "default", "demo-broker")
    message = 'error looking up service account default/x: serviceaccount "x" not found'
    condition = {"type": "ReplicaFailure", "status": "True", "message": message}
    deployment = {**deployment, "status": {"conditions": [condition]}}
    await kubernetes.store.replace(DEPLOYMENTS, "default", deployment, subresource="status")

    (trouble, *_) = (await with_broker.describe()).troubles

    assert f"No pod of Deployment demo-broker can be created: {message}" in trouble.sentence
    assert "kubeflink.broker.service-account" in str(trouble.hint)


# --- a start that waits for it ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (waiting("ErrImageNeverPull"), "its image its:1 is not on the node"),
        (crash_loop("broker"), "ended with exit code 1: Cannot reach the API server"),
    ],
    ids=["image", "crash loop"],
)
@pytest.mark.parametrize(
    "jobmanager", [{"phase": "Running"}, crash_loop("flink-main-container")], ids=["runs", "ends"]
)
async def test_a_start_fails_with_what_is_wrong_with_the_broker(
    with_broker: SessionCluster,
    kubernetes: SmallKubernetes,
    flink_rest: ScriptedServer,
    jobmanager: Json,
    status: Json,
    words: str,
) -> None:
    """Whatever its JobManager does meanwhile; and the cluster is left to be looked at."""
    flink_rest.on("GET", "/overview", Answer(503))
    kubernetes.pods.lines[POD] = CRASHED
    await kubernetes.add_pod("demo-7f", jobmanager)
    await kubernetes.add_pod(POD, status, component="broker")

    with pytest.raises(ClusterFailedError, match="does not start: Broker pod") as caught:
        await readiness.wait_ready(kubernetes.client, "demo", timeout=60)

    assert words in caught.value.message
    assert set(await kubernetes.names(DEPLOYMENTS)) == {"demo", "demo-broker"}


async def test_a_broker_that_is_being_started_is_waited_for(
    with_broker: SessionCluster, kubernetes: SmallKubernetes, flink_rest: ScriptedServer
) -> None:
    """Even if the JobManager has ended meanwhile, as it does after a minute without a broker."""
    flink_rest.on("GET", "/overview", *[Answer(503)] * 4, Answer(200, {"flink-version": "2.3.0"}))
    kubernetes.pods.lines["demo-7f"] = ["java.net.ConnectException: refused"]
    await kubernetes.add_pod("demo-7f", crash_loop("flink-main-container"))
    await kubernetes.add_pod(POD, waiting("ContainerCreating"), component="broker")

    overview = await readiness.wait_ready(kubernetes.client, "demo", timeout=60)

    assert overview.flink_version == "2.3.0"


def view(jobmanager: Json, broker: Json) -> ClusterView:
    labels = {"app": "demo", "component": "jobmanager"}
    metadata = {"name": "demo-7f", "labels": labels}
    deployment: Json = {"metadata": {"name": "demo-broker"}, "spec": {"replicas": 1}}
    of_broker = {"metadata": {"name": POD, "labels": {"component": "broker"}}, "status": broker}
    return ClusterView(
        "demo",
        Observed({}, [{"metadata": metadata, "status": jobmanager}]),
        Observed(deployment, [of_broker]),
    )


def cause(jobmanager: Json, broker: Json, *, has_served: bool = False) -> Diagnosis:
    found = view(jobmanager, broker).cause(has_served=has_served)
    assert found is not None
    return found


def test_an_end_counts_from_when_the_broker_was_there() -> None:
    """What came before had to end, and is started again; what comes after has its own reason."""
    main = "flink-main-container"
    before = crash_loop(main, finished="2030-01-01T00:00:05Z")
    after = crash_loop(main, finished="2030-01-01T00:00:15Z")

    assert cause(before, ready(since="2030-01-01T00:00:10Z")).patience is None
    assert cause(after, ready(since="2030-01-01T00:00:10Z")).patience == 0.0
    assert cause(after, unready()).patience is None


def test_what_a_broker_has_nothing_to_do_with_is_the_jobmanagers_own() -> None:
    main = "flink-main-container"

    found = cause(waiting("InvalidImageName", container=main), waiting("InvalidImageName"))

    assert found.sentence.startswith("JobManager pod")


async def test_a_jobmanager_that_does_not_reach_its_broker_is_told_where_to_look(
    with_broker: SessionCluster, kubernetes: SmallKubernetes
) -> None:
    ended = crash_loop("flink-main-container", finished="2030-01-01T00:00:15Z")
    await kubernetes.add_pod("demo-7f", ended)
    await kubernetes.add_pod(POD, ready(), component="broker")
    kubernetes.pods.lines["demo-7f"] = [
        "org.apache.flink.X.KubernetesClientException: Operation: [list] failed.",
        "Caused by: java.net.SocketTimeoutException: Connect timed out",
    ]

    (trouble, *_) = (await with_broker.describe()).troubles

    assert "SocketTimeoutException: Connect timed out" in trouble.sentence
    assert "reach port 8443 of demo-broker" in str(trouble.hint)


def test_a_jobmanager_that_has_served_answers_without_its_broker() -> None:
    broken = view({"phase": "Running"}, crash_loop("broker"))

    assert broken.cause(has_served=True) is None
    assert broken.cause() is not None


def test_a_start_tells_that_it_waits_for_the_broker() -> None:
    running = {"phase": "Running"}

    assert view(running, unready()).stage() == "waiting for the broker"
    assert view(running, ready()).stage() == "waiting for the JobManager to serve"


# --- its log ------------------------------------------------------------------------------------


async def test_the_brokers_log_is_read_on_demand(
    with_broker: SessionCluster, kubernetes: SmallKubernetes
) -> None:
    await add(kubernetes, ready())
    kubernetes.pods.lines |= {"demo-7f": ["of Flink"], POD: ["a", "b", "c"]}

    assert [line.text async for line in with_broker.logs()] == ["of Flink"]
    lines = [line async for line in with_broker.logs(component="broker", tail_lines=2)]
    assert [(line.pod, line.component, line.text) for line in lines] == [
        (POD, "broker", "b"),
        (POD, "broker", "c"),
    ]
    following = with_broker.logs(component="broker", follow=True)
    assert (await anext(following)).text == "a"
    await following.aclose()


async def test_there_is_no_broker_to_be_read(
    demo: SessionCluster, kubernetes: SmallKubernetes
) -> None:
    await kubernetes.add_pod("demo-7f", {"phase": "Running"})

    with pytest.raises(ClusterNotFoundError, match="cluster demo has no broker"):
        await anext(demo.logs(component="broker"))


async def test_the_broker_has_no_pod(with_broker: SessionCluster) -> None:
    with pytest.raises(ClusterNotFoundError, match="The broker of the Flink cluster demo has no"):
        await anext(with_broker.logs(component="broker"))
