"""What the broker tells about itself: numbers for Prometheus, sentences for people.

A trouble is a sentence about something that keeps the cluster from getting its workers. It is
logged when it begins or changes, and stays until what it is about works again, or for some time if
it is about a single request; `kubeflink describe` shows it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

log = logging.getLogger(__name__)

_COUNTERS = {
    "pods_created": "TaskManager pods that were made",
    "pods_deleted": "TaskManager pods that were deleted",
    "pods_repeated": "Requests for a pod that had been made already",
    "creations_failed": "Requests for pods that the API server did not carry out",
    "creations_retried": "Attempts to make a pod that were repeated",
    "requests_refused": "Requests that this cluster's JobManager may not make",
    "requests_unauthorized": "Requests without the token",
    "requests_altered": "Requests of which something was left out",
    "services_updated": "Updates of the target ports of the cluster's Services",
    "config_maps_written": "Writes of high-availability ConfigMaps",
}


@dataclass(frozen=True, slots=True)
class Trouble:
    """A sentence, and since when it is true; `until` None: until it ends. Seconds of the epoch."""

    text: str
    since: float
    until: float | None = None


class Report:
    """Counters and troubles of one broker."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._counters = dict.fromkeys(_COUNTERS, 0)
        self._troubles: dict[str, Trouble] = {}

    def count(self, counter: str) -> None:
        """One more."""
        self._counters[counter] += 1

    def counted(self, counter: str) -> int:
        """How many so far."""
        return self._counters[counter]

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """What is wrong now, oldest first."""
        now = self._clock()
        lasting = (t for t in self._troubles.values() if t.until is None or t.until > now)
        return tuple(sorted(lasting, key=lambda trouble: trouble.since))

    def happened(self, about: str, text: str, *, told_for: float = 600.0) -> None:
        """Something was wrong once; it is told for so many seconds.

        The log has it again when it is another thing, or when that time is over.
        """
        now = self._clock()
        known = self._troubles.get(about)
        if known is None or known.text != text or (known.until or now) <= now:
            log.warning("%s", text)
        self._troubles[about] = Trouble(text, now, now + told_for)

    def begin(self, about: str, text: str) -> None:
        """Something is wrong."""
        known = self._troubles.get(about)
        if known is None or known.text != text:
            log.warning("%s", text)
            since = self._clock() if known is None else known.since
            self._troubles[about] = Trouble(text, since)

    def end(self, about: str) -> None:
        """It is right again."""
        if self._troubles.pop(about, None) is not None:
            log.info("%s: in order again", about)

    def metrics(self, gauges: dict[str, tuple[str, float]]) -> str:
        """All numbers in Prometheus' text format; `gauges` go from name to words and value."""
        return "".join(self._lines(gauges))

    def _lines(self, gauges: dict[str, tuple[str, float]]) -> Iterator[str]:
        for name, about in _COUNTERS.items():
            full = f"kubeflink_broker_{name}_total"
            yield f"# HELP {full} {about}.\n# TYPE {full} counter\n{full} {self._counters[name]}\n"
        gauges = {**gauges, "troubles": ("Troubles at present", float(len(self.troubles)))}
        for name, (about, value) in gauges.items():
            full = f"kubeflink_broker_{name}"
            yield f"# HELP {full} {about}.\n# TYPE {full} gauge\n{full} {value:g}\n"
