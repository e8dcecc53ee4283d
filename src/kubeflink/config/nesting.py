"""From flat keys to nested YAML, and why some pairs of keys cannot go together.

Flink 1.19 and later write the cluster's `config.yaml` nested. A key that is the start of another
(`a.b` and `a.b.c`) then has to be a value and a mapping at once: Flink loses one of the two or
fails with a ClassCastException, depending on the order of a hash map. The usual pairs come from the
short names of the 1.x years and are renamed before (`legacy.py`); two options that Flink itself
still declares like that (`metrics.scope.jm` and `metrics.scope.jm.job`) are written with a dotted
key inside, which Flink's reader flattens to the same; anything else is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubeflink.config.values import Value
from kubeflink.errors import ConfigurationError


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


def nest(values: Mapping[str, Value]) -> dict[str, Any]:
    """Nested mappings from flat keys; `ConfigurationError` for a key that continues another one."""
    for shorter, longer in conflicts(values):
        raise conflict_error(shorter, longer)
    nested: dict[str, Any] = {}
    for key, value in values.items():
        level = nested
        *path, last = key.split(".")
        for name in path:
            level = level.setdefault(name, {})
        level[last] = value
    return nested


def conflict_error(shorter: str, longer: str, origin: str | None = None) -> ConfigurationError:
    """The refusal of two keys that one nested file cannot hold."""
    return ConfigurationError(
        f"{shorter} and {longer} cannot be set together: the first is the start of the second",
        option=shorter,
        origin=origin,
        hint="Flink would lose one of them when it writes config.yaml. Remove one of the two.",
    )
