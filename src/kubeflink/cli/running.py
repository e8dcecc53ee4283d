"""Running the asynchronous core from the command line, and ending it in an orderly way.

`Ctrl-C` and `SIGTERM` cancel the command's task: context managers on its stack clean up (delete
what was half made, end processes), and then the process exits with 130 or 143. A second `Ctrl-C`
interrupts the clean-up itself.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from kubeflink.cli import console
from kubeflink.cli.invocation import Terminated

T = TypeVar("T")


def run(command: Coroutine[Any, Any, T]) -> T:
    """Run a command to its end.

    Raises KeyboardInterrupt or Terminated after the command has been cancelled and has cleaned up.
    """
    if not logging.getLogger("kubeflink").handlers:
        log_to_stderr(0)
    try:
        return asyncio.run(_with_signals(command))
    except asyncio.CancelledError:
        raise Terminated from None


class _Lines(logging.Handler):
    """Each record as one line of ours."""

    def emit(self, record: logging.LogRecord) -> None:
        console.say(" ".join(self.format(record).split()))


def log_to_stderr(verbose: int) -> None:
    """Print what the layers below log: warnings; with `verbose` what they do, then each request."""
    logger = logging.getLogger("kubeflink")
    logger.setLevel((logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)])
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(_Lines())
    if verbose > 1:
        requests = logging.getLogger("httpx2")
        requests.setLevel(logging.INFO)
        requests.handlers = [_Lines()]


async def _with_signals(command: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    # Elsewhere than in the main thread (a command called from a program) signals are not ours.
    if threading.current_thread() is threading.main_thread():
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
    return await command
