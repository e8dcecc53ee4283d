"""Runs a command that goes on until Ctrl-C, and presses it when the command has printed a line.

    python interrupted.py COMMAND [WORD ...]

The exit code is 0 if the command then ends as interrupted programs do.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

SECONDS = 120.0


def main(command: list[str]) -> int:
    # A shell's background processes ignore the signal, and would let their children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    watchdog = threading.Timer(SECONDS, process.kill)
    watchdog.start()
    try:
        print(process.stdout.readline(), end="", flush=True)
        process.send_signal(signal.SIGINT)
        print(process.stdout.read(), end="", flush=True)
        code = process.wait()
    finally:
        watchdog.cancel()
    return 0 if code == 128 + signal.SIGINT else code or 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
