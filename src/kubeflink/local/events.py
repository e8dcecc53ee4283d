"""Events: what the kubelet and the controllers tell about an object, for `kubectl describe`.

An event that says the same of the same object again counts up instead of piling up.
"""

from __future__ import annotations

import time
import uuid
from typing import Literal

from kubeflink import objects
from kubeflink.apiserver.metadata import timestamp
from kubeflink.apiserver.store import Store, modify
from kubeflink.errors import ConflictError, ForbiddenError, LocalError, NotFoundError
from kubeflink.objects import JsonObject

Kind = Literal["Normal", "Warning"]

_REMEMBERED = 2000


class EventRecorder:
    """Writes the events of one component, such as `kubelet`."""

    def __init__(self, store: Store, component: str, host: str) -> None:
        self._store = store
        self._source = {"component": component, "host": host}
        self._names: dict[tuple[str, str, str], str] = {}

    async def record(self, obj: JsonObject, kind: Kind, reason: str, message: str) -> None:
        """Tell it, if it can be told: not where the namespace goes away or the disk is full."""
        key = (objects.uid_of(obj), reason, message)
        namespace = objects.namespace_of(obj) or "default"
        if key in self._names and await self._count_up(namespace, self._names[key]):
            return
        event = self._event(obj, namespace, kind, reason, message)
        try:
            await self._store.create(objects.EVENTS, namespace, event)
        except (ForbiddenError, NotFoundError, LocalError):
            return
        if len(self._names) >= _REMEMBERED:
            self._names.clear()
        self._names[key] = objects.name_of(event)

    async def _count_up(self, namespace: str, name: str) -> bool:
        def change(event: JsonObject) -> None:
            event["count"] += 1
            event["lastTimestamp"] = timestamp(time.time())

        try:
            await modify(self._store, objects.EVENTS, namespace, name, change)
        except (NotFoundError, ConflictError, LocalError):
            return False
        return True

    def _event(
        self, obj: JsonObject, namespace: str, kind: Kind, reason: str, message: str
    ) -> JsonObject:
        now = timestamp(time.time())
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{objects.name_of(obj)}.{uuid.uuid4().hex[:16]}",
                "namespace": namespace,
            },
            "involvedObject": {
                "apiVersion": obj["apiVersion"],
                "kind": obj["kind"],
                "name": objects.name_of(obj),
                "namespace": namespace,
                "uid": objects.uid_of(obj),
                "resourceVersion": obj["metadata"].get("resourceVersion", ""),
            },
            "type": kind,
            "reason": reason,
            "message": message,
            "source": self._source,
            "reportingComponent": self._source["component"],
            "reportingInstance": self._source["host"],
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
        }
