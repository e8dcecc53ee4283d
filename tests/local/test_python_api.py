"""Clusters and jobs of real Flink through the Python API, on the embedded Kubernetes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kubeflink import ApplicationCluster, Job, SessionCluster, clusters, sync
from kubeflink.cluster import runner
from kubeflink.errors import (
    ClusterExistsError,
    ClusterNotFoundError,
    JobFailedError,
    RestStatusError,
    SqlError,
)
from kubeflink.local.cluster import EmbeddedCluster
from kubeflink.rest.client import SavepointFormat
from support.embedded import JVM_SECONDS, SMALL_SESSION, eventually

pytestmark = [
    pytest.mark.flink,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
]

WORD_COUNT = Path(__file__).parents[2] / "examples" / "wordcount.jar"
SINK = "CREATE TABLE sink (n BIGINT) WITH ('connector' = 'blackhole');"
NUMBERS = """
    CREATE TABLE numbers (n BIGINT) WITH (
      'connector' = 'datagen', 'rows-per-second' = '100', 'fields.n.kind' = 'sequence',
      'fields.n.start' = '1', 'fields.n.end' = '100');
"""
BOUNDED = NUMBERS + SINK + "INSERT INTO sink SELECT n FROM numbers;"
FAILING = (
    "SET 'restart-strategy.type' = 'none';"
    + NUMBERS
    + SINK
    + "INSERT INTO sink SELECT 1 / (50 - n) FROM numbers;"
)
ENDLESS = (
    "SET 'execution.checkpointing.interval' = '1s';"
    "CREATE TABLE dice (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '100');"
    + SINK
    + "INSERT INTO sink SELECT n FROM dice;"
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session(kubernetes: EmbeddedCluster) -> AsyncIterator[SessionCluster]:
    stages: list[str] = []
    async with SessionCluster.temporary(
        "demo",
        options=SMALL_SESSION,
        kubeconfig=kubernetes.kubeconfig,
        timeout=JVM_SECONDS,
        on_stage=lambda stage: stages.append(stage.text),
    ) as cluster:
        assert stages[-1] == "waiting for the JobManager to serve"
        yield cluster
    assert await clusters(kubeconfig=kubernetes.kubeconfig) == ()


async def is_running(job: Job) -> bool:
    details = await job.details()
    running = details.status_counts.get("RUNNING", 0)
    return details.state == "RUNNING" and running == len(details.vertices)


async def test_a_job_gets_a_worker_and_finishes(session: SessionCluster) -> None:
    assert (await session.overview()).taskmanagers == 0

    job = await session.submit_sql(BOUNDED)
    outcome = await job.wait(timeout=JVM_SECONDS)

    assert outcome.succeeded
    (worker,) = await session.taskmanagers()
    assert worker.id.startswith("demo-taskmanager-1-")


async def test_a_program_that_fails_before_its_job(session: SessionCluster) -> None:
    with pytest.raises(RestStatusError, match=r"IllegalArgumentException: give a text to count"):
        await session.submit_jar(WORD_COUNT)


@pytest.mark.parametrize(
    ("script", "statement", "line", "column", "sentence"),
    [
        (NUMBERS + SINK + "INSERT INTO sink\nSELECT n FROM nowhere", 3, 6, 15, "'nowhere' not"),
        (SINK + "-- it goes\nINSERT INTO sink SELECT FORM 1", 2, 2, 30, 'Encountered "1"'),
        (SINK + "/* here\n*/ INSERT INTO nowhere SELECT 1", 2, 2, None, "Cannot find table"),
        (SINK + "\nINSERT INTO sink SELECT 1; INSERT INTO sink SELECT 'a'", 3, 2, None, "do not"),
        (NUMBERS.replace("datagen", "dategen") + SINK + "INSERT INTO sink SELECT 1;\n"
         "INSERT INTO sink SELECT n FROM numbers", 4, 6, None, "dategen"),
    ],
    ids=["validation", "parser", "no place", "types", "of all inserts"],
)  # fmt: skip
async def test_a_statement_that_flink_refuses(
    session: SessionCluster,
    script: str,
    statement: int,
    line: int,
    column: int | None,
    sentence: str,
) -> None:
    with pytest.raises(SqlError) as caught:
        await session.submit_sql(script)

    error = caught.value
    assert sentence in error.message
    assert (error.statement, error.line, error.column) == (statement, line, column)


async def test_a_job_that_fails_while_it_runs(session: SessionCluster) -> None:
    job = await session.submit_sql(FAILING)

    with pytest.raises(JobFailedError, match="FAILED: ArithmeticException: / by zero"):
        await job.wait(timeout=JVM_SECONDS)


async def test_the_same_name_twice(session: SessionCluster, kubernetes: EmbeddedCluster) -> None:
    with pytest.raises(ClusterExistsError):
        await SessionCluster.deploy("demo", options=SMALL_SESSION, kubeconfig=kubernetes.kubeconfig)

    assert (await session.overview()).flink_version


@pytest.mark.parametrize("kind", ["CANONICAL", "NATIVE"])
async def test_stop_with_savepoint_and_start_from_it(
    session: SessionCluster, tmp_path: Path, kind: SavepointFormat
) -> None:
    job = await session.submit_sql(ENDLESS)
    await eventually(lambda: is_running(job), "the job running")
    with pytest.raises(JobFailedError, match="Failed to create savepoint directory"):
        await job.savepoint(directory="/proc/none")
    assert await job.checkpoint() > 0

    savepoint = await job.stop(directory=tmp_path.as_uri(), format_type=kind)

    made = (await job.checkpoints()).latest.savepoint
    assert made is not None
    assert (made.external_path, made.savepoint_format) == (savepoint.location, kind)
    assert (await job.wait(timeout=JVM_SECONDS)).state == "FINISHED"
    assert savepoint.location.startswith("file:")
    again = await session.submit_sql(
        f"SET 'execution.state-recovery.path' = '{savepoint.location}';" + ENDLESS
    )
    restored = await eventually(
        lambda: _restored_from(again), "the job restored", timeout=JVM_SECONDS
    )
    assert restored == savepoint.location
    await again.cancel()
    assert await again.state() == "CANCELED"
    await session.dispose_savepoint(savepoint.location)
    assert os.listdir(tmp_path) == []


async def _restored_from(job: Job) -> str | None:
    restored = (await job.checkpoints()).latest.restored
    return restored.external_path if restored else None


async def test_logs_of_all_pods(session: SessionCluster) -> None:
    seen = {(line.component, line.pod) async for line in session.logs(tail_lines=5)}

    assert {component for component, _ in seen} >= {"jobmanager"}


async def test_a_description_tells_it_all(session: SessionCluster) -> None:
    found = await session.describe()

    assert (found.summary.kind, found.summary.status) == ("session", "Ready")
    assert found.troubles == ()
    assert found.overview is not None
    assert {pod.component for pod in found.pods} >= {"jobmanager"}


async def test_without_await(session: SessionCluster, kubernetes: EmbeddedCluster) -> None:
    def use() -> tuple[str, str, int]:
        with sync.SessionCluster.attach("demo", kubeconfig=kubernetes.kubeconfig) as cluster:
            outcome = cluster.submit_sql(BOUNDED).wait(timeout=JVM_SECONDS)
            lines = sum(1 for _ in cluster.logs(tail_lines=2))
            return cluster.name, outcome.state, lines

    name, state, lines = await asyncio.to_thread(use)

    assert (name, state) == ("demo", "FINISHED")
    assert lines > 0


async def _run_application(kubernetes: EmbeddedCluster, script: str) -> ApplicationCluster:
    from kubeflink.cluster.sql import runnable_script

    return await ApplicationCluster.deploy(
        f"local://{runner.jar()}",
        "app",
        entry_class=runner.MAIN_CLASS,
        args=runnable_script(script),
        options=SMALL_SESSION,
        kubeconfig=kubernetes.kubeconfig,
    )


@pytest.mark.parametrize(
    ("script", "state", "cause"),
    [
        (BOUNDED, "FINISHED", None),
        ("INSERT INTO nowhere SELECT 1;", "FAILED", "Cannot find table"),
    ],
    ids=["finishes", "fails in main"],
)
async def test_the_end_of_an_application_is_known_although_it_removes_itself(
    kubernetes: EmbeddedCluster, script: str, state: str, cause: str | None
) -> None:
    async with await _run_application(kubernetes, script) as app:
        outcome = await app.wait(timeout=JVM_SECONDS, check=False)

        assert outcome.state == state
        assert cause is None or cause in str(outcome.cause)
        await eventually(lambda: _is_gone(app), "the application gone", timeout=60)
        with pytest.raises(ClusterNotFoundError):
            await app.delete()


async def _is_gone(app: ApplicationCluster) -> bool:
    return not await app.exists()
