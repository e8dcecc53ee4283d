"""Answers of real Flink, the oldest supported version to the newest, are all understood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubeflink.errors import RestStatusError
from kubeflink.rest import FlinkClient, java_errors, models
from support.scripted_server import Answer, ScriptedServer

RECORDED = Path(__file__).parent / "recorded"
VERSIONS = sorted(path.stem for path in RECORDED.glob("*.json"))
JOB = "0" * 32


@pytest.fixture(scope="module", params=VERSIONS)
def recording(request: pytest.FixtureRequest) -> dict[str, Any]:
    answers: dict[str, Any] = json.loads((RECORDED / f"{request.param}.json").read_text())
    return {"version": request.param, **answers}


def answer(recording: dict[str, Any], name: str) -> Answer:
    return Answer(recording[name]["status"], recording[name]["body"])


async def test_the_cluster(
    flink: FlinkClient, server: ScriptedServer, recording: dict[str, Any]
) -> None:
    server.on("GET", "/overview", answer(recording, "overview"))
    server.on("GET", "/config", answer(recording, "config"))
    server.on("GET", "/jobmanager/config", answer(recording, "jmconfig"))
    server.on("GET", "/taskmanagers", answer(recording, "tms2"))
    server.on("GET", "/jobmanager/logs", answer(recording, "jmlogs"))

    assert (await flink.overview()).flink_version == recording["version"]
    assert (await flink.web_configuration()).features.web_submit
    assert "blob.server.port" in await flink.configuration()
    (worker,) = await flink.taskmanagers()
    assert (worker.slots_number, worker.free_slots) == (2, 1)
    assert worker.memory_configuration["taskHeap"] == 48 << 20
    assert "jm.log" in {log.name for log in await flink.jobmanager_logs()}


async def test_jobs(flink: FlinkClient, server: ScriptedServer, recording: dict[str, Any]) -> None:
    path = f"/jobs/{JOB}"
    server.on("GET", "/jobs/overview", answer(recording, "jobs"))
    server.on("GET", f"{path}/status", answer(recording, "status"))
    server.on("GET", f"{path}/checkpoints", answer(recording, "cp"))
    server.on("GET", f"{path}/checkpoints/config", answer(recording, "cpconf"))
    server.on("GET", f"{path}/accumulators", answer(recording, "acc"))
    server.on("GET", path, *(answer(recording, f"job-{how}") for how in ("run", "ok", "fail")))

    states = [(await flink.job(JOB)).state for _ in range(3)]

    assert states == ["RUNNING", "FINISHED", "FAILED"]
    assert {job.state for job in await flink.jobs()} >= {"RUNNING", "FINISHED", "FAILED"}
    assert await flink.job_state(JOB) == "RUNNING"
    assert (await flink.checkpoints(JOB)).counts.completed > 0
    assert (await flink.checkpoint_configuration(JOB))["interval"] == 2000
    assert await flink.accumulators(JOB) == ()


async def test_ends_and_their_causes(
    flink: FlinkClient, server: ScriptedServer, recording: dict[str, Any]
) -> None:
    ends = ("result-ok", "result-fail", "result-cancel")
    server.on("GET", f"/jobs/{JOB}/exceptions", answer(recording, "exc-fail"))
    server.on("GET", f"/jobs/{JOB}/execution-result", *(answer(recording, end) for end in ends))

    results = [(await flink.result(JOB)).result for _ in ends]

    assert [result and result.application_status for result in results] == [
        "SUCCEEDED",
        "FAILED",
        "CANCELED",
    ]
    trace = (await flink.exceptions(JOB)).latest_stacktrace
    assert java_errors.root_cause(trace) == "IllegalArgumentException: bad record 50"


async def test_savepoints_and_checkpoints(
    flink: FlinkClient, server: ScriptedServer, recording: dict[str, Any]
) -> None:
    path, trigger = f"/jobs/{JOB}", "a" * 32
    server.on("POST", f"{path}/savepoints", answer(recording, "sp-trigger"))
    server.on("POST", f"{path}/checkpoints", answer(recording, "cp-trigger"))
    server.on("POST", f"{path}/stop", answer(recording, "stop"))
    server.on("POST", "/savepoint-disposal", answer(recording, "dispose"))
    asked = ("sp-status0", "sp-status", "sp-status-bad")
    server.on("GET", f"{path}/savepoints/{trigger}", *(answer(recording, name) for name in asked))
    server.on("GET", f"{path}/checkpoints/{trigger}", answer(recording, "cp-status"))
    disposals = ("dispose-status", "dispose-bad-status")
    server.on(
        "GET",
        f"/savepoint-disposal/{trigger}",
        *(answer(recording, name) for name in disposals),
    )

    assert await flink.trigger_savepoint(JOB)
    assert await flink.trigger_checkpoint(JOB)
    assert await flink.stop(JOB)
    assert await flink.dispose_savepoint("file:/x")
    running, done, failed = [await flink.savepoint_status(JOB, trigger) for _ in asked]
    assert not running.is_completed
    assert str(done.operation and done.operation.location).startswith("file:/data/sp/savepoint-")
    assert "Failed to create savepoint directory" in told(failed)
    assert (await flink.checkpoint_status(JOB, trigger)).operation
    disposed, refused = [await flink.disposal_status(trigger) for _ in disposals]
    assert told(disposed) == ""
    assert "Cannot find checkpoint or savepoint" in told(refused)


def told(status: models.OperationStatus) -> str:
    assert status.operation is not None
    failure = status.operation.failure
    return java_errors.root_cause(failure.stack_trace) if failure else ""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("run-failmain", "IllegalStateException: no input given second line"),
        ("run-noclass", "The program's entry point class 'Nope' was not found in the jar file."),
        ("run-fake", "ZipException"),
        ("upload-notjar", "Only Jar files are allowed."),
    ],
)
async def test_refusals(
    flink: FlinkClient,
    server: ScriptedServer,
    recording: dict[str, Any],
    name: str,
    words: str,
) -> None:
    server.on("POST", "/jars/x_job.jar/run", answer(recording, name))

    with pytest.raises(RestStatusError, match=words):
        await flink.run_jar("x_job.jar")
