"""What an option is: one entry of Flink's configuration, declared once.

The declarations are about 550 instances of one small class, because a class per option would cost
a third of a second of import time. They say what documentation, messages and typed access need;
`Option.at` gives the declaration that a certain version of Flink has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, overload

from kubeflink.config.options.kinds import Kind, Reading
from kubeflink.config.values import text_of
from kubeflink.config.versions import FlinkVersion

T = TypeVar("T")
S = TypeVar("S")

Release = tuple[int, int]
"""A minor version, such as `(1, 20)`."""


@dataclass(frozen=True, slots=True)
class Option(Generic[T]):
    """A declared option.

    `default` is None where Flink has none; then `T` includes None. `fallback_keys` are other
    options whose value counts where this one is not set; `deprecated_keys` are its older names.
    Flink looks at the fallback keys first. `since` and `until` are the first and last minor
    versions that have it, `deprecated_since` the first that discourages it. `minimum` and
    `maximum` bound what makes sense, be it checked by Flink, by Kubernetes or by nobody. `earlier`
    holds what was different up to and including a minor version, as fields of this class.
    `{version}` in a default stands for the version.
    """

    key: str
    kind: Kind[Any]
    default: T
    about: str = ""
    fallback_keys: tuple[str, ...] = ()
    deprecated_keys: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    since: Release | None = None
    until: Release | None = None
    deprecated_since: Release | None = None
    secret: bool = False
    minimum: float | None = None
    maximum: float | None = None
    earlier: tuple[tuple[Release, Mapping[str, Any]], ...] = ()

    @property
    def older_keys(self) -> tuple[str, ...]:
        """The other keys, in the order in which Flink looks at them."""
        return self.fallback_keys + self.deprecated_keys

    def exists_in(self, version: FlinkVersion) -> bool:
        """Whether this version of Flink has the option."""
        return (self.since is None or version.release >= self.since) and (
            self.until is None or version.release <= self.until
        )

    def is_deprecated_in(self, version: FlinkVersion) -> bool:
        """Whether this version of Flink discourages the option."""
        return self.deprecated_since is not None and version.release >= self.deprecated_since

    def at(self, version: FlinkVersion) -> Option[T]:
        """The declaration as this version has it."""
        found = self
        for last, fields in self.earlier:
            if version.release <= last:
                found = replace(self, earlier=(), **fields)
                break
        if isinstance(found.default, str) and "{version}" in found.default:
            text: Any = found.default.replace("{version}", str(version))
            found = replace(found, default=text)
        return found

    def read(self, raw: object, reading: Reading) -> T:
        """The typed value of a raw one; `ValueError` with the reason if it cannot be."""
        if self.choices:
            choice: T = _choice(text_of(raw), self.choices)  # type: ignore[assignment]
            return choice
        value: T = self.kind.read(raw, reading)
        if isinstance(value, int | float) and not isinstance(value, bool):
            self._check_range(value)
        return value

    def _check_range(self, number: float) -> None:
        # Written so that NaN fails as well.
        if self.minimum is not None and not number >= self.minimum:
            raise ValueError(f"it must be at least {self.minimum}")
        if self.maximum is not None and not number <= self.maximum:
            raise ValueError(f"it must be at most {self.maximum}")
        if self.minimum is not None and math.isinf(number):
            raise ValueError("it must not be infinite")


def _choice(text: str, choices: tuple[str, ...]) -> str:
    for choice in choices:
        if choice.lower() == text.lower():
            return choice
    raise ValueError(f"it must be one of {', '.join(choices)}")


@overload
def option(
    key: str,
    kind: Kind[S],
    *,
    about: str = ...,
    fallback_keys: tuple[str, ...] = ...,
    deprecated_keys: tuple[str, ...] = ...,
    choices: tuple[str, ...] = ...,
    since: Release | None = ...,
    until: Release | None = ...,
    deprecated_since: Release | None = ...,
    secret: bool = ...,
    minimum: float | None = ...,
    maximum: float | None = ...,
    earlier: tuple[tuple[Release, Mapping[str, Any]], ...] = ...,
) -> Option[S | None]: ...


@overload
def option(
    key: str,
    kind: Kind[S],
    default: S,
    *,
    about: str = ...,
    fallback_keys: tuple[str, ...] = ...,
    deprecated_keys: tuple[str, ...] = ...,
    choices: tuple[str, ...] = ...,
    since: Release | None = ...,
    until: Release | None = ...,
    deprecated_since: Release | None = ...,
    secret: bool = ...,
    minimum: float | None = ...,
    maximum: float | None = ...,
    earlier: tuple[tuple[Release, Mapping[str, Any]], ...] = ...,
) -> Option[S]: ...


def option(key: str, kind: Kind[Any], default: Any = None, **fields: Any) -> Option[Any]:
    """Declare an option; see `Option` for the fields."""
    return Option(key, kind, default, **fields)
