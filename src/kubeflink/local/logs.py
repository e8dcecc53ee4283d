"""Reading a container's log file: the end of it, and what is added to it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

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

    With `is_growing` it is followed until that is no longer so. Memory stays constant. The file
    stays open meanwhile: what was written last is read even when its pod has been removed.
    """
    left = limit_bytes
    with ExitStack() as stack:
        file: BinaryIO | None = None
        while True:
            # Asked before the reading, so that what was written last is still read.
            goes_on = is_growing is not None and is_growing()
            if file is None and (file := _open(path)) is not None:
                stack.enter_context(file)
                file.seek(0 if tail_lines is None else _start_of_tail(file, tail_lines))
            if file is not None and _was_cut(file):
                file.seek(0)
            while file is not None and (chunk := file.read(_size(left))):
                left = None if left is None else left - len(chunk)
                yield chunk
            if not goes_on or left == 0:
                return
            await asyncio.sleep(_POLL_INTERVAL)


def _open(path: Path) -> BinaryIO | None:
    """The log, unbuffered because it grows; None while there is none."""
    try:
        return path.open("rb", buffering=0)
    except FileNotFoundError:
        return None


def _was_cut(file: BinaryIO) -> bool:
    return os.fstat(file.fileno()).st_size < file.tell()


def _size(limit: int | None) -> int:
    return _CHUNK if limit is None else min(_CHUNK, limit)


def _start_of_tail(file: BinaryIO, lines: int) -> int:
    """Where the last `lines` lines begin, found from the end."""
    position = file.seek(0, os.SEEK_END)
    if lines <= 0:
        return position
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


TAIL_BYTES = 2048
"""How much of the log becomes the message of a container that failed, as in Kubernetes."""

LOG_LIMIT = 64 * 1024 * 1024
"""Bytes after which a log is cut, so that a job that prints without end does not fill the disk."""


def tail(path: Path, size: int = TAIL_BYTES) -> str:
    """The end of a log in whole lines; empty where there is no log."""
    if not path.exists():
        return ""
    with path.open("rb") as file:
        length = file.seek(0, os.SEEK_END)
        file.seek(max(0, length - size))
        text = file.read().decode("utf-8", "replace")
    if length > size:
        text = text.partition("\n")[2] or text
    return text.strip()


def append_line(path: Path, line: str) -> None:
    """Write a line of our own into a container's log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def trim(path: Path, limit: int = LOG_LIMIT) -> bool:
    """Cut a log that has grown beyond the limit down to its last quarter; whether that was done.

    The process goes on writing to the same file, at its end (the log is opened for appending); what
    it writes in the very moment of the cut may stand before the lines that are kept.
    """
    if not path.exists() or path.stat().st_size <= limit:
        return False
    kept = tail(path, limit // 4).encode()
    os.truncate(path, 0)
    with path.open("ab") as file:
        file.write(b"[the older lines were dropped: the log had grown too large]\n" + kept + b"\n")
    return True
