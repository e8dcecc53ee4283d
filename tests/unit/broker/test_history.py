"""What watchers are told from any version on: the last change of everything, and never 410."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubeflink import objects
from kubeflink.apiserver.watch import Watch
from kubeflink.broker import history
from kubeflink.broker.history import History
from kubeflink.objects import PODS, JsonObject


def pod(name: str, version: int, **metadata: Any) -> JsonObject:
    data = {"name": name, "namespace": "default", "resourceVersion": str(version), **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": data}


async def told(log: History, version: int) -> list[tuple[str, str]]:
    watch = Watch(log, log.position_after(version), PODS, "default")
    if log.position_after(version) == log.end:
        return []
    return [(event.type, objects.name_of(event.object)) for event in await watch.batch()]


async def test_a_watcher_goes_on_where_it_was() -> None:
    log = History(PODS, 10)
    log.record(pod("a", 11))
    log.record(pod("b", 12))
    log.record(pod("a", 13))

    assert await told(log, 10) == [("ADDED", "b"), ("MODIFIED", "a")]
    assert await told(log, 12) == [("MODIFIED", "a")]
    assert await told(log, 13) == []


async def test_a_watcher_of_a_former_life_is_told_all() -> None:
    log = History(PODS, 10)
    log.record(pod("a", 9))
    log.begin(10)

    assert await told(log, 3) == [("ADDED", "a")]
    assert await told(log, 99) == []  # from a future that we have not seen yet


async def test_deletions_are_told_late() -> None:
    log = History(PODS, 10)
    log.record(pod("a", 11))
    log.record(pod("a", 15), deleted=True)
    log.record(pod("b", 16))

    assert await told(log, 11) == [("DELETED", "a"), ("ADDED", "b")]


async def test_what_was_found_out_of_order_is_told_again_rather_than_not() -> None:
    log = History(PODS, 10)
    log.record(pod("a", 20))
    log.record(pod("b", 15), deleted=True)  # a list has shown that it is gone
    log.record(pod("c", 18))

    assert {name for _, name in await told(log, 20)} >= {"b", "c"}
    assert {name for _, name in await told(log, 15)} == {"a", "b", "c"}


def test_deletions_are_forgotten_by_number_only() -> None:
    log = History(PODS, 0)
    for number in range(history.TOMBSTONES + 50):
        log.record(pod(f"p{number}", 2 * number + 1))
        log.record(pod(f"p{number}", 2 * number + 2), deleted=True)

    changes = log.since(0)
    assert len(changes) == history.TOMBSTONES
    assert objects.name_of(changes[0].object) == "p50"


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.booleans()), max_size=40), st.data())
async def test_whoever_follows_from_anywhere_ends_with_the_truth(
    happened: list[tuple[str, bool]], data: st.DataObject
) -> None:
    """A watcher that has seen all up to some version, and then the rest, knows what is there."""
    log, truth, versions = History(PODS, 0), set[str](), [set[str]()]
    for version, (name, gone) in enumerate(happened, start=1):
        deleted = gone and name in truth
        log.record(pod(name, version), deleted=deleted)
        truth = truth - {name} if deleted else truth | {name}
        versions.append(truth)
    seen = data.draw(st.integers(min_value=0, max_value=len(happened)))
    known = set(versions[seen])
    for kind, name in await told(log, seen):
        known = known - {name} if kind == "DELETED" else known | {name}
    assert known == truth
