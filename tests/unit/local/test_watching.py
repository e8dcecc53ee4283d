"""Controllers look again after changes and after failures."""

from __future__ import annotations

import asyncio

import pytest

from kubeflink import objects
from kubeflink.apiserver.store import JournalState, ObjectStore
from kubeflink.apiserver.watch import Change
from kubeflink.errors import LocalError
from kubeflink.local.watching import reconcile_on_changes, until_written
from support.manifests import config_map


class FullDisk:
    """A journal that refuses the next writes."""

    def __init__(self) -> None:
        self.refusals = 0

    def load(self) -> JournalState:
        return JournalState([], 0)

    def record(self, change: Change) -> None:
        if self.refusals:
            self.refusals -= 1
            raise LocalError("The disk is full")


async def test_a_controller_looks_at_the_start_and_after_each_change() -> None:
    store = ObjectStore()
    looks: asyncio.Queue[int] = asyncio.Queue()

    async def look() -> None:
        looks.put_nowait(len((await store.list(objects.CONFIG_MAPS)).items))

    task = asyncio.create_task(
        reconcile_on_changes(store, [objects.CONFIG_MAPS], look, period=3600)
    )
    assert await asyncio.wait_for(looks.get(), 30) == 0
    await store.create(objects.CONFIG_MAPS, "default", config_map("a"))
    assert await asyncio.wait_for(looks.get(), 30) == 1
    store.expire_history()
    await store.create(objects.CONFIG_MAPS, "default", config_map("b"))
    assert await asyncio.wait_for(looks.get(), 30) == 2
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("failure", [LocalError("not yet"), ValueError("a bug")], ids=repr)
async def test_a_look_that_failed_is_repeated(failure: Exception) -> None:
    looks = 0
    done = asyncio.Event()

    async def look() -> None:
        nonlocal looks
        looks += 1
        if looks < 3:
            raise failure
        done.set()

    task = asyncio.create_task(
        reconcile_on_changes(ObjectStore(), [objects.PODS], look, period=3600)
    )
    await asyncio.wait_for(done.wait(), 30)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert looks == 3


async def test_a_write_is_done_when_the_disk_has_room_again() -> None:
    journal = FullDisk()
    store = ObjectStore(journal=journal)
    journal.refusals = 2
    await until_written(lambda: store.create(objects.CONFIG_MAPS, "default", config_map("a")))
    assert journal.refusals == 0
    await store.get(objects.CONFIG_MAPS, "default", "a")
