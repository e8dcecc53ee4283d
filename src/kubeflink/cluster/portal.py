"""Event loops in threads of their own, for callers who do not await.

The one of `Portal` works in scripts, in a REPL and in notebooks, whose own thread has a running
loop already. Its thread starts with the first call and is a daemon: it holds nothing that needs an
orderly end, since connections are closed by the objects that own them.

`HeldInThread` is for what has to go on working while the caller's own loop stands still.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
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


class HeldInThread(AbstractAsyncContextManager[T]):
    """Hold a context open on an event loop in a thread of its own, which ends with this one.

    What entering it raises is raised here. It is left before this one is, also when that is
    cancelled. No generator: of two that are open, one around the other, asyncio closes both at
    once when a program ends without closing them, and complains.
    """

    def __init__(self, context: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        self._context = context
        self._opened: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._opened.set_running_or_notify_cancel()  # a waiter that is cancelled leaves it alone
        self._started: concurrent.futures.Future[
            tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]
        ] = concurrent.futures.Future()
        self._thread = threading.Thread(target=self._run, name="kubeflink held", daemon=True)

    async def __aenter__(self) -> T:
        self._thread.start()
        try:
            return await asyncio.wrap_future(self._opened)
        except BaseException:
            await self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        await self._leave()

    async def _leave(self) -> None:
        loop, task = self._started.result()
        with contextlib.suppress(RuntimeError):  # the loop has ended by itself
            loop.call_soon_threadsafe(task.cancel)
        await asyncio.to_thread(self._thread.join)

    async def _hold(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._started.set_result((asyncio.get_running_loop(), task))
        async with self._context() as value:
            self._opened.set_result(value)
            await asyncio.Event().wait()  # it ends by being cancelled

    def _run(self) -> None:
        try:
            asyncio.run(self._hold())
        except asyncio.CancelledError:
            if not self._opened.done():
                self._opened.set_exception(asyncio.CancelledError())
        except BaseException as error:
            if self._opened.done():
                raise  # leaving failed: the thread's hook tells
            self._opened.set_exception(error)
