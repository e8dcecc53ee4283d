"""Running the asynchronous core from the command line, and ending it in an orderly way.

`Ctrl-C` and `SIGTERM` cancel the command's task: context managers on its stack clean up (delete
what was half made, end processes), and then the process exits with 130 or 143. A second `Ctrl-C`
interrupts the clean-up itself.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from kubeflink.cli.invocation import Terminated

T = TypeVar("T")


def run(command: Coroutine[Any, Any, T]) -> T:
    """Run a command to its end.

    Raises KeyboardInterrupt or Terminated after the command has been cancelled and has cleaned up.
    """
    try:
        return asyncio.run(_with_signals(command))
    except asyncio.CancelledError:
        raise Terminated from None


async def _with_signals(command: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    # Elsewhere than in the main thread (a command called from a program) signals are not ours.
    if threading.current_thread() is threading.main_thread():
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
    return await command
