"""A listener that passes each connection on to where its target is at that moment."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

from kubeflink.errors import ApiStatusError

Target = Callable[[], Awaitable[tuple[str, int]]]
"""Where the next connection goes; an `ApiStatusError` when there is nothing."""

_CHUNK = 64 * 1024


class Relay:
    """Passes bytes between clients and targets. Owns its connections: `close` ends them."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def listen(self, host: str, port: int) -> None:
        """Start to listen; `OSError` when the port is taken."""
        listener = socket.create_server((host, port))
        # With a socket of ours and without serving, nothing here suspends: no cancellation can come
        # between the listener and its owner.
        self._server = await asyncio.start_server(self._accept, sock=listener, start_serving=False)
        try:
            await self._server.start_serving()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop to listen and end all connections."""
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._pass(reader, writer)
        except asyncio.CancelledError:
            # The server's own tasks must end without an exception; `close` is who cancels.
            writer.transport.abort()
        finally:
            self._connections.discard(task)
            writer.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect and copy in both directions until both have ended.

        Where there is nothing to connect to, the client is cut off, as by a port nobody listens on.
        """
        try:
            host, port = await self._target()
            target_reader, target_writer = await asyncio.open_connection(host, port)
        except (ApiStatusError, OSError):
            writer.transport.abort()
            return
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_copy(reader, target_writer), name="to the target")
                group.create_task(_copy(target_reader, writer), name="from the target")
        except* OSError:
            # One side broke off; the other one has to see that, and not a good end or nothing.
            writer.transport.abort()
        finally:
            target_writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until the end; then tell the other side that nothing more comes."""
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
