"""Settings of an embedded cluster."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kubeflink.local.settings import BackOff, Settings, settings_of


def test_the_first_restart_is_immediate_and_the_others_wait_longer_and_longer() -> None:
    delays = [BackOff(1, 10).delay(failures) for failures in range(1, 8)]
    assert delays == [0, 1, 2, 4, 8, 10, 10]


@given(st.integers(min_value=1))
def test_no_wait_is_longer_than_the_maximum(failures: int) -> None:
    assert 0 <= BackOff().delay(failures) <= BackOff().maximum


def test_settings_survive_as_json() -> None:
    settings = Settings(
        port=1, flink_homes=(Path("/a"),), jvm_options=(), back_off=BackOff(1, 2, 3)
    )
    assert settings_of(json.loads(json.dumps(settings.as_json()))) == settings
    assert settings_of({}) == Settings()
