"""What is said of a server that does not answer, and how often."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import pytest

from kubeflink.kube import outage
from kubeflink.kube.outage import Outage


@dataclass
class Clock:
    """Stands for the module `time`."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(outage, "time", clock)
    return clock


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    logging.getLogger("kubeflink").propagate = True  # whatever the command line has set
    return caplog


def test_lines_come_now_and_then_with_the_last_cause(
    clock: Clock, lines: pytest.LogCaptureFixture
) -> None:
    away = Outage("cluster demo")
    for second in range(0, 101, 2):
        clock.now = second
        away.failed(f"cause {second}", limit=60.0, pause=2.0)
    away.over()
    away.over()

    assert [record.getMessage() for record in lines.records] == [
        "waiting for cluster demo since 4 s (for up to 60 s), last: cause 4",
        "waiting for cluster demo since 12 s (for up to 60 s), last: cause 12",
        "waiting for cluster demo since 30 s (for up to 60 s), last: cause 30",
        "waiting for cluster demo since 68 s, last: cause 68",
        "cluster demo answers again",
    ]


def test_a_moment_is_not_worth_a_word(clock: Clock, lines: pytest.LogCaptureFixture) -> None:
    away = Outage("cluster demo")
    away.failed("refused", limit=60.0, pause=0.2)
    clock.now = 2.0
    away.over()

    assert lines.records == []


def test_what_is_given_up_is_told_by_its_error(
    clock: Clock, lines: pytest.LogCaptureFixture
) -> None:
    away = Outage("cluster demo")
    away.failed("refused", limit=60.0, pause=10.0)
    clock.now = 60.0
    away.given_up()

    assert len(lines.records) == 1
    assert away.since is None


def test_somebody_else_may_tell(clock: Clock, lines: pytest.LogCaptureFixture) -> None:
    told: list[str] = []
    token = outage.TELLER.set(lambda each, _: told.append(each.cause if each.since else "over"))
    try:
        away = Outage("cluster demo")
        clock.now = 1.0
        away.failed("refused", limit=60.0, pause=10.0)
        away.over()
    finally:
        outage.TELLER.reset(token)

    assert told == ["refused", "over"]
    assert lines.records == []
