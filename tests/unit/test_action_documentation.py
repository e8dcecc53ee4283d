"""The documentation shows what becomes of each action on a bad day, as the tests prove it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflink.cli.main import FLINK_COMMANDS
from support.action_table import TABLE, Failure, Kind, cases, markdown

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"


@pytest.mark.parametrize("kind", ["session", "application"])
def test_the_table_is_that_of_the_tests(kind: Kind) -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = text.split(f"<!-- action table: {kind} -->\n")[1].split("\n<!-- end -->")[0]

    assert shown == markdown(kind)


def test_every_action_that_flink_has_is_there() -> None:
    named = {action.split()[0] for action in TABLE["session"]}

    assert named == set(FLINK_COMMANDS) - {"kubernetes-session", "run-application"}


@pytest.mark.parametrize("failure", Failure)
def test_every_failure_befalls_somebody(failure: Failure) -> None:
    assert list(cases(failure))
