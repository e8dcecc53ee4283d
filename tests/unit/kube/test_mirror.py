"""A mirror of the project's own API server in a storm of faults, checked change by change."""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing
from typing import Any

import pytest

from kubeflink import objects
from kubeflink.apiserver.deletion import DeleteOptions
from kubeflink.apiserver.faults import Fault, FaultPlan
from kubeflink.apiserver.server import ApiServer
from kubeflink.apiserver.store import ObjectStore, modify
from kubeflink.kube import KubeClient, Limits
from kubeflink.kube.access import ClusterAccess
from kubeflink.kube.backoff import Backoff
from kubeflink.kube.reflector import Change, Reflector

LABELS = {"app": "demo"}


def config_map(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": LABELS},
        "data": {},
    }


class Storm:
    """Random changes to a store, and faults for those who watch it."""

    def __init__(self, store: ObjectStore, plan: FaultPlan, seed: int) -> None:
        self._store = store
        self._plan = plan
        self._random = random.Random(seed)
        self._made = 0

    async def blow(self, changes: int) -> None:
        for _ in range(changes):
            names = [
                objects.name_of(one)
                for one in (await self._store.list(objects.CONFIG_MAPS, "default")).items
            ]
            await self._random.choice((self._create, self._modify, self._delete))(names)
            if self._random.random() < 0.12:
                self._add_fault()
            await asyncio.sleep(self._random.choice((0, 0, 0.01, 0.03)))
        await self._create([])

    async def _create(self, names: list[str]) -> None:
        """A new name, or one that was there before: the uid tells them apart."""
        free = [f"c{number}" for number in range(8) if f"c{number}" not in names]
        self._made += 1
        name = self._random.choice(free) if free and names else f"n{self._made}"
        await self._store.create(objects.CONFIG_MAPS, "default", config_map(name))

    async def _modify(self, names: list[str]) -> None:
        if names:
            data = {"x": str(self._random.random())}
            await modify(
                self._store,
                objects.CONFIG_MAPS,
                "default",
                self._random.choice(names),
                lambda stored: {**stored, "data": data},
            )

    async def _delete(self, names: list[str]) -> None:
        if names:
            await self._store.delete(
                objects.CONFIG_MAPS, "default", self._random.choice(names), DeleteOptions()
            )

    def _add_fault(self) -> None:
        self._plan.add(
            self._random.choice(
                (
                    Fault(path="watch=true", watch="gone"),
                    Fault(path="watch=true", watch="silent"),
                    Fault(path="watch=true", status=410),
                    Fault(path="watch=true", drop="before"),
                    Fault(path="configmaps", status=503),
                    Fault(path="configmaps", status=429, retry_after=0.1),
                    Fault(path="configmaps", drop="after"),
                )
            )
        )


class Follower:
    """Replays changes and objects to those that cannot be."""

    def __init__(self) -> None:
        self.alive: dict[str, str] = {}

    def take(self, change: Change) -> None:
        uid, name = objects.uid_of(change.object), objects.name_of(change.object)
        version = objects.metadata(change.object)["resourceVersion"]
        match change.type:
            case "added":
                assert uid not in self.alive, f"{name} was added twice"
                self.alive[uid] = version
            case "modified":
                assert int(version) > int(self.alive[uid]), f"{name} went back or was told twice"
                self.alive[uid] = version
            case "deleted":
                del self.alive[uid]


@pytest.mark.parametrize("seed", range(2))
async def test_nothing_is_lost_or_doubled_in_a_storm(seed: int) -> None:
    plan = FaultPlan()
    store = ObjectStore(namespaces=("default",))
    follower = Follower()
    async with ApiServer(store, faults=plan) as server:
        access = ClusterAccess(server=server.url, namespace="default", origin="a test")
        limits = Limits(total=5.0, pause=0.02)
        async with (
            KubeClient.of(access, environ={}, limits=limits) as client,
            Reflector(
                client,
                objects.CONFIG_MAPS,
                labels=LABELS,
                watch_seconds=1.0,
                grace=0.2,
                backoff=Backoff(first=0.02, longest=0.2),
            ) as mirror,
            aclosing(mirror.changes()) as changes,
        ):
            storm = asyncio.create_task(Storm(store, plan, seed).blow(100))
            final: set[str] | None = None
            async with asyncio.timeout(120):
                while final is None or follower.alive.keys() != final:
                    follower.take(await anext(changes))
                    if storm.done() and final is None:
                        storm.result()
                        listed = await store.list(objects.CONFIG_MAPS, "default")
                        final = {objects.uid_of(one) for one in listed.items}
            assert {objects.uid_of(one) for one in mirror.store.values()} == final

    struck = {fault.watch or fault.drop or fault.status for fault in plan.faults if fault.struck}
    assert len(struck) >= 3, "the storm was too mild to show anything"
