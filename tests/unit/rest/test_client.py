"""The REST client against answers of a real Flink, and against servers that misbehave."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import tracemalloc
from pathlib import Path
from typing import Any

import httpx2
import pytest

from kubeflink.errors import (
    ForbiddenError,
    NotFoundError,
    RestStatusError,
    RestUnreachableError,
)
from kubeflink.rest import FlinkClient
from support.scripted_server import Answer, ScriptedServer

JOB = "e1f121d9cab10446b84b486b38d83813"
NO_LEADER = Answer(
    503,
    {
        "errors": [
            "Service temporarily unavailable due to an ongoing leader election. Please refresh."
        ]
    },
)


async def test_overview(flink: FlinkClient, server: ScriptedServer, recorded: Any) -> None:
    server.on("GET", "/overview", recorded("overview"))

    overview = await flink.overview()

    assert (overview.flink_version, overview.slots_total, overview.taskmanagers) == ("2.3.0", 2, 1)


async def test_jobs(flink: FlinkClient, server: ScriptedServer, recorded: Any) -> None:
    server.on("GET", "/jobs/overview", recorded("jobs"))

    jobs = await flink.jobs()

    assert (jobs[0].id, jobs[0].state, jobs[0].is_terminal) == (JOB, "RUNNING", False)
    assert jobs[0].tasks["running"] == 2


async def test_job_details(flink: FlinkClient, server: ScriptedServer, recorded: Any) -> None:
    server.on("GET", f"/jobs/{JOB}", recorded("job-run"))

    job = await flink.job(JOB)

    assert job.state == "RUNNING"
    assert [vertex.name for vertex in job.vertices] == [
        "Source: Sequence Source -> Map",
        "step -> Sink: Writer",
    ]
    assert job.vertices[0].tasks["RUNNING"] == 1


async def test_exceptions_of_2x_and_of_1x(
    flink: FlinkClient, server: ScriptedServer, recorded: Any
) -> None:
    server.on("GET", f"/jobs/{JOB}/exceptions", recorded("exc-fail"))
    assert "bad record 50" in (await flink.exceptions(JOB)).latest_stacktrace

    old = {"root-exception": "java.io.IOException: gone", "timestamp": 1, "all-exceptions": []}
    server.on("GET", f"/jobs/{JOB}/exceptions", Answer(200, old))
    assert (await flink.exceptions(JOB)).latest_stacktrace == "java.io.IOException: gone"


async def test_results(flink: FlinkClient, server: ScriptedServer, recorded: Any) -> None:
    path = f"/jobs/{JOB}/execution-result"
    server.on(
        "GET",
        path,
        Answer(200, {"status": {"id": "IN_PROGRESS"}}),
        recorded("result-fail"),
        recorded("result-ok"),
    )

    running, failed, finished = [await flink.result(JOB) for _ in range(3)]

    assert running.result is None
    assert failed.result is not None
    assert failed.result.failure_cause is not None
    assert failed.result.application_status == "FAILED"
    assert finished.result is not None
    assert finished.result.application_status == "SUCCEEDED"


async def test_workers_checkpoints_and_logs(
    flink: FlinkClient, server: ScriptedServer, recorded: Any
) -> None:
    server.on("GET", "/taskmanagers", recorded("tms2"))
    server.on("GET", f"/jobs/{JOB}/checkpoints", recorded("cp"))
    server.on("GET", "/jobmanager/logs", recorded("jmlogs"))
    server.on("GET", "/jobmanager/config", recorded("jmconfig"))

    (worker,) = await flink.taskmanagers()
    checkpoints = await flink.checkpoints(JOB)

    assert (worker.slots_number, worker.free_slots) == (2, 1)
    assert checkpoints.counts.completed == 3
    assert checkpoints.latest.completed is not None
    assert checkpoints.latest.completed.state_size == 265
    assert {log.name for log in await flink.jobmanager_logs()} >= {"jm.log", "jm.out"}
    assert (await flink.configuration())["rest.port"] == "18081"


async def test_a_savepoint_and_its_outcomes(
    flink: FlinkClient, server: ScriptedServer, recorded: Any
) -> None:
    server.on("POST", f"/jobs/{JOB}/savepoints", recorded("sp-trigger"))
    trigger = await flink.trigger_savepoint(JOB, directory="file:/data/sp")
    path = f"/jobs/{JOB}/savepoints/{trigger}"
    server.on("GET", path, recorded("sp-status0"), recorded("sp-status"), recorded("sp-status-bad"))

    running, done, failed = [await flink.savepoint_status(JOB, trigger) for _ in range(3)]

    assert not running.is_completed
    assert done.operation is not None
    assert done.operation.location == "file:/data/sp/savepoint-e1f121-14094f1f83da"
    assert failed.operation is not None
    assert failed.operation.failure is not None
    assert "/proc/nope" in failed.operation.failure.stack_trace


async def test_a_request_for_a_savepoint_carries_one_id_through_all_its_attempts(
    flink: FlinkClient, server: ScriptedServer, recorded: Any
) -> None:
    path = f"/jobs/{JOB}/stop"
    server.on("POST", path, Answer(drop=True), NO_LEADER, recorded("stop"))

    await flink.stop(JOB, directory="s3://b/sp", drain=True)

    bodies = [seen.json for seen in server.requests("POST", path)]
    assert len(bodies) == 3
    assert bodies[0] == bodies[1] == bodies[2]
    assert bodies[0]["drain"] is True
    assert len(bodies[0]["triggerId"]) == 32


async def test_run_sends_what_was_asked_for(
    flink: FlinkClient, server: ScriptedServer, recorded: Any
) -> None:
    server.on("POST", "/jars/x_job.jar/run", recorded("run-ok"))

    job_id = await flink.run_jar(
        "x_job.jar",
        entry_class="a.B",
        args=["--k", "v w", ""],
        parallelism=3,
        savepoint="s3://b/sp",
        allow_non_restored_state=True,
        claim_mode="CLAIM",
    )

    (seen,) = server.requests()
    body = seen.json
    assert len(job_id) == 32
    assert len(body.pop("jobId")) == 32
    assert body == {
        "entryClass": "a.B",
        "programArgsList": ["--k", "v w", ""],
        "parallelism": 3,
        "savepointPath": "s3://b/sp",
        "allowNonRestoredState": True,
        "restoreMode": "CLAIM",
    }


async def test_a_failing_main_is_told_in_one_line_and_not_repeated(
    flink: FlinkClient, server: ScriptedServer, recorded: Any
) -> None:
    for name in ("run-failmain", "run-noclass"):
        server.on("POST", "/jars/x_job.jar/run", recorded(name))
        with pytest.raises(RestStatusError) as caught:
            await flink.run_jar("x_job.jar")
        assert str(caught.value).count("\n") == 0

    assert "entry point class 'Nope' was not found" in str(caught.value)
    assert len(server.requests()) == 2


async def test_a_run_whose_answer_got_lost_is_found_by_its_id(
    flink: FlinkClient, server: ScriptedServer
) -> None:
    server.on("POST", "/jars/x_job.jar/run", Answer(drop=True))
    server.on("GET", f"/jobs/{JOB}/status", Answer(200, {"status": "RUNNING"}))

    assert await flink.run_jar("x_job.jar", job_id=JOB) == JOB
    assert len(server.requests("POST")) == 1


async def test_a_run_that_never_arrived_is_not_called_started(
    flink: FlinkClient, server: ScriptedServer, recorded: Any
) -> None:
    server.on("POST", "/jars/x_job.jar/run", Answer(drop=True))
    server.on("GET", f"/jobs/{JOB}/status", recorded("job-unknown"))

    with pytest.raises(RestUnreachableError, match=JOB):
        await flink.run_jar("x_job.jar", job_id=JOB)


@pytest.mark.parametrize(
    "trouble",
    [
        NO_LEADER,
        Answer(500, {"errors": ["Internal server error.", "<Exception on server side:\nx.Y: z"]}),
        Answer(drop=True),
        Answer(502, "<html>bad gateway</html>"),
    ],
)
async def test_reads_outlast_a_start_of_the_jobmanager(
    flink: FlinkClient, server: ScriptedServer, recorded: Any, trouble: Answer
) -> None:
    server.on("GET", "/overview", trouble, trouble, recorded("overview"))

    assert (await flink.overview()).flink_version == "2.3.0"


async def test_an_upload_is_not_repeated_when_its_fate_is_unknown(
    flink: FlinkClient, server: ScriptedServer, tmp_path: Path
) -> None:
    server.on("POST", "/jars/upload", Answer(drop=True))
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"x")

    with pytest.raises(RestUnreachableError):
        await flink.upload_jar(jar)
    assert len(server.requests()) == 1


async def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        async with httpx2.AsyncClient(trust_env=False) as http:
            flink = FlinkClient(http, url, where="cluster demo", retry_seconds=0.5)
            with pytest.raises(RestUnreachableError, match="cluster demo cannot be reached"):
                await flink.overview()


async def test_an_upload_is_streamed_with_its_length_and_told_as_it_goes(
    flink: FlinkClient, server: ScriptedServer, recorded: Any, tmp_path: Path
) -> None:
    server.on("POST", "/jars/upload", recorded("upload"))
    size = 64 << 20
    jar = tmp_path / "job.jar"
    with jar.open("wb") as file:
        file.truncate(size)
    told: list[tuple[int, int]] = []

    tracemalloc.start()
    jar_id = await flink.upload_jar(jar, progress=lambda sent, total: told.append((sent, total)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    (seen,) = server.requests()
    assert jar_id.endswith("_job.jar")
    assert int(seen.headers["content-length"]) == seen.size
    assert "transfer-encoding" not in seen.headers
    assert told[-1] == (size, size)
    assert told == sorted(told)
    assert peak < 16 << 20  # the server side of the test is in this figure too


async def test_the_multipart_body_is_what_flink_expects(
    flink: FlinkClient, server: ScriptedServer, recorded: Any, tmp_path: Path
) -> None:
    server.on("POST", "/jars/upload", recorded("upload"))
    jar = tmp_path / 'a "b".jar'
    jar.write_bytes(b"PK\r\n--x")

    await flink.upload_jar(jar)

    (seen,) = server.requests()
    boundary = seen.headers["content-type"].partition("boundary=")[2].encode()
    head, content = seen.body.removeprefix(b"--" + boundary).split(b"\r\n\r\n", 1)
    assert b'name="jarfile"; filename="a _b_.jar"' in head
    assert content == b"PK\r\n--x\r\n--" + boundary + b"--\r\n"


@pytest.mark.parametrize(
    ("name", "kept"),
    [("a\r\nx: y.jar", "a__x: y.jar"), ("a\udce4.jar", "a_.jar"), ("ä.jar", "ä.jar")],
)
async def test_a_name_is_one_line_of_a_header(
    flink: FlinkClient,
    server: ScriptedServer,
    recorded: Any,
    tmp_path: Path,
    name: str,
    kept: str,
) -> None:
    server.on("POST", "/jars/upload", recorded("upload"))
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"PK")

    await flink.upload_jar(jar, name=name)

    head = server.requests()[0].body.split(b"\r\n\r\n")[0].decode()
    assert head.splitlines()[1].endswith(f'; filename="{kept}"')
    assert len(head.splitlines()) == 3


async def test_a_body_that_is_too_large_names_the_option(
    flink: FlinkClient, server: ScriptedServer, recorded: Any
) -> None:
    server.on("POST", "/jars/x_job.jar/run", recorded("big"))

    with pytest.raises(RestStatusError, match=r"rest\.server\.max-content-length"):
        await flink.run_jar("x_job.jar")


@pytest.mark.parametrize(
    "key", ["execution.checkpointing.savepoint-dir", "state.savepoints.dir"], ids=str
)
async def test_a_savepoint_without_a_place_says_what_to_do(
    flink: FlinkClient, server: ScriptedServer, key: str
) -> None:
    told = f"Config key [{key}] is not set. Property [targetDirectory] must be provided."
    server.on("POST", f"/jobs/{JOB}/savepoints", Answer(400, {"errors": [told]}))

    with pytest.raises(RestStatusError) as caught:
        await flink.trigger_savepoint(JOB)

    assert caught.value.hint is not None
    assert "Name a directory" in caught.value.hint


async def test_cancelling_twice_is_no_error_but_a_finished_job_is(
    flink: FlinkClient, server: ScriptedServer, recorded: Any
) -> None:
    server.on("PATCH", f"/jobs/{JOB}", recorded("cancel-finished"))
    server.on(
        "GET",
        f"/jobs/{JOB}/status",
        Answer(200, {"status": "CANCELED"}),
        Answer(200, {"status": "FINISHED"}),
    )

    await flink.cancel(JOB)
    with pytest.raises(RestStatusError, match="another terminal state"):
        await flink.cancel(JOB)


@pytest.mark.parametrize(
    ("code", "expected"), [(403, ForbiddenError), (404, NotFoundError), (503, RestUnreachableError)]
)
async def test_the_api_server_on_the_way_answers_itself(
    flink: FlinkClient, server: ScriptedServer, code: int, expected: type[Exception]
) -> None:
    status = {"kind": "Status", "code": code, "message": "told by the API server", "reason": "R"}
    server.on("DELETE", "/jars/x", Answer(code, status))
    async with httpx2.AsyncClient(trust_env=False) as http:
        flink = FlinkClient(http, server.url, retry_seconds=0.3)
        with pytest.raises(expected, match="told by the API server"):
            await flink.delete_jar("x")


@pytest.mark.parametrize(
    "text", ["<html>welcome</html>", pytest.param('{"x":' * 100_000, id="deep")]
)
async def test_something_else_answers(
    flink: FlinkClient, server: ScriptedServer, text: str
) -> None:
    server.on("GET", "/overview", Answer(200, text))

    with pytest.raises(RestStatusError, match="does not answer as Flink"):
        await flink.overview()


async def test_a_standby_that_is_silent_is_asked_again(
    flink: FlinkClient, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeflink.rest.transport.FIRST_ANSWER_SECONDS", 0.2)
    server.on("GET", "/overview", Answer(delay=60.0), Answer(200, {"flink-version": "2.3.0"}))

    assert (await flink.overview()).flink_version == "2.3.0"

    assert len(server.requests("GET", "/overview")) == 2


async def test_a_job_in_a_failover_of_which_little_is_known(
    flink: FlinkClient, server: ScriptedServer
) -> None:
    job = "e1f121d9cab10446b84b486b38d83813"
    unknown = {"job-type": None, "schedulerType": None, "plan": None, "vertices": []}
    body = {"jid": job, "name": "words", "state": "INITIALIZING", **unknown}
    server.on("GET", f"/jobs/{job}", Answer(200, body))

    assert (await flink.job(job)).state == "INITIALIZING"


async def test_a_wait_is_told_of(
    flink: FlinkClient,
    server: ScriptedServer,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kubeflink.kube.outage.QUIET_SECONDS", 2.0)
    logger = logging.getLogger("kubeflink.kube.outage")
    logger.addHandler(caplog.handler)  # wherever its records go otherwise
    server.on("GET", "/jobs/overview", *[NO_LEADER] * 4, Answer(200, {"jobs": []}))

    try:
        assert await flink.jobs() == ()
    finally:
        logger.removeHandler(caplog.handler)

    told = {id(record): record.getMessage() for record in caplog.records}
    waiting, over = told.values()
    assert waiting.startswith("waiting for demo since ")
    assert "(for up to 20 s), last: Flink's REST API at demo does not serve yet" in waiting
    assert over == "demo answers again"


@pytest.fixture
def silences(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> pytest.LogCaptureFixture:
    """What is told of a JobManager that is silent for a moment, which is long here."""
    monkeypatch.setattr("kubeflink.kube.outage.SILENT_SECONDS", 0.05)
    # Whatever the command line has set.
    monkeypatch.setattr(logging.getLogger("kubeflink"), "propagate", True)
    return caplog


async def test_silence_is_told_of_before_the_request_fails(
    flink: FlinkClient,
    server: ScriptedServer,
    silences: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kubeflink.rest.transport.FIRST_ANSWER_SECONDS", 0.5)
    server.on("GET", "/overview", Answer(delay=60.0), Answer(200, {"flink-version": "2.3.0"}))

    await flink.overview()

    waiting, over = silences.messages
    assert re.fullmatch(r"waiting for demo since \d+ s, no answer so far", waiting)
    assert over == "demo answers again"


async def test_what_is_slow_by_nature_is_no_silence(
    server: ScriptedServer, silences: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Programs that run, jars that are sent, and what is asked by somebody who tells himself."""
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"PK")
    server.on("POST", "/jars/upload", Answer(body={"filename": "/x/a"}, delay=0.2))
    server.on("POST", "/jars/a/run", Answer(body={"jobid": JOB}, delay=0.2))
    server.on("POST", "/jars/a/plan", Answer(body={"plan": {}}, delay=0.2))
    server.on("GET", "/overview", Answer(body={"flink-version": "2.3.0"}, delay=0.2))
    async with httpx2.AsyncClient(trust_env=False) as http:
        flink = FlinkClient(http, server.url, where="demo", retry_seconds=20)
        await flink.upload_jar(jar)
        await flink.run_jar("a")
        await flink.plan("a")
        await FlinkClient(http, server.url, where="demo", retry_seconds=0).overview()

    assert silences.messages == []


@pytest.mark.parametrize("kind", ["read", "change", "log", "upload"])
async def test_an_answer_that_trickles_is_given_up(
    flink: FlinkClient,
    server: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    kind: str,
) -> None:
    monkeypatch.setattr("kubeflink.rest.transport.ANSWER_SECONDS", 0.5)
    monkeypatch.setattr("kubeflink.rest.client.LOG_SECONDS", 0.5)
    endless = Answer(trickles=True)
    server.on("GET", "/jobs/overview", endless, Answer(200, {"jobs": []}))
    server.on("GET", "/jobmanager/logs/jm.log", endless, Answer(200, "done"))
    server.on("DELETE", "/jars/a", endless)
    server.on("POST", "/jars/upload", endless)
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"PK")

    async with asyncio.timeout(60.0):
        if kind == "read":
            assert await flink.jobs() == ()
        elif kind == "log":
            assert await flink.jobmanager_log("jm.log") == "done"
        else:  # whether these were done is not known: not again
            with pytest.raises(RestUnreachableError, match="no answer in time"):
                await (flink.delete_jar("a") if kind == "change" else flink.upload_jar(jar))

    assert len(server.seen) == (2 if kind in ("read", "log") else 1)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/jobs/overview", "jobs"),
        ("/taskmanagers", "taskmanagers"),
        ("/jars", "files"),
        ("/jobmanager/logs", "logs"),
    ],
)
async def test_an_answer_without_its_list_is_no_empty_list(
    flink: FlinkClient, server: ScriptedServer, path: str, field: str
) -> None:
    ask = {
        "jobs": flink.jobs,
        "taskmanagers": flink.taskmanagers,
        "files": flink.jars,
        "logs": flink.jobmanager_logs,
    }[field]
    server.on("GET", path, Answer(200, {field: []}), Answer(200, {}))
    assert await ask() == ()

    with pytest.raises(RestStatusError, match=f"does not answer as Flink's.*`{field}`"):
        await ask()
