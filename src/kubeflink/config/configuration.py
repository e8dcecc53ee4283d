"""What was asked for: keys, their values and where each came from.

A `Configuration` never changes; `with_values` gives a new one. Values of the file keep the type
that YAML gave them and values from `-D` are text, because that is how they are written into the
cluster's own configuration file. Options are read by `get`, which looks where Flink looks: at the
option's key, then at its fallback keys, then at its older names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from kubeflink.config.nesting import nest
from kubeflink.config.options.kinds import Reading
from kubeflink.config.options.option import Option
from kubeflink.config.secrets import is_secret
from kubeflink.config.values import Value, excerpt, text_of, text_of_keyword
from kubeflink.config.versions import DEFAULT, FLINK_CONF_YAML, FlinkVersion
from kubeflink.errors import ConfigurationError

T = TypeVar("T")

PROGRAM = "kubeflink"
"""The origin of values that kubeflink itself sets."""


class Notice(NamedTuple):
    """One line for the user: nothing is wrong enough to stop, but it may not be what was meant.

    `of_containers` says that it is true where pods are containers, each with files of its own, and
    not where they are processes of one machine.
    """

    message: str
    of_containers: bool = False

    def __str__(self) -> str:
        return self.message


class Entry(NamedTuple):
    """A value and where it came from: `config.yaml line 3`, `-D`, `keyword`."""

    value: Value
    origin: str


class Configuration:
    """The configuration of one cluster.

    `version` is the Flink version to imitate. `conf_dir` is the directory of the file, if there was
    one; `file_name` is the file that is written into the cluster (`config.yaml`, or
    `flink-conf.yaml` where Flink would write that).
    """

    __slots__ = ("_entries", "conf_dir", "file_name", "notices", "version")

    def __init__(
        self,
        entries: Mapping[str, Entry] | None = None,
        *,
        version: FlinkVersion = DEFAULT,
        conf_dir: Path | None = None,
        file_name: str | None = None,
        notices: tuple[Notice, ...] = (),
    ) -> None:
        self._entries: dict[str, Entry] = dict(entries or {})
        self.version = version
        self.conf_dir = conf_dir
        self.file_name = file_name or version.configuration_file
        self.notices = notices

    # --- typed access ---

    def get(self, option: Option[T]) -> T:
        """The value of an option, or its default in this version.

        Raises `ConfigurationError` if the value cannot be read as the option's type.
        """
        declaration = option.at(self.version)
        key, raw = self._raw_of(declaration)
        if key is None:
            return declaration.default
        return self._read(declaration, key, raw)

    def get_optional(self, option: Option[T]) -> T | None:
        """The value that was set for an option under any of its keys; None where none was."""
        declaration = option.at(self.version)
        key, raw = self._raw_of(declaration)
        return None if key is None else self._read(declaration, key, raw)

    def contains(self, option: Option[Any]) -> bool:
        """Whether the option was set, under any of its keys."""
        return self._raw_of(option.at(self.version))[0] is not None

    def key_of(self, option: Option[Any]) -> str | None:
        """The key under which the option was set; None where it was not."""
        return self._raw_of(option.at(self.version))[0]

    def _raw_of(self, declaration: Option[Any]) -> tuple[str | None, object]:
        for key in (declaration.key, *declaration.older_keys):
            entry = self._entries.get(key)
            if entry is not None:
                return key, entry.value
            if declaration.kind.is_map and (nested := self.with_prefix(f"{key}.")):
                return key, nested
        return None, None

    def check(self, key: str, option: Option[Any]) -> None:
        """Raise `ConfigurationError` if the value of a key cannot be read as this option's."""
        self._read(option.at(self.version), key, self._entries[key].value)

    def _read(self, declaration: Option[T], key: str, raw: object) -> T:
        try:
            return declaration.read(raw, self.reading)
        except ValueError as error:
            shown = "" if is_secret(key) else f" {excerpt(text_of(raw))}"
            raise ConfigurationError(
                f"{key} cannot be{shown}: {error}", option=key, origin=self.origin(key)
            ) from error

    @property
    def reading(self) -> Reading:
        """By which rules values are read."""
        return Reading(self.version, self.file_name != FLINK_CONF_YAML)

    # --- access by key ---

    def raw(self, key: str) -> Value | None:
        """The value of exactly this key as it is held; None where it is not set."""
        entry = self._entries.get(key)
        return None if entry is None else entry.value

    def text(self, key: str) -> str | None:
        """The value of exactly this key as Java would print it; None where it is not set."""
        entry = self._entries.get(key)
        return None if entry is None else text_of(entry.value)

    def origin(self, key: str) -> str | None:
        """Where the value of a key, or the first one below it, came from."""
        entry = self._entries.get(key)
        if entry is None:
            prefix = f"{key}."
            entry = next((e for k, e in self._entries.items() if k.startswith(prefix)), None)
        return None if entry is None else entry.origin

    def with_prefix(self, prefix: str) -> dict[str, str]:
        """The texts of all keys that start with a prefix, by what follows it.

        `with_prefix("containerized.master.env.")` gives the environment of the JobManager.
        """
        return {
            key.removeprefix(prefix): text_of(entry.value)
            for key, entry in self._entries.items()
            if key.startswith(prefix)
        }

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> Iterator[tuple[str, Value]]:
        """All keys with their values, in the order in which they were set."""
        return ((key, entry.value) for key, entry in self._entries.items())

    def entries(self) -> Iterator[tuple[str, Entry]]:
        """All keys with their values and origins."""
        return iter(self._entries.items())

    # --- new configurations ---

    def with_values(self, values: Mapping[str, object], origin: str = PROGRAM) -> Configuration:
        """A configuration in which these keys have these values.

        Scalars keep their type and lists of text stay lists, as when Flink's client sets them;
        durations, mappings and the like become Flink's text.
        """
        entries = dict(self._entries)
        for key, value in values.items():
            entries[key] = Entry(_held(value), origin)
        return self._copy(entries)

    def without(self, *keys: str) -> Configuration:
        """A configuration in which these keys are not set."""
        return self._copy({k: entry for k, entry in self._entries.items() if k not in keys})

    def with_notices(self, *messages: str) -> Configuration:
        """The same configuration with more to tell the user."""
        notices = (*self.notices, *(Notice(message) for message in messages))
        return self._copy(self._entries, notices)

    def _copy(
        self, entries: Mapping[str, Entry], notices: tuple[Notice, ...] | None = None
    ) -> Configuration:
        return Configuration(
            entries,
            version=self.version,
            conf_dir=self.conf_dir,
            file_name=self.file_name,
            notices=self.notices if notices is None else notices,
        )

    # --- writing ---

    def nested_or_flat_text(self) -> tuple[str, str]:
        """Name and content of the configuration file that goes into the cluster.

        `config.yaml` is nested YAML in which values from the file keep their type and values from
        `-D` are text; `flink-conf.yaml` is lines of `key: value`. Raises `ConfigurationError` for
        what cannot be written without loss.
        """
        if self.file_name != FLINK_CONF_YAML:
            from kubeflink.config.yaml_writer import dump_flink

            return self.file_name, dump_flink(nest(self))
        return self.file_name, "".join(_flat_line(key, text_of(v)) for key, v in self.items())


def _held(value: object) -> Value:
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return text_of_keyword(value)


def _flat_line(key: str, text: str) -> str:
    check_flat(key, text)
    return f"{key}: {text}\n"


def check_flat(key: str, text: str, origin: str | None = None) -> None:
    """Raise `ConfigurationError` for what a file of lines cannot hold."""
    for what, found in ((f"the key {key!r}", key), (f"the value of {key}", text)):
        if "\n" in found or "\r" in found:
            raise ConfigurationError(
                f"{what} has a line break, which {FLINK_CONF_YAML} cannot hold",
                option=key,
                origin=origin,
            )
