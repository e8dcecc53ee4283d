"""One event loop in a thread of its own, for callers who do not await.

It works in scripts, in a REPL and in notebooks, whose own thread has a running loop already. The
thread starts with the first call and is a daemon: it holds nothing that needs an orderly end, since
connections are closed by the objects that own them.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
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
