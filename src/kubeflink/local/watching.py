"""How controllers follow the store: react to every change, and look at everything again.

A controller here is level triggered, as in Kubernetes: a change only says "look", and what it then
does depends on how things are, not on which change it was. Changes that come while it looks cause
one more look; a look that fails is repeated with growing pauses, and the others go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from kubeflink.apiserver.store import Store
from kubeflink.errors import GoneError, KubeflinkError, LocalError
from kubeflink.objects import Resource

T = TypeVar("T")

log = logging.getLogger(__name__)

_RETRY_INITIAL = 0.2
_RETRY_MAXIMUM = 30.0


async def reconcile_on_changes(
    store: Store,
    resources: Sequence[Resource],
    reconcile: Callable[[], Awaitable[None]],
    *,
    period: float,
) -> None:
    """Call `reconcile` now, after changes of these resources, and every `period` seconds; for ever.

    Cancelling ends it between two awaits of `reconcile`.
    """
    changed = asyncio.Event()
    changed.set()
    async with asyncio.TaskGroup() as group:
        for resource in resources:
            group.create_task(_notice(store, resource, changed), name=f"watch {resource.plural}")
        delay = _RETRY_INITIAL
        while True:
            try:
                async with asyncio.timeout(period):
                    await changed.wait()
            except TimeoutError:
                log.debug("nothing changed for %s seconds", period)
            changed.clear()
            try:
                await reconcile()
            except Exception as error:
                # Such as a full disk; what was not done is still to be done. Anything else is a
                # bug, for which nobody should lose a cluster that runs.
                known = isinstance(error, KubeflinkError)
                name = getattr(reconcile, "__qualname__", reconcile)
                log.warning("%s: %s", name, error, exc_info=None if known else error)
                await asyncio.sleep(delay)
                delay = min(delay * 2, _RETRY_MAXIMUM)
                changed.set()
            else:
                delay = _RETRY_INITIAL


async def _notice(store: Store, resource: Resource, changed: asyncio.Event) -> None:
    while True:
        watch = store.watch(resource)
        try:
            while True:
                await watch.batch()
                changed.set()
        except GoneError:
            changed.set()  # Too slow for the history: everything may be different.


async def until_written(write: Callable[[], Awaitable[T]]) -> T:
    """Do a write to the store, again and again for as long as its journal cannot take it.

    That is a full disk; nothing is lost but time, and what has to be told is told when it can be.
    """
    delay = _RETRY_INITIAL
    while True:
        try:
            return await write()
        except LocalError as error:
            log.warning("%s", error)
        await asyncio.sleep(delay)
        delay = min(delay * 2, _RETRY_MAXIMUM)
