"""A broker as a process of its own, killed by the system: at random, and at every step.

Each step of a worker's life is a test of its own. All of them share one cluster, whose broker is
killed at that step and started again; the JobManager repeats what was not answered.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from kubeflink import objects
from kubeflink.apiserver.deletion import DeleteOptions
from kubeflink.apiserver.faults import Fault
from support.broker import PODS, RealCluster, cluster_spec, real_cluster, until
from support.broker_process import (
    PersistentJobManager,
    broker_process,
    free_port,
    listens,
    persistent_jobmanager,
)

NOW = DeleteOptions(grace_period=0)
SCHEDULED = [{"type": "PodScheduled", "status": "True"}]


@pytest.fixture
async def cluster() -> AsyncIterator[RealCluster]:
    async with real_cluster(cluster_spec()) as cluster:
        yield cluster


async def test_a_process_that_is_killed_again_and_again(
    cluster: RealCluster, tmp_path: Path
) -> None:
    """60 workers come and go while the broker is killed every moment: none is lost or doubled."""
    port, dice = free_port(), random.Random(17)

    async def keep_killing() -> None:
        while True:
            async with broker_process(cluster, tmp_path, port):
                await until(lambda: listens(port), timeout=60)
                await asyncio.sleep(dice.uniform(0.3, 2.5))

    async with persistent_jobmanager(cluster, tmp_path, port) as flink:
        others = [asyncio.create_task(keep_killing()), asyncio.create_task(flink.follow())]
        try:
            for index in range(1, 61):
                assert await flink.ask(index) == 201
                if index % 3 == 0:
                    path = f"{PODS}/demo-taskmanager-1-{index - 1}"
                    assert await flink.call("DELETE", path) in (200, 404)
                await asyncio.sleep(0.05)

            async def knows_the_truth() -> bool:
                pods = await cluster.pods()
                return flink.known == {name: objects.uid_of(pod) for name, pod in pods.items()}

            await until(knows_the_truth, timeout=90)
        finally:
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    kept = {f"demo-taskmanager-1-{index}" for index in range(1, 61) if (index + 1) % 3}
    assert set(await cluster.pods()) == kept


# --- every step --------------------------------------------------------------------------------


@dataclass
class Life:
    """One worker after the other, and the broker that does not live through any of them."""

    cluster: RealCluster
    flink: PersistentJobManager
    directory: Path
    port: int
    index: int = 0
    brokers: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def name(self) -> str:
        return f"demo-taskmanager-1-{self.index}"

    @property
    def path(self) -> str:
        return f"{PODS}/{self.name}"

    async def start(self) -> None:
        running = broker_process(self.cluster, self.directory, self.port)
        await self.brokers.enter_async_context(running)

    async def kill(self) -> None:
        """`kill -9`."""
        await self.brokers.aclose()

    async def at(self, fault: Fault, doing: Awaitable[int]) -> int:
        """Kill the broker at a request to the API server; what the JobManager gets in the end."""
        self.cluster.faults.add(fault)
        asking = asyncio.ensure_future(doing)
        await until(lambda: struck(fault))
        if fault.drop == "after":
            await until(self.has_been_done(fault.method))
        await self.kill()
        self.cluster.faults.remove(fault)
        await self.start()
        return await asking

    def has_been_done(self, method: str) -> Callable[[], Awaitable[bool]]:
        async def look() -> bool:
            return (self.name in await self.cluster.pods()) == (method == "POST")

        return look

    async def meanwhile(self, doing: Awaitable[object]) -> None:
        """Something happens while there is no broker."""
        await self.kill()
        await doing
        await self.start()

    async def told(self, **status: str) -> None:
        """The JobManager knows the worker, in this state."""

        async def is_told() -> bool:
            known = self.flink.pods.get(self.name)
            return known is not None and status.items() <= (known.get("status") or {}).items()

        await until(is_told, timeout=60)

    async def is_over(self) -> None:
        """The worker is gone, was made once, and the JobManager knows of what is there alone."""

        async def knows_the_truth() -> bool:
            there = {name: objects.uid_of(pod) for name, pod in (await self.cluster.pods()).items()}
            return self.flink.known == there and self.name not in there

        await until(knows_the_truth, timeout=60)
        assert self.flink.seen[self.name] <= 1


async def struck(fault: Fault) -> bool:
    return fault.struck > 0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lives(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Life]:
    directory, port = tmp_path_factory.mktemp("broker"), free_port()
    async with (
        real_cluster(cluster_spec()) as cluster,
        persistent_jobmanager(cluster, directory, port) as flink,
    ):
        life = Life(cluster, flink, directory, port)
        following = asyncio.create_task(flink.follow())
        try:
            await life.start()
            yield life
        finally:
            await life.kill()
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


@pytest_asyncio.fixture(loop_scope="module")
async def life(lives: Life) -> Life:
    """A worker that nobody has asked for yet."""
    lives.index += 1
    return lives


Step = Callable[[Life], Awaitable[None]]


async def before_it_is_made(life: Life) -> None:
    fault = Fault("/pods$", "POST", delay=5.0, drop="before")
    assert await life.at(fault, life.flink.ask(life.index)) == 201


async def after_it_is_made(life: Life) -> None:
    fault = Fault("/pods$", "POST", drop="after")
    assert await life.at(fault, life.flink.ask(life.index)) == 201


async def while_it_is_refused(life: Life) -> None:
    fault = Fault("/pods$", "POST", times=3, delay=0.5, status=500)
    assert await life.at(fault, life.flink.ask(life.index)) == 201


async def after_it_is_answered(life: Life) -> None:
    await asked(life)
    await life.meanwhile(asyncio.sleep(0))


async def before_it_is_scheduled(life: Life) -> None:
    await asked(life)
    await life.meanwhile(life.cluster.set_status(life.name, conditions=SCHEDULED))
    await life.cluster.set_status(life.name, phase="Running")
    await life.told(phase="Running")


async def while_it_begins_to_run(life: Life) -> None:
    await asked(life)
    await life.meanwhile(life.cluster.set_status(life.name, conditions=SCHEDULED, phase="Running"))
    await life.told(phase="Running")


async def while_it_fails(life: Life) -> None:
    await asked(life)
    await life.cluster.set_status(life.name, phase="Running")
    await life.meanwhile(life.cluster.set_status(life.name, phase="Failed"))
    await life.told(phase="Failed")


async def while_somebody_deletes_it(life: Life) -> None:
    await asked(life)
    await life.told()
    name = life.name
    await life.meanwhile(life.cluster.store.delete(objects.PODS, "default", name, NOW))
    assert await life.flink.call("DELETE", life.path) == 404


async def before_it_is_released(life: Life) -> None:
    await asked(life)
    await life.told()
    fault = Fault("/pods/", "DELETE", delay=5.0, drop="before")
    assert await life.at(fault, life.flink.call("DELETE", life.path)) == 200


async def after_it_is_released(life: Life) -> None:
    await asked(life)
    await life.told()
    fault = Fault("/pods/", "DELETE", drop="after")
    assert await life.at(fault, life.flink.call("DELETE", life.path)) in (200, 404)


async def before_its_end_is_told(life: Life) -> None:
    await asked(life)
    await life.told()
    assert await life.flink.call("DELETE", life.path) == 200
    await life.meanwhile(asyncio.sleep(0))


async def while_the_next_broker_lists(life: Life) -> None:
    """The one that was started is killed as well, before it has seen anything."""
    await asked(life)
    await life.kill()
    fault = life.cluster.faults.add(Fault(r"/pods\?limit", "GET", delay=5.0))
    await life.start()
    await until(lambda: struck(fault), timeout=60)
    await life.meanwhile(asyncio.sleep(0))


async def asked(life: Life) -> None:
    assert await life.flink.ask(life.index) == 201


STEPS: tuple[Step, ...] = (
    before_it_is_made,
    after_it_is_made,
    while_it_is_refused,
    after_it_is_answered,
    before_it_is_scheduled,
    while_it_begins_to_run,
    while_it_fails,
    while_somebody_deletes_it,
    before_it_is_released,
    after_it_is_released,
    before_its_end_is_told,
    while_the_next_broker_lists,
)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("step", STEPS, ids=[step.__name__.replace("_", " ") for step in STEPS])
async def test_killed_at_this_step(life: Life, step: Step) -> None:
    """Afterwards the JobManager has its worker, once, and can release it."""
    await step(life)

    if life.name in await life.cluster.pods():
        assert await life.flink.ask(life.index) == 201  # the same again is the same worker
        await life.told()
        assert await life.flink.call("DELETE", life.path) == 200
    await life.is_over()
