"""How an application ended, from whichever witness was there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from kubeflink.cluster import diagnosis
from kubeflink.cluster.application import ApplicationCluster
from kubeflink.cluster.log_witness import LogWitness
from kubeflink.errors import (
    ClusterFailedError,
    ClusterNotFoundError,
    JobFailedError,
    WaitTimeoutError,
)
from kubeflink.kube import outage
from kubeflink.objects import DEPLOYMENTS, PODS
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


def shutdown(status: str) -> str:
    """The last line of an application."""
    return (
        "2026-11-30 22:02:01,753 INFO  o.a.f.r.e.ClusterEntrypoint [] - Shutting"
        " KubernetesApplicationClusterEntrypoint down with application status"
        f" {status}. Diagnostics null."
    )


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
        f"2026 x\n{shutdown('FAILED').removesuffix('null.')}"
        "java.lang.IllegalStateException: told\n\tat a.B.c(B.java:1)\n.\n"
        "2026-01-01 00:00:01 INFO e [] - more\n"
    )

    assert "IllegalStateException: told" in str(witness.trace)
    assert "more" not in str(witness.trace)


@pytest.mark.parametrize(
    ("status", "state"),
    [("SUCCEEDED", "FINISHED"), ("CANCELED", "CANCELED"), ("UNKNOWN", "UNKNOWN")],
)
def test_other_words(status: str, state: str) -> None:
    assert heard(shutdown(status)).state == state
    assert (
        heard("2026-01-01 00:00:00,000 INFO  o.a.f.r.e.ClusterEntrypoint [] - all is well").state
        is None
    )


@pytest.fixture
async def app(kubernetes: SmallKubernetes, deployed_uid: str) -> AsyncIterator[ApplicationCluster]:
    async with ApplicationCluster(kubernetes.client, "demo", uid=deployed_uid) as cluster:
        yield cluster


def jobs(state: str) -> Answer:
    return Answer(200, {"jobs": [{"jid": JOB, "name": "words", "state": state}]})


async def disappear(kubernetes: SmallKubernetes) -> None:
    await kubernetes.until_asked("GET", "/jobs/overview")
    await asyncio.sleep(0.5)
    await kubernetes.client.delete(DEPLOYMENTS, "demo")


@pytest.mark.parametrize("told", ["CANCELED", None])
async def test_a_cluster_that_goes_with_its_cancelled_job_and_the_answer(
    app: ApplicationCluster, kubernetes: SmallKubernetes, told: str | None
) -> None:
    await app.flink()
    kubernetes.behind.places.clear()
    await log_in(kubernetes, shutdown(told) if told else "")
    going = asyncio.create_task(app.job(JOB).cancel())
    await kubernetes.until_asked("GET", "/deployments/demo")
    await kubernetes.client.delete(DEPLOYMENTS, "demo")

    if told is None:
        with pytest.raises(ClusterNotFoundError, match="has gone away"):
            await going
    else:
        await going


# As Flink 2.3.0 wrote it for a job that failed; without the lines between the stack traces' ends.
FAILED_JOB = f"""\
2026-12-01 08:25:38,249 INFO  o.a.f.r.e.ExecutionGraph [] - Job words ({JOB}) switched from state \
RUNNING to FAILING.
org.apache.flink.runtime.JobException: Recovery is suppressed by NoRestartBackoffTimeStrategy
\tat a.B.c(B.java:1)
Caused by: java.lang.ArithmeticException: / by zero
\tat a.B.c(B.java:1)
2026-12-01 08:25:38,290 INFO  o.a.f.r.d.StandaloneDispatcher [] - Job {JOB} reached terminal state \
FAILED.
"""
FAILED_BY_ITS_JOB = """\
2026-12-01 08:25:39,812 INFO  o.a.f.c.d.a.PackagedProgramApplication [] - Application FAILED:
java.util.concurrent.CompletionException: org.apache.flink.client.deployment.application.\
UnsuccessfulExecutionException: Job Status: FAILED
\tat a.B.c(B.java:1)
Caused by: org.apache.flink.runtime.client.JobExecutionException: Job execution failed.
Caused by: java.lang.ArithmeticException: / by zero
\t... 1 more
"""


@pytest.mark.parametrize("told", [FAILED_JOB, FAILED_BY_ITS_JOB], ids=["of the job", "of both"])
async def test_the_log_tells_why_a_job_failed_that_nobody_saw_failing(
    app: ApplicationCluster, kubernetes: SmallKubernetes, flink_rest: ScriptedServer, told: str
) -> None:
    flink_rest.on("GET", "/jobs/overview", jobs("RUNNING"))
    await log_in(kubernetes, told, shutdown("FAILED"))
    going = asyncio.create_task(disappear(kubernetes))

    with pytest.raises(JobFailedError, match="FAILED: ArithmeticException: / by zero"):
        await app.wait(timeout=60)
    await going


SAVED = f"""\
2026-01-01 00:00:00 WARN  o.a.f.r.s.s.S [] - Inconsistent execution state after stopping with \
savepoint. At least one execution is still in one of the following states: FAILED.
org.apache.flink.runtime.scheduler.stopwithsavepoint.StopWithSavepointStoppingException: A \
savepoint has been created at: s3://bucket/sp-7, but the corresponding job {JOB} failed during \
stopping.
\tat a.B.c(B.java:1)
"""


@pytest.mark.parametrize("when", ["before its answer", "after its answer"])
async def test_a_savepoint_is_told_although_the_cluster_went_with_its_failed_job(
    app: ApplicationCluster, kubernetes: SmallKubernetes, flink_rest: ScriptedServer, when: str
) -> None:
    trigger = "b" * 32
    status = f"/jobs/{JOB}/savepoints/{trigger}"
    trace = SAVED.partition("\n")[2]
    operation = {"failure-cause": {"class": "x.Y", "stack-trace": trace}}
    answers = {"before its answer": "IN_PROGRESS", "after its answer": "COMPLETED"}
    answer = {"status": {"id": answers[when]}, "operation": operation}
    flink_rest.on("GET", status, Answer(200, answer, delay=0.5))
    await app.flink()
    await log_in(kubernetes, SAVED, shutdown("FAILED"))
    stopping = asyncio.create_task(app.job(JOB).stop(trigger_id=trigger))
    while not flink_rest.requests("GET", status):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    kubernetes.behind.places.clear()
    await kubernetes.client.delete(DEPLOYMENTS, "demo")

    with pytest.raises(JobFailedError, match=r"go on from it: s3://bucket/sp-7") as caught:
        await stopping
    assert caught.value.savepoint == "s3://bucket/sp-7"


async def test_who_follows_an_application_that_failed_when_stopped_is_told_of_its_savepoint(
    app: ApplicationCluster, kubernetes: SmallKubernetes, flink_rest: ScriptedServer
) -> None:
    flink_rest.on("GET", "/jobs/overview", jobs("RUNNING"))
    await log_in(kubernetes, SAVED, shutdown("FAILED"))
    going = asyncio.create_task(disappear(kubernetes))

    outcome = await app.wait(timeout=60, check=False)

    await going
    assert (outcome.state, outcome.savepoint) == ("FAILED", "s3://bucket/sp-7")
    with pytest.raises(JobFailedError, match=r"go on from it: s3://bucket/sp-7"):
        outcome.check()


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


# --- ended from outside ------------------------------------------------------------------------

# As Flink 2.3.0 wrote it when the Deployment was deleted; now and then the TaskManager goes first.
SIGNALLED = """\
2026-12-01 01:18:02,105 WARN  o.a.f.r.e.ClusterEntrypoint [] - RECEIVED SIGNAL 15: SIGTERM. \
Shutting down as requested.
2026-12-01 01:18:02,107 INFO  o.a.f.r.e.ClusterEntrypoint [] - Shutting \
KubernetesApplicationClusterEntrypoint down with application status UNKNOWN. Diagnostics \
Cluster entrypoint has been closed externally..
"""
WORKER_LEFT = """\
org.apache.flink.runtime.client.JobExecutionException: Job execution failed.
\tat a.B.c(B.java:1)
Caused by: org.apache.flink.util.FlinkExpectedException: The TaskExecutor is shutting down.
\tat a.B.c(B.java:1)
"""
ALREADY_FAILED = f"""\
2026-12-01 01:18:02,100 WARN  o.a.f.c.d.a.PackagedProgramApplication [] - Could not execute:
org.apache.flink.client.deployment.application.ApplicationExecutionException: Could not execute.
\tat a.B.c(B.java:1)
Caused by: {WORKER_LEFT}\
2026-12-01 01:18:02,101 INFO  o.a.f.r.e.ClusterEntrypoint [] - Shutting \
KubernetesApplicationClusterEntrypoint down with application status FAILED. Diagnostics null.
2026-12-01 01:18:02,105 WARN  o.a.f.r.e.ClusterEntrypoint [] - RECEIVED SIGNAL 15: SIGTERM. \
Shutting down as requested.
"""


def failures(trace: str) -> Answer:
    entry = {"exceptionName": "x", "stacktrace": trace}
    return Answer(200, {"exceptionHistory": {"entries": [entry], "truncated": False}})


async def log_in(kubernetes: SmallKubernetes, *texts: str) -> None:
    """The JobManager's pod with these lines."""
    await kubernetes.add_pod("demo-7f", {"phase": "Running"})
    kubernetes.pods.lines["demo-7f"] = [line for text in texts for line in text.splitlines()]
    kubernetes.pods.ended.add("demo-7f")


@pytest.mark.parametrize("last_seen", ["RUNNING", "FAILED"])
@pytest.mark.parametrize("told", ["first the JobManager", "first a TaskManager", "nothing"])
async def test_a_deletion_is_called_that_whatever_befell_the_jobs(
    app: ApplicationCluster,
    kubernetes: SmallKubernetes,
    flink_rest: ScriptedServer,
    last_seen: str,
    told: str,
) -> None:
    flink_rest.on("GET", "/jobs/overview", jobs(last_seen))
    flink_rest.on("GET", f"/jobs/{JOB}/exceptions", failures(WORKER_LEFT))
    going = asyncio.create_task(app.wait(timeout=60))
    await kubernetes.until_asked("GET", "/jobs/overview")
    if told != "nothing":
        lines = kubernetes.pods.lines["demo-7f"] = []
        await kubernetes.add_pod("demo-7f", {"phase": "Running"})
        await kubernetes.until_asked("GET", "/log")
    await kubernetes.client.delete(DEPLOYMENTS, "demo")
    if told != "nothing":
        await asyncio.sleep(0.5)  # so long it takes a TaskManager at least
        text = SIGNALLED if told == "first the JobManager" else ALREADY_FAILED
        lines.extend(text.splitlines())
        kubernetes.pods.ended.add("demo-7f")
        await asyncio.sleep(0.1)
        await kubernetes.remove(PODS, "demo-7f")

    with pytest.raises(JobFailedError) as caught:
        await going
    assert caught.value.state == "UNKNOWN"
    if told == "nothing" and last_seen != "FAILED":
        assert f"is not known, last seen {last_seen}: the cluster" in str(caught.value)
    else:
        assert "The application demo was deleted before its program had ended" in str(caught.value)


def test_a_jobmanager_that_starts_anew_begins_anew() -> None:
    start = (
        "2026-12-01 00:00:00,000 INFO  o.a.f.r.e.ClusterEntrypoint [] -  Starting %s (Version: 2)"
    )
    witness = heard(f"{SIGNALLED}{start % 'KubernetesApplicationClusterEntrypoint'}\n")

    assert (witness.status, witness.signal, witness.trace) == (None, None, None)


# --- what a program prints and logs --------------------------------------------------------------

BEGUN = "2026-11-30 22:02:01,400 INFO  o.a.f.r.e.ClusterEntrypoint [] - Initializing.\n"
NEARLY = shutdown("SUCCEEDED")
OTHERS = "2026-11-30 22:02:01,400 INFO  com.example.Tail [] - "


@pytest.mark.parametrize(
    "printed",
    [
        "Shutting X down with application status SUCCEEDED. Diagnostics null.",
        f"{OTHERS}{NEARLY}",
        f"{OTHERS}{NEARLY.partition(' - ')[2]}",
        f"seen: {NEARLY}",
        NEARLY,  # all of it as Flink says it, and before Flink does
    ],
)
def test_what_a_program_says_about_an_end_is_not_how_it_ended(printed: str) -> None:
    assert heard(f"{BEGUN}{printed}\n{shutdown('FAILED')}").state == "FAILED"
    if printed != NEARLY:
        assert heard(f"{BEGUN}{printed}\n").state is None


def test_a_program_does_not_receive_the_signals_of_flink_nor_start_it() -> None:
    signal = SIGNALLED.partition(" - ")[2]
    start = " Starting KubernetesApplicationClusterEntrypoint (Version"

    witness = heard(f"{FAILED_JOB}{OTHERS}{signal}{OTHERS}{start}\n{signal}")

    assert witness.signal is None
    assert witness.trace_of(JOB)


def test_a_layout_of_ones_own_is_understood_by_its_words() -> None:
    plain = [line.rpartition("[] - ")[2] for line in SIGNALLED.splitlines()]

    assert heard("\n".join(plain)).state == "UNKNOWN"
    assert heard(f"INFO: {NEARLY.partition(' - ')[2]}").state == "FINISHED"
    of_program = "2026-11-30 22:02:01,400 INFO  com.example.Words [] - begun"
    assert heard(f"{of_program}\nINFO: {NEARLY.partition(' - ')[2]}").state == "FINISHED"


def test_a_standby_that_is_ended_takes_nothing_from_what_its_leader_said() -> None:
    witness = heard(f"{shutdown('SUCCEEDED')}\n{SIGNALLED}")

    assert (witness.state, witness.signal) == ("FINISHED", None)


@pytest.mark.parametrize(
    "printed",
    [
        "A savepoint has been created at: s3://forged/sp",
        SAVED.partition("\n")[2].replace(JOB, "0" * 32),
        f"{SAVED}{FAILED_JOB.splitlines()[0].replace('FAILING', 'RUNNING')}",
    ],
    ids=["words of a program", "of another job", "of a job that goes on"],
)
def test_no_savepoint_is_told_but_that_of_the_job_that_failed(printed: str) -> None:
    assert heard(f"{BEGUN}{printed}\n").savepoint_of(JOB) is None
    assert heard(f"{BEGUN}{printed}\n{SAVED}").savepoint_of(JOB) == "s3://bucket/sp-7"


def test_a_line_without_an_end_is_looked_at_as_far_as_lines_go() -> None:
    witness = heard(f"{FAILED_JOB.rpartition('2026')[0]}{'x' * 1_000_000}\n")

    assert len(str(witness.trace_of(JOB))) < 20_000


# --- several failures --------------------------------------------------------------------------


def job(number: int, state: str, *, start: int, end: int = -1) -> dict[str, object]:
    jid = f"{number}" * 32
    return {
        "jid": jid,
        "name": f"job {number}",
        "state": state,
        "start-time": start,
        "end-time": end,
    }


def in_main(cause: str) -> str:
    return (
        "2026-12-01 01:18:02,100 WARN  o.a.f.c.d.a.PackagedProgramApplication [] - Could not:\n"
        "org.apache.flink.client.program.ProgramInvocationException: The main method: it failed\n"
        f"\tat a.B.c(B.java:1)\nCaused by: {cause}\n\t... 1 more\n"
    )


NO_RESULT = "IllegalStateException: no result to go on with"

FAILED_STATUS = (
    "2026-12-01 01:18:02,107 INFO  o.a.f.r.e.ClusterEntrypoint [] - Shutting"
    " KubernetesApplicationClusterEntrypoint down with application status FAILED. Diagnostics null."
)


@pytest.mark.parametrize(
    ("listed", "log", "name", "cause"),
    [
        pytest.param(
            [
                job(1, "FAILED", start=10, end=20),
                job(2, "FAILED", start=5, end=30),
                job(3, "CANCELED", start=15, end=40),
            ],
            "",
            "job 1",
            "IOException: disk 1 full",
            id="two jobs failed, and a third was cancelled for it: the first",
        ),
        pytest.param(
            [job(1, "FAILED", start=10, end=20)],
            in_main("org.apache.flink.runtime.client.JobExecutionException: Job failed."),
            "job 1",
            "IOException: disk 1 full",
            id="the program handed on that its job failed: what the job says",
        ),
        pytest.param(
            [job(1, "FAILED", start=10, end=20), job(2, "FINISHED", start=30, end=40)],
            in_main(f"java.lang.{NO_RESULT}"),
            "job 1",
            NO_RESULT,
            id="the program got over its job and failed later: what the program says",
        ),
        pytest.param(
            [job(2, "FINISHED", start=30, end=40)],
            in_main(f"java.lang.{NO_RESULT}"),
            "job 2",
            NO_RESULT,
            id="no job failed: what the program says",
        ),
        pytest.param(
            [job(2, "FINISHED", start=30, end=40)],
            in_main("java.lang.IllegalStateException: first") + in_main("java.lang.Error: then"),
            "job 2",
            "IllegalStateException: first",
            id="the program and what it drew along: the first",
        ),
    ],
)
async def test_of_several_failures_the_cause_is_told(
    app: ApplicationCluster,
    kubernetes: SmallKubernetes,
    flink_rest: ScriptedServer,
    listed: list[dict[str, object]],
    log: str,
    name: str,
    cause: str,
) -> None:
    flink_rest.on("GET", "/jobs/overview", Answer(200, {"jobs": listed}))
    for number in (1, 2, 3):
        trace = f"java.io.IOException: disk {number} full\n\tat a.B.c(B:1)"
        flink_rest.on("GET", f"/jobs/{str(number) * 32}/exceptions", failures(trace))
    await log_in(kubernetes, log, FAILED_STATUS)
    going = asyncio.create_task(app.wait(timeout=60, check=False))
    await kubernetes.until_asked("GET", "/log")
    await disappear(kubernetes)
    await kubernetes.remove(PODS, "demo-7f")

    outcome = await going

    assert (outcome.state, outcome.name, outcome.cause) == ("FAILED", name, cause)


async def test_a_job_that_the_program_got_over_takes_nothing_from_its_success(
    app: ApplicationCluster, kubernetes: SmallKubernetes, flink_rest: ScriptedServer
) -> None:
    listed = [job(1, "FAILED", start=10, end=20), job(2, "FINISHED", start=30, end=40)]
    flink_rest.on("GET", "/jobs/overview", Answer(200, {"jobs": listed}))
    await log_in(kubernetes, FAILED_STATUS.replace("FAILED", "SUCCEEDED"))
    going = asyncio.create_task(app.wait(timeout=60))
    await kubernetes.until_asked("GET", "/log")
    await disappear(kubernetes)
    await kubernetes.remove(PODS, "demo-7f")

    outcome = await going

    assert (outcome.state, outcome.name, outcome.cause) == ("FINISHED", "job 2", None)


async def test_a_jobmanager_that_keeps_ending_is_the_cause_not_its_job(
    app: ApplicationCluster,
    kubernetes: SmallKubernetes,
    flink_rest: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its last job was seen in trouble; but it is the JobManager that does not run any more."""
    monkeypatch.setattr(diagnosis, "SECONDS_FOR_RESTART", 0.5)
    flink_rest.on("GET", "/jobs/overview", jobs("RESTARTING"))
    flink_rest.on("GET", f"/jobs/{JOB}/exceptions", failures(WORKER_LEFT))
    stages: list[str] = []
    going = asyncio.create_task(
        app.wait(timeout=60, on_stage=lambda stage: stages.append(stage.text))
    )
    await kubernetes.until_asked("GET", "/exceptions")
    kubernetes.behind.places.clear()
    ended = {"exitCode": 239, "reason": "Error"}
    container = {
        "name": "flink-main-container",
        "image": "flink:2.3.0",
        "ready": False,
        "restartCount": 3,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": ended},
    }
    await kubernetes.add_pod("demo-7f", {"phase": "Running", "containerStatuses": [container]})

    with pytest.raises(ClusterFailedError, match=r"demo has stopped running: .*239"):
        await going
    assert "239" not in " ".join(stages)  # it is told once


# --- the end of one job ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "state"), [("CANCELED", "CANCELED"), ("SUCCEEDED", "FINISHED"), ("UNKNOWN", None)]
)
async def test_a_job_that_takes_its_cluster_with_it_is_known_to_have_ended(
    app: ApplicationCluster,
    kubernetes: SmallKubernetes,
    flink_rest: ScriptedServer,
    status: str,
    state: str | None,
) -> None:
    details = {"jid": JOB, "name": "words", "state": "CANCELLING"}
    flink_rest.on("GET", f"/jobs/{JOB}", Answer(200, details))
    await log_in(kubernetes, FAILED_STATUS.replace("FAILED", status))
    going = asyncio.create_task(app.job(JOB).wait(timeout=60, check=False))
    await kubernetes.until_asked("GET", f"/jobs/{JOB}")
    kubernetes.behind.places.clear()
    await kubernetes.until_asked("GET", "/log")
    await kubernetes.client.delete(DEPLOYMENTS, "demo")
    await kubernetes.remove(PODS, "demo-7f")

    if state is None:
        with pytest.raises(JobFailedError, match="is not known: the cluster demo went away"):
            await going
    else:
        outcome = await going
        assert (outcome.state, outcome.name) == (state, "words")


async def test_an_outage_is_told_of_while_an_application_is_followed(
    app: ApplicationCluster,
    kubernetes: SmallKubernetes,
    flink_rest: ScriptedServer,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kubeflink.kube.outage.QUIET_SECONDS", 0.5)
    logging.getLogger("kubeflink").propagate = True  # whatever the command line has set
    flink_rest.on("GET", "/jobs/overview", jobs("RUNNING"), *[Answer(503)] * 4, jobs("RUNNING"))

    over = asyncio.Event()

    def tell(away: outage.Outage, pause: float) -> None:
        outage.write_lines(away, pause)
        if away.since is None:
            over.set()

    outage.TELLER.set(tell)
    going = asyncio.create_task(app.wait(timeout=60))
    await over.wait()
    going.cancel()

    told = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert told[0].startswith("waiting for the application demo since ")
    assert "HTTP 503" in told[0]
    assert told[-1] == "the application demo answers again"
