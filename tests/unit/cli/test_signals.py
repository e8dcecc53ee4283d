"""Signals end a command by way of its clean-up, in asynchronous and in plain commands."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

TIMEOUT = 60.0

PROGRAM = textwrap.dedent(
    """
    import asyncio, sys, time
    from pathlib import Path
    from kubeflink.cli import invocation, running, signals

    began, cleaned = map(Path, sys.argv[1:3])

    def plain():
        try:
            began.touch()
            time.sleep(1000)
        finally:
            cleaned.touch()

    async def command():
        try:
            began.touch()
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0)
            cleaned.touch()

    try:
        with signals.raised():
            plain() if sys.argv[3] == "plain" else running.run(command())
    except invocation.Terminated as end:
        sys.exit(end.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    """
)


def start(tmp_path: Path, kind: str, *prefix: str) -> subprocess.Popen[str]:
    """A command that has begun and will not end by itself."""
    words = [sys.executable, "-c", PROGRAM, str(tmp_path / "began"), str(tmp_path / "cleaned")]
    process = subprocess.Popen([*prefix, *words, kind], stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "began").exists():
        assert process.poll() is None
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("kind", ["plain", "asynchronous"])
@pytest.mark.parametrize(
    ("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_a_command_after_its_clean_up(
    tmp_path: Path, kind: str, how: signal.Signals, code: int
) -> None:
    with start(tmp_path, kind) as process:
        process.send_signal(how)
        _, printed = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, printed) == (code, "")
    assert (tmp_path / "cleaned").exists()


@pytest.mark.parametrize("kind", ["plain", "asynchronous"])
def test_a_command_under_nohup_outlives_its_terminal(tmp_path: Path, kind: str) -> None:
    with start(tmp_path, kind, "sh", "-c", 'trap "" HUP; exec "$@"', "sh") as process:
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        _, printed = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, printed) == (143, "")
