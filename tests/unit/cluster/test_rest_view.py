"""Looking at a REST API that answers, does not, or stops doing so half way."""

from __future__ import annotations

import pytest

from kubeflink.cluster import rest_view
from kubeflink.cluster.session import SessionCluster
from support.kubernetes import SmallKubernetes
from support.scripted_server import Answer, ScriptedServer

OVERVIEW = Answer(200, {"flink-version": "2.3.0"})
NEVER = Answer(delay=3600.0)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_view, "ANSWER_SECONDS", 0.5)


async def test_all_that_it_tells(
    kubernetes: SmallKubernetes, demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    flink_rest.on("GET", "/overview", OVERVIEW)
    jobs = [{"jid": "0" * 32, "name": "words", "state": "RUNNING"}]
    flink_rest.on("GET", "/jobs/overview", Answer(200, {"jobs": jobs}))
    flink_rest.on("GET", "/taskmanagers", Answer(200, {"taskmanagers": [{"id": "a"}]}))

    seen = await rest_view.look(kubernetes.client, "demo", "default")

    assert seen.overview is not None
    assert ([job.name for job in seen.jobs], seen.taskmanagers) == (["words"], {"a"})
    assert seen.error is None


async def test_why_the_last_jobs_failed(
    kubernetes: SmallKubernetes, demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    """The states of one that is forgotten meanwhile, and of one that runs, say nothing."""
    states = ["FAILED", "FAILED", "RUNNING", "RESTARTING", "FAILED", "FAILED"]
    jobs = [
        {"jid": str(number) * 32, "state": state, "start-time": number}
        for number, state in enumerate(states)
    ]
    trace = "java.lang.RuntimeException: outer\n\tat a.B.c(B.java:1)\nCaused by: a.b.C: OutOfMemory"
    flink_rest.on("GET", "/overview", OVERVIEW)
    flink_rest.on("GET", "/jobs/overview", Answer(200, {"jobs": jobs}))
    flink_rest.on("GET", "/taskmanagers", Answer(200, {"taskmanagers": []}))
    for number in (0, 1, 3):
        cause = Answer(200, {"root-exception": f"{trace}Error: Metaspace {number}"})
        flink_rest.on("GET", f"/jobs/{str(number) * 32}/exceptions", cause)
    flink_rest.on("GET", f"/jobs/{'4' * 32}/exceptions", Answer(404, {"errors": ["Not found."]}))
    flink_rest.on("GET", f"/jobs/{'5' * 32}/exceptions", Answer(200, {"root-exception": None}))

    seen = await rest_view.look(kubernetes.client, "demo", "default")

    (failure,) = seen.failures
    assert failure.job_id == "3" * 32
    assert failure.cause == "C: OutOfMemoryError: Metaspace 3"
    assert "jvm-metaspace.size" in str(failure.hint)
    assert seen.error is None


@pytest.mark.usefixtures("soon")
async def test_silence_is_not_waited_for(
    kubernetes: SmallKubernetes, demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    flink_rest.on_any("GET", ".*", NEVER)

    seen = await rest_view.look(kubernetes.client, "demo", "default")

    assert (seen.overview, seen.jobs, seen.taskmanagers) == (None, (), None)
    assert seen.error == (
        "Flink's REST API at cluster demo (through the API server) did not answer within 0.5 s"
    )
    assert len(flink_rest.seen) == 1


@pytest.mark.usefixtures("soon")
async def test_what_was_told_before_the_silence_is_kept(
    kubernetes: SmallKubernetes, demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    flink_rest.on_any("GET", ".*", NEVER)
    flink_rest.on("GET", "/overview", OVERVIEW)

    seen = await rest_view.look(kubernetes.client, "demo", "default")

    assert seen.overview is not None
    assert seen.taskmanagers is None
    assert "did not answer within" in str(seen.error)


async def test_why_it_cannot_be_reached(kubernetes: SmallKubernetes, demo: SessionCluster) -> None:
    kubernetes.behind.places.clear()
    seen = await rest_view.look(kubernetes.client, "demo", "default")
    assert "no endpoints available" in str(seen.error)
    assert "No Flink cluster other" in str(
        (await rest_view.look(kubernetes.client, "other", "default")).error
    )
