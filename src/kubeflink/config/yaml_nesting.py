"""What a reader of YAML must not follow: what has no end, or is larger than it looks.

An alias may lead to what it stands in, and a few lines with aliases of aliases may stand for
millions of values. Nobody writes a hundred lists within each other, and Python's stack has an end.
"""

from __future__ import annotations

from typing import Any

# Reached lists and mappings count each time that an alias leads to them, as they would be copied.
_MOST_ALIASES = 1000
_MOST_LEVELS = 100


class Nesting:
    """The lists and mappings, as nodes of PyYAML, that are being read."""

    def __init__(self) -> None:
        self._open: set[int] = set()
        self._seen: set[int] = set()
        self._aliases = 0

    def enter(self, node: Any) -> None:
        """Begins to read what is in a node. ValueError says why it cannot be read."""
        if id(node) in self._open:
            raise ValueError("an alias leads to something that contains itself")
        if id(node) in self._seen:
            self._aliases += 1
            if self._aliases > _MOST_ALIASES:
                raise ValueError("there are too many aliases of lists and mappings")
        if len(self._open) >= _MOST_LEVELS:
            raise ValueError("it is nested too deeply")
        self._seen.add(id(node))
        self._open.add(id(node))

    def leave(self, node: Any) -> None:
        """Ends it."""
        self._open.discard(id(node))
