"""A copy of a collection that stays right: list, watch from there, and start over when needed.

How a watch ends decides what follows:

- the server closed it, or the connection broke while it ran: watch again from the last version that
  was seen; the server sends what was missed, deletions included;
- the version is too old (410 as an answer or as an ERROR event), nothing came for longer than the
  server promised (a half-open connection, on which anything may have been missed), or the watch
  could not be opened at all: list again. The list is compared with the copy by name, uid and
  version, and only differences are told: no change is lost, none is told twice.

Between attempts there is a growing pause, which begins anew once a watch has brought something. An
API server that is away is no error: the copy stays as it is, `outage` says since when and why, and
whoever waits for something sets a limit to the waiting. Refused rights are an error at once,
refused credentials after a few attempts, since plug-ins and token files can fail for a moment.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Literal, Self, TypeVar

from kubeflink import errors, objects
from kubeflink.kube import status
from kubeflink.kube.backoff import Backoff
from kubeflink.kube.client import KubeClient
from kubeflink.kube.parameters import Selector
from kubeflink.kube.streams import WatchEvent
from kubeflink.kube.verbs import ObjectList
from kubeflink.objects import JsonObject, Resource

logger = logging.getLogger(__name__)

T = TypeVar("T")

CREDENTIAL_ATTEMPTS = 5
"""Refusals of credentials in a row that are taken for a passing matter."""

LONGEST_WISH = 60.0
"""Seconds for which a server may ask to be left alone; what changes meanwhile is seen later."""

BRIEF = 1.0
"""Seconds: a watch that ends sooner and without an event is answered with a pause."""

SETTLED = 10.0
"""Seconds after which a watch has worked, even if nothing changed meanwhile."""


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. For a deletion `object` is the last state that was seen."""

    type: Literal["added", "modified", "deleted"]
    object: JsonObject


@dataclass(frozen=True, slots=True)
class Outage:
    """The API server is away. `since` is on the clock of `time.monotonic`."""

    since: float
    error: errors.KubeflinkError


class Reflector:
    """Mirrors a collection while its context is open; it then owns one task and one connection.

    Entering lists once and raises what the list raises. Keys of `store` are names, or
    `namespace/name` where all namespaces are mirrored. `transform` makes of each object what is
    kept of it, which must include name, uid and version.
    """

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: Selector = None,
        fields: Selector = None,
        all_namespaces: bool = False,
        watch_seconds: float = 60.0,
        grace: float = 15.0,
        backoff: Backoff | None = None,
        transform: Callable[[JsonObject], JsonObject] | None = None,
    ) -> None:
        self._transform = transform
        self._client = client
        self._resource = resource
        self._namespace = namespace
        self._labels = labels
        self._fields = fields
        self._all_namespaces = all_namespaces
        self._watch_seconds = watch_seconds
        self._grace = grace
        self._backoff = backoff or Backoff()
        self._store: dict[str, JsonObject] = {}
        self._version = ""
        self._subscribers: list[asyncio.Queue[Change | BaseException]] = []
        self._task: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        self._told = False
        self._refusals = 0
        self.outage: Outage | None = None

    @property
    def store(self) -> Mapping[str, JsonObject]:
        """The objects as they were last seen. A view: it changes with every change."""
        return MappingProxyType(self._store)

    @property
    def resource_version(self) -> str:
        """The version up to which the server has told what happened."""
        return self._version

    async def __aenter__(self) -> Self:
        self._take(await self._list())
        self._task = asyncio.create_task(
            self._run(), name=f"kubeflink reflector of {self._resource.plural}"
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait([self._task])
        if self._failure is not None and not self._told and error is None:
            raise self._failure

    async def changes(self) -> AsyncIterator[Change]:
        """All there is, as additions, and then every change. Ends by an error only.

        Several may listen. Nothing is dropped for a slow listener: its changes wait in memory.
        """
        queue: asyncio.Queue[Change | BaseException] = asyncio.Queue()
        for obj in self._store.values():
            queue.put_nowait(Change("added", obj))
        if self._failure is not None:
            queue.put_nowait(self._failure)
        self._subscribers.append(queue)
        try:
            while True:
                change = await queue.get()
                if isinstance(change, BaseException):
                    self._told = True
                    raise change
                yield change
        finally:
            self._subscribers.remove(queue)

    async def wait_for(self, find: Callable[[Mapping[str, JsonObject]], T | None]) -> T:
        """Wait until `find` gives something for the store. The caller limits the time."""
        queue: asyncio.Queue[Change | BaseException] = asyncio.Queue()
        self._subscribers.append(queue)
        try:
            while True:
                found = find(self.store)
                if found is not None:
                    return found
                if self._failure is not None:
                    self._told = True
                    raise self._failure
                await queue.get()
        finally:
            self._subscribers.remove(queue)

    # The task

    async def _run(self) -> None:
        try:
            while True:
                await self._round()
        except Exception as error:  # noqa: BLE001 - handed to the listeners, or raised on leaving
            self._failure = error
            for queue in self._subscribers:
                queue.put_nowait(error)

    async def _round(self) -> None:
        """One watch, and what its end calls for."""
        started, version = time.monotonic(), self._version
        list_again = False
        try:
            await self._watch()
        except errors.KubeflinkError as error:
            if time.monotonic() - started >= SETTLED:
                self._recover()
            list_again = not _broke_while_running(error)
            await self._weigh(error)
        else:
            if self._version == version and time.monotonic() - started < BRIEF:
                await asyncio.sleep(self._backoff.pause())
        while list_again:
            try:
                self._take(await self._list())
                list_again = False
            except errors.KubeflinkError as error:
                await self._weigh(error)

    async def _weigh(self, error: errors.KubeflinkError) -> None:
        """Raise what waiting does not cure, and pause for the rest."""
        match error:
            case errors.GoneError():
                logger.info("%s; listing %s again", error.message, self._resource.plural)
            case errors.UnauthorizedError() | errors.KubeconfigError():
                self._refusals += 1
                if self._refusals >= CREDENTIAL_ATTEMPTS:
                    raise error
                await self._renew_credentials(error)
            case errors.ApiStatusError() if error.code < 500 and error.code != 429:
                raise error
            case _:
                logger.info("Watching %s: %s", self._resource.plural, error.message)
                self.outage = self.outage or Outage(time.monotonic(), error)
        wanted = error.retry_after if isinstance(error, errors.ApiStatusError) else None
        at_least = None if wanted is None else min(wanted, LONGEST_WISH)
        await asyncio.sleep(self._backoff.pause(at_least=at_least))

    async def _renew_credentials(self, error: errors.KubeflinkError) -> None:
        logger.info("Watching %s: %s", self._resource.plural, error.message)
        if isinstance(error, errors.UnauthorizedError):
            try:
                await self._client.renew_credentials()
            except errors.KubeconfigError as failure:
                logger.info("%s", failure.message)

    async def _list(self) -> ObjectList:
        return await self._client.list(
            self._resource,
            self._namespace,
            all_namespaces=self._all_namespaces,
            labels=self._labels,
            fields=self._fields,
            transform=self._transform,
        )

    async def _watch(self) -> None:
        seconds = self._watch_seconds * random.uniform(0.8, 1.2)
        events = self._client.watch(
            self._resource,
            self._namespace,
            resource_version=self._version,
            all_namespaces=self._all_namespaces,
            labels=self._labels,
            fields=self._fields,
            timeout_seconds=max(1, round(seconds)),
            grace=self._grace,
        )
        async with aclosing(events):
            async for event in events:
                self._recover()
                self._apply(event)

    def _recover(self) -> None:
        self.outage = None
        self._refusals = 0
        self._backoff.reset()

    # The store

    def _take(self, listed: ObjectList) -> None:
        """Make the store what the list says."""
        self.outage = None
        fresh = {self._key(obj): obj for obj in listed.items}
        for key in [key for key in self._store if key not in fresh]:
            self._remove(key)
        for key, obj in fresh.items():
            self._put(key, obj)
        self._version = listed.resource_version

    def _apply(self, event: WatchEvent) -> None:
        obj = event.object
        if self._transform is not None and event.type != "BOOKMARK":
            obj = self._transform(obj)
        if event.type in ("ADDED", "MODIFIED"):
            self._put(self._key(obj), obj)
        elif event.type == "DELETED":
            self._remove(self._key(obj), obj)
        self._version = event.resource_version or self._version

    def _put(self, key: str, obj: JsonObject) -> None:
        known = self._store.get(key)
        if known is not None and objects.uid_of(known) != objects.uid_of(obj):
            self._remove(key)
            known = None
        if known is not None and _version_of(known) == _version_of(obj):
            return
        self._store[key] = obj
        self._tell(Change("added" if known is None else "modified", obj))

    def _remove(self, key: str, last: JsonObject | None = None) -> None:
        known = self._store.pop(key, None)
        if known is not None:
            self._tell(Change("deleted", last or known))

    def _tell(self, change: Change) -> None:
        for queue in self._subscribers:
            queue.put_nowait(change)

    def _key(self, obj: JsonObject) -> str:
        name = objects.name_of(obj)
        return f"{objects.namespace_of(obj)}/{name}" if self._all_namespaces else name


def _version_of(obj: JsonObject) -> str:
    return str(objects.metadata(obj).get("resourceVersion", ""))


def _broke_while_running(error: errors.KubeflinkError) -> bool:
    """Whether the connection ended while events could come, so that none of them is lost."""
    return isinstance(error, errors.ApiUnreachableError) and status.was_broken(error.__cause__)
