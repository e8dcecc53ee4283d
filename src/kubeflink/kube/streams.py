"""Answers that go on: watches and followed logs, line by line.

HTTP libraries split lines with a limit (64 to 512 KB), and a watch event about an object with large
annotations exceeds it. So lines are split here, from the chunks as they come. A watch line that is
cut off by the end of the connection is no event: the watch is started again from the last resource
version, and the server sends it anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Final

from kubeflink.kube import status
from kubeflink.kube.access import ClusterAccess
from kubeflink.kube.exchange import Exchange
from kubeflink.kube.status import Call
from kubeflink.objects import JsonObject

LONGEST_LINE: Final = 1 << 20
"""Bytes of a log that are kept until a line end comes."""


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """`type` is ADDED, MODIFIED, DELETED or BOOKMARK; a bookmark's object has only a version."""

    type: str
    object: JsonObject

    @property
    def resource_version(self) -> str:
        """Where a watch that follows this event begins."""
        return str((self.object.get("metadata") or {}).get("resourceVersion", ""))


class LineSplitter:
    """Chunks in, whole lines out; `rest` is what has no end yet.

    One that grows beyond `longest` bytes without an end is handed out in pieces.
    """

    def __init__(self, longest: int | None = None) -> None:
        self._parts: list[bytes] = []
        self._longest = longest
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, without their ends."""
        *complete, rest = chunk.split(b"\n")
        if complete:
            complete[0] = b"".join((*self._parts, complete[0]))
            self._parts, self._size = [], 0
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
            if self._longest is not None and self._size > self._longest:
                complete.append(self.rest)
                self._parts, self._size = [], 0
        return complete

    @property
    def rest(self) -> bytes:
        return b"".join(self._parts)


async def lines(
    exchange: Exchange, call: Call, request: Any, *, silence: float | None, last: bool = False
) -> AsyncGenerator[bytes, None]:
    """The lines of one answer. `silence` in seconds without a byte ends it as unreachable.

    With `last`, what follows the last line end is a line too, and one without an end comes in
    pieces: it is text of a program, which may print anything. Closing the generator closes the
    connection.
    """
    import httpx2

    exchange.check_open()
    timeout = exchange.client._client.timeout
    request.timeout = httpx2.Timeout(
        connect=timeout.connect, read=silence, write=timeout.write, pool=timeout.pool
    )
    splitter = LineSplitter(LONGEST_LINE if last else None)
    try:
        response = await exchange.client.send(
            exchange.client.build_adapter_request(request), stream=True
        )
        try:
            exchange.heard(response)
            if not response.is_success:
                try:
                    async with asyncio.timeout(exchange.limits.answer):
                        await response.aread()
                except TimeoutError as error:
                    raise httpx2.ReadTimeout("the answer trickles") from error
                raise status.error_of_response(response, call, exchange.access)
            async for chunk in response.aiter_bytes():
                for line in splitter.feed(chunk):
                    yield line
        finally:
            await response.aclose()
    except httpx2.RequestError as error:
        raise status.unreachable(error, exchange.access) from error
    if last and splitter.rest:
        yield splitter.rest


def event(line: bytes, call: Call, access: ClusterAccess) -> WatchEvent:
    """The event in a line of a watch; an ERROR event is raised as the error it tells of."""
    decoded = status.decoded(line, call, access)
    found = decoded.get("object") if isinstance(decoded, dict) else None
    if not isinstance(found, dict):
        raise status.foreign(call, access)
    if decoded.get("type") == "ERROR":
        code = found.get("code")
        raise status.error_of(code if isinstance(code, int) else 500, found, call, access)
    return WatchEvent(str(decoded.get("type")), found)
