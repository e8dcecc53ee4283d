"""A JobManager that is known by its address: an address that is wrong is believed soon."""

from __future__ import annotations

import asyncio
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kubeflink.cluster.remote import RemoteCluster
from kubeflink.errors import FlinkError
from kubeflink.rest.transport import FirstContact
from support.scripted_server import Answer, ScriptedServer

SOON = FirstContact(refused=0.5, failing=0.5)
GIVEN_UP = 30.0
"""Seconds: far more than the first contact has here, far less than a failover is given."""

BROKEN = {
    "closed": Answer(drop=True),
    "500": Answer(500, {"errors": ["odd"]}),
    "500 as in a failover": Answer(500, {"errors": ["FencingTokenException: no leader"]}),
    "503": Answer(503, {}),
    "silent": Answer(delay=3600.0),
}


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "words.jar"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Words.class", b"")
    return path


@pytest.fixture
async def remote(flink_rest: ScriptedServer) -> AsyncIterator[RemoteCluster]:
    host, port = flink_rest.url.removeprefix("http://").split(":")
    async with RemoteCluster(host, int(port), first_contact=SOON) as cluster:
        yield cluster


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
async def test_an_address_that_never_answers_is_given_up(
    remote: RemoteCluster,
    flink_rest: ScriptedServer,
    jar: Path,
    broken: Answer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kubeflink.rest.transport.FIRST_ANSWER_SECONDS", 0.5)
    flink_rest.on("GET", "/jars", broken)

    with pytest.raises(FlinkError) as caught:
        async with asyncio.timeout(GIVEN_UP):
            await remote.submit_jar(jar)

    assert "\n" not in str(caught.value)
    assert flink_rest.requests("POST") == []


async def test_one_that_has_answered_is_waited_for(
    remote: RemoteCluster, flink_rest: ScriptedServer
) -> None:
    jobs = Answer(200, {"jobs": []})
    lost = [Answer(drop=True)] * 4  # pauses of more than SOON lie between them
    flink_rest.on("GET", "/jobs/overview", jobs, *lost, jobs)
    assert await remote.jobs() == ()

    assert await remote.jobs() == ()

    assert len(flink_rest.requests("GET", "/jobs/overview")) == 6
