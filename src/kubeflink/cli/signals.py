"""Signals that end a command: SIGTERM, and SIGHUP when the terminal has gone.

Their default is to end the process on the spot: a server that is half started, a cluster that is
half made would stay. So they raise `Terminated`, as Ctrl-C raises KeyboardInterrupt, and what is
open is closed on the way out. A signal that is ignored already, as SIGHUP is under `nohup`, stays
ignored. Elsewhere than in the main thread (a command called from a program) signals are not ours.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from kubeflink.cli.invocation import Terminated


def ending() -> tuple[signal.Signals, ...]:
    """The signals that end this process, and are ours to answer."""
    if threading.current_thread() is not threading.main_thread():
        return ()
    wanted = (signal.SIGTERM, signal.SIGHUP)
    return tuple(each for each in wanted if signal.getsignal(each) is not signal.SIG_IGN)


@contextmanager
def raised() -> Iterator[None]:
    """While this is open, the signals that end a process raise `Terminated`."""
    earlier = {each: signal.getsignal(each) for each in ending()}
    try:
        for each in earlier:
            signal.signal(each, _raise)
        yield
    finally:
        for each, handler in earlier.items():
            signal.signal(each, handler)


def _raise(number: int, _frame: FrameType | None) -> None:
    raise Terminated(number)
