"""The history of a resource, and watches as cursors on it.

One `EventLog` per resource holds its last changes in order. A watch is a position in that log plus
two selectors: it owns no queue, so a thousand watchers cost a thousand integers, a change is
appended once and serialised once for all of them, and a watcher that is slower than the history is
long is told 410 (`GoneError`) instead of making the server grow. A watch that is resumed with a
resourceVersion is just a cursor placed further back.

A selector is judged before and after a change. An object that begins to match is ADDED to that
watch and one that ceases to match is DELETED from it, whatever happened to it in the store.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from kubeflink.apiserver import statuses
from kubeflink.apiserver.selectors import ALL, Selection
from kubeflink.objects import JsonObject, Resource

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
encode_json = msgspec.json.Encoder().encode

# Changes that keep their JSON: enough for watchers that are nearly up to date.
_ENCODED = 64

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class Change:
    """One change of one object in the store; `previous` is what it was before, None if it is new.

    A deletion carries the object's last state under the resourceVersion of the deletion.
    """

    __slots__ = ("_encoded", "object", "previous", "resource", "resource_version", "type")

    def __init__(
        self,
        type: EventType,  # noqa: A002 - the API's own name
        resource: Resource,
        obj: JsonObject,
        resource_version: int,
        previous: JsonObject | None = None,
    ) -> None:
        self.type = type
        self.resource = resource
        self.object = obj
        self.resource_version = resource_version
        self.previous = previous
        self._encoded: bytes | None = None

    def encoded(self) -> bytes:
        """The object as JSON; made once, however many watchers read it."""
        if self._encoded is None:
            self._encoded = encode_json(self.object)
        return self._encoded

    def forget_encoding(self) -> None:
        """Give the JSON back; who still wants it makes it again."""
        self._encoded = None


@dataclass(slots=True, eq=False)
class WatchEvent:
    """What one watcher is told: the type is its own view of the change."""

    type: EventType
    object: JsonObject
    _change: Change | None = field(default=None, repr=False)

    def encoded(self) -> bytes:
        """The event as one line of JSON without its end."""
        body = encode_json(self.object) if self._change is None else self._change.encoded()
        return b'{"type":"%b","object":%b}' % (self.type.encode(), body)


class EventLog:
    """The last changes of one resource, and those who wait for the next.

    `origin` is the resourceVersion before the first change that this log can tell. `revision`
    gives the newest resourceVersion of the whole store, for bookmarks. `capacity` is the number of
    changes that are surely kept; up to a quarter more are held.
    """

    def __init__(self, origin: int, revision: Callable[[], int], capacity: int = 1000) -> None:
        self._changes: list[Change] = []
        self._versions: list[int] = []
        self._first = 0  # the position of the first change that is still held
        self._origin = origin
        self._revision = revision
        self._capacity = capacity
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def end(self) -> int:
        """The position after the last change."""
        return self._first + len(self._changes)

    @property
    def revision(self) -> int:
        """The newest resourceVersion of the store."""
        return self._revision()

    def append(self, change: Change) -> None:
        """Add a change and wake those who wait."""
        self._changes.append(change)
        self._versions.append(change.resource_version)
        if len(self._changes) > _ENCODED:
            self._changes[-_ENCODED - 1].forget_encoding()
        if len(self._changes) > self._capacity + self._capacity // 4:
            self._forget(len(self._changes) - self._capacity)
        self.wake()

    def expire(self) -> None:
        """Forget all history, as etcd does when it is compacted: who is behind gets 410."""
        self._forget(len(self._changes))
        self._origin = max(self._origin, self._revision())
        self.wake()

    def position_after(self, resource_version: int) -> int:
        """Where a watch goes on that has seen `resource_version`; 410 if that is too long ago.

        A version that the store has not reached yet can only come from another life of this
        store; to go on from there would lose events in silence, so it is 410 as well.
        """
        if resource_version < self._origin or resource_version > self._revision():
            raise statuses.expired(resource_version, self._origin)
        return self._first + bisect_right(self._versions, resource_version)

    def since(self, position: int) -> Sequence[Change]:
        """The changes from a position on; 410 where some of them are forgotten."""
        if position < self._first:
            raise statuses.expired(0, self._origin)
        return self._changes[position - self._first :]

    async def wait(self) -> None:
        """Wait for the next change (or for the loss of history)."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await future
        finally:
            self._waiting.discard(future)

    def _forget(self, count: int) -> None:
        if not count:
            return
        self._origin = self._versions[count - 1]
        del self._changes[:count], self._versions[:count]
        self._first += count

    def wake(self) -> None:
        """Make everybody who waits look again."""
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)


class Watch:
    """A cursor on an `EventLog` for one watcher.

    `initial` are events that come before the changes: the objects that exist, where the watch was
    asked for from no particular version. A watch that is dropped is gone; `close` is for ending one
    that another task waits on. Waiting can be cancelled at any time without the loss of an event.
    """

    def __init__(
        self,
        log: EventLog,
        position: int,
        resource: Resource,
        namespace: str | None = None,
        *,
        selection: Selection = ALL,
        initial: Sequence[WatchEvent] = (),
    ) -> None:
        self._log = log
        self._position = position
        self._resource = resource
        self._namespace = namespace
        self._selection = selection
        self._initial = list(initial)
        self._closed = False

    def close(self) -> None:
        """End the watch: who waits for a batch gets an empty one."""
        self._closed = True
        self._log.wake()

    async def batch(self) -> list[WatchEvent]:
        """All events that are there, waiting for the first; empty when the watch is closed.

        410 (`GoneError`) if the watcher was so slow that changes are forgotten.
        """
        if self._initial:
            events, self._initial = self._initial, []
            return events
        while not self._closed:
            end = self._log.end
            changes = self._log.since(self._position)
            self._position = end
            if events := [seen for change in changes if (seen := self._view(change))]:
                return events
            await self._log.wait()
        return []

    async def __aiter__(self) -> AsyncIterator[WatchEvent]:
        while events := await self.batch():
            for event in events:
                yield event

    def bookmark(self, annotations: Mapping[str, str] | None = None) -> WatchEvent | None:
        """A BOOKMARK from which the watch can be resumed; None while events are outstanding."""
        if self._initial or self._position < self._log.end:
            return None
        return bookmark(self._resource, self._log.revision, annotations)

    def _view(self, change: Change) -> WatchEvent | None:
        after = change.type != "DELETED" and self._selects(change.object)
        before = change.previous is not None and self._selects(change.previous)
        if not after and not before:
            return None
        if after or change.type == "DELETED":
            seen: EventType = "DELETED" if not after else ("MODIFIED" if before else "ADDED")
            return WatchEvent(seen, change.object, change)
        # Its last state that this watcher may see, as from a real server; the version is the new.
        assert change.previous is not None
        metadata = change.previous["metadata"] | {"resourceVersion": str(change.resource_version)}
        return WatchEvent("DELETED", {**change.previous, "metadata": metadata})

    def _selects(self, obj: JsonObject) -> bool:
        return self._selection.holds(obj, self._namespace)


def bookmark(
    resource: Resource, resource_version: int, annotations: Mapping[str, str] | None = None
) -> WatchEvent:
    """An event that only carries a resourceVersion."""
    metadata: JsonObject = {"resourceVersion": str(resource_version), "creationTimestamp": None}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return WatchEvent(
        "BOOKMARK",
        {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata},
    )
