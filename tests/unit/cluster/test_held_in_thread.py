"""A context that goes on working while the loop of its user stands still."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kubeflink.cluster.portal import HeldInThread


class Served:
    """An HTTP server with one answer, which remembers in which thread it was opened and closed."""

    def __init__(self) -> None:
        self.opened: threading.Thread | None = None
        self.closed: threading.Thread | None = None

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[int]:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nalive")
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            self.opened = threading.current_thread()
            try:
                yield server.sockets[0].getsockname()[1]
            finally:
                self.closed = threading.current_thread()


async def test_it_works_while_the_loop_stands_still() -> None:
    served = Served()

    async with HeldInThread(served) as port:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:  # noqa: ASYNC210
            assert answer.read() == b"alive"

    assert served.closed is served.opened is not threading.current_thread()
    assert served.opened is not None
    assert not served.opened.is_alive()


async def test_what_entering_raises_is_raised_here() -> None:
    @asynccontextmanager
    async def failing() -> AsyncIterator[None]:
        raise ValueError("no such thing")
        yield

    with pytest.raises(ValueError, match="no such thing"):
        async with HeldInThread(failing):
            pytest.fail("it was entered")


async def test_its_user_may_fail() -> None:
    served = Served()

    with pytest.raises(ValueError, match="mine"):
        async with HeldInThread(served):
            raise ValueError("mine")

    assert served.closed is not None


@pytest.mark.parametrize("enters", [True, False])
async def test_cancelling_its_user_ends_it(enters: bool) -> None:
    begun, left = threading.Event(), threading.Event()

    @asynccontextmanager
    async def slow() -> AsyncIterator[None]:
        begun.set()
        try:
            if not enters:
                await asyncio.sleep(3600)
            yield
        finally:
            left.set()

    async def use() -> None:
        async with HeldInThread(slow):
            await asyncio.sleep(3600)

    task = asyncio.create_task(use())
    await asyncio.to_thread(begun.wait, 60)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert left.is_set()


UNCLOSED = """
import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from kubeflink.cluster.portal import HeldInThread

left = AsyncExitStack()

@asynccontextmanager
async def inner():
    try:
        yield
    finally:
        print("left")

@asynccontextmanager
async def outer():
    async with HeldInThread(inner):
        yield

async def main():
    await left.enter_async_context(outer())

asyncio.run(main())
"""


def test_a_program_that_does_not_close_ends_in_silence() -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNCLOSED], capture_output=True, text=True, timeout=60, check=True
    )

    assert (done.stdout, done.stderr) == ("left\n", "")
