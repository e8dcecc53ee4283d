"""What is said about a job is proven; what is asked for is done once."""

from __future__ import annotations

import asyncio
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kubeflink.apiserver.faults import Fault
from kubeflink.cluster import job as jobs
from kubeflink.cluster import job_progress
from kubeflink.cluster.job_progress import JobProgress
from kubeflink.cluster.session import SessionCluster
from kubeflink.errors import (
    ClusterNotFoundError,
    JobFailedError,
    RestStatusError,
    UsageError,
    WaitTimeoutError,
)
from kubeflink.objects import DEPLOYMENTS, SERVICES
from support.kubernetes import SmallKubernetes
from support.scripted_server import Answer, ScriptedServer

JOB = "e1f121d9cab10446b84b486b38d83813"
OTHER = Answer(404, {"errors": ["org.apache.flink.runtime.rest.NotFoundException: Job not found"]})
UNREACHABLE = Answer(503, {"errors": ["ongoing leader election"]})


def details(state: str, **tasks: int) -> Answer:
    vertex = {"id": "v", "name": "map", "tasks": tasks}
    return Answer(200, {"jid": JOB, "name": "words", "state": state, "vertices": [vertex]})


def completed(**operation: Any) -> Answer:
    return Answer(200, {"status": {"id": "COMPLETED"}, "operation": operation})


def failure(trace: str) -> dict[str, Any]:
    return {"failure-cause": {"class": "x.Y", "stack-trace": trace}}


async def test_a_job_that_finishes_is_followed(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    told: list[JobProgress] = []
    flink_rest.on(
        "GET",
        f"/jobs/{JOB}",
        details("CREATED"),
        details("RUNNING", RUNNING=1, SCHEDULED=1, FAILED=0),
        details("RUNNING", RUNNING=2),
        details("FINISHED", FINISHED=2),
    )

    outcome = await demo.job(JOB).wait(timeout=60, on_progress=told.append)

    assert outcome.succeeded
    assert outcome.name == "words"
    assert [(one.state, one.tasks) for one in told] == [
        ("CREATED", {}),
        ("RUNNING", {"RUNNING": 1, "SCHEDULED": 1}),
        ("RUNNING", {"RUNNING": 2}),
        ("FINISHED", {"FINISHED": 2}),
    ]


async def test_a_job_that_fails_tells_its_root_cause(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    trace = (
        "org.apache.flink.runtime.JobException: Recovery is suppressed by NoRestartBackoff\n"
        "\tat a.B.c(B.java:1)\nCaused by: java.lang.IllegalArgumentException: bad record 50\n"
    )
    entry = {"exceptionName": "x", "stacktrace": trace, "timestamp": 1}
    history = {"exceptionHistory": {"entries": [entry], "truncated": False}}
    flink_rest.on("GET", f"/jobs/{JOB}", details("FAILED"))
    flink_rest.on("GET", f"/jobs/{JOB}/exceptions", Answer(200, history))

    with pytest.raises(JobFailedError, match="FAILED: IllegalArgumentException: bad record 50"):
        await demo.job(JOB).wait(timeout=60)
    outcome = await demo.job(JOB).wait(timeout=60, check=False)
    assert (outcome.state, outcome.succeeded) == ("FAILED", False)


async def test_not_reaching_the_cluster_says_nothing_about_the_job(
    demo: SessionCluster,
    kubernetes: SmallKubernetes,
    flink_rest: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    flink_rest.on("GET", f"/jobs/{JOB}", details("RUNNING"))
    place = kubernetes.behind.places.pop("demo-rest")  # no endpoints: 503 by the API server
    kubernetes.faults.add(Fault("/deployments/demo", "GET", None, status=500))
    monkeypatch.setattr(job_progress, "ANSWER_SECONDS", 0.2)

    def tell(progress: JobProgress) -> None:
        told.append(progress.state)
        if progress.state == job_progress.UNKNOWN:
            kubernetes.behind.places["demo-rest"] = place
            flink_rest.on("GET", f"/jobs/{JOB}", details("RUNNING"), details("FINISHED"))

    outcome = await demo.job(JOB).wait(timeout=60, on_progress=tell)

    assert told[0] == job_progress.UNKNOWN
    assert told[-1] == "FINISHED"
    assert outcome.succeeded


async def test_a_cluster_that_goes_away_takes_the_outcome_with_it(
    demo: SessionCluster, kubernetes: SmallKubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_progress, "ANSWER_SECONDS", 0.2)
    kubernetes.behind.places.clear()
    await demo.flink()
    await kubernetes.client.delete(DEPLOYMENTS, "demo")

    with pytest.raises(JobFailedError, match="is not known: the cluster demo went away") as caught:
        await demo.job(JOB).wait(timeout=60)
    assert caught.value.state == job_progress.UNKNOWN


async def test_a_job_that_never_was(demo: SessionCluster, flink_rest: ScriptedServer) -> None:
    flink_rest.on("GET", f"/jobs/{JOB}", OTHER)

    with pytest.raises(JobFailedError, match="There is no job"):
        await demo.job(JOB).wait(timeout=60)


async def test_a_new_jobmanager_may_need_a_moment_to_know_its_jobs(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    flink_rest.on("GET", f"/jobs/{JOB}", details("RUNNING"), OTHER, OTHER, details("FINISHED"))

    assert (await demo.job(JOB).wait(timeout=60)).succeeded


async def test_the_limit_of_a_wait_tells_the_state(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    flink_rest.on("GET", f"/jobs/{JOB}", details("RUNNING"))

    with pytest.raises(WaitTimeoutError, match=r"not ended after 0.5 s; it is RUNNING$"):
        await demo.job(JOB).wait(timeout=0.5)


async def test_the_limit_of_a_wait_tells_that_there_is_no_place_for_its_tasks(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    flink_rest.on("GET", f"/jobs/{JOB}", details("RUNNING", SCHEDULED=6))

    with pytest.raises(WaitTimeoutError, match=r"it is RUNNING \(6 SCHEDULED\)") as caught:
        await demo.job(JOB).wait(timeout=0.5)

    assert "wait for TaskManagers" in str(caught.value.hint)


async def test_a_savepoint_is_returned_with_its_place(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    trigger = "a" * 32
    flink_rest.on("GET", f"/jobs/{JOB}/savepoints/{trigger}", completed(location="s3://b/sp-1"))

    resumed = await demo.job(JOB).savepoint(trigger_id=trigger)

    assert (resumed.location, resumed.trigger_id) == ("s3://b/sp-1", trigger)
    assert flink_rest.requests("POST") == []  # taken up, not asked for again


async def test_a_request_that_is_not_known_is_made(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    trigger, path = "a" * 32, f"/jobs/{JOB}/stop"
    status = f"/jobs/{JOB}/savepoints/{trigger}"
    flink_rest.on("GET", status, OTHER, completed(location="s3://b/sp-1"))
    flink_rest.on("POST", path, Answer(202, {"request-id": trigger}))
    flink_rest.on("GET", f"/jobs/{JOB}", details("RUNNING", RUNNING=1))

    await demo.job(JOB).stop(trigger_id=trigger, directory="s3://b", drain=True)

    (asked,) = flink_rest.requests("POST", path)
    assert asked.json["triggerId"] == trigger


async def test_a_savepoint_that_was_made_although_stopping_failed_is_not_lost(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    trace = (
        "java.util.concurrent.CompletionException: org.apache.flink.runtime.scheduler."
        "stopwithsavepoint.StopWithSavepointStoppingException: A savepoint has been created at: "
        f"s3://bucket/sp-7, but the corresponding job {JOB} failed during stopping. The savepoint"
        " is consistent.\n\tat a.B.c(B.java:1)\n"
    )
    trigger = "b" * 32
    flink_rest.on("GET", f"/jobs/{JOB}/savepoints/{trigger}", completed(**failure(trace)))
    flink_rest.on("GET", f"/jobs/{JOB}/status", Answer(200, {"status": "RESTARTING"}))

    with pytest.raises(JobFailedError, match="go on from it: s3://bucket/sp-7") as caught:
        await demo.job(JOB).stop(trigger_id=trigger)
    assert caught.value.savepoint == "s3://bucket/sp-7"
    assert caught.value.state == "RESTARTING"


async def test_a_directory_that_cannot_be_written_is_the_cause(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    trace = (
        "org.apache.flink.runtime.checkpoint.CheckpointException: An Exception occurred\n"
        "\tat a.B.c(B.java:1)\n"
        "Caused by: java.io.IOException: Failed to create savepoint directory at /proc/nope\n"
    )
    trigger = "c" * 32
    flink_rest.on("GET", f"/jobs/{JOB}/savepoints/{trigger}", completed(**failure(trace)))
    flink_rest.on("GET", f"/jobs/{JOB}/status", Answer(200, {"status": "RUNNING"}))

    with pytest.raises(JobFailedError, match="Failed to create savepoint directory") as caught:
        await demo.job(JOB).savepoint(trigger_id=trigger)
    assert caught.value.savepoint is None


async def test_cancelling_waits_for_the_end(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    flink_rest.on("PATCH", f"/jobs/{JOB}", Answer(202, {}))
    flink_rest.on("GET", f"/jobs/{JOB}", details("CANCELLING"), details("CANCELED"))
    flink_rest.on("GET", f"/jobs/{JOB}/exceptions", Answer(200, {}))

    await demo.job(JOB).cancel()

    assert len(flink_rest.requests("GET", f"/jobs/{JOB}")) == 2


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "words.jar"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
    return path


async def test_a_jar_that_is_there_is_not_sent_again(
    demo: SessionCluster, flink_rest: ScriptedServer, jar: Path
) -> None:
    flink_rest.on("GET", "/jars", Answer(200, {"files": []}))
    flink_rest.on("POST", "/jars/upload", Answer(200, {"filename": "/tmp/u_words.jar"}))
    flink_rest.on("POST", "/jars/u_words.jar/run", Answer(200, {"jobid": JOB}))
    assert (await demo.submit_jar(jar)).id == JOB
    (sent,) = flink_rest.requests("POST", "/jars/upload")
    name = sent.body.partition(b'filename="')[2].partition(b'"')[0].decode()

    listed = {"files": [{"id": "u_words.jar", "name": name, "uploaded": 1, "entry": []}]}
    flink_rest.on("GET", "/jars", Answer(200, listed))
    assert (await demo.submit_jar(jar)).id == JOB

    assert name.startswith("words-")
    assert len(flink_rest.requests("POST", "/jars/upload")) == 1


async def test_what_is_no_jar_is_refused_before_any_request(
    demo: SessionCluster, flink_rest: ScriptedServer, tmp_path: Path
) -> None:
    text = tmp_path / "a.jar"
    text.write_text("hello")

    with pytest.raises(UsageError, match="is no jar"):
        await demo.submit_jar(text)
    with pytest.raises(UsageError, match="There is no file"):
        await demo.submit_jar(tmp_path / "none.jar")
    assert flink_rest.requests() == []


@pytest.mark.parametrize(
    ("job_id", "name", "told"),
    [
        (JOB, "words", f"Job words ({JOB}) ended as FAILED: no"),
        (JOB, "", f"Job {JOB} ended as FAILED: no"),
        ("", "app", "Application app ended as FAILED: no"),
    ],
)
def test_what_has_ended(job_id: str, name: str, told: str) -> None:
    """An application may fail before it has a job."""
    with pytest.raises(JobFailedError) as caught:
        jobs.JobOutcome(job_id, name, "FAILED", cause="no").check()

    assert caught.value.message == told


async def test_a_program_that_fails_in_main(
    demo: SessionCluster, flink_rest: ScriptedServer, jar: Path
) -> None:
    trace = (
        "org.apache.flink.runtime.rest.handler.RestHandlerException: Could not execute.\n"
        "\tat a.B.c(B.java:1)\nCaused by: java.lang.IllegalStateException: no input given\n"
    )
    flink_rest.on("GET", "/jars", Answer(200, {"files": []}))
    flink_rest.on("POST", "/jars/upload", Answer(200, {"filename": "/tmp/u_words.jar"}))
    flink_rest.on("POST", "/jars/u_words.jar/run", Answer(400, {"errors": [trace]}))

    with pytest.raises(RestStatusError, match="failed: IllegalStateException: no input given"):
        await demo.submit_jar(jar)


async def test_sql_goes_in_as_arguments_of_the_runner(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    flink_rest.on("GET", "/jars", Answer(200, {"files": []}))
    flink_rest.on("POST", "/jars/upload", Answer(200, {"filename": "/tmp/u_runner.jar"}))
    flink_rest.on("POST", "/jars/u_runner.jar/run", Answer(200, {"jobid": JOB}))

    await demo.submit_sql("SET 'a' = 'b'; INSERT INTO t SELECT 1;")

    (run,) = flink_rest.requests("POST", "/jars/u_runner.jar/run")
    assert run.json["programArgsList"] == ["SET 'a' = 'b'", "INSERT INTO t SELECT 1"]


@pytest.mark.parametrize(
    ("recovers", "patient"),
    [(False, "RECOVERY_SECONDS"), (True, "FORGOTTEN_SECONDS")],
    ids=["without high availability", "with it"],
)
async def test_how_long_a_job_may_be_unknown_depends_on_high_availability(
    demo: SessionCluster,
    kubernetes: SmallKubernetes,
    flink_rest: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
    recovers: bool,
    patient: str,
) -> None:
    if recovers:
        await kubernetes.client.delete(SERVICES, "demo")
    for limit in ("RECOVERY_SECONDS", "FORGOTTEN_SECONDS"):
        monkeypatch.setattr(jobs, limit, 10_000.0 if limit == patient else 0.2)
    flink_rest.on("GET", f"/jobs/{JOB}", details("RUNNING"), OTHER)

    with pytest.raises(JobFailedError, match="does not know it any more"):
        await demo.job(JOB).wait(timeout=60)


EARLY = failure(
    "org.apache.flink.runtime.checkpoint.CheckpointException: Checkpoint triggering task map of job"
    f" {JOB} is not being executed at the moment. Aborting checkpoint. Failure reason: Not all"
    " required tasks are currently running.\n\tat a.B.c(B.java:1)\n"
)


def answer_each_request(server: ScriptedServer, path: str, *results: Answer) -> None:
    """A status for each trigger id, in the order in which they are asked for."""
    server.on_any("GET", rf"{path}/\w+", *results)


async def test_a_savepoint_is_asked_for_when_all_tasks_run(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    told: list[JobProgress] = []
    flink_rest.on(
        "GET",
        f"/jobs/{JOB}",
        details("CREATED"),
        details("RUNNING", RUNNING=1, INITIALIZING=1),
        details("RUNNING", RUNNING=1, FINISHED=1),
    )
    flink_rest.on("POST", f"/jobs/{JOB}/savepoints", Answer(202, {"request-id": "x"}))
    answer_each_request(flink_rest, f"/jobs/{JOB}/savepoints", completed(location="s3://b/sp-1"))

    saved = await demo.job(JOB).savepoint(on_progress=told.append)

    assert saved.location == "s3://b/sp-1"
    assert [one.tasks for one in told] == [{}, {"RUNNING": 1, "INITIALIZING": 1}]
    assert len(flink_rest.requests("POST")) == 1


@pytest.mark.parametrize("what", ["savepoint", "stop", "checkpoint"])
async def test_what_was_refused_as_too_early_is_asked_for_again(
    demo: SessionCluster, flink_rest: ScriptedServer, what: str
) -> None:
    """A task may have failed, and be started again, just after it was seen to run."""
    results = "checkpoints" if what == "checkpoint" else "savepoints"
    path = f"/jobs/{JOB}/stop" if what == "stop" else f"/jobs/{JOB}/{results}"
    flink_rest.on("GET", f"/jobs/{JOB}", details("RUNNING", RUNNING=1))
    flink_rest.on("POST", path, Answer(202, {"request-id": "x"}))
    done = completed(location="s3://b/sp-1", checkpointId=7)
    answer_each_request(flink_rest, f"/jobs/{JOB}/{results}", completed(**EARLY), done)

    found = await getattr(demo.job(JOB), what)()

    assert found == 7 if what == "checkpoint" else found.location == "s3://b/sp-1"
    first, second = flink_rest.requests("POST", path)
    assert first.json["triggerId"] != second.json["triggerId"]


async def test_without_waiting_it_fails_as_flink_does(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    flink_rest.on("POST", f"/jobs/{JOB}/savepoints", Answer(202, {"request-id": "x"}))
    answer_each_request(flink_rest, f"/jobs/{JOB}/savepoints", completed(**EARLY))
    flink_rest.on("GET", f"/jobs/{JOB}/status", Answer(200, {"status": "RUNNING"}))

    with pytest.raises(JobFailedError, match="Not all required tasks are currently running"):
        await demo.job(JOB).savepoint(wait_for_tasks=False)
    assert len(flink_rest.requests("POST")) == 1


async def test_tasks_that_never_run_are_waited_for_within_the_limit(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    flink_rest.on("GET", f"/jobs/{JOB}", details("RUNNING", SCHEDULED=2))

    with pytest.raises(WaitTimeoutError, match=r"after 0.5 s; it is RUNNING \(2 SCHEDULED\)"):
        await demo.job(JOB).stop(timeout=0.5)
    assert flink_rest.requests("POST") == []


async def test_a_request_that_its_jobmanager_took_along_is_neither_done_nor_failed(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    flink_rest.on("GET", f"/jobs/{JOB}", details("RUNNING", RUNNING=1))
    flink_rest.on("POST", f"/jobs/{JOB}/savepoints", Answer(202, {"request-id": "x"}))
    answer_each_request(flink_rest, f"/jobs/{JOB}/savepoints", OTHER)

    with pytest.raises(RestStatusError, match="was completed is not known"):
        await demo.job(JOB).savepoint()


@pytest.mark.parametrize(
    "act",
    [
        lambda job: job.cancel(),
        lambda job: job.stop(wait_for_tasks=False),
        lambda job: job.cluster.jobs(),
        lambda job: job.cluster.dispose_savepoint("s3://b/sp-1"),
        lambda job: job.cluster.submit_sql("INSERT INTO a SELECT 1"),
    ],
    ids=["cancel", "stop", "list", "dispose", "run"],
)
async def test_a_request_is_not_repeated_to_a_cluster_that_has_gone(
    demo: SessionCluster, kubernetes: SmallKubernetes, act: Any
) -> None:
    await demo.flink()
    kubernetes.behind.places.clear()
    going = asyncio.create_task(act(demo.job(JOB)))
    await kubernetes.until_asked("GET", "/deployments/demo")
    await kubernetes.client.delete(DEPLOYMENTS, "demo")

    with pytest.raises(ClusterNotFoundError, match="demo in namespace default has gone away"):
        await going


async def test_nothing_is_asked_of_a_job_that_has_ended(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    flink_rest.on("GET", f"/jobs/{JOB}", details("FAILED", FAILED=1))

    with pytest.raises(JobFailedError, match=r"No checkpoint of .* has ended as FAILED"):
        await demo.job(JOB).checkpoint()
    assert flink_rest.requests("POST") == []


@pytest.mark.parametrize("text", ["", "abc", "../overview", JOB + "0", "g" * 32])
async def test_what_is_no_id_is_refused_before_any_request(
    demo: SessionCluster, flink_rest: ScriptedServer, text: str
) -> None:
    with pytest.raises(UsageError, match="is no job id"):
        demo.job(text)
    for act in (jobs.Job.stop, jobs.Job.savepoint, jobs.Job.checkpoint):
        with pytest.raises(UsageError, match="is no id of a request"):
            await act(demo.job(JOB), trigger_id=text)
    assert flink_rest.seen == []


def test_an_id_is_that_of_flink_however_it_was_typed(demo: SessionCluster) -> None:
    assert demo.job("ABCDEF" + JOB[6:]).id == "abcdef" + JOB[6:]
