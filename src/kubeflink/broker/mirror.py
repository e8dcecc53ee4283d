"""What is there of a cluster, as the API server has it, and as its JobManager is told.

One `Reflector` upstream serves any number of watches downstream. What the broker itself has made or
deleted is entered at once and not when the watch brings it, so that a JobManager never sees less
than it has done.

**After a gap.** A JobManager outlives the broker and comes back with the last version that it saw.
Of what was deleted since then, nothing is left that could be listed; but the real API server still
knows, for minutes at least. So a watch from before this broker's time begins with one more watch
upstream from that very version, of which only the deletions up to our own beginning are used. Where
even that is too long ago, the names tell: see `lost_names`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing
from types import MappingProxyType
from typing import TypeAlias

from kubeflink import objects
from kubeflink.apiserver.selectors import ALL, Selection
from kubeflink.apiserver.store import ObjectList
from kubeflink.apiserver.watch import Watch, WatchEvent
from kubeflink.broker.history import History, version_of
from kubeflink.broker.patience import patiently
from kubeflink.errors import GoneError, KubernetesError
from kubeflink.kube.client import KubeClient
from kubeflink.kube.reflector import Outage, Reflector
from kubeflink.objects import JsonObject, Resource

Objects: TypeAlias = list[JsonObject]

log = logging.getLogger(__name__)

GAP_SECONDS = 2
"""How long the API server may take to tell what was deleted before this broker came."""

LostNames = Callable[[], Awaitable[Iterable[str]]]
"""Gives the names of objects that may have been there and are not. `KubernetesError`."""


async def _nobody() -> Iterable[str]:
    return ()


class Mirror:
    """The objects of one kind with one set of labels in one namespace.

    `keep` makes of each object what is kept of it. `is_own` says which of those with the labels are
    meant. `lost_names` is asked when the API server cannot tell any more what was deleted.
    """

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        namespace: str,
        labels: Mapping[str, str],
        *,
        is_own: Callable[[JsonObject], bool],
        keep: Callable[[JsonObject], JsonObject] | None = None,
        lost_names: LostNames = _nobody,
    ) -> None:
        self.resource = resource
        self.namespace = namespace
        self._client = client
        self._labels = dict(labels)
        self._is_own = is_own
        self._keep = keep
        self._lost_names = lost_names
        self._objects: dict[str, JsonObject] = {}
        self._listeners: list[Callable[[JsonObject, bool], None]] = []
        self._reflector: Reflector | None = None
        self.history = History(resource)
        self.ready = asyncio.Event()
        self.why_not_ready = f"{resource.plural} have not been listed yet"
        """The sentence to tell as long as `ready` is not set."""

    @property
    def objects(self) -> Mapping[str, JsonObject]:
        """What is there, by name."""
        return MappingProxyType(self._objects)

    @property
    def outage(self) -> Outage | None:
        """Since when, and why, the API server is away; None while it is there."""
        return self._reflector.outage if self._reflector is not None else None

    def listen(self, listener: Callable[[JsonObject, bool], None]) -> None:
        """Call this with each object that was added or changed, or (True) has gone."""
        self._listeners.append(listener)

    async def run(self) -> None:
        """Follow the API server until cancelled; what is final (no right to list) is raised."""
        async with AsyncExitStack() as stack:
            # There is none to go on with before the first list: each attempt has its own.
            reflector = await patiently(
                lambda: stack.enter_async_context(self._new_reflector()), self._not_listed
            )
            self._reflector = reflector
            first = sorted(reflector.store.values(), key=version_of)
            for obj in first:
                self.enter(obj)
            self.history.begin(int(reflector.resource_version or 0))
            self.ready.set()
            async for change in reflector.changes():
                if change.type == "deleted":
                    self.remove(change.object)
                else:
                    self.enter(change.object)

    def _new_reflector(self) -> Reflector:
        return Reflector(
            self._client,
            self.resource,
            self.namespace,
            labels=self._labels,
            transform=self._kept_once,
        )

    def _not_listed(self, why: str) -> None:
        self.why_not_ready = f"{self.resource.plural} cannot be listed: {why}"

    def enter(self, obj: JsonObject) -> None:
        """An object is there, or has changed."""
        name = objects.name_of(obj)
        known = self._objects.get(name)
        if known is not None and version_of(known) >= version_of(obj):
            return  # what we know is newer: we made or changed it ourselves
        if not self._is_own(obj):
            return
        self._objects[name] = obj
        self.history.record(obj)
        self._tell(obj, gone=False)

    def kept(self, obj: JsonObject) -> JsonObject:
        """What is kept of an object."""
        return obj if self._keep is None else self._keep(obj)

    def _kept_once(self, obj: JsonObject) -> JsonObject:
        """The same; of what was entered before the watch brought it, there is no second copy."""
        known = self._objects.get(objects.name_of(obj))
        if known is not None and version_of(known) == version_of(obj):
            return known
        return self.kept(obj)

    def remove(self, obj: JsonObject) -> None:
        """An object has gone; one that took its name meanwhile has not."""
        name = objects.name_of(obj)
        known = self._objects.get(name)
        if known is None or objects.uid_of(known) != objects.uid_of(obj):
            return
        del self._objects[name]
        self.history.record(obj, deleted=True)
        self._tell(obj, gone=True)

    def tell_lost(self, names: Iterable[str]) -> None:
        """Tell all watchers that these are not there, whoever may think so."""
        for name in names:
            if name not in self._objects:
                self.history.record(self._ghost(name), deleted=True)

    def _tell(self, obj: JsonObject, *, gone: bool) -> None:
        for listener in self._listeners:
            listener(obj, gone)

    def _ghost(self, name: str) -> JsonObject:
        """An object of which only the name is known; its deletion is news, not its content."""
        return {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {
                "name": name,
                "namespace": self.namespace,
                "labels": self._labels,
                "resourceVersion": str(self.history.revision),
            },
        }

    # What a Store answers.

    def list(self, selection: Selection) -> ObjectList:
        """What is there, by name, at the version of the newest change."""
        found = [
            obj for _, obj in sorted(self._objects.items()) if selection.holds(obj, self.namespace)
        ]
        return ObjectList(found, str(self.history.revision))

    def watch(
        self,
        selection: Selection = ALL,
        resource_version: str = "",
    ) -> Watch:
        """Changes after a version, also one from before this broker's time."""
        if resource_version in ("", "0"):
            initial = [
                WatchEvent("ADDED", obj)
                for _, obj in sorted(self._objects.items())
                if selection.holds(obj, self.namespace)
            ]
            return Watch(
                self.history,
                self.history.end,
                self.resource,
                self.namespace,
                selection=selection,
                initial=initial,
            )
        seen = int(resource_version)
        position = self.history.position_after(seen)
        gap = None if seen >= self.history.origin else seen
        return _ResumedWatch(self, position, selection, gap)

    async def deletions_since(self, seen: int) -> Objects:
        """What was deleted after `seen` and before this broker's own beginning."""
        try:
            return await self._deletions_upstream(seen)
        except GoneError:
            names = [name for name in await self._lost_names() if name not in self._objects]
            log.warning(
                "what was deleted after version %d is forgotten: %d names are told to be gone",
                seen,
                len(names),
            )
            return [self._ghost(name) for name in names]

    async def _deletions_upstream(self, seen: int) -> Objects:
        found: dict[str, JsonObject] = {}
        events = self._client.watch(
            self.resource,
            self.namespace,
            resource_version=str(seen),
            labels=self._labels,
            timeout_seconds=GAP_SECONDS,
        )
        async with aclosing(events):
            async for event in events:
                if event.type == "DELETED" and self._is_own(event.object):
                    found[objects.name_of(event.object)] = self.kept(event.object)
                if version_of(event.object) >= self.history.origin:
                    break
        return [obj for name, obj in found.items() if name not in self._objects]


class _ResumedWatch(Watch):
    """A watch that goes on; `gap` is the version after which something may have been missed."""

    def __init__(
        self,
        mirror: Mirror,
        position: int,
        selection: Selection,
        gap: int | None,
    ) -> None:
        super().__init__(
            mirror.history,
            position,
            mirror.resource,
            mirror.namespace,
            selection=selection,
        )
        self._mirror = mirror
        self._gap = gap

    async def batch(self) -> list[WatchEvent]:
        """First what was missed, then what comes."""
        if self._gap is not None:
            try:
                missed = await self._mirror.deletions_since(self._gap)
            except KubernetesError as error:
                # Ending the watch makes the client come back with the same version.
                log.warning("cannot tell what was deleted in between: %s", error.message)
                await asyncio.sleep(1.0)
                return []
            self._gap = None
            if missed:
                return [WatchEvent("DELETED", obj) for obj in missed]
        return await super().batch()
