"""The latest change of each object, told to watchers that may come from any time.

A JobManager whose watch is answered with 410 begins a new one from version 0, without listing
(seen with Flink 2.3.0): what was deleted in between it never learns, and it waits for that worker
for ever. So this log never says 410. It keeps the *last* change of each object, not all of them,
which is enough for a watcher that only wants to know how things stand, and takes as much memory as
there are objects. Of objects that are gone it keeps the last thousands.

**Versions** are those of the real API server, so that they stay comparable when the broker is
started anew. Events found by listing again can come in any order; each is filed under the highest
version so far, and a watcher that has seen just that version is told all that is filed under it
again. To hear something twice is harmless, not to hear it is not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kubeflink import objects
from kubeflink.apiserver.watch import Change, EventLog, EventType
from kubeflink.objects import JsonObject, Resource

ENCODED = 64
"""How many changes keep their JSON, for the watchers that are nearly up to date."""

TOMBSTONES = 10_000
"""How many deleted objects are remembered."""


@dataclass(frozen=True, slots=True)
class _Entry:
    position: int
    version: int
    change: Change


class History(EventLog):
    """An `EventLog` that keeps one change for each name and knows no end of its memory.

    `resource_version` is that of the list with which it begins.
    """

    def __init__(self, resource: Resource, resource_version: int = 0) -> None:
        super().__init__(resource_version, lambda: self._version)
        self._resource = resource
        self._version = resource_version
        self._entries: dict[str, _Entry] = {}
        self._next = 0
        self._gone: dict[str, None] = {}
        self._encoded: deque[Change] = deque(maxlen=ENCODED)
        self.origin = resource_version
        """What happened up to here is only known as far as it can be seen in what is there."""

    @property
    def end(self) -> int:
        """The position after the last change."""
        return self._next

    def begin(self, resource_version: int) -> None:
        """What is recorded so far is as of this version at least."""
        self._version = max(self._version, resource_version)
        self.origin = self._version

    def record(self, obj: JsonObject, *, deleted: bool = False) -> None:
        """Take note of a change and wake the watchers."""
        name, own = objects.name_of(obj), version_of(obj)
        self._version = max(self._version, own)
        known = self._entries.pop(name, None)
        was_there = known is not None and known.change.type != "DELETED"
        kind: EventType = "DELETED" if deleted else ("MODIFIED" if was_there else "ADDED")
        previous = obj if deleted else (known.change.object if known and was_there else None)
        change = Change(kind, self._resource, obj, own, previous)
        if len(self._encoded) == ENCODED:
            self._encoded[0].forget_encoding()
        self._encoded.append(change)
        self._entries[name] = _Entry(self._next, self._version, change)
        self._next += 1
        self._gone.pop(name, None)
        if deleted:
            self._gone[name] = None
            if len(self._gone) > TOMBSTONES:
                forgotten = next(iter(self._gone))
                del self._gone[forgotten], self._entries[forgotten]
        self.wake()

    def append(self, change: Change) -> None:
        """As `record`."""
        self.record(change.object, deleted=change.type == "DELETED")

    def position_after(self, resource_version: int) -> int:
        """Where a watcher goes on that has seen this version, from whatever life of the broker."""
        newer, same = self._next, []
        for entry in self._newest_first():
            if entry.version < resource_version:
                break
            if entry.version == resource_version:
                same.append(entry.position)
            else:
                newer = entry.position
        return same[-1] if len(same) > 1 else newer

    def since(self, position: int) -> Sequence[Change]:
        """The last change of everything that changed from a position on, in order."""
        found = []
        for entry in self._newest_first():
            if entry.position < position:
                break
            found.append(entry.change)
        found.reverse()
        return found

    def _newest_first(self) -> Iterator[_Entry]:
        return reversed(self._entries.values())


def version_of(obj: JsonObject) -> int:
    """The object's resourceVersion as a number; Kubernetes promises that it is one."""
    return int(objects.metadata(obj).get("resourceVersion") or 0)
