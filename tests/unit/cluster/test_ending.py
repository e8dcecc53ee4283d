"""How an application ended, from whichever witness was there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from kubeflink.cluster import deployment, diagnosis
from kubeflink.cluster.application import ApplicationCluster
from kubeflink.cluster.ending import LogWitness
from kubeflink.errors import ClusterFailedError, JobFailedError, WaitTimeoutError
from kubeflink.objects import DEPLOYMENTS, PODS
from kubeflink.spec import JobManagerSpec
from support.kubernetes import FLINK_LABELS, SmallKubernetes
from support.scripted_server import Answer, ScriptedServer

JOB = "e1f121d9cab10446b84b486b38d83813"

# As Flink 2.3.0 wrote it for a program whose main method threw.
FAILED_IN_MAIN = """\
2026-11-30 22:02:01,400 WARN  o.a.f.c.d.a.PackagedProgramApplication [] - Could not execute:
org.apache.flink.client.deployment.application.ApplicationExecutionException: Could not execute.
\tat a.B.c(B.java:1)
Caused by: org.apache.flink.client.program.ProgramInvocationException: The main method: no input
second line
\t... 13 more
Caused by: java.lang.IllegalStateException: no input given
second line
\t... 16 more
2026-11-30 22:02:01,753 INFO  o.a.f.r.e.ClusterEntrypoint [] - Shutting \
KubernetesApplicationClusterEntrypoint down with application status FAILED. Diagnostics null.
2026-11-30 22:02:02,561 ERROR o.a.f.r.r.h.c.ClusterOverviewHandler [] - Unhandled exception.
org.apache.flink.util.concurrent.FutureUtils$RetryException: Could not complete the operation.
\tat a.B.c(B.java:1)
"""


def heard(text: str) -> LogWitness:
    witness = LogWitness()
    for line in text.splitlines():
        witness.hear(line)
    return witness


def test_the_log_tells_state_and_cause_of_the_application_only() -> None:
    witness = heard(FAILED_IN_MAIN)

    assert witness.state == "FAILED"
    assert "IllegalStateException: no input given" in str(witness.trace)
    assert "RetryException" not in str(witness.trace)


def test_diagnostics_are_the_cause_where_they_are_given() -> None:
    witness = heard(
        "2026 x\n2026-01-01 00:00:00 INFO e [] - Shutting X down with application status FAILED."
        " Diagnostics java.lang.IllegalStateException: told\n\tat a.B.c(B.java:1)\n.\n"
        "2026-01-01 00:00:01 INFO e [] - more\n"
    )

    assert "IllegalStateException: told" in str(witness.trace)
    assert "more" not in str(witness.trace)


@pytest.mark.parametrize(
    ("status", "state"),
    [("SUCCEEDED", "FINISHED"), ("CANCELED", "CANCELED"), ("UNKNOWN", "UNKNOWN")],
)
def test_other_words(status: str, state: str) -> None:
    line = f"2026-01-01 I [] - Shutting X down with application status {status}. Diagnostics null."

    assert heard(line).state == state
    assert heard("2026-01-01 I [] - all is well").state is None


@pytest.fixture
async def app(
    kubernetes: SmallKubernetes, demo_spec: JobManagerSpec, flink_rest: ScriptedServer
) -> AsyncIterator[ApplicationCluster]:
    deployed = await deployment.deploy(kubernetes.client, demo_spec)
    host, port = flink_rest.url.removeprefix("http://").split(":")
    kubernetes.behind.places["demo-rest"] = (host, int(port))
    async with ApplicationCluster(kubernetes.client, "demo", uid=deployed.uid) as cluster:
        yield cluster


def jobs(state: str) -> Answer:
    return Answer(200, {"jobs": [{"jid": JOB, "name": "words", "state": state}]})


async def disappear(kubernetes: SmallKubernetes) -> None:
    await kubernetes.until_asked("GET", "/jobs/overview")
    await asyncio.sleep(0.5)
    await kubernetes.client.delete(DEPLOYMENTS, "demo")


async def test_the_last_state_is_kept_when_the_cluster_goes(
    app: ApplicationCluster, kubernetes: SmallKubernetes, flink_rest: ScriptedServer
) -> None:
    flink_rest.on("GET", "/jobs/overview", jobs("FINISHED"))
    going = asyncio.create_task(disappear(kubernetes))

    outcome = await app.wait(timeout=60)

    await going
    assert (outcome.state, outcome.name) == ("FINISHED", "words")


async def test_the_failure_is_kept_with_its_cause(
    app: ApplicationCluster, kubernetes: SmallKubernetes, flink_rest: ScriptedServer
) -> None:
    entry = {"exceptionName": "x", "stacktrace": "java.io.IOException: disk full\n\tat a.B.c(B:1)"}
    flink_rest.on("GET", "/jobs/overview", jobs("FAILED"))
    flink_rest.on(
        "GET",
        f"/jobs/{JOB}/exceptions",
        Answer(200, {"exceptionHistory": {"entries": [entry], "truncated": False}}),
    )
    going = asyncio.create_task(disappear(kubernetes))

    with pytest.raises(JobFailedError, match="FAILED: IOException: disk full"):
        await app.wait(timeout=60)
    await going


async def test_an_end_that_nobody_saw_is_not_called_a_success(
    app: ApplicationCluster, kubernetes: SmallKubernetes, flink_rest: ScriptedServer
) -> None:
    flink_rest.on("GET", "/jobs/overview", jobs("RUNNING"))
    going = asyncio.create_task(disappear(kubernetes))

    with pytest.raises(JobFailedError, match="is not known, last seen RUNNING") as caught:
        await app.wait(timeout=60)
    await going
    assert caught.value.state == "UNKNOWN"


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("InvalidImageName", "BAD is no valid image name"),
        ("ImagePullBackOff", "image BAD cannot be pulled"),
    ],
)
async def test_a_jobmanager_that_cannot_start(
    app: ApplicationCluster,
    kubernetes: SmallKubernetes,
    monkeypatch: pytest.MonkeyPatch,
    reason: str,
    told: str,
) -> None:
    """At once, or when a cause that may pass has not passed for a while."""
    monkeypatch.setattr(diagnosis, "SECONDS_FOR_REGISTRY", 0.5)
    kubernetes.behind.places.clear()
    pod = {
        "metadata": {"name": "demo-7f", "labels": {**FLINK_LABELS, "component": "jobmanager"}},
        "spec": {"containers": [{"name": "flink-main-container", "image": "BAD"}]},
    }
    made = await kubernetes.add(PODS, pod)
    waiting = {"name": "flink-main-container", "image": "BAD", "ready": False}
    waiting["state"] = {"waiting": {"reason": reason}}
    status = {"phase": "Pending", "containerStatuses": [waiting]}
    await kubernetes.store.replace(
        PODS, "default", {**made, "status": status}, subresource="status"
    )

    with pytest.raises(ClusterFailedError, match=told):
        await app.wait(timeout=60)


async def test_the_limit(app: ApplicationCluster, flink_rest: ScriptedServer) -> None:
    flink_rest.on("GET", "/jobs/overview", jobs("RUNNING"))

    with pytest.raises(WaitTimeoutError, match="not ended after 1 s"):
        await app.wait(timeout=1)
