"""The synchronous face has everything that the asynchronous one has, and works anywhere."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import threading
import time

import pytest

import kubeflink
from kubeflink import sync
from kubeflink.cluster import application, blocking, job, listing, session
from kubeflink.cluster.portal import Portal

PAIRS = [
    (session.SessionCluster, sync.SessionCluster),
    (application.ApplicationCluster, sync.ApplicationCluster),
    (job.Job, sync.Job),
]

# What only makes sense where there is a loop, or is for the command line.
ASYNC_ONLY = {
    *("flink", "one_jobmanager", "deploy_configured", "watch_workers", "cluster", "ends"),
    "on_this_loop",
}


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize(("inner", "face"), PAIRS, ids=lambda kind: kind.__name__)
def test_nothing_is_missing_and_nothing_is_added(inner: type, face: type) -> None:
    attributes = {"name", "namespace", "id"}

    assert public(face) - attributes == public(inner) - attributes - ASYNC_ONLY


@pytest.mark.parametrize(("inner", "face"), PAIRS, ids=lambda kind: kind.__name__)
def test_signatures_and_docstrings_are_the_same(inner: type, face: type) -> None:
    for name in public(face) & public(inner):
        ours, theirs = getattr(face, name), getattr(inner, name)
        if not callable(ours):
            continue
        signature, original = inspect.signature(ours), inspect.signature(theirs)
        assert list(signature.parameters.values()) == list(original.parameters.values()), name
        assert inspect.getdoc(ours) == inspect.getdoc(theirs), name


def test_functions_too() -> None:
    assert inspect.signature(sync.clusters) == inspect.signature(listing.clusters)
    assert inspect.getdoc(sync.clusters) == inspect.getdoc(listing.clusters)


def test_both_export_the_same_clusters_and_jobs() -> None:
    assert set(sync.__all__) <= set(kubeflink.__all__)
    for name in kubeflink.__all__:
        assert getattr(kubeflink, name) is not None
    assert sorted(kubeflink.__all__) == kubeflink.__all__
    assert set(kubeflink.__all__) <= set(dir(kubeflink))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kubeflink.nothing  # noqa: B018


async def answer(value: int) -> int:
    await asyncio.sleep(0)
    return value


def test_a_call_from_a_plain_thread() -> None:
    assert Portal().call(answer(7)) == 7


async def test_a_call_where_a_loop_is_running_as_in_a_notebook() -> None:
    assert Portal().call(answer(7)) == 7


def test_errors_come_through() -> None:
    async def fail() -> None:
        raise kubeflink.KubeflinkError("told", hint="do this")

    with pytest.raises(kubeflink.KubeflinkError, match="do this"):
        Portal().call(fail())


def test_calls_from_several_threads_share_the_loop() -> None:
    portal, loops = Portal(), []

    async def where() -> None:
        await asyncio.sleep(0.01)
        loops.append(asyncio.get_running_loop())

    threads = [threading.Thread(target=lambda: portal.call(where())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(loops) == 8
    assert len(set(loops)) == 1


def test_a_callback_must_not_wait_for_its_own_thread() -> None:
    portal = Portal()

    async def misuse() -> int:
        return portal.call(answer(1))

    with pytest.raises(RuntimeError, match="blocking calls"):
        portal.call(misuse())


def test_an_interrupt_cancels_the_call_and_waits_for_its_clean_up() -> None:
    portal, cleaned = Portal(), threading.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.2)
            cleaned.set()

    def interrupt() -> None:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        portal.call(work())
    assert cleaned.is_set()


def test_a_with_block_ends_the_async_one_also_after_an_error() -> None:
    from collections.abc import AsyncIterator
    from contextlib import asynccontextmanager

    seen: list[str] = []

    @asynccontextmanager
    async def lent(name: str) -> AsyncIterator[str]:
        try:
            yield name
        except ValueError:
            seen.append("error")
            raise
        finally:
            seen.append("end")

    enter = blocking._enter(lent, str.upper)
    with enter("x") as entered:
        assert entered == "X"
    with pytest.raises(ValueError, match="told"), enter("y"):
        raise ValueError("told")
    assert seen == ["end", "error", "end"]
