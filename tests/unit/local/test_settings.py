"""Settings of an embedded cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeflink.errors import LocalError
from kubeflink.local.settings import BackOff, Settings, stored_settings


def test_the_first_restart_is_immediate_and_the_others_wait_longer_and_longer() -> None:
    delays = [BackOff(1, 10).delay(failures) for failures in range(1, 8)]
    assert delays == [0, 1, 2, 4, 8, 10, 10]


@given(st.integers(min_value=1))
def test_no_wait_is_longer_than_the_maximum(failures: int) -> None:
    assert 0 <= BackOff().delay(failures) <= BackOff().maximum


def test_settings_survive_as_json(tmp_path: Path) -> None:
    settings = Settings(
        port=1, flink_homes=(Path("/a"),), jvm_options=(), back_off=BackOff(1, 2, 3)
    )
    file = tmp_path / "settings.json"
    assert stored_settings(file, "a") == Settings()
    file.write_text(json.dumps(settings.as_json()))
    assert stored_settings(file, "a") == settings
    file.write_text("{}")
    assert stored_settings(file, "a") == Settings()


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff", b'{"port": "x"}', b'{"back_off": [1]}', b'{"flink_homes": "/a"}'],
)
def test_damaged_settings_are_not_taken_for_none(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "settings.json"
    file.write_bytes(content)

    with pytest.raises(LocalError, match=f"{file} is damaged") as failure:
        stored_settings(file, "mine")

    assert "kubeflink local up mine" in (failure.value.hint or "")
