"""A process that has imported the command line, and forks one process for each call.

Starting an interpreter for each of several hundred calls would take most of the time. The server is
a plain process of its own (forking the test process, which has threads, is not safe): it reads one
call as a line of JSON from its standard input and answers with the exit code, null if the call had
to be killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CALL_TIMEOUT = 120.0
"""Seconds after which a call that does not end is killed: far more than any of them needs."""

END_TIMEOUT = 30.0
_POLL = 0.002

_PRELOADED = (
    "anyio._backends._asyncio",
    "anyio.streams.tls",
    "asyncio",
    "httpcore2",
    "httpx2",
    "lightkube",
    "kubeflink.cli",
    "kubeflink.cli.flink_commands",
    "kubeflink.cli.flink_run",
    "kubeflink.cli.kubernetes_session",
    "kubeflink.cli.manifest",
    "kubeflink.cli.own_commands",
    "kubeflink.cluster.artifacts",
    "kubeflink.cluster.deployment",
    "kubeflink.cluster.endpoint",
    "kubeflink.cluster.removal",
    "kubeflink.config.options.catalogue",
    "kubeflink.kube.connection",
)


class ForkingServer:
    """The server, from the test's side; use it as a context manager."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(END_TIMEOUT)
        self._process.stdout.close()

    def call(
        self, args: Sequence[str], env: Mapping[str, str], directory: Path, streams: Sequence[Path]
    ) -> int | None:
        """Call the command line; `streams` are files for standard input, output and error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        call = {
            "args": list(args),
            "env": dict(env),
            "directory": str(directory),
            "streams": [str(path) for path in streams],
        }
        self._process.stdin.write(json.dumps(call) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the forking server ended"
        code: int | None = json.loads(answer)
        return code


def serve() -> None:
    """Answer calls until standard input ends."""
    import importlib

    for module in _PRELOADED:
        importlib.import_module(module)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become(json.loads(line))
        sys.stdout.write(json.dumps(_wait(child)) + "\n")
        sys.stdout.flush()


def _become(call: Mapping[str, Any]) -> None:
    """In the child: take on environment, directory and streams, and end with the exit code."""
    import threading
    import traceback

    from kubeflink.cli import main

    os.environ.clear()
    os.environ.update(call["env"])
    os.chdir(call["directory"])
    for number, path in enumerate(call["streams"]):
        os.dup2(os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY), number)
    sys.stdin = os.fdopen(0, closefd=False, encoding="utf-8")
    sys.stdout = os.fdopen(1, "w", closefd=False, encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False, encoding="utf-8")
    code = 70
    try:
        code = main(call["args"])
        assert threading.active_count() == 1, "a thread was left behind"
    except BaseException:  # noqa: BLE001 - what the interpreter would do with it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(child: int) -> int | None:
    deadline = time.monotonic() + CALL_TIMEOUT
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(_POLL)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


if __name__ == "__main__":
    serve()
