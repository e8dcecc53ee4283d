"""What is said of a server that does not answer, and how often."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Iterator
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


# --- silence -----------------------------------------------------------------------------------


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set when it is looked whether an answer has come, which is every moment here."""
    monkeypatch.setattr(outage, "SILENT_SECONDS", 0.01)
    return asyncio.Event()


@pytest.fixture
def told() -> Iterator[asyncio.Event]:
    """Set when something is told; lines are written as well."""
    event = asyncio.Event()

    def tell(away: Outage, pause: float) -> None:
        outage.write_lines(away, pause)
        event.set()

    token = outage.TELLER.set(tell)
    yield event
    outage.TELLER.reset(token)


async def test_a_server_that_says_nothing_is_told_of(
    clock: Clock, looked: asyncio.Event, told: asyncio.Event, lines: pytest.LogCaptureFixture
) -> None:
    away = Outage("cluster demo")
    with away.asked():
        clock.now = 3.0
        await told.wait()
    away.over()

    assert lines.messages == [
        "waiting for cluster demo since 3 s, no answer so far",
        "cluster demo answers",
    ]


async def test_its_failure_is_the_cause_from_then_on(
    clock: Clock, looked: asyncio.Event, told: asyncio.Event, lines: pytest.LogCaptureFixture
) -> None:
    away = Outage("cluster demo")
    with away.asked():
        clock.now = 3.0
        await told.wait()
    clock.now = 10.0
    away.failed("no answer in time", limit=60.0, pause=0.2)
    clock.now = 13.0
    away.failed("refused", limit=60.0, pause=0.2)
    away.over()

    assert lines.messages == [
        "waiting for cluster demo since 3 s, no answer so far",
        "waiting for cluster demo since 13 s (for up to 60 s), last: refused",
        "cluster demo answers again",
    ]


async def test_a_quick_answer_is_not_worth_a_word(
    told: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outage, "SILENT_SECONDS", 0.0)
    with Outage("cluster demo").asked():
        pass
    for _ in range(3):
        await asyncio.sleep(0)

    assert not told.is_set()


async def test_a_server_that_answers_others_is_not_silent(
    clock: Clock, looked: asyncio.Event, told: asyncio.Event, lines: pytest.LogCaptureFixture
) -> None:
    def look() -> float:
        looked.set()
        return 0.0

    away = Outage("cluster demo")
    with away.asked(not_before=look):
        clock.now = 100.0
        away.over()
        looked.clear()
        await looked.wait()
        assert not told.is_set()
        clock.now = 110.0
        await told.wait()

    assert lines.messages == ["waiting for cluster demo since 10 s, no answer so far"]


async def test_the_time_in_which_somebody_else_is_waited_for_does_not_count(
    clock: Clock, looked: asyncio.Event, told: asyncio.Event, lines: pytest.LogCaptureFixture
) -> None:
    free_since = math.inf

    def look() -> float:
        looked.set()
        return free_since

    with Outage("cluster demo").asked(not_before=look):
        clock.now = 100.0
        await looked.wait()
        assert not told.is_set()
        free_since, clock.now = 101.0, 105.0
        await told.wait()

    assert lines.messages == ["waiting for cluster demo since 4 s, no answer so far"]


async def test_a_long_silence_is_told_now_and_then(
    clock: Clock, looked: asyncio.Event, told: asyncio.Event, lines: pytest.LogCaptureFixture
) -> None:
    away = Outage("cluster demo")
    with away.asked():
        for now in (3.0, 12.0, 13.0, 20.0, 33.0):
            clock.now = now
            told.clear()
            await told.wait()
    away.given_up()

    assert lines.messages == [
        f"waiting for cluster demo since {now} s, no answer so far" for now in (3, 13, 33)
    ]
