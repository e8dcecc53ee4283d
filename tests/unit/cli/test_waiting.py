"""Who waits for a server that does not answer is told so now and then, without asking for it."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.recorder import Fault, RecordingServer

from .conftest import Call


def test_an_api_server_that_does_not_serve_for_a_while(
    call: Call, server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeflink.kube.outage.QUIET_SECONDS", 0.3)
    server.faults = [Fault("GET", "/deployments", 503, "ServiceUnavailable", "away", times=4)]

    found = call("clusters")

    assert found.code == 0
    told = [line for line in found.err.splitlines() if "(for up to 60 s), last: " in line]
    assert told  # how many, and when, is a matter of the clock: tests/unit/kube/test_outage.py
    assert told[0].startswith("kubeflink: waiting for the API server http")
    assert all("away" in line for line in told)
    assert "answers again" in found.err


def test_a_moment_is_not_worth_a_word(call: Call, server: RecordingServer) -> None:
    server.faults = [Fault("GET", "/deployments", 503, "ServiceUnavailable", "away")]

    found = call("clusters")

    assert found.code == 0
    assert server.faults[0].times == 0
    assert "away" not in found.err


def test_a_terminal_shows_what_is_waited_for_in_a_line_that_moves(
    call: Call, server: RecordingServer
) -> None:
    """It is there long before a line would be written elsewhere, and leaves nothing behind."""
    server.faults = [Fault("GET", "/deployments", 503, "ServiceUnavailable", "away", times=6)]
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "kubeflink", "clusters"],
        stdin=follower,
        stdout=subprocess.PIPE,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
    ) as process:
        os.close(follower)
        screen = _read_all(leader)
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(leader)

    assert process.returncode == 0
    assert re.search(
        r"waiting for the API server \S+ since \d+ s \(for up to 60 s\), last: ", screen
    )
    assert "away" in screen
    assert out == b""
    assert screen.rstrip().endswith("there are no Flink clusters in this namespace")


@pytest.fixture
def silent_server(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[socket.socket]:
    """Takes connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        cluster = {"server": f"http://127.0.0.1:{listener.getsockname()[1]}"}
        kubeconfig = {
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": cluster}],
            "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        }
        file = tmp_path / "kubeconfig"
        file.write_text(json.dumps(kubeconfig), encoding="utf-8")
        monkeypatch.setenv("KUBECONFIG", str(file))
        yield listener


def test_silence_is_told_of_in_a_pipe(
    call: Call, silent_server: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeflink.kube.outage.SILENT_SECONDS", 0.05)
    monkeypatch.setattr("kubeflink.kube.connection.READ_TIMEOUT", 1.0)

    found = call("clusters")

    assert found.code == 1
    waiting, failed, *_ = found.err.splitlines()
    server = f"the API server http://127.0.0.1:{silent_server.getsockname()[1]}"
    pattern = rf"kubeflink: waiting for {re.escape(server)} since \d s, no answer so far"
    assert re.fullmatch(pattern, waiting)
    assert failed == f"kubeflink: Cannot reach {server}: no answer within the time limit"


@pytest.mark.usefixtures("silent_server")
def test_silence_is_shown_on_a_terminal_long_before_a_request_fails() -> None:
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "kubeflink", "clusters"],
        stdin=follower,
        stdout=subprocess.DEVNULL,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
    ) as process:
        os.close(follower)
        seen = ""
        while not re.search(r"waiting for the API server \S+ since \d s, no answer so far", seen):
            seen += os.read(leader, 65536).decode()  # fails when the process has ended
        process.send_signal(signal.SIGINT)
        _read_all(leader)
    os.close(leader)

    assert process.returncode == 130


def _read_all(terminal: int) -> str:
    """Everything that is written there, until nobody writes there any more."""
    seen = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux says so at the end
            piece = b""
        if not piece:
            return seen.decode()
        seen += piece
