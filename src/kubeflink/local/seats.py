"""Seats: which ports a JobManager, or a broker, sits on, whoever it is.

A seat belongs to a Deployment and one of its replicas. The pod that fills the replica sits there;
when it is replaced, the next one does, after the first one has stood up, because two processes
cannot listen on one port. That keeps `jobmanager.rpc.address` true for TaskManagers that outlive a
JobManager.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from kubeflink import objects
from kubeflink.local.brokers import PORT_NAMES as BROKER_PORT_NAMES
from kubeflink.local.command import PORT_NAMES
from kubeflink.local.ports import POD_PORTS, PortBook
from kubeflink.objects import JsonObject

SEAT_ANNOTATION = "kubeflink.io/seat"
"""The number of the replica (from 0) that a pod of a Deployment fills."""


class Seats:
    """Who sits where; the ports themselves are in the port book and outlive the server."""

    def __init__(self, book: PortBook) -> None:
        self._book = book
        self._sitting: dict[str, str] = {}
        self._changed = asyncio.Event()

    async def sit_down(self, pod: JsonObject, names: Sequence[str] = PORT_NAMES) -> dict[str, int]:
        """Wait until the pod's seat is free and take it; its ports by their names.

        To be called while the pod's own process is not running.
        """
        seat, uid = seat_of(pod), objects.uid_of(pod)
        while self._sitting.setdefault(seat, uid) != uid:
            self._changed.clear()
            await self._changed.wait()
        return {name: self._book.assign(f"{seat} {name}", POD_PORTS) for name in names}

    def keep(self, pod: JsonObject) -> None:
        """The pod sits already: its process was adopted."""
        self._sitting[seat_of(pod)] = objects.uid_of(pod)

    def stand_up(self, pod: JsonObject) -> None:
        """The pod has ended."""
        seat = seat_of(pod)
        if self._sitting.get(seat) == objects.uid_of(pod):
            del self._sitting[seat]
            self._changed.set()
            if _deployment_of(pod) is None:
                # A seat of its own, which nobody will ever take again.
                self._release(f"{seat} ")

    def ports(self, pod: JsonObject) -> Mapping[str, int]:
        """The ports of the pod's seat by name; empty before it first sat down."""
        seat = seat_of(pod)
        names = (*PORT_NAMES, *BROKER_PORT_NAMES)
        found = {name: self._book.get(f"{seat} {name}") for name in names}
        return {name: port for name, port in found.items() if port is not None}

    def abolish(self, deployment: JsonObject) -> None:
        """The Deployment is gone: its ports are free for others."""
        self._release(f"pod {objects.namespace_of(deployment)}/{objects.name_of(deployment)}/")

    def _release(self, prefix: str) -> None:
        self._book.release([seat for seat in self._book.seats() if seat.startswith(prefix)])


def seat_of(pod: JsonObject) -> str:
    """The seat's name in the port book; a pod without a Deployment has one of its own."""
    number = objects.annotations_of(pod).get(SEAT_ANNOTATION, "0")
    owner = _deployment_of(pod) or objects.name_of(pod)
    return f"pod {objects.namespace_of(pod)}/{owner}/{number}"


def _deployment_of(pod: JsonObject) -> str | None:
    for reference in pod["metadata"].get("ownerReferences") or ():
        if reference["kind"] == "Deployment":
            return str(reference["name"])
    return None
