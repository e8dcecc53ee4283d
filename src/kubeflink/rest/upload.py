"""A multipart body that is read from disk while it is sent.

A jar may have hundreds of megabytes and the way to the cluster may be a slow port-forward, so the
file is never in memory as a whole: it goes out in chunks of 1 MiB, each reported when it has been
handed to the transport. The length is known beforehand and sent, because Flink's server refuses by
it before it reads, and because a chunked body does not pass every proxy.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

CHUNK_SIZE = 1024 * 1024
"""Bytes read at once."""

_UNFIT = re.compile(r'["\\\x00-\x1f\x7f\ud800-\udfff]')
"""Characters of a file's name that a header cannot hold, bytes that are no UTF-8 among them."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the bytes handed over so far and the bytes in all, of the file alone."""


def kept_name(file_name: str) -> str:
    """The name under which Flink keeps a file: without what a header cannot hold."""
    return _UNFIT.sub("_", file_name)


@dataclass(frozen=True, slots=True)
class JarUpload:
    """The body of `POST /jars/upload` for one file; it can be iterated again for a retry."""

    path: Path
    file_name: str
    size: int
    boundary: str
    progress: Progress | None = None

    @classmethod
    def of(cls, path: Path, file_name: str, progress: Progress | None = None) -> JarUpload:
        """For a file that is there now; `OSError` if it is not."""
        return cls(path, file_name, path.stat().st_size, secrets.token_hex(16), progress)

    @property
    def headers(self) -> dict[str, str]:
        """The headers that describe this body."""
        length = len(self._head) + self.size + len(self._tail)
        return {
            "content-type": f"multipart/form-data; boundary={self.boundary}",
            "content-length": str(length),
        }

    @property
    def _head(self) -> bytes:
        kept = kept_name(self.file_name)
        return (
            f"--{self.boundary}\r\n"
            f'content-disposition: form-data; name="jarfile"; filename="{kept}"\r\n'
            "content-type: application/x-java-archive\r\n\r\n"
        ).encode()

    @property
    def _tail(self) -> bytes:
        return f"\r\n--{self.boundary}--\r\n".encode()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, in the order of the wire. The file is closed also when the caller stops early.

        Reading is handed to a thread, so that a slow disk does not hold up the event loop.
        """
        yield self._head
        sent = 0
        with self.path.open("rb") as file:
            while sent < self.size:
                chunk = await asyncio.to_thread(file.read, min(CHUNK_SIZE, self.size - sent))
                if not chunk:
                    raise OSError(f"{self.path} became shorter while it was sent")
                yield chunk
                sent += len(chunk)
                if self.progress is not None:
                    self.progress(sent, self.size)
        yield self._tail
