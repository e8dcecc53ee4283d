"""Reading a container's log file: the end of it, and what is added to it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

_CHUNK = 64 * 1024
_POLL_INTERVAL = 0.25  # seconds between two looks at a log that is followed


async def read_log(
    path: Path,
    *,
    tail_lines: int | None = None,
    limit_bytes: int | None = None,
    is_growing: Callable[[], bool] | None = None,
) -> AsyncIterator[bytes]:
    """The log in chunks: all of it, or its last lines; nothing where there is none yet.

    With `is_growing` it is followed until that is no longer so. Memory stays constant.
    """
    position: int | None = None
    left = limit_bytes
    while True:
        # Asked before the reading, so that what was written last is still read.
        goes_on = is_growing is not None and is_growing()
        if position is None:
            position = _start(path, tail_lines)
        while position is not None and (chunk := _read(path, position, left)):
            position += len(chunk)
            left = None if left is None else left - len(chunk)
            yield chunk
        if not goes_on or left == 0:
            return
        await asyncio.sleep(_POLL_INTERVAL)


def _start(path: Path, tail_lines: int | None) -> int | None:
    """Where reading begins; None while there is no log."""
    if not path.exists():
        return None
    return 0 if tail_lines is None else _start_of_tail(path, tail_lines)


def _read(path: Path, position: int, limit: int | None) -> bytes:
    size = _CHUNK if limit is None else min(_CHUNK, limit)
    try:
        with path.open("rb") as file:
            file.seek(position)
            return file.read(size)
    except FileNotFoundError:  # its pod was removed while the log was followed
        return b""


def _start_of_tail(path: Path, lines: int) -> int:
    """Where the last `lines` lines begin, found from the end."""
    if lines <= 0:
        return path.stat().st_size
    with path.open("rb") as file:
        position = file.seek(0, os.SEEK_END)
        # A line end at the very end closes the last line and begins no other.
        wanted = lines
        first = True
        while position > 0:
            step = min(_CHUNK, position)
            position -= step
            file.seek(position)
            chunk = file.read(step)
            end = len(chunk)
            if first and chunk.endswith(b"\n"):
                end -= 1
            first = False
            while (found := chunk.rfind(b"\n", 0, end)) >= 0:
                wanted -= 1
                if wanted == 0:
                    return position + found + 1
                end = found
    return 0
