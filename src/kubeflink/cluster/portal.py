"""Event loops in threads of their own, for callers who do not await.

The one of `Portal` works in scripts, in a REPL and in notebooks, whose own thread has a running
loop already. Its thread starts with the first call and is a daemon: it holds nothing that needs an
orderly end, since connections are closed by the objects that own them.

`held_in_thread` is for what has to go on working while the caller's own loop stands still.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")

INTERRUPT_SECONDS = 60.0
"""How long an interrupted call may take to clean up what it had begun."""


class Portal:
    """Runs coroutines for other threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result, or its exception.

        An interrupt (Ctrl-C) cancels it, and is raised when it has cleaned up. RuntimeError in the
        portal's own thread, which would wait for itself: a callback must not make such calls.
        """
        loop = self._running_loop()
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError("a callback must not make blocking calls; hand them to a thread")
        result: concurrent.futures.Future[T] = concurrent.futures.Future()
        started: concurrent.futures.Future[asyncio.Task[None]] = concurrent.futures.Future()

        def start() -> None:
            started.set_result(loop.create_task(_run(coroutine, result), name="kubeflink call"))

        loop.call_soon_threadsafe(start)
        try:
            return result.result()
        except KeyboardInterrupt:
            loop.call_soon_threadsafe(started.result().cancel)
            concurrent.futures.wait([result], timeout=INTERRUPT_SECONDS)
            raise

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="kubeflink", daemon=True
                )
                self._thread.start()
            return self._loop


async def _run(coroutine: Coroutine[Any, Any, T], result: concurrent.futures.Future[T]) -> None:
    try:
        value = await coroutine
    except BaseException as error:  # noqa: BLE001  it is raised again in the caller's thread
        result.set_exception(error)
    else:
        result.set_result(value)


@asynccontextmanager
async def held_in_thread(
    context: Callable[[], AbstractAsyncContextManager[T]],
) -> AsyncIterator[T]:
    """Hold a context open on an event loop in a thread of its own, which ends with this one.

    What entering it raises is raised here. It is left before this one is, also when that is
    cancelled.
    """
    opened: concurrent.futures.Future[T] = concurrent.futures.Future()
    opened.set_running_or_notify_cancel()  # a waiter that is cancelled leaves it alone
    started: concurrent.futures.Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]]
    started = concurrent.futures.Future()

    async def hold() -> None:
        task = asyncio.current_task()
        assert task is not None
        started.set_result((asyncio.get_running_loop(), task))
        async with context() as value:
            opened.set_result(value)
            await asyncio.Event().wait()  # it ends by being cancelled

    def run() -> None:
        try:
            asyncio.run(hold())
        except asyncio.CancelledError:
            if not opened.done():
                opened.set_exception(asyncio.CancelledError())
        except BaseException as error:
            if opened.done():
                raise  # leaving failed: the thread's hook tells
            opened.set_exception(error)

    thread = threading.Thread(target=run, name="kubeflink held", daemon=True)
    thread.start()
    try:
        yield await asyncio.wrap_future(opened)
    finally:
        loop, task = started.result()
        with contextlib.suppress(RuntimeError):  # the loop has ended by itself
            loop.call_soon_threadsafe(task.cancel)
        await asyncio.to_thread(thread.join)
