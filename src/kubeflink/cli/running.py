"""Running the asynchronous core from the command line, and ending it in an orderly way.

`Ctrl-C`, `SIGTERM` and `SIGHUP` cancel the command's task: context managers on its stack clean up
(delete what was half made, end processes), and then the process exits with 130, 143 or 129. A
second `Ctrl-C` interrupts the clean-up itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from kubeflink.cli import console, signals
from kubeflink.cli.invocation import Terminated

T = TypeVar("T")


def run(command: Coroutine[Any, Any, T]) -> T:
    """Run a command to its end.

    Raises KeyboardInterrupt or Terminated after the command has been cancelled and has cleaned up.
    """
    if not logging.getLogger("kubeflink").handlers:
        log_to_stderr(0)
    with signals.raised():  # asyncio leaves the default behind where it has handled a signal
        return asyncio.run(_with_signals(_with_outages_shown(command)))


async def _with_outages_shown(command: Coroutine[Any, Any, T]) -> T:
    """Where a person looks on, show in a moving line what does not answer."""
    if not console.progress_on_terminal():
        return await command
    from kubeflink.cli import progress
    from kubeflink.kube import outage

    outage.TELLER.set(progress.show_outage)
    try:
        return await command
    finally:
        progress.end_outage()


class _Lines(logging.Handler):
    """Each record as one line of ours."""

    def emit(self, record: logging.LogRecord) -> None:
        # Nobody who logs counts on an error; that the reader has gone is found by what is said.
        with contextlib.suppress(BrokenPipeError):
            console.say(" ".join(self.format(record).split()))


def log_to_stderr(verbose: int, *, with_time: bool = False) -> None:
    """Print what the layers below log: warnings; with `verbose` what they do, then each request.

    `with_time` is for what runs for long: each line then has its time and level.
    """
    logger = logging.getLogger("kubeflink")
    logger.setLevel((logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)])
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(_Lines())
    if with_time:
        for handler in logger.handlers:
            handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    if verbose > 1:
        requests = logging.getLogger("httpx2")
        requests.setLevel(logging.INFO)
        requests.handlers = [_Lines()]


async def _with_signals(command: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    arrived: list[int] = []

    def end(number: int) -> None:
        arrived.append(number)
        task.cancel()

    for number in signals.ending():
        loop.add_signal_handler(number, end, number)
    try:
        return await command
    except asyncio.CancelledError:
        if not arrived:
            raise
        raise Terminated(arrived[0]) from None
