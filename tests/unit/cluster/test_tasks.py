"""How tasks beside a coroutine end."""

from __future__ import annotations

import asyncio

import pytest

from kubeflink.cluster.tasks import end


async def test_a_task_has_ended_when_it_was_ended() -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0)
            ended.append("work")

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    await end(task)
    assert ended == ["work"]


async def test_what_a_task_failed_with_is_raised() -> None:
    async def work() -> None:
        raise LookupError("of the task")

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    with pytest.raises(LookupError, match="of the task"):
        await end(task)


async def test_a_cancellation_of_the_caller_goes_on_its_way() -> None:
    closing = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            closing.set()
            await asyncio.sleep(0.2)

    async def command() -> None:
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        await end(task)
        raise AssertionError("the cancellation was swallowed")

    running = asyncio.create_task(command())
    await closing.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
