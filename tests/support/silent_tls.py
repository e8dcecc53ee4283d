"""A port that takes connections and the first message of a TLS handshake, and answers nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class SilentTls:
    """`greeted` is set by the first message; `closed` when the client has closed after it."""

    port: int = 0
    greeted: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take one connection until its end."""
        try:
            if await reader.read(1):
                self.greeted.set()
            await reader.read()
            self.closed.set()
        finally:
            writer.close()


@asynccontextmanager
async def silent_tls() -> AsyncIterator[SilentTls]:
    """Such a port of 127.0.0.1."""
    silent = SilentTls()
    async with await asyncio.start_server(silent.serve, "127.0.0.1", 0) as server:
        silent.port = server.sockets[0].getsockname()[1]
        yield silent
