"""What all tests share: how hypothesis runs, and the JVM that is asked what Flink does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from support.flink_jars import JUDGES, JarsMissingError

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import Scheduling

    from support.judge import FlinkJudge

# The same examples at every run, so that a red run means a change and not bad luck. New examples:
# HYPOTHESIS_PROFILE=explore. No deadline: a busy machine is no failure.
settings.register_profile("stable", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", deadline=None, database=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "stable"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    """With `-n`, as in `scripts/test`: see `support.shares`."""
    from support.shares import Shares

    config.option.loadscopereorder = False
    return Shares(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In each of several processes: the tests in the order in which they are handed out."""
    if hasattr(config, "workerinput"):
        from support.shares import turn_of

        items.sort(key=lambda item: turn_of(item.nodeid))


@pytest.fixture(scope="session", params=JUDGES)
def flink_judge(request: pytest.FixtureRequest) -> Iterator[FlinkJudge]:
    """Real Flink, one version after the other; its configuration files are gone with it."""
    from support.judge import FlinkJudge

    try:
        judge = FlinkJudge(request.param)
    except JarsMissingError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no judge for Flink {request.param}: {error}")
    with judge:
        yield judge
