"""A broker that ends at any step loses no worker and doubles none, and tells what it missed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from kubeflink import objects
from kubeflink.apiserver.deletion import DeleteOptions
from kubeflink.apiserver.faults import Fault
from kubeflink.broker import tally
from kubeflink.broker.driver import LOST_AT_MOST
from kubeflink.broker.process import Broker
from kubeflink.broker.tally import NOTE
from support.broker import (
    PODS,
    Events,
    JobManager,
    RealCluster,
    cluster_spec,
    jobmanager,
    kill,
    real_cluster,
    running_broker,
    until,
)

NOW = DeleteOptions(grace_period=0)


@pytest.fixture
async def cluster() -> AsyncIterator[RealCluster]:
    async with real_cluster(cluster_spec()) as cluster:
        yield cluster


class Brokers:
    """One broker after the other."""

    def __init__(self, cluster: RealCluster, directory: Path) -> None:
        self._cluster = cluster
        self._directory = directory
        self._exits = AsyncExitStack()
        self.broker: Broker

    async def start(self) -> JobManager:
        """A new broker, and the same JobManager on it."""
        await self._exits.aclose()
        running = running_broker(self._cluster, self._directory)
        self.broker = await self._exits.enter_async_context(running)
        return await self._exits.enter_async_context(jobmanager(self.broker))

    async def stop(self) -> None:
        await self._exits.aclose()


@pytest.fixture
async def brokers(cluster: RealCluster, tmp_path: Path) -> AsyncIterator[Brokers]:
    made = Brokers(cluster, tmp_path)
    yield made
    await made.stop()


async def delete(cluster: RealCluster, name: str) -> None:
    await cluster.store.delete(objects.PODS, "default", name, NOW)


async def test_what_was_deleted_without_a_broker_is_told_by_the_next(
    cluster: RealCluster, brokers: Brokers
) -> None:
    flink = await brokers.start()
    async with flink.watch() as events:
        for index in (1, 2, 3):
            await flink.ask(index)
            await events.until("ADDED", f"demo-taskmanager-1-{index}")
        seen = events.version
    await brokers.stop()
    await delete(cluster, "demo-taskmanager-1-2")
    await cluster.set_status("demo-taskmanager-1-3", phase="Failed")

    flink = await brokers.start()
    async with flink.watch(seen) as events:
        told = dict([await kind_and_name(events), await kind_and_name(events)])

    assert told == {"demo-taskmanager-1-2": "DELETED", "demo-taskmanager-1-3": "ADDED"}
    assert cluster.faults.count("POST", "/pods$") == 3


async def kind_and_name(events: Events) -> tuple[str, str]:
    kind, obj = await events.next()
    return objects.name_of(obj), kind


async def test_where_the_history_is_gone_the_names_tell(
    cluster: RealCluster, brokers: Brokers
) -> None:
    flink = await brokers.start()
    async with flink.watch() as events:
        for index in range(1, 6):
            await flink.ask(index)
            await events.until("ADDED", f"demo-taskmanager-1-{index}")
        seen = events.version
    await brokers.stop()
    for index in (1, 3, 5):
        await delete(cluster, f"demo-taskmanager-1-{index}")
    await note(cluster, None)
    cluster.store.expire_history()

    flink = await brokers.start()
    async with flink.watch(seen) as events:
        first = [await kind_and_name(events), await kind_and_name(events)]
        assert first == [(f"demo-taskmanager-1-{index}", "DELETED") for index in (1, 3)]
        # Without the note, only the next request shows that there was one more.
        await flink.ask(6)
        await events.until("DELETED", "demo-taskmanager-1-5")


async def test_where_nothing_is_left_the_note_tells(cluster: RealCluster, brokers: Brokers) -> None:
    """All workers of two JobManagers are gone, and nobody knows any more that they were there."""
    flink = await brokers.start()
    asked = [(1, 1), (1, 2), (2, 1), (2, 70)]
    async with flink.watch() as events:
        for attempt, index in asked:
            await flink.ask(index, attempt)
            await events.until("ADDED", f"demo-taskmanager-{attempt}-{index}")
        seen = events.version
    await until(lambda: is_noted(cluster, "1:64 2:128"))
    await brokers.stop()
    for name in await cluster.pods():
        await delete(cluster, name)
    cluster.store.expire_history()

    flink = await brokers.start()
    async with flink.watch(seen) as events:
        told = dict([await kind_and_name(events) for _ in range(64 + 128)])
        assert set(told.values()) == {"DELETED"}
        assert {f"demo-taskmanager-{attempt}-{index}" for attempt, index in asked} <= told.keys()
        # And it goes on from there.
        await flink.ask(71, 2)
        await events.until("ADDED", "demo-taskmanager-2-71")


async def test_the_note_is_not_believed_without_end(cluster: RealCluster, brokers: Brokers) -> None:
    """Whoever has the JobManager's token can count as far as he likes."""
    await note(cluster, " ".join(f"{attempt}:999999999" for attempt in range(1, 100)))
    await brokers.start()

    lost = await brokers.broker.driver.lost_names()

    assert len(lost) == LOST_AT_MOST
    assert lost[0].startswith("demo-taskmanager-99-")


async def note(cluster: RealCluster, text: str | None) -> None:
    """Write the note; None removes it."""
    service = await cluster.store.get(objects.SERVICES, "default", "demo-rest")
    service["metadata"]["annotations"] = {} if text is None else {NOTE: text}
    await cluster.store.replace(objects.SERVICES, "default", service)


async def is_noted(cluster: RealCluster, text: str) -> bool:
    service = await cluster.store.get(objects.SERVICES, "default", "demo-rest")
    return objects.annotations_of(service).get(NOTE) == text


async def test_the_note_is_written_seldom(cluster: RealCluster, brokers: Brokers) -> None:
    """And however the Service is written by others, no worker waits for it."""
    flink = await brokers.start()
    cluster.faults.add(Fault("/services/", "PUT", times=3, status=409))
    cluster.faults.add(Fault("/services/", "PUT", times=1, status=500))
    for index in range(1, 40):
        assert (await flink.ask(index))[0] == 201
    await until(lambda: is_noted(cluster, "1:64"))
    written = cluster.faults.count("PUT", "/services/")
    await flink.ask(64)
    await flink.ask(65)
    await until(lambda: is_noted(cluster, "1:128"))
    assert cluster.faults.count("PUT", "/services/") == written + 1


@pytest.mark.parametrize("text", ["", "x", "1:", "1:2:3 4:5", "-1:5", "9999999999:1", "1:\u0661"])
def test_what_others_have_noted_is_passed_over(text: str) -> None:
    assert tally.parse(text) == ({4: 5} if "4:5" in text else {})
    assert tally.parse(tally.text({2: 64, 1: 128})) == {1: 128, 2: 64}


async def test_no_watch_is_ever_told_that_its_version_is_too_old(
    cluster: RealCluster, brokers: Brokers
) -> None:
    flink = await brokers.start()
    await flink.ask(1)
    cluster.store.expire_history()
    for version in ("1", "12345", str(cluster.store.revision), str(cluster.store.revision + 99)):
        async with flink.watch(version) as events:
            await cluster.set_status("demo-taskmanager-1-1", message=f"seen from {version}")
            told = await kind_and_name(events)
            while told[1] == "DELETED":  # what may have been there, and is not
                told = await kind_and_name(events)
            assert told[1] in ("ADDED", "MODIFIED")


async def test_what_the_broker_itself_missed_it_finds_by_listing(
    cluster: RealCluster, brokers: Brokers
) -> None:
    flink = await brokers.start()
    async with flink.watch() as events:
        for index in (1, 2):
            await flink.ask(index)
            await events.until("ADDED", f"demo-taskmanager-1-{index}")
        away = cluster.faults.add(Fault(method="GET", path="watch=true", times=None, status=503))
        cluster.server.close_watches()
        await until(cluster.written)
        await delete(cluster, "demo-taskmanager-1-1")
        cluster.store.expire_history()
        cluster.faults.remove(away)

        await events.until("DELETED", "demo-taskmanager-1-1")
    assert list(await flink.workers()) == ["demo-taskmanager-1-2"]


async def test_an_api_server_that_goes_away_breaks_no_watch(
    cluster: RealCluster, brokers: Brokers
) -> None:
    flink = await brokers.start()
    async with flink.watch() as events:
        await flink.ask(1)
        await events.until("ADDED", "demo-taskmanager-1-1")
        cluster.server.drop_connections()
        await cluster.set_status("demo-taskmanager-1-1", phase="Running")
        seen = await events.until("MODIFIED", "demo-taskmanager-1-1")
    assert seen["status"]["phase"] == "Running"


@pytest.mark.parametrize(
    "fault",
    [
        Fault(method="POST", path="/pods$", delay=0.2, drop="before"),
        Fault(method="POST", path="/pods$", delay=0.2, status=500),
        Fault(method="POST", path="/pods$", delay=0.2),
        Fault(method="POST", path="/pods$", delay=0.2, drop="after"),
    ],
    ids=["before the write", "at a refused write", "at the write", "after the write"],
)
async def test_killed_while_a_worker_is_made(
    cluster: RealCluster, brokers: Brokers, fault: Fault
) -> None:
    """The JobManager asks the next broker for the same worker, as fabric8 does."""
    flink = await brokers.start()
    cluster.faults.add(fault)
    asking = asyncio.create_task(flink.ask(1))
    await until(cluster.written)
    kill(brokers.broker)
    await asyncio.gather(asking, return_exceptions=True)

    flink = await brokers.start()
    status, pod = await flink.ask(1)

    assert status == 201
    assert [objects.uid_of(each) for each in (await cluster.pods()).values()] == [
        objects.uid_of(pod)
    ]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(method="DELETE", delay=0.2, drop="before"),
        Fault(method="DELETE", delay=0.2),
        Fault(method="DELETE", delay=0.2, drop="after"),
    ],
    ids=["before the write", "at the write", "after the write"],
)
async def test_killed_while_a_worker_is_released(
    cluster: RealCluster, brokers: Brokers, fault: Fault
) -> None:
    flink = await brokers.start()
    async with flink.watch() as events:
        await flink.ask(1)
        await events.until("ADDED", "demo-taskmanager-1-1")
        seen = events.version
    cluster.faults.add(fault)
    releasing = asyncio.create_task(flink.call("DELETE", f"{PODS}/demo-taskmanager-1-1"))
    await until(deleting(cluster))
    kill(brokers.broker)
    await asyncio.gather(releasing, return_exceptions=True)

    flink = await brokers.start()
    async with flink.watch(seen) as events:
        status, _ = await flink.call("DELETE", f"{PODS}/demo-taskmanager-1-1")
        assert status in (200, 404)
        await events.until("DELETED", "demo-taskmanager-1-1")
    assert await cluster.pods() == {}


def deleting(cluster: RealCluster) -> Callable[[], Awaitable[bool]]:
    async def begun() -> bool:
        return cluster.faults.count("DELETE", "/pods/") > 0

    return begun
