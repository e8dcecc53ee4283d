"""Ctrl-C while a job is followed.

The job is not ours to end: it runs on a cluster, and whoever follows it has only been watching. So
Ctrl-C ends the watching, and then asks about the job where somebody is there to answer. A second
Ctrl-C is no.

asyncio's own way with Ctrl-C is to cancel the whole task. That would take the connections down on
which the job could still be cancelled, so the signal is caught here for as long as a job is
attended. SIGTERM is not: who sends it wants an end without questions.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from kubeflink.cli import console
from kubeflink.cli.invocation import Interrupted

T = TypeVar("T")


async def attended(
    follow: Coroutine[Any, Any, T], on_interrupt: Callable[[asyncio.Event], Awaitable[None]]
) -> T:
    """The result of `follow`.

    A Ctrl-C meanwhile cancels it, calls `on_interrupt` (with the event that the next Ctrl-C sets)
    and then raises Interrupted.
    """
    async with _interrupts() as pressed:
        following = asyncio.ensure_future(follow)
        try:
            if await _done_before(following, pressed):
                return following.result()
        finally:
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({following})
        await on_interrupt(pressed)
        raise Interrupted


async def _done_before(awaited: asyncio.Future[Any], pressed: asyncio.Event) -> bool:
    """Wait for either; True if there is a result, which then counts more."""
    pressing = asyncio.ensure_future(pressed.wait())
    try:
        await asyncio.wait({awaited, pressing}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        pressing.cancel()
    pressed.clear()
    return awaited.done()


@asynccontextmanager
async def _interrupts() -> AsyncIterator[asyncio.Event]:
    """An event that is set by each Ctrl-C; never in a thread, where signals are not ours."""
    pressed = asyncio.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed
        return
    loop = asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGINT)
    loop.add_signal_handler(signal.SIGINT, pressed.set)
    try:
        yield pressed
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)


async def asked(question: str, pressed: asyncio.Event) -> bool:
    """Ask a person for yes or no; False after another Ctrl-C, and where there is nobody to ask."""
    if not (sys.stdin.isatty() and console.progress_on_terminal()):
        return False
    console.raw_error(f"\nkubeflink: {question} [y/N] ")
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        if not line.done():
            line.set_result(sys.stdin.readline())

    loop.add_reader(sys.stdin, read)
    try:
        answered = await _done_before(line, pressed)
    finally:
        loop.remove_reader(sys.stdin)
        line.cancel()
    if not answered:
        console.plain("")
        return False
    return line.result().strip().lower() in ("y", "yes")
