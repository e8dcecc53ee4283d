"""Where a log goes on that was followed, when the request for it was cut.

A request can end while the log goes on: a load balancer closes what is quiet, an API server is
replaced. Kubernetes has no position in a log from which it could be asked for again, but its last
lines. So some are asked for that are known, and the new ones begin where the known ones end. Lines
are compared, and of many that are alike none is taken for new that may be known.

Of what is known only the last lines are kept, and of each of them only a hash.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

LINES: Final = 1000
"""How many lines may come between a cut and the next request without one being lost."""


class Overlap:
    """The last lines of a log that have been taken, and how to go on behind them."""

    def __init__(self) -> None:
        self._known: deque[int] = deque(maxlen=LINES)
        self._repeated: list[int] = []
        self._held: list[str] = []
        self._candidates: list[int] = []
        self._complete = 0

    @property
    def is_empty(self) -> bool:
        """Whether no line has been taken."""
        return not self._known

    def clear(self) -> None:
        """Begins anew with a log that begins anew."""
        self._known.clear()
        self.follow_again()

    def missed(self, tail: list[str]) -> Iterable[str]:
        """The lines at the end of a log that have not been taken; now they are."""
        hashes, known = [hash(line) for line in tail], list(self._known)
        ends = range(len(tail) if known else 0, 0, -1)
        begin = next((end for end in ends if _ends(hashes[:end], known)), 0)
        self._known = deque(hashes, maxlen=LINES)
        return tail[begin:]

    def follow_again(self) -> int:
        """How many last lines what comes now is to begin with: those that are known.

        Where more have come meanwhile it begins later.
        """
        self._repeated = list(self._known)
        self._held, self._complete = [], 0
        self._candidates = list(range(len(self._repeated)))
        return len(self._repeated)

    def new(self, line: str) -> list[str]:
        """Takes the next line, and gives those that are new for sure by now."""
        if not self._candidates:
            self._known.append(hash(line))
            return [line]
        position, count = len(self._held), len(self._repeated)
        self._held.append(line)
        self._candidates = [
            start
            for start in self._candidates
            if start + position < count and self._repeated[start + position] == hash(line)
        ]
        if any(start + position + 1 == count for start in self._candidates):
            self._complete = position + 1
        if self._candidates and self._candidates[0] + self._complete != count:
            return []
        self._candidates = []
        found = self._held[self._complete :]
        self._known.extend(map(hash, found))
        return found


def _ends(lines: list[int], known: list[int]) -> bool:
    """Whether lines end with what is known, as far as they go back."""
    shared = min(len(lines), len(known))
    return lines[-1] == known[-1] and lines[-shared:] == known[-shared:]
