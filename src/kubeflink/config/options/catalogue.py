"""All declared options: by key, by version, and by similarity of names.

The families are imported when the catalogue is first asked, not with the package.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from kubeflink.config.options.option import Option
from kubeflink.config.versions import FlinkVersion

FAMILIES = (
    "kubernetes",
    "jobmanager",
    "taskmanager",
    "resourcemanager",
    "rest",
    "web",
    "blob",
    "high_availability",
    "security",
    "core",
    "cluster",
    "deployment",
    "pipeline",
    "metrics",
    "rpc",
    "python",
    "broker",
    "client",
)
"""The modules with declarations, in the order in which documentation shows them."""

_SIMILAR = 0.84
"""How alike two keys must be to be taken for one with a slip of the finger."""


def every_option() -> Iterator[Option[Any]]:
    """All options of all versions, family by family in the order of their declaration."""
    for family in FAMILIES:
        module = import_module(f"kubeflink.config.options.{family}")
        for value in vars(module).values():
            if isinstance(value, Option):
                yield value


def all_options(version: FlinkVersion) -> tuple[Option[Any], ...]:
    """The options that a version of Flink has, as it declares them."""
    return tuple(option.at(version) for option in every_option() if option.exists_in(version))


def find(key: str, version: FlinkVersion) -> Option[Any] | None:
    """The option that reads this key in this version, be it under its current or an older name."""
    option = declared(key)
    if option is not None and option.exists_in(version):
        return option.at(version)
    for candidate in _by_older_key().get(key, ()):
        if candidate.exists_in(version):
            return candidate.at(version)
    return None


def declared(key: str) -> Option[Any] | None:
    """The option of exactly this name in any version; `external-resource.gpu.amount` fits its
    declaration with a placeholder."""
    exact = _by_key().get(key)
    if exact is not None:
        return exact
    words = key.split(".")
    for pattern, option in _with_placeholder():
        if _fits(words, pattern):
            return option
    return None


def _fits(words: list[str], pattern: list[str]) -> bool:
    """Whether a key has the form of a declaration; the last placeholder takes all that is left."""
    if len(words) < len(pattern) or (len(words) > len(pattern) and pattern[-1][:1] != "<"):
        return False
    return all(
        expected[:1] == "<" or word == expected
        for word, expected in zip(words, pattern, strict=False)
    )


def nearest(key: str, version: FlinkVersion) -> str | None:
    """The key of this version that was most likely meant by an unknown one, if any is near."""
    import difflib

    declared_keys = [option.key for option in all_options(version) if "<" not in option.key]
    close = difflib.get_close_matches(
        key, [*declared_keys, *undeclared_keys()], n=1, cutoff=_SIMILAR
    )
    return close[0] if close else None


@cache
def undeclared_keys() -> frozenset[str]:
    """Keys that Flink knows and nothing here needs: checkpoints, state backends, SQL and so on.

    Only their names are kept, so that a right one is not taken for a slip of the finger.
    """
    text = Path(__file__).with_name("undeclared.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


@cache
def first_words() -> frozenset[str]:
    """The first words of all keys that are known: `taskmanager`, `state`."""
    keys = (*_by_key(), *_by_older_key(), *undeclared_keys())
    return frozenset(key.partition(".")[0] for key in keys if "." in key)


@cache
def _by_key() -> dict[str, Option[Any]]:
    return {option.key: option for option in every_option() if "<" not in option.key}


@cache
def _by_older_key() -> dict[str, tuple[Option[Any], ...]]:
    result: dict[str, tuple[Option[Any], ...]] = {}
    for option in every_option():
        for older in option.older_keys:
            result[older] = (*result.get(older, ()), option)
    return result


@cache
def _with_placeholder() -> tuple[tuple[list[str], Option[Any]], ...]:
    return tuple((option.key.split("."), option) for option in every_option() if "<" in option.key)
