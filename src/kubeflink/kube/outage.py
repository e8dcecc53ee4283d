"""A server that does not answer, and is waited for: what is said of it, and how often.

Whoever asks a server again and again notes each failure here, and each answer. One outage lasts
from the first failure to the next answer, over as many requests as are made meanwhile. What is told
about it is up to the `TELLER`, which is called at each of these moments: by default a line of the
log now and then, with the last cause; the command line shows a line that moves on a terminal.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeAlias

logger = logging.getLogger(__name__)

QUIET_SECONDS = 5.0
"""How long an outage may last before a line is written; the next pauses are twice as long each."""

LONGEST_QUIET = 300.0
"""The longest time between two lines, in seconds."""


@dataclass(slots=True)
class Outage:
    """Whether `where` does not answer at the moment, since when and why.

    `since` is on the clock of `time.monotonic`, None while all is well. `limit` is for how many
    seconds the request that failed last is repeated, 0 for as long as it takes.
    """

    where: str
    since: float | None = None
    cause: str = ""
    limit: float = 0.0
    written: int = field(default=0, init=False)
    """How many lines have been written about it."""
    _next_line: float = field(default=0.0, init=False)

    def failed(self, cause: str, *, limit: float, pause: float) -> None:
        """Notes a failed attempt, after which the next one comes in `pause` seconds."""
        now = time.monotonic()
        if self.since is None:
            self.since, self.written, self._next_line = now, 0, now + QUIET_SECONDS
        self.cause, self.limit = cause, limit
        TELLER.get()(self, pause)

    def over(self) -> None:
        """Notes an answer."""
        if self.since is not None:
            self.since = None
            TELLER.get()(self, 0.0)

    def given_up(self) -> None:
        """Notes that it is not waited for any more; the error that comes now tells the cause."""
        self.written = 0
        self.over()

    @property
    def seconds(self) -> float:
        """How long it has lasted."""
        return 0.0 if self.since is None else time.monotonic() - self.since

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        # One who follows a job asks for longer than a single request is repeated.
        limit = f" (for up to {self.limit:.0f} s)" if self.seconds < self.limit else ""
        return f"waiting for {self.where} since {self.seconds:.0f} s{limit}, last: {self.cause}"

    def is_due(self, pause: float) -> bool:
        """Whether a line is due before `pause` is over; then the next one is due later."""
        now = time.monotonic()
        if now + pause < self._next_line:
            return False
        self.written += 1
        self._next_line = now + min(QUIET_SECONDS * 2**self.written, LONGEST_QUIET)
        return True


Teller: TypeAlias = Callable[[Outage, float], None]


def write_lines(outage: Outage, pause: float) -> None:
    """Writes a line of the log when one is due, and one at the end if there were any."""
    if outage.since is None:
        if outage.written:
            logger.warning("%s answers again", outage.where)
    elif outage.is_due(pause):
        logger.warning("%s", outage.sentence)


TELLER: ContextVar[Teller] = ContextVar("teller of outages", default=write_lines)
