"""Where objects live: the interface `Store`, and `ObjectStore`, which keeps them in memory.

`ObjectStore` behaves as the registry of a real API server does. A write is: defaults, admission,
validation, journal, then the object and its change at once; nothing awaits in between, so that a
write is atomic on the event loop, and a write that the journal refuses has not happened.

**Versions.** One counter for all resources gives the resourceVersions. It starts at the journal's
last value or else at the clock (in milliseconds), because clients that outlive the server go on
with the versions that they know: a version must never be given twice.

**Objects are shared.** What the store returns is what it holds, except from `get`. Treat it as
frozen, and change a copy (`copy_json`).

**Deletion.** As in Kubernetes an object with finalizers, or a pod on a node within its grace
period, is only marked (`deletionTimestamp`); it goes away when the last finalizer is removed and
when the kubelet deletes it again with a grace period of zero. A namespace is emptied first.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from kubeflink import objects
from kubeflink.apiserver import defaults, deletion, drafts, statuses, validation
from kubeflink.apiserver.admission import Admission, AdmissionRequest, ServiceAddresses
from kubeflink.apiserver.deletion import PLAINLY, DeleteOptions, Deletion
from kubeflink.apiserver.metadata import copy_json, timestamp
from kubeflink.apiserver.resources import SERVED, Registry
from kubeflink.apiserver.selectors import ALL, Selection
from kubeflink.apiserver.watch import (
    INITIAL_EVENTS_END,
    Change,
    EventLog,
    Watch,
    WatchEvent,
    bookmark,
)
from kubeflink.errors import ConflictError
from kubeflink.objects import JsonObject, Resource

EVENT_LIFETIME = 3600.0
"""Seconds after which an Event object is dropped, as the real server's --event-ttl."""


@dataclass(frozen=True, slots=True)
class ObjectList:
    """A list at a version. `remaining` is the number of objects after the last one here."""

    items: list[JsonObject]
    resource_version: str
    remaining: int = 0


@dataclass(frozen=True, slots=True)
class JournalState:
    """What a journal gives back: all objects as they were, and the last version that was given.

    `last_changes` has the version of the last change of each resource, deletions included. With it
    the watches of a resource that lost nothing go on after a restart; without it they go on only
    where nothing at all was lost.
    """

    objects: Iterable[JsonObject]
    resource_version: int
    last_changes: Mapping[Resource, int] = dataclasses.field(default_factory=dict)


class Journal(Protocol):
    """Keeps the objects of an `ObjectStore` across restarts."""

    def load(self) -> JournalState:
        """All objects and the last version; called once, before any `record`."""

    def record(self, change: Change) -> None:
        """Make a change durable. It is not visible yet; an error raised here refuses the write."""


class Store(Protocol):
    """Where the objects behind an API server live.

    Errors are `ApiStatusError`s and go to the client as they are. A call is cancelled when its
    client goes away: a store whose writes take time has to finish or undo them itself.
    """

    async def create(
        self, resource: Resource, namespace: str | None, obj: JsonObject, *, dry_run: bool = False
    ) -> JsonObject:
        """Store a new object; returns it as stored."""

    async def get(self, resource: Resource, namespace: str | None, name: str) -> JsonObject:
        """A copy of one object; `NotFoundError`."""

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        selection: Selection = ALL,
        limit: int = 0,
        after: tuple[str, str] | None = None,
    ) -> ObjectList:
        """Objects by (namespace, name); at most `limit` of them (0: all), from behind `after`."""

    async def replace(
        self,
        resource: Resource,
        namespace: str | None,
        obj: JsonObject,
        *,
        subresource: Literal["", "status"] = "",
        dry_run: bool = False,
    ) -> JsonObject:
        """Replace an object, or only its status; a resourceVersion in `obj` is a precondition."""

    async def delete(
        self, resource: Resource, namespace: str | None, name: str, options: DeleteOptions
    ) -> Deletion:
        """Delete an object, or begin to."""

    def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        selection: Selection = ALL,
        resource_version: str = "",
        initial_events: bool = False,
    ) -> Watch:
        """Changes after a version; "" and "0": first the objects that exist, as ADDED.

        `initial_events`: first the objects, then a bookmark that says that these were all.
        """


class ObjectStore:
    """A `Store` in memory, with an optional journal.

    `history` is the number of changes of each resource that a watch can go back. `clock` gives
    seconds since the epoch. `namespaces` are made when they are missing, and cannot be deleted.
    """

    def __init__(
        self,
        *,
        journal: Journal | None = None,
        admission: Sequence[Admission] | None = None,
        registry: Registry | None = None,
        history: int = 1000,
        clock: Callable[[], float] = time.time,
        namespaces: Sequence[str] = ("default",),
    ) -> None:
        self.registry = registry or Registry(SERVED)
        self._journal = journal
        self._admission = tuple(admission) if admission is not None else (ServiceAddresses(),)
        self._clock = clock
        self._revision = int(clock() * 1000)
        self._objects: dict[Resource, dict[tuple[str, str], JsonObject]] = {
            served.resource: {} for served in self.registry
        }
        origins = self._load(journal.load()) if journal is not None else {}
        self._logs = {
            resource: EventLog(
                origins.get(resource, self._revision), lambda: self._revision, history
            )
            for resource in self._objects
        }
        self._kept_namespaces = frozenset(namespaces)
        for name in namespaces:
            if ("", name) not in self._objects[objects.NAMESPACES]:
                self._create(objects.NAMESPACES, None, _namespace(name), dry_run=False)

    def _load(self, state: JournalState) -> Mapping[Resource, int]:
        """Take over what a journal kept; returns from where watches of each resource can go on."""
        for obj in state.objects:
            self._objects[objects.resource_of(obj)][_key(obj)] = obj
        if state.resource_version:
            # Not the clock: then the watches of clients that outlived the server simply go on.
            self._revision = state.resource_version
        return state.last_changes

    @property
    def revision(self) -> int:
        """The newest resourceVersion."""
        return self._revision

    def expire_history(self) -> None:
        """Forget the history of all resources: a watch from an older version gets 410."""
        for log in self._logs.values():
            log.expire()

    async def create(
        self, resource: Resource, namespace: str | None, obj: JsonObject, *, dry_run: bool = False
    ) -> JsonObject:
        """Store a new object; 409 if its name is taken, 404 if its namespace does not exist."""
        return self._create(resource, namespace, obj, dry_run=dry_run)

    def _create(
        self, resource: Resource, namespace: str | None, obj: JsonObject, *, dry_run: bool
    ) -> JsonObject:
        draft = drafts.draft_of(resource, namespace, obj)
        drafts.begin(self.registry.served(resource), draft, self._clock())
        self._check_namespace(resource, draft)
        self._complete(resource, draft, None)
        if _key(draft) in self._objects[resource]:
            raise statuses.already_exists(resource, objects.name_of(draft))
        self._admit(resource, draft, None, dry_run=dry_run)
        if resource == objects.EVENTS and not dry_run:
            self._drop_old_events()
        return self._commit("ADDED", resource, draft, None, dry_run=dry_run)

    async def get(self, resource: Resource, namespace: str | None, name: str) -> JsonObject:
        """A copy of one object; 404."""
        copy: JsonObject = copy_json(self._get(resource, namespace, name))
        return copy

    def _get(self, resource: Resource, namespace: str | None, name: str) -> JsonObject:
        found = self._objects[resource].get((namespace or "", name))
        if found is None:
            raise statuses.not_found(resource, name)
        return found

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        selection: Selection = ALL,
        limit: int = 0,
        after: tuple[str, str] | None = None,
    ) -> ObjectList:
        """Objects by (namespace, name), shared with the store."""
        keyed = sorted(self._objects[resource].items())
        found = [
            obj
            for key, obj in keyed
            if (after is None or key > after) and selection.holds(obj, namespace)
        ]
        shown = found[:limit] if limit else found
        return ObjectList(shown, str(self._revision), len(found) - len(shown))

    async def replace(
        self,
        resource: Resource,
        namespace: str | None,
        obj: JsonObject,
        *,
        subresource: Literal["", "status"] = "",
        dry_run: bool = False,
    ) -> JsonObject:
        """Replace an object, or only its status; 409 if it was changed since `obj` was read.

        An object that comes out the same keeps its version and makes no event. The removal of the
        last finalizer of an object that is being deleted deletes it.
        """
        current = self._get(resource, namespace, objects.name_of(obj))
        if obj is current:
            raise RuntimeError("a stored object was changed in place; change a copy of it")
        served, draft = self.registry.served(resource), drafts.draft_of(resource, namespace, obj)
        drafts.check_version(resource, draft, current)
        if subresource == "status":
            draft = {**copy_json(current), "status": draft.get("status", {})}
        else:
            drafts.carry_over(served, draft, current)
            self._complete(resource, draft, current)
            self._admit(resource, draft, current, dry_run=dry_run)
            drafts.count_generation(served, draft, current)
        if deletion.is_released(draft):
            return self._remove(resource, draft, dry_run=dry_run)
        draft["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"]
        if draft == current:
            return current
        return self._commit("MODIFIED", resource, draft, current, dry_run=dry_run)

    async def delete(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        options: DeleteOptions = PLAINLY,
    ) -> Deletion:
        """Delete an object, or mark it for those who have to act before it can go."""
        current = self._get(resource, namespace, name)
        deletion.check_preconditions(resource, current, options)
        if resource == objects.NAMESPACES:
            if name in self._kept_namespaces:
                raise statuses.forbidden(resource, name, "this namespace may not be deleted")
            return self._delete_namespace(current, options)
        marked = deletion.mark(resource, current, options, self._clock())
        if marked is None:
            return Deletion(self._remove(resource, current, dry_run=options.dry_run), gone=True)
        if marked == current:
            return Deletion(current, gone=False)
        marked = self._commit("MODIFIED", resource, marked, current, dry_run=options.dry_run)
        return Deletion(marked, gone=False)

    def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        selection: Selection = ALL,
        resource_version: str = "",
        initial_events: bool = False,
    ) -> Watch:
        """Changes after a version; 410 (`GoneError`) if they are not known any more."""
        log, initial = self._logs[resource], []
        position = log.end
        if initial_events or resource_version in ("", "0"):
            initial = [
                WatchEvent("ADDED", obj)
                for _, obj in sorted(self._objects[resource].items())
                if selection.holds(obj, namespace)
            ]
            if initial_events:
                end = {INITIAL_EVENTS_END: "true"}
                initial.append(bookmark(resource, self._revision, end))
        else:
            position = log.position_after(_version(resource_version))
        return Watch(log, position, resource, namespace, selection=selection, initial=initial)

    # How a write is made.

    def _check_namespace(self, resource: Resource, draft: JsonObject) -> None:
        if not resource.namespaced:
            return
        name = draft["metadata"]["namespace"]
        namespace = self._objects[objects.NAMESPACES].get(("", name))
        if namespace is None:
            raise statuses.not_found(objects.NAMESPACES, name)
        if "deletionTimestamp" in namespace["metadata"] and resource != objects.EVENTS:
            why = f"unable to create new content in namespace {name} because it is being terminated"
            raise statuses.forbidden(resource, objects.name_of(draft), why)

    def _complete(self, resource: Resource, draft: JsonObject, current: JsonObject | None) -> None:
        defaults.fill_in(resource, draft)
        validation.validate(resource, draft, current)

    def _admit(
        self, resource: Resource, draft: JsonObject, current: JsonObject | None, *, dry_run: bool
    ) -> None:
        request = AdmissionRequest(
            "CREATE" if current is None else "UPDATE",
            resource,
            draft,
            current,
            lambda wanted: self._objects[wanted].values(),
            dry_run,
        )
        for step in self._admission:
            step.admit(request)

    def _commit(
        self,
        kind: Literal["ADDED", "MODIFIED"],
        resource: Resource,
        draft: JsonObject,
        previous: JsonObject | None,
        *,
        dry_run: bool,
    ) -> JsonObject:
        if dry_run:
            return draft
        version = self._revision + 1
        draft["metadata"]["resourceVersion"] = str(version)
        self._publish(Change(kind, resource, draft, version, previous))
        self._objects[resource][_key(draft)] = draft
        return draft

    def _remove(self, resource: Resource, obj: JsonObject, *, dry_run: bool) -> JsonObject:
        """Take an object out; returns its last state."""
        if dry_run:
            return obj
        version, key = self._revision + 1, _key(obj)
        last = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}}
        self._publish(Change("DELETED", resource, last, version, self._objects[resource][key]))
        del self._objects[resource][key]
        if resource.namespaced:
            self._finish_namespace(key[0])
        return last

    def _publish(self, change: Change) -> None:
        if self._journal is not None:
            self._journal.record(change)
        self._revision = change.resource_version
        self._logs[change.resource].append(change)

    # Namespaces and events go away with what is in them, or by age.

    def _delete_namespace(self, current: JsonObject, options: DeleteOptions) -> Deletion:
        name = objects.name_of(current)
        if options.dry_run:
            return Deletion(current, gone=False)
        if "deletionTimestamp" not in current["metadata"]:
            marked = deletion.mark_namespace(current, self._clock())
            current = self._commit("MODIFIED", objects.NAMESPACES, marked, current, dry_run=False)
        for resource in [each for each in self._objects if each.namespaced]:
            inside = [obj for key, obj in self._objects[resource].items() if key[0] == name]
            for obj in inside:
                marked_or_none = deletion.mark(resource, obj, DeleteOptions(), self._clock())
                if marked_or_none is None:
                    self._remove(resource, obj, dry_run=False)
                elif marked_or_none != obj:
                    self._commit("MODIFIED", resource, marked_or_none, obj, dry_run=False)
        self._finish_namespace(name)
        return Deletion(current, gone=("", name) not in self._objects[objects.NAMESPACES])

    def _finish_namespace(self, name: str) -> None:
        namespace = self._objects[objects.NAMESPACES].get(("", name))
        if namespace is None or "deletionTimestamp" not in namespace["metadata"]:
            return
        if not any(key[0] == name for held in self._objects.values() for key in held):
            self._remove(objects.NAMESPACES, namespace, dry_run=False)

    def _drop_old_events(self) -> None:
        oldest = timestamp(self._clock() - EVENT_LIFETIME)
        # In order of creation, so the first that is young enough ends the search.
        for event in list(self._objects[objects.EVENTS].values()):
            if event["metadata"]["creationTimestamp"] >= oldest:
                return
            self._remove(objects.EVENTS, event, dry_run=False)


async def modify(
    store: Store,
    resource: Resource,
    namespace: str | None,
    name: str,
    change: Callable[[JsonObject], JsonObject | None],
    *,
    subresource: Literal["", "status"] = "",
    dry_run: bool = False,
    attempts: int = 5,
) -> JsonObject:
    """Read, change and write an object, again if somebody else was faster.

    `change` gets a copy and changes it in place or returns another object. A resourceVersion that
    it sets itself is a precondition: then a conflict is the caller's.
    """
    for attempt in range(attempts):
        current = await store.get(resource, namespace, name)
        version = current["metadata"]["resourceVersion"]
        changed = change(current)
        changed = current if changed is None else changed
        own = changed["metadata"].setdefault("resourceVersion", version)
        try:
            return await store.replace(
                resource, namespace, changed, subresource=subresource, dry_run=dry_run
            )
        except ConflictError:
            if own != version or attempt == attempts - 1:
                raise
    raise AssertionError("unreachable: the last attempt returns or raises")


def _namespace(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _key(obj: Mapping[str, object]) -> tuple[str, str]:
    return (objects.namespace_of(obj) or "", objects.name_of(obj))


def _version(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 20:
        raise statuses.bad_request(
            f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": '
            "invalid syntax"
        )
    return int(text)
