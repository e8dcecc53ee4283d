"""What others wrote obeys nobody on a terminal, and what cannot be written ends as it should."""

from __future__ import annotations

import json
import logging
import os
import pty
import subprocess
import sys
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubeflink.cli import console, progress, running, tables
from kubeflink.kube.outage import Outage
from support.recorder import Fault, RecordingServer

from .conftest import Call

OBEYED = "\x1b[2J\x1b]0;title\x07\x9b31m\r\u202e\x7f"
SHOWN = r"\x1b[2J\x1b]0;title\x07\x9b31m\r\u202e\x7f"

FULL = Path("/dev/full")

needs_full_disk = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")


@contextmanager
def terminal() -> Iterator[Callable[[], str]]:
    """Gives what is written to a terminal, which both streams are meanwhile."""
    leader, follower = pty.openpty()
    tty.setraw(follower)
    with (
        os.fdopen(follower, "w", encoding="utf-8", newline="") as stream,
        pytest.MonkeyPatch.context() as patches,
    ):
        patches.setenv("TERM", "xterm")
        patches.setenv("COLUMNS", "200")
        patches.setattr(sys, "stdout", stream)
        patches.setattr(sys, "stderr", stream)

        def written() -> str:
            stream.flush()
            return os.read(leader, 65536).decode()

        yield written
    os.close(leader)


def test_a_result_on_a_terminal() -> None:
    with terminal() as written:
        console.out(f"a\tb {OBEYED}")

        assert written() == f"a\tb {SHOWN}\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (OBEYED, SHOWN),
        ("a\x1b[31mred\x1b[0mb\x1b[1;4mc", "a\x1b[31mred\x1b[0mb\x1b[1;4mc\x1b[0m"),
        ("\x1b[31m\x1b[2J", "\x1b[31m\\x1b[2J\x1b[0m"),
        ("plain", "plain"),
    ],
)
def test_a_line_of_a_log_on_a_terminal_keeps_its_colours(text: str, shown: str) -> None:
    with terminal() as written:
        console.out_of_log(text)

        assert written() == f"{shown}\n"


def test_a_line_that_moves() -> None:
    outage = Outage("the server")
    with terminal() as written:
        with progress.waiting(f"words {OBEYED}") as tell:
            tell(f"other words {OBEYED}")
            outage.failed(f"cause {OBEYED}", limit=0.0, pause=0.0)
            progress.show_outage(outage, 0.0)
        screen = written()

    assert f"words {SHOWN}" in screen
    assert "\x1b[2J" not in screen
    assert "\x07" not in screen


@pytest.mark.parametrize("name", ["[/b].jar", f"[red]{OBEYED}.jar"])
def test_an_upload_of_a_file_with_any_name(name: str) -> None:
    with terminal() as written:
        with progress.uploading(name) as tell:
            assert tell is not None
            tell(1, 2)

        assert name.replace(OBEYED, SHOWN) in written()


def test_what_is_piped_is_left_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    console.out(OBEYED)
    console.out_of_log(OBEYED)

    assert capsys.readouterr().out == f"{OBEYED}\n{OBEYED}\n"


def test_what_is_going_on_is_visible_wherever_it_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    console.say(OBEYED)
    console.plain(OBEYED)

    assert capsys.readouterr().err == f"kubeflink: {SHOWN}\n{SHOWN}\n"


def test_what_a_server_answers(call: Call, server: RecordingServer) -> None:
    server.faults = [Fault("GET", "/deployments", 403, "Forbidden", "no \x1b[2J\x9b")]

    found = call("clusters")

    assert found.code == 1
    assert r"no \x1b[2J\x9b" in found.err


def test_a_cell_stays_in_its_row() -> None:
    assert tables.table(("NAME",), [("a\nb\tc\x1b",)]) == ["NAME", r"a\nb\tc\x1b"]


def test_json_with_what_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    tables.document({"name": f"ä {OBEYED}"}, "json")

    text = capsys.readouterr().out
    assert json.loads(text) == {"name": f"ä {OBEYED}"}
    assert "\x9b" not in text
    assert "ä" in text


@needs_full_disk
def test_what_is_going_on_is_lost_on_a_full_disk_and_nothing_else(
    server: RecordingServer,
) -> None:
    words = [sys.executable, "-m", "kubeflink", "-vv", "clusters"]
    with FULL.open("w") as full:
        found = subprocess.run(words, stdout=subprocess.PIPE, stderr=full, check=False)

    assert found.returncode == 0
    assert server.requests


@needs_full_disk
@pytest.mark.parametrize("words", [["--help"], ["clusters", "--help"], ["options"]])
def test_a_result_that_cannot_be_kept_is_an_error_in_a_line(words: list[str]) -> None:
    command = [sys.executable, "-m", "kubeflink", *words]
    with FULL.open("w") as full:
        found = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    assert found.returncode == 1
    assert found.stderr == ("kubeflink: The output cannot be written: No space left on device\n")


def test_who_logs_does_not_see_that_the_reader_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        record = logging.LogRecord("kubeflink", logging.WARNING, "", 0, "words", None, None)

        running._Lines().emit(record)

        console.say("nobody hears it")
