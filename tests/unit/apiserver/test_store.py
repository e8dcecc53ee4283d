"""The store itself: versions, journal, admission, deletion, watches in the process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeflink import objects
from kubeflink.apiserver.admission import AdmissionRequest
from kubeflink.apiserver.deletion import DeleteOptions
from kubeflink.apiserver.metadata import copy_json
from kubeflink.apiserver.statuses import forbidden
from kubeflink.apiserver.store import JournalState, ObjectStore, modify
from kubeflink.apiserver.watch import Change
from kubeflink.errors import ConflictError, ForbiddenError, GoneError, LocalError, NotFoundError
from kubeflink.objects import JsonObject, Resource
from support.manifests import config_map, deployment, pod, service


class MemoryJournal:
    """A journal that keeps what it is told in memory."""

    def __init__(self) -> None:
        self.objects: dict[tuple[Resource, str, str], JsonObject] = {}
        self.last: dict[Resource, int] = {}
        self.full = False

    def load(self) -> JournalState:
        newest = max(self.last.values(), default=0)
        return JournalState(copy_json(list(self.objects.values())), newest, dict(self.last))

    def record(self, change: Change) -> None:
        if self.full:
            raise LocalError("the disk is full")
        obj = change.object
        key = (change.resource, objects.namespace_of(obj) or "", objects.name_of(obj))
        self.last[change.resource] = change.resource_version
        if change.type == "DELETED":
            del self.objects[key]
        else:
            self.objects[key] = copy_json(obj)


async def names(store: ObjectStore, resource: Resource) -> list[str]:
    return [objects.name_of(obj) for obj in (await store.list(resource)).items]


async def test_versions_begin_at_the_clock() -> None:
    store = ObjectStore(clock=lambda: 1_800_000_000.0)
    created = await store.create(objects.CONFIG_MAPS, "default", config_map("a"))
    assert int(created["metadata"]["resourceVersion"]) > 1_800_000_000_000
    assert created["metadata"]["creationTimestamp"] == "2027-01-15T08:00:00Z"


async def test_a_restart_with_a_journal_loses_nothing() -> None:
    journal = MemoryJournal()
    first = ObjectStore(journal=journal)
    await first.create(objects.CONFIG_MAPS, "default", config_map("a"))
    gone = await first.create(objects.PODS, "default", pod("gone"))
    await first.delete(objects.PODS, "default", "gone")
    seen = await first.create(objects.CONFIG_MAPS, "default", config_map("b"))

    second = ObjectStore(journal=journal)

    assert await names(second, objects.CONFIG_MAPS) == ["a", "b"]
    assert await names(second, objects.PODS) == []
    assert second.revision == first.revision
    # A watch that had seen everything of its resource goes on; one that missed a deletion must not.
    watch = second.watch(objects.CONFIG_MAPS, resource_version=seen["metadata"]["resourceVersion"])
    await second.create(objects.CONFIG_MAPS, "default", config_map("c"))
    (event,) = await watch.batch()
    assert (event.type, objects.name_of(event.object)) == ("ADDED", "c")
    with pytest.raises(GoneError):
        second.watch(objects.PODS, resource_version=gone["metadata"]["resourceVersion"])


async def test_a_write_that_the_journal_refuses_has_not_happened() -> None:
    journal = MemoryJournal()
    store = ObjectStore(journal=journal)
    await store.create(objects.CONFIG_MAPS, "default", config_map("a", k="1"))
    before, watch = store.revision, store.watch(objects.CONFIG_MAPS, resource_version="0")
    await watch.batch()
    journal.full = True

    for write in (
        store.create(objects.CONFIG_MAPS, "default", config_map("b")),
        store.replace(objects.CONFIG_MAPS, "default", config_map("a", k="2")),
        store.delete(objects.CONFIG_MAPS, "default", "a"),
    ):
        with pytest.raises(LocalError):
            await write

    assert store.revision == before
    assert await names(store, objects.CONFIG_MAPS) == ["a"]
    assert (await store.get(objects.CONFIG_MAPS, "default", "a"))["data"] == {"k": "1"}
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(watch.batch(), 0.05)


class Stamp:
    """Puts an annotation on pods and refuses one of them."""

    def admit(self, request: AdmissionRequest) -> None:
        if request.resource != objects.PODS:
            return
        if objects.name_of(request.object) == "bad":
            raise forbidden(request.resource, "bad", "it is bad")
        others = sum(1 for _ in request.existing(objects.PODS))
        annotations = request.object["metadata"].setdefault("annotations", {})
        annotations["stamp"] = f"{request.operation} {others}"


async def test_admission_changes_and_refuses() -> None:
    store = ObjectStore(admission=(Stamp(),))
    created = await store.create(objects.PODS, "default", pod("a"))
    assert created["metadata"]["annotations"] == {"stamp": "CREATE 0"}
    changed = copy_json(created)
    changed["metadata"]["labels"] = {"x": "y"}
    replaced = await store.replace(objects.PODS, "default", changed)
    assert replaced["metadata"]["annotations"] == {"stamp": "UPDATE 1"}
    with pytest.raises(ForbiddenError, match='pods "bad" is forbidden: it is bad'):
        await store.create(objects.PODS, "default", pod("bad"))
    plain = await store.create(objects.SERVICES, "default", service("web", "NodePort"))
    assert "clusterIP" not in plain["spec"]


async def test_a_stored_object_that_was_changed_in_place_is_noticed() -> None:
    store = ObjectStore()
    await store.create(objects.CONFIG_MAPS, "default", config_map("a"))
    (shared,) = (await store.list(objects.CONFIG_MAPS)).items
    shared["data"] = {"k": "v"}
    with pytest.raises(RuntimeError, match="changed in place"):
        await store.replace(objects.CONFIG_MAPS, "default", shared)


async def test_modify_is_faster_in_the_end() -> None:
    store = ObjectStore()
    await store.create(objects.CONFIG_MAPS, "default", config_map("a", count="0"))

    async def count() -> None:
        def change(obj: JsonObject) -> None:
            obj["data"]["count"] = str(int(obj["data"]["count"]) + 1)

        await modify(store, objects.CONFIG_MAPS, "default", "a", change)

    await asyncio.gather(*(count() for _ in range(20)))
    assert (await store.get(objects.CONFIG_MAPS, "default", "a"))["data"]["count"] == "20"


async def test_modify_hands_on_a_conflict_that_was_asked_for() -> None:
    store = ObjectStore()
    await store.create(objects.CONFIG_MAPS, "default", config_map("a"))

    def change(obj: JsonObject) -> None:
        obj["metadata"]["resourceVersion"] = "1"

    with pytest.raises(ConflictError, match="the object has been modified"):
        await modify(store, objects.CONFIG_MAPS, "default", "a", change)


async def test_a_watch_that_is_too_slow_is_told_so() -> None:
    store = ObjectStore(history=5)
    watch = store.watch(objects.CONFIG_MAPS, resource_version=str(store.revision))
    for number in range(11):
        await store.create(objects.CONFIG_MAPS, "default", config_map(f"m{number}"))
    with pytest.raises(GoneError):
        await watch.batch()


async def test_waiting_for_events_can_be_cancelled_without_loss() -> None:
    store = ObjectStore()
    watch = store.watch(objects.CONFIG_MAPS, resource_version=str(store.revision))
    told: list[str] = []

    async def write() -> None:
        for number in range(50):
            await store.create(objects.CONFIG_MAPS, "default", config_map(f"m{number}"))
            await asyncio.sleep(0)

    writer = asyncio.create_task(write())
    while len(told) < 50:
        try:
            async with asyncio.timeout(0):
                told += [objects.name_of(event.object) for event in await watch.batch()]
        except TimeoutError:
            await asyncio.sleep(0)
    await writer
    assert told == [f"m{number}" for number in range(50)]


async def test_a_closed_watch_ends_its_loop() -> None:
    store = ObjectStore()
    watch = store.watch(objects.PODS, resource_version=str(store.revision))

    async def follow() -> int:
        return len([event async for event in watch])

    follower = asyncio.create_task(follow())
    await asyncio.sleep(0)
    watch.close()
    assert await asyncio.wait_for(follower, 5) == 0


async def test_pods_that_ended_or_have_no_node_go_at_once() -> None:
    store = ObjectStore()
    for name, node, phase in (("a", "", "Pending"), ("b", "local", "Failed")):
        await store.create(
            objects.PODS, "default", pod(name, **({"nodeName": node} if node else {}))
        )
        ended = {**pod(name), "status": {"phase": phase}}
        await store.replace(objects.PODS, "default", ended, subresource="status")
        deletion = await store.delete(objects.PODS, "default", name)
        assert deletion.gone


async def test_a_finalizer_keeps_an_object() -> None:
    store = ObjectStore()
    held = config_map("a")
    held["metadata"]["finalizers"] = ["example.com/wait"]
    await store.create(objects.CONFIG_MAPS, "default", held)

    assert not (await store.delete(objects.CONFIG_MAPS, "default", "a")).gone
    marked = await store.get(objects.CONFIG_MAPS, "default", "a")
    assert marked["metadata"]["deletionTimestamp"]
    more = copy_json(marked)
    more["metadata"]["finalizers"].append("example.com/more")
    with pytest.raises(Exception, match="no new finalizers can be added"):
        await store.replace(objects.CONFIG_MAPS, "default", more)
    marked["metadata"]["finalizers"] = []
    await store.replace(objects.CONFIG_MAPS, "default", marked)
    with pytest.raises(NotFoundError):
        await store.get(objects.CONFIG_MAPS, "default", "a")


async def test_orphaning_and_foreground_replace_each_other() -> None:
    store = ObjectStore()
    await store.create(objects.DEPLOYMENTS, "default", deployment("web"))
    first = await store.delete(
        objects.DEPLOYMENTS, "default", "web", DeleteOptions(propagation="Foreground")
    )
    assert first.object["metadata"]["finalizers"] == ["foregroundDeletion"]
    second = await store.delete(
        objects.DEPLOYMENTS, "default", "web", DeleteOptions(propagation="Background")
    )
    assert second.gone


async def test_old_events_are_dropped() -> None:
    now = [1_000_000.0]
    store = ObjectStore(clock=lambda: now[0])

    async def record(name: str) -> None:
        event = {"metadata": {"name": name}, "involvedObject": {"kind": "Pod", "name": "p"}}
        await store.create(objects.EVENTS, "default", event)

    await record("old")
    now[0] += 1800
    await record("young")
    now[0] += 1801
    await record("new")
    assert await names(store, objects.EVENTS) == ["new", "young"]


_WORDS = st.sampled_from(["a", "b", "c"])


@given(st.lists(st.tuples(st.sampled_from(["create", "change", "delete"]), _WORDS, _WORDS)))
def test_a_watch_tells_exactly_what_a_list_shows(
    steps: Iterable[tuple[str, str, str]],
) -> None:
    """Whoever follows the events of a selector holds what a list with it returns."""
    from kubeflink.apiserver.selectors import LabelSelector, Selection

    async def run() -> None:
        store, selection = ObjectStore(), Selection(LabelSelector.parse("x=a"))
        watch = store.watch(objects.CONFIG_MAPS, selection=selection)
        held: dict[str, JsonObject] = {}
        for action, name, value in steps:
            try:
                if action == "create":
                    draft = config_map(name, {"x": value})
                    await store.create(objects.CONFIG_MAPS, "default", draft)
                elif action == "change":
                    draft = config_map(name, {"x": value})
                    await store.replace(objects.CONFIG_MAPS, "default", draft)
                else:
                    await store.delete(objects.CONFIG_MAPS, "default", name)
            except (ConflictError, NotFoundError):
                continue
        try:
            async with asyncio.timeout(0.001):
                while True:
                    for event in await watch.batch():
                        name = objects.name_of(event.object)
                        assert (name in held) == (event.type != "ADDED")
                        if event.type == "DELETED":
                            del held[name]
                        else:
                            held[name] = event.object
        except TimeoutError:
            pass
        listed = (await store.list(objects.CONFIG_MAPS, selection=selection)).items
        assert held == {objects.name_of(obj): obj for obj in listed}

    asyncio.run(run())
