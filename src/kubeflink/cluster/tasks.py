"""The end of a task that works beside a coroutine."""

from __future__ import annotations

import asyncio
from typing import Any


async def end(task: asyncio.Task[Any]) -> None:
    """Cancel a task and wait until it has ended; raises the error that it failed with.

    When the caller is cancelled meanwhile, that goes on its way: `await task` under a `suppress`
    could not tell the two cancellations apart, and would swallow a Ctrl-C.
    """
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()
