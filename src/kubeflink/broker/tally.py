"""How far a cluster's workers have been counted, noted for a broker that comes too late.

Who comes back after a gap asks the API server for what was deleted meanwhile. After some minutes
the API server has forgotten it; then all names that workers may have had are told to be gone, and
those that are still there are not. Which names these are, nobody could say if all of them are gone:
hence this note. It says for each attempt of a JobManager up to which index names *may* have been
used: more than have been, so that it need not be written for each worker, but only when a worker
goes beyond it, and then for twice as many. That is once for 64 workers, and five times for 2,000.

The note is written behind the request, which does not wait for it. A broker that dies just then,
and whose successor comes minutes later, does not know the worker's name; the JobManager's next
request tells it.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping

from kubeflink.broker.notes import ServiceNotes
from kubeflink.errors import KubernetesError
from kubeflink.kube.backoff import Backoff

log = logging.getLogger(__name__)

NOTE = "kubeflink.io/workers"
"""The annotation: `attempt:index` for each attempt, with blanks in between."""

FIRST = 64
"""How many names are noted for the first worker of an attempt."""

ATTEMPTS = 20
"""How many attempts are kept: the loss of an older worker shows by its heartbeat."""

_ENTRY = re.compile(r"([0-9]{1,9}):([0-9]{1,9})", re.ASCII)


class Tally:
    """Keeps the note of one cluster; `run` writes it."""

    def __init__(self, notes: ServiceNotes) -> None:
        self._notes = notes
        self._wanted: dict[int, int] = {}
        self._behind = asyncio.Event()

    def count(self, attempt: int, index: int) -> None:
        """A worker of this name is asked for."""
        if index > self._wanted.get(attempt, 0):
            self._wanted[attempt] = max(FIRST, 1 << index.bit_length())
            self._behind.set()

    async def read(self) -> Mapping[int, int]:
        """The highest index that may have been used, by attempt. `KubernetesError`."""
        return merged(parse(await self._notes.read(NOTE)), self._wanted)

    def _amended(self, noted: str | None) -> str:
        return text(merged(parse(noted), self._wanted))

    async def run(self) -> None:
        """Write the note whenever it falls behind, until cancelled."""
        backoff = Backoff(0.5, 30.0)
        while True:
            await self._behind.wait()
            self._behind.clear()
            try:
                await self._notes.amend(NOTE, self._amended)
                backoff.reset()
            except KubernetesError as error:
                log.info("cannot note how far workers are counted: %s", error.message)
                self._behind.set()
                await asyncio.sleep(backoff.pause())


def parse(note: str | None) -> dict[int, int]:
    """The indexes by attempt; what nobody of us has written is passed over."""
    entries = (_ENTRY.fullmatch(word) for word in (note or "").split())
    return {int(entry[1]): int(entry[2]) for entry in entries if entry is not None}


def merged(first: Mapping[int, int], second: Mapping[int, int]) -> dict[int, int]:
    """The higher index of each attempt, of the newest attempts."""
    attempts = sorted(first.keys() | second.keys())[-ATTEMPTS:]
    return {each: max(first.get(each, 0), second.get(each, 0)) for each in attempts}


def text(indexes: Mapping[int, int]) -> str:
    """The note."""
    return " ".join(f"{attempt}:{index}" for attempt, index in sorted(indexes.items()))
