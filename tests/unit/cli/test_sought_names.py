"""A name that no cluster can have is refused before anybody is asked about it."""

from __future__ import annotations

import pytest

from support.recorder import RecordingServer

from .conftest import Call

JOB = "a" * 32
FLINK = ("-t", "kubernetes-session")

COMMANDS = [
    ("session", "stop", "{}"),
    ("session", "attach", "{}"),
    ("app", "stop", "{}"),
    ("describe", "{}"),
    ("logs", "{}"),
    ("ui", "{}"),
    ("list", "--session", "{}"),
    ("list", "--app", "{}"),
    ("run", "--session", "{}", "--sql", "SELECT 1"),
    ("cancel", "--session", "{}", JOB),
    ("stop", "--session", "{}", JOB),
    ("savepoint", "--session", "{}", JOB),
    ("checkpoint", "--session", "{}", JOB),
    ("list", *FLINK, "-Dkubernetes.cluster-id={}"),
    ("cancel", *FLINK, "-Dkubernetes.cluster-id={}", JOB),
]


@pytest.mark.parametrize("name", ["A B", "x" * 64], ids=["odd", "long"])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_name_that_cannot_be(
    call: Call, server: RecordingServer, words: tuple[str, ...], name: str
) -> None:
    found = call(*(word.format(name) for word in words))

    assert found.code == 2
    assert f"{name!r} is no name of a cluster" in found.err
    assert server.requests == []


def test_a_name_longer_than_those_that_flink_makes_is_looked_for(
    call: Call, server: RecordingServer
) -> None:
    found = call("session", "stop", "x" * 63)

    assert found.code == 4
    assert server.requests != []
