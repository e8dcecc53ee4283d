"""Paths of a container, as paths of this machine.

A process has no file system of its own, so what is mounted at `/opt/flink/conf` lies somewhere
else, and every text that reaches the process with a container's path in it (arguments, environment,
configuration files) has to say the real one instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import quote

_PROGRAM: Final = "local://"
"""Before the path of a program, which Flink reads as a URI; other paths it takes as they are."""


class PathMap:
    """Longest prefix first: `/opt/flink/conf` is not taken for a part of `/opt/flink`."""

    def __init__(self, mapping: Iterable[tuple[str, Path]]) -> None:
        """`mapping` gives container paths and where they lie; a later one of a path wins."""
        unique = {_normal(path): place for path, place in mapping}
        self._places = dict(sorted(unique.items(), key=lambda item: -len(item[0])))
        # The root directory is never mapped: it would match every slash.
        alternatives = "|".join(re.escape(path) for path in self._places if path != "/")
        # A path begins where no name goes on (`local:///opt`, `=/opt`, but not `/host/opt`), and
        # ends where its last name does.
        self._pattern = re.compile(rf"(?<![\w.\-])(?:{alternatives})(?![\w.\-])")
        self._is_empty = not alternatives

    def rewrite(self, text: str) -> str:
        """The text with every known container path replaced."""
        if self._is_empty or "/" not in text:
            return text

        def replacement(match: re.Match[str]) -> str:
            place = str(self._places[match[0]])
            return quote(place) if text.endswith(_PROGRAM, 0, match.start()) else place

        return self._pattern.sub(replacement, text)

    def place(self, path: str) -> Path | None:
        """Where this container path lies; None when it is in no mapped directory."""
        wanted = PurePosixPath(_normal(path))
        for prefix, place in self._places.items():
            if wanted.is_relative_to(prefix):
                return place / wanted.relative_to(prefix)
        return None


def _normal(path: str) -> str:
    return str(PurePosixPath(path))
