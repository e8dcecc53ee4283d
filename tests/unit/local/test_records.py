"""What is written down of a container's process, for the servers that come after."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kubeflink.errors import LocalError
from kubeflink.local.processes import (
    ProcessIdentity,
    ProcessRecord,
    kill_recorded,
    read_record,
    start_time,
)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "process.json"
    assert read_record(file) is None
    record = ProcessRecord(ProcessIdentity(1, "then"), 3, 1.5)

    record.write(file)

    assert read_record(file) == record


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"pid": 1, "started": "x"}'])
def test_a_damaged_record_is_not_taken_for_none(tmp_path: Path, content: bytes) -> None:
    """Else a second process would be started beside one that may live."""
    file = tmp_path / "process.json"
    file.write_bytes(content)

    with pytest.raises(LocalError, match=f"{file} is damaged") as failure:
        read_record(file)

    assert "remove the file" in (failure.value.hint or "")


def test_a_damaged_record_keeps_no_other_process_alive(tmp_path: Path) -> None:
    damaged, whole = tmp_path / "a.json", tmp_path / "b.json"
    damaged.write_text("{")
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as process:
        started = start_time(process.pid)
        assert started is not None
        ProcessRecord(ProcessIdentity(process.pid, started), 0, 0.0).write(whole)

        with pytest.raises(LocalError, match="json is damaged"):
            kill_recorded([damaged, whole])

        process.wait(timeout=60)
