"""Pauses between attempts: growing, bounded, and never the same for two clients."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

_SHARED = random.Random()


@dataclass(slots=True)
class Backoff:
    """Pauses in seconds: `first`, doubled each time up to `longest`, each cut by up to a half.

    The cut is random, so that clients that failed together do not come back together.
    """

    first: float = 0.25
    longest: float = 10.0
    source: random.Random = field(default=_SHARED, repr=False)
    _next: float = field(default=0.0, init=False)

    def pause(self, at_least: float | None = None) -> float:
        """The next pause, and not less than what a server asked for with `Retry-After`."""
        whole = min(self._next or self.first, self.longest)
        self._next = whole * 2
        pause = whole * self.source.uniform(0.5, 1.0)
        return pause if at_least is None else max(pause, at_least)

    def reset(self) -> None:
        """Begin again with the first pause."""
        self._next = 0.0
