"""`run --session`: what is wrong on this machine is found before the cluster is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.recorder import RecordingServer

from .conftest import Call


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("gone.jar",), "There is no file gone.jar"),
        (("text.jar",), "text.jar is no jar"),
        (("gone.sql",), "There is no file gone.sql"),
        (("gone.py",), "There is no file gone.py"),
        (("--py-files", "there.py,gone.py", "there.py"), "There is no file gone.py"),
        (("--py-requirements", "gone.txt#cache", "there.py"), "There is no file gone.txt"),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) else "",
)
def test_a_file_that_cannot_be_run(
    call: Call, server: RecordingServer, words: tuple[str, ...], message: str
) -> None:
    Path("text.jar").write_text("no archive", encoding="utf-8")
    Path("there.py").touch()

    found = call("run", "--session", "demo", *words)

    assert found.code == 2
    assert message in found.err
    assert server.requests == []


def test_an_application_takes_no_other_program(call: Call) -> None:
    found = call("run", "--app", "counts", "--sql", "INSERT INTO a SELECT 1")

    assert found.code == 2
    assert "runs the program that it was started with, and no other" in found.err
