"""From flat keys to nested YAML, and why some pairs of keys cannot go together.

Flink 1.19 and later write the cluster's `config.yaml` nested. A key that is the start of another
(`a.b` and `a.b.c`) then has to be a value and a mapping at once: Flink loses one of the two or
fails with a ClassCastException, depending on the order of a hash map. All such pairs of Flink's own
options have an older name in them and are renamed before (`renaming.py`); any other is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kubeflink.errors import ConfigurationError

if TYPE_CHECKING:
    from kubeflink.config.configuration import Configuration


def conflicts(keys: Iterable[str]) -> list[tuple[str, str]]:
    """All pairs of a key and one that continues it after a dot, sorted."""
    known = set(keys)
    pairs = []
    for key in known:
        prefix, separator, _ = key.rpartition(".")
        while separator:
            if prefix in known:
                pairs.append((prefix, key))
            prefix, separator, _ = prefix.rpartition(".")
    return sorted(pairs)


def check_nesting(configuration: Configuration) -> None:
    """Raise `ConfigurationError` for the first pair of keys that one nested file cannot hold."""
    for shorter, longer in conflicts(configuration):
        raise ConfigurationError(
            f"{shorter} and {longer} cannot be set together: the first is the start of the second",
            option=shorter,
            origin=_origins(configuration, shorter, longer),
            hint="Flink would lose one of them in its config.yaml. Remove one of the two.",
        )


def nest(configuration: Configuration) -> dict[str, Any]:
    """Nested mappings from flat keys; `ConfigurationError` where `check_nesting` has one."""
    check_nesting(configuration)
    nested: dict[str, Any] = {}
    for key, value in configuration.items():
        level = nested
        *path, last = key.split(".")
        for name in path:
            level = level.setdefault(name, {})
        level[last] = value
    return nested


def _origins(configuration: Configuration, shorter: str, longer: str) -> str:
    first, second = configuration.origin(shorter), configuration.origin(longer)
    return f"{first} and {second}" if first != second else str(first)
