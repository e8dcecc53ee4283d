"""Runs the command line inside a forked process, as if it had been started as a command.

Imported before the fork, so that the processes share what the imports cost.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from kubeflink.cli import main


def run(
    args: Sequence[str], env: Mapping[str, str], directory: str, streams: Sequence[Path]
) -> None:
    """Take on environment, directory and the three streams, and end with the exit code."""
    os.environ.clear()
    os.environ.update(env)
    os.chdir(directory)
    for number, path in enumerate(streams):
        os.dup2(os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY), number)
    sys.stdin = os.fdopen(0, closefd=False, encoding="utf-8")
    sys.stdout = os.fdopen(1, "w", closefd=False, encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False, encoding="utf-8")
    sys.exit(main(args))
