"""A directory for checkpoints that the JobManager cannot make is told as that, whoever asked."""

from __future__ import annotations

import pytest

from kubeflink.cluster.job import JobOutcome
from kubeflink.cluster.log_diagnosis import explain_log
from kubeflink.cluster.session import SessionCluster
from kubeflink.errors import JobFailedError, KubeflinkError, RestStatusError
from kubeflink.rest import java_errors
from support.scripted_server import Answer, ScriptedServer

JOB = "e1f121d9cab10446b84b486b38d83813"
TOLD = "the directory for checkpoints cannot be made: "
ACCESS = "org.apache.flink.runtime.state.filesystem.FsCheckpointStorageAccess"


def trace_of(cause: str) -> str:
    """How a job ends at its beginning, in all versions of Flink."""
    outer = "org.apache.flink.util.FlinkRuntimeException: Failed to create checkpoint storage"
    return (
        "org.apache.flink.runtime.client.JobInitializationException: Could not start the JobMaster."
        "\n\tat a.B.c(B.java:1)\n"
        f"Caused by: {outer} at checkpoint coordinator side.\n\t... 4 more\n"
        f"Caused by: {cause}\n\tat java.base/sun.nio.fs.UnixFileSystemProvider.createDirectory\n"
        f"\tat {ACCESS}.initializeBaseLocationsForCheckpoint(FsCheckpointStorageAccess.java:148)\n"
        "\t... 19 more\n"
    )


TRACE = trace_of("java.nio.file.FileAlreadyExistsException: /mnt/file")


def check(error: KubeflinkError) -> None:
    assert error.message.endswith(f": {TOLD}FileAlreadyExistsException: /mnt/file")
    assert error.hint is not None
    assert "state.checkpoints.dir, since 1.20 also execution.checkpointing.dir" in error.hint
    assert error.exit_code == 1
    assert len(str(error).splitlines()) == 2


async def test_a_job_that_cannot_begin(demo: SessionCluster, flink_rest: ScriptedServer) -> None:
    flink_rest.on("GET", "/jars", Answer(200, {"files": []}))
    flink_rest.on("POST", "/jars/upload", Answer(200, {"filename": "/tmp/u_runner.jar"}))
    flink_rest.on("POST", "/jars/u_runner.jar/run", Answer(400, {"errors": ["Internal.", TRACE]}))

    with pytest.raises(RestStatusError) as caught:
        await demo.submit_sql("INSERT INTO a SELECT 1")

    check(caught.value)


async def test_the_first_checkpoint_of_a_job(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    vertices = [{"id": "v", "name": "map", "tasks": {"RUNNING": 1}}]
    seen = {"jid": JOB, "name": "words", "state": "RUNNING", "vertices": vertices}
    failed = {"failureCause": {"class": "x.Y", "stack-trace": TRACE}}
    flink_rest.on("GET", f"/jobs/{JOB}", Answer(200, seen))
    flink_rest.on("GET", f"/jobs/{JOB}/status", Answer(200, {"status": "RUNNING"}))
    flink_rest.on("POST", f"/jobs/{JOB}/checkpoints", Answer(202, {"request-id": "x"}))
    flink_rest.on_any(
        "GET",
        rf"/jobs/{JOB}/checkpoints/\w+",
        Answer(200, {"status": {"id": "COMPLETED"}, "operation": failed}),
    )

    with pytest.raises(JobFailedError) as caught:
        await demo.job(JOB).checkpoint()

    check(caught.value)


def test_the_end_of_a_job_or_an_application() -> None:
    cause = java_errors.root_cause(TRACE)

    with pytest.raises(JobFailedError) as caught:
        JobOutcome(JOB, "words", "FAILED", cause=cause, stack_trace=TRACE).check()

    check(caught.value)


def test_a_jobmanager_that_ends_for_it() -> None:
    """That of an application, up to Flink 1.20."""
    entrypoint = "org.apache.flink.runtime.entrypoint.ClusterEntrypoint"
    log = f"2026-01-31 12:00:00,000 ERROR {entrypoint} [] - Fatal error occurred.\n{TRACE}"

    found = explain_log(log)

    assert found is not None
    assert found.sentence == f"{TOLD}FileAlreadyExistsException: /mnt/file"
    assert found.hint == java_errors.advice(TRACE)


def test_checkpoints_that_fail_one_after_the_other() -> None:
    trace = (
        "org.apache.flink.runtime.JobException: Recovery is suppressed\n\tat a.B.c(B.java:1)\n"
        "Caused by: org.apache.flink.util.FlinkRuntimeException: Exceeded checkpoint tolerable"
        " failure threshold. The latest checkpoint failed due to IO-problem detected.\n"
    )

    with pytest.raises(JobFailedError) as caught:
        JobOutcome(JOB, "words", "FAILED", cause="it failed", stack_trace=trace).check()

    assert caught.value.hint == (
        "Why they fail is in the JobManager's log; how many may is"
        " execution.checkpointing.tolerable-failed-checkpoints"
    )


def test_other_failures_have_no_such_advice() -> None:
    trace = "java.io.IOException: Failed to create savepoint directory at file:/none\n"

    with pytest.raises(JobFailedError) as caught:
        JobOutcome(JOB, "words", "FAILED", cause="it failed", stack_trace=trace).check()

    assert caught.value.hint is None
