"""Which clusters there are, whoever made them, and all about one."""

from __future__ import annotations

import pytest

from kubeflink import objects
from kubeflink.cluster import deployment, description, rest_view
from kubeflink.cluster.session import SessionCluster
from kubeflink.errors import ClusterNotFoundError
from kubeflink.spec import JobManagerSpec
from support.kubernetes import SmallKubernetes
from support.scripted_server import Answer, ScriptedServer

from .conftest import give_to_operator


async def test_a_list_of_clusters(demo: SessionCluster, kubernetes: SmallKubernetes) -> None:
    await kubernetes.add_pod("demo-taskmanager-1-1", {"phase": "Running"}, component="taskmanager")
    await kubernetes.add_pod("demo-taskmanager-1-2", {"phase": "Failed"}, component="taskmanager")

    (found,) = await description.clusters(kubernetes.client)

    assert (found.name, found.namespace, found.kind) == ("demo", "default", "session")
    assert (found.status, found.taskmanagers, found.ruled_by) == ("NotReady", 1, None)
    assert found.image.startswith("apache/flink:")
    assert found.created is not None
    assert await description.clusters(kubernetes.client, "other") == ()
    assert len(await description.clusters(kubernetes.client, all_namespaces=True)) == 1


async def test_workers_that_may_not_be_counted_hide_no_cluster(
    demo: SessionCluster, kubernetes: SmallKubernetes
) -> None:
    kubernetes.rights.denied.add("list pods")

    (found,) = await description.clusters(kubernetes.client)

    assert found.taskmanagers == 0


async def test_an_operators_cluster_is_marked(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec
) -> None:
    deployed = await deployment.deploy(kubernetes.client, demo_spec)
    await give_to_operator(kubernetes, deployed)

    (found,) = await description.clusters(kubernetes.client)

    assert found.ruled_by == "mine"


async def test_all_about_one(
    demo: SessionCluster, kubernetes: SmallKubernetes, flink_rest: ScriptedServer
) -> None:
    condition = {"type": "PodScheduled", "status": "False", "message": "1 Insufficient memory"}
    await kubernetes.add_pod("demo-7f", {"phase": "Running"})
    pending = {"phase": "Pending", "conditions": [condition]}
    await kubernetes.add_pod("demo-taskmanager-1-1", pending, component="taskmanager")
    flink_rest.on("GET", "/overview", Answer(200, {"flink-version": "2.3.0", "slots-total": 4}))
    jobs = [{"jid": "0" * 32, "name": "words", "state": "RUNNING"}]
    flink_rest.on("GET", "/jobs/overview", Answer(200, {"jobs": jobs}))
    flink_rest.on("GET", "/taskmanagers", Answer(200, {"taskmanagers": []}))

    found = await demo.describe()

    assert found.overview is not None
    assert (found.overview.slots_total, found.jobs[0].name) == (4, "words")
    assert [pod.component for pod in found.pods] == ["jobmanager", "taskmanager"]
    (trouble,) = found.troubles
    assert (
        "TaskManager demo-taskmanager-1-1 gets no node: 1 Insufficient memory" in trouble.sentence
    )
    assert found.address is not None
    assert found.address.is_internal


async def test_a_cluster_that_does_not_answer_is_described_all_the_same(
    demo: SessionCluster, kubernetes: SmallKubernetes
) -> None:
    kubernetes.behind.places.clear()
    await kubernetes.add_pod("demo-7f", {"phase": "Running"})
    kubernetes.pods.lines["demo-7f"] = ["Renew deadline reached after 15 seconds"]

    found = await demo.describe()

    assert found.overview is None
    assert "no endpoints available" in str(found.rest_error)
    assert "could not renew its lease" in found.troubles[-1].sentence


async def test_a_rest_api_that_says_nothing_hides_nothing(
    demo: SessionCluster,
    kubernetes: SmallKubernetes,
    flink_rest: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rest_view, "ANSWER_SECONDS", 0.5)
    flink_rest.on_any("GET", ".*", Answer(delay=3600.0))
    await kubernetes.add_pod("demo-7f", {"phase": "Running"})

    found = await demo.describe()

    assert [pod.name for pod in found.pods] == ["demo-7f"]
    assert "did not answer within 0.5 s" in str(found.rest_error)


async def test_a_jobmanager_that_keeps_ending_is_one_trouble(
    demo: SessionCluster, kubernetes: SmallKubernetes
) -> None:
    """Its last run and the present one log the same."""
    kubernetes.behind.places.clear()
    container = {
        "name": "flink-main-container",
        "state": {"running": {}},
        "lastState": {"terminated": {"exitCode": 1}},
        "ready": False,
        "restartCount": 2,
    }
    await kubernetes.add_pod("demo-7f", {"phase": "Running", "containerStatuses": [container]})
    kubernetes.pods.lines["demo-7f"] = ["java.io.IOException: JAR file does not exist '/a.jar'"]

    (trouble,) = (await demo.describe()).troubles
    assert trouble.sentence.startswith("JobManager pod demo-7f ended with exit code 1: ")


def _running(since: str) -> dict[str, object]:
    state = {"running": {"startedAt": since}}
    container = {"name": "flink-main-container", "state": state, "ready": True}
    return {"phase": "Running", "containerStatuses": [container]}


async def test_workers_of_a_jobmanager_before_its_restart_are_explained(
    demo: SessionCluster, kubernetes: SmallKubernetes, flink_rest: ScriptedServer
) -> None:
    await kubernetes.add_pod("demo-7f", _running("2030-01-01T00:00:10Z"))
    for name, since in (("1-1", "00"), ("1-2", "01"), ("2-1", "20")):
        status = _running(f"2030-01-01T00:00:{since}Z")
        await kubernetes.add_pod(f"demo-taskmanager-{name}", status, component="taskmanager")
    flink_rest.on("GET", "/overview", Answer(200, {"flink-version": "2.3.0"}))
    flink_rest.on("GET", "/jobs/overview", Answer(200, {"jobs": []}))
    known = {"taskmanagers": [{"id": "demo-taskmanager-1-2"}]}
    flink_rest.on("GET", "/taskmanagers", Answer(200, known))

    found = await demo.describe()

    (trouble,) = found.troubles
    assert "demo-taskmanager-1-1 has not registered" in trouble.sentence
    assert {pod.name for pod in found.pods if pod.trouble} == {"demo-taskmanager-1-1"}

    await kubernetes.client.delete(objects.SERVICES, "demo")  # as with high availability
    assert (await demo.describe()).troubles == ()


async def test_no_such_cluster(kubernetes: SmallKubernetes) -> None:
    with pytest.raises(ClusterNotFoundError):
        await description.describe(kubernetes.client, "demo")
