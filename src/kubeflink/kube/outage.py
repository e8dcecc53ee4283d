"""A server that does not answer, and is waited for: what is said of it, and how often.

Whoever asks a server again and again notes each failure here, and each answer. One outage lasts
from the first failure to the next answer, over as many requests as are made meanwhile. What is told
about it is up to the `TELLER`, which is called at each of these moments: by default a line of the
log now and then, with the last cause; the command line shows a line that moves on a terminal.

A server may also say nothing at all, and a request to it fails much later than anybody waits
without a word. So a request is made within `asked`: when nothing has come for `SILENT_SECONDS`,
neither to it nor to another request, that is an outage as well, whose cause is not known yet. What
is slow by nature, such as an upload or a watch, is made without it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeAlias

logger = logging.getLogger(__name__)

QUIET_SECONDS = 5.0
"""How long an outage may last before a line is written; the next pauses are twice as long each."""

LONGEST_QUIET = 300.0
"""The longest time between two lines, in seconds."""

SILENT_SECONDS = 3.0
"""How long a server may be silent before that is told."""


@dataclass(slots=True)
class Outage:
    """Whether `where` does not answer at the moment, since when and why.

    `since` is on the clock of `time.monotonic`, None while all is well. `cause` is empty as long as
    nothing has failed. `limit` is for how many seconds the request that failed last is repeated, 0
    for as long as it takes.
    """

    where: str
    since: float | None = None
    cause: str = ""
    limit: float = 0.0
    written: int = field(default=0, init=False)
    """How many lines have been written about it."""
    _next_line: float = field(default=0.0, init=False)
    _heard: float = field(default=0.0, init=False)
    """When the last answer came, on the clock of `since`."""

    @contextmanager
    def asked(self, *, not_before: Callable[[], float] = lambda: 0.0) -> Iterator[None]:
        """While open, an answer is awaited, and that none comes is told of.

        `not_before` gives the time, on the clock of `since`, before which the server is not to
        blame: infinity while somebody else is waited for. How it ended is not noted here; a request
        that is cancelled leaves the outage as it is.
        """
        loop, begun = asyncio.get_running_loop(), time.monotonic()
        timer: asyncio.TimerHandle

        def look() -> None:
            nonlocal begun, timer
            now = time.monotonic()
            begun = min(now, max(begun, self._heard, not_before()))
            left = begun + SILENT_SECONDS - now
            if left <= 0.0:
                self._silent(begun, now)
            timer = loop.call_later(left if left > 0.0 else SILENT_SECONDS, look)

        timer = loop.call_later(SILENT_SECONDS, look)
        try:
            yield
        finally:
            timer.cancel()

    def _silent(self, since: float, now: float) -> None:
        if self.since is None:
            self.since, self.cause, self.limit = since, "", 0.0
            self.written, self._next_line = 0, now
        TELLER.get()(self, 0.0)

    def failed(self, cause: str, *, limit: float, pause: float) -> None:
        """Notes a failed attempt, after which the next one comes in `pause` seconds."""
        now = time.monotonic()
        if self.since is None:
            self.since, self.written, self._next_line = now, 0, now + QUIET_SECONDS
        self.cause, self.limit = cause, limit
        TELLER.get()(self, pause)

    def over(self) -> None:
        """Notes an answer."""
        self._heard = time.monotonic()
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
        told = f"last: {self.cause}" if self.cause else "no answer so far"
        return f"waiting for {self.where} since {self.seconds:.0f} s{limit}, {told}"

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
            # It is perhaps the first answer, where nothing has failed.
            logger.warning("%s %s", outage.where, "answers again" if outage.cause else "answers")
    elif outage.is_due(pause):
        logger.warning("%s", outage.sentence)


TELLER: ContextVar[Teller] = ContextVar("teller of outages", default=write_lines)
