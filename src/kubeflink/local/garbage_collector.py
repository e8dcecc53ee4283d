"""What has lost its owner goes, also when it comes after its owner has gone.

A JobManager that is about to die can still create a TaskManager pod whose owner is no more, so it
is not enough to act on an owner's deletion: every look checks every object that names an owner.
Owners of kinds that this server does not know are taken to exist; nobody can tell.

A deletion in the foreground waits until the dependents have gone, one that orphans takes the
references away; both are finalizers that the API server sets and this controller removes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeflink import objects
from kubeflink.apiserver.deletion import FOREGROUND, ORPHAN, DeleteOptions
from kubeflink.apiserver.store import Store, modify
from kubeflink.errors import ConflictError, NotFoundError
from kubeflink.local.watching import reconcile_on_changes
from kubeflink.objects import JsonObject, Resource

COLLECTED = tuple(
    resource
    for resource in objects.RESOURCES
    if resource.namespaced and resource is not objects.EVENTS
)

_PERIOD = 60.0


class GarbageCollector:
    """Deletes dependents of what has gone."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run(self) -> None:
        """Until it is cancelled."""
        await reconcile_on_changes(self._store, COLLECTED, self.collect, period=_PERIOD)

    async def collect(self) -> None:
        """One look at everything."""
        held = {resource: (await self._store.list(resource)).items for resource in COLLECTED}
        living = {objects.uid_of(obj) for items in held.values() for obj in items}
        for resource, obj in _pairs(held.items()):
            finalizers = obj["metadata"].get("finalizers") or ()
            if FOREGROUND in finalizers:
                await self._delete_dependents_first(resource, obj, held)
            elif ORPHAN in finalizers:
                await self._orphan_dependents(resource, obj, held)
            elif _has_lost_its_owners(obj, living):
                await self._delete(resource, obj)

    async def _delete_dependents_first(
        self, resource: Resource, owner: JsonObject, held: dict[Resource, list[JsonObject]]
    ) -> None:
        dependents = list(_dependents(owner, held))
        for kind, dependent in dependents:
            await self._delete(kind, dependent)
        if not dependents:
            await self._remove_finalizer(resource, owner, FOREGROUND)

    async def _orphan_dependents(
        self, resource: Resource, owner: JsonObject, held: dict[Resource, list[JsonObject]]
    ) -> None:
        uid = objects.uid_of(owner)

        def orphan(obj: JsonObject) -> None:
            references = obj["metadata"].get("ownerReferences") or ()
            obj["metadata"]["ownerReferences"] = [ref for ref in references if ref["uid"] != uid]

        for kind, dependent in _dependents(owner, held):
            namespace, name = objects.namespace_of(dependent), objects.name_of(dependent)
            await modify(self._store, kind, namespace, name, orphan)
        await self._remove_finalizer(resource, owner, ORPHAN)

    async def _remove_finalizer(self, resource: Resource, obj: JsonObject, finalizer: str) -> None:
        def remove(current: JsonObject) -> None:
            finalizers = current["metadata"].get("finalizers") or ()
            current["metadata"]["finalizers"] = [each for each in finalizers if each != finalizer]

        try:
            namespace, name = objects.namespace_of(obj), objects.name_of(obj)
            await modify(self._store, resource, namespace, name, remove)
        except NotFoundError:
            return

    async def _delete(self, resource: Resource, obj: JsonObject) -> None:
        if "deletionTimestamp" in obj["metadata"]:
            return
        options = DeleteOptions(uid=objects.uid_of(obj), propagation="Background")
        try:
            namespace, name = objects.namespace_of(obj), objects.name_of(obj)
            await self._store.delete(resource, namespace, name, options)
        except (NotFoundError, ConflictError):
            return  # Somebody was faster.


def _pairs(
    held: Iterable[tuple[Resource, list[JsonObject]]],
) -> Iterator[tuple[Resource, JsonObject]]:
    for resource, items in held:
        for obj in items:
            yield resource, obj


def _dependents(
    owner: JsonObject, held: dict[Resource, list[JsonObject]]
) -> Iterator[tuple[Resource, JsonObject]]:
    uid = objects.uid_of(owner)
    for resource, obj in _pairs(held.items()):
        if uid in objects.owner_uids(obj):
            yield resource, obj


def _has_lost_its_owners(obj: JsonObject, living: set[str]) -> bool:
    references = obj["metadata"].get("ownerReferences") or ()
    return bool(references) and all(
        _is_collected_kind(ref) and ref["uid"] not in living for ref in references
    )


def _is_collected_kind(reference: JsonObject) -> bool:
    return any(
        (reference["apiVersion"], reference["kind"]) == (resource.api_version, resource.kind)
        for resource in COLLECTED
    )
