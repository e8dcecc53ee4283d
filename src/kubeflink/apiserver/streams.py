"""Watches on the wire: as WebSocket frames (fabric8) and as chunked lines (everybody else).

Both end by themselves after their time, with an ERROR event that carries a 410 `Status` when the
watcher fell behind, and otherwise plainly: the last chunk, or a close frame with code 1000. Events
that are ready together go out in one write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from aiohttp import WSMsgType, web

from kubeflink.apiserver.representation import Representation
from kubeflink.apiserver.watch import Watch, WatchEvent, encode_json
from kubeflink.errors import ApiStatusError, GoneError

BOOKMARK_INTERVAL = 60.0
"""Seconds of silence after which a watcher that takes bookmarks gets one."""

Send = Callable[[list[bytes]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class WatchStream:
    """One watch on its way to one client.

    `watch` is an error where the client's version is too old, because that is told as an event.
    `duration` in seconds. `silent` never sends anything (a fault).
    """

    watch: Watch | GoneError
    representation: Representation
    duration: float
    bookmarks: bool = False
    silent: bool = False

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Send events until the time is over, the client goes, or the watch is closed."""
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._serve_websocket(request)
        return await self._serve_lines(request)

    async def _serve_lines(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)

        async def send(events: list[bytes]) -> None:
            await response.write(b"\n".join(events) + b"\n")

        # A client that goes while it is written to is no fault of the server.
        with suppress(ConnectionError):
            await self._pump(send)
            await response.write_eof()
        return response

    async def _serve_websocket(self, request: web.BaseRequest) -> web.StreamResponse:
        # No compression: not every client that offers it gets it right.
        socket = web.WebSocketResponse(compress=False, timeout=2)
        await socket.prepare(request)

        async def send(events: list[bytes]) -> None:
            for event in events:
                await socket.send_frame(event, WSMsgType.TEXT)

        async def pump() -> None:
            try:
                await self._pump(send)
            except ConnectionError:
                return  # the client went; its reader ends as well
            await socket.close(code=1000)

        async with asyncio.TaskGroup() as tasks:
            sender = tasks.create_task(pump(), name="watch-sender")
            # Reading is what answers pings and notices that the client closes.
            async for _ in socket:
                pass
            sender.cancel()
        return socket

    async def _pump(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self.duration
        watch = self.watch
        if isinstance(watch, GoneError):
            await send([_error_event(watch)])
            return
        first = True
        while (left := end - loop.time()) > 0:
            try:
                async with asyncio.timeout(min(left, BOOKMARK_INTERVAL)):
                    events = await self._next(watch)
            except TimeoutError:
                if not self.bookmarks or (mark := watch.bookmark()) is None:
                    continue
                events = [mark]
            except ApiStatusError as error:
                await send([_error_event(error)])
                return
            if not events:
                return
            shown = []
            for event in events:
                shown.append(self.representation.event(event, first=first))
                first = False
            await send(shown)

    async def _next(self, watch: Watch) -> list[WatchEvent]:
        if self.silent:
            await asyncio.Event().wait()
        return await watch.batch()


def _error_event(error: ApiStatusError) -> bytes:
    return encode_json({"type": "ERROR", "object": error.status})
