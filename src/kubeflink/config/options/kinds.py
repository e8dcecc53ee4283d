"""The types of option values, and how Flink reads each from a value.

A `Kind` reads one raw value (text, or what YAML made of it) for one version of Flink and raises
`ValueError` with the reason. The rules are those of `ConfigurationUtils.convertValue`: blanks
around a number are wrong but allowed around a fraction, booleans are `true` and `false` in any
case, enum values match in any case, and so on.

Lists and maps have two notations. Flink's own one is `a;b` and `k:v,k:v`. Where the configuration
is real YAML (`config.yaml`), the text is first tried as YAML, `[a, b]` and `{k: v}` or `k: v`, and
Flink's own notation is what is left for a text that is no YAML list or map.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from kubeflink.config.java_text import java_trim
from kubeflink.config.units import (
    MAX_LONG,
    format_duration,
    format_memory,
    parse_duration,
    parse_memory,
)
from kubeflink.config.values import pairs, split, text_of
from kubeflink.config.versions import FlinkVersion

T = TypeVar("T")


class Reading(NamedTuple):
    """How a configuration is read: by which version, and whether its file is standard YAML."""

    version: FlinkVersion
    standard_yaml: bool


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A type of values.

    `name` is the word for it in documentation and messages. `read` raises `ValueError`. `write`
    gives the text of a value, for documentation. `is_map` is whether nested keys can stand for a
    value (`labels.a: x`).
    """

    name: str
    read: Callable[[object, Reading], T]
    write: Callable[[Any], str] = text_of
    is_map: bool = False


_INT = re.compile(r"[-+]?\d+")
_DOUBLE = r"[-+]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fFdD]?)"


def _string(raw: object, _reading: Reading) -> str:
    return text_of(raw)


def _integer(raw: object, _reading: Reading) -> int:
    return _whole_number(raw, 2**31 - 1)


def _long(raw: object, _reading: Reading) -> int:
    return _whole_number(raw, MAX_LONG)


def _whole_number(raw: object, largest: int) -> int:
    text = text_of(raw)
    if _INT.fullmatch(text) is None:
        raise ValueError(_empty_or("a whole number is needed", text))
    number = int(text)
    if not -largest - 1 <= number <= largest:
        raise ValueError(f"the number must be between {-largest - 1} and {largest}")
    return number


def _double(raw: object, _reading: Reading) -> float:
    text = java_trim(text_of(raw))
    if re.fullmatch(_DOUBLE, text, re.ASCII) is None:
        raise ValueError(_empty_or("a number is needed", text))
    return float(text.rstrip("fFdD") if text[-1:] in "fFdD" else text)


def _boolean(raw: object, _reading: Reading) -> bool:
    match text_of(raw).lower():
        case "true":
            return True
        case "false":
            return False
    raise ValueError(_empty_or("true or false is needed", text_of(raw)))


def _memory(raw: object, _reading: Reading) -> int:
    return parse_memory(text_of(raw))


def _duration(raw: object, reading: Reading) -> timedelta:
    return parse_duration(text_of(raw), iso=reading.version.reads_iso_durations)


def _milliseconds(raw: object, reading: Reading) -> timedelta:
    if reading.version.milliseconds_are_durations:
        return _duration(raw, reading)
    return timedelta(milliseconds=_long(raw, reading))


def _text_duration(raw: object, reading: Reading) -> timedelta:
    """A duration that older versions take as text and parse themselves."""
    return _duration(raw, reading)


def _string_list(raw: object, reading: Reading) -> tuple[str, ...]:
    if isinstance(raw, tuple):
        return raw
    parsed = _parsed_yaml(raw, reading)
    if isinstance(parsed, list) and None not in parsed:
        return tuple(_yaml_text(item) for item in parsed)
    return tuple(split(text_of(raw), ";"))


def _map(raw: object, reading: Reading) -> Mapping[str, str]:
    if isinstance(raw, Mapping):
        return {key: text_of(value) for key, value in raw.items()}
    found = _texts(_parsed_yaml(raw, reading))
    return found if found is not None else _checked(pairs(text_of(raw)), reading)


def _texts(parsed: object) -> dict[str, str] | None:
    """A YAML mapping with all keys and values as text; None if it is none, or holds a null.

    Java's maps refuse null, so that Flink falls back to its own notation.
    """
    if not isinstance(parsed, dict) or None in parsed or None in parsed.values():
        return None
    return {_yaml_text(key): _yaml_text(value) for key, value in parsed.items()}


def _checked(found: Mapping[str, str], reading: Reading) -> Mapping[str, str]:
    """Refuses what Flink would take for a key named `{a`, which nobody can have meant."""
    for key in found:
        if key[:1] in ("{", "["):
            way_out = (
                "a blank is needed after each colon"
                if reading.standard_yaml
                else f"Flink {reading.version} takes key:value,key:value"
            )
            raise ValueError(f"{key!r} looks like YAML or JSON; {way_out}")
    return found


def _map_list(raw: object, reading: Reading) -> tuple[Mapping[str, str], ...]:
    parsed = _parsed_yaml(raw, reading)
    if isinstance(parsed, list):
        maps = [_texts(item) for item in parsed]
        if None not in maps:
            return tuple(found for found in maps if found is not None)
    # The versions 1.x never read the pieces of a list in Flink's notation as YAML.
    pieces = reading._replace(
        standard_yaml=reading.standard_yaml
        and not reading.version.accepts_legacy_configuration_file
    )
    return tuple(_map(piece, pieces) for piece in split(text_of(raw), ";"))


def _parsed_yaml(raw: object, reading: Reading) -> object:
    """The text as YAML where that is tried first; None where it is not, or is no YAML."""
    text = text_of(raw)
    # Without one of these no text is a list or a map: spare the usual `a:b,c:d` the parser.
    if not reading.standard_yaml or not re.search(r"[\[{]|:\s|:$|^\s*-\s|^\s*\?|!!", text, re.M):
        return None
    from kubeflink.config.yaml import YamlError, load_core

    try:
        return load_core(text, "value").value
    except YamlError:
        return None  # Flink falls back to its own notation, too, which then says what is wrong


def _yaml_text(value: object) -> str:
    """`ConfigurationUtils.convertToString`: texts as they are, anything else as YAML writes it."""
    if isinstance(value, str):
        return value
    from kubeflink.config.yaml_flow import flow_text

    return flow_text(value)


def _empty_or(need: str, text: str) -> str:
    return f"{need}, and it is empty; is a variable empty?" if not text.strip() else need


def _write_map(value: Mapping[str, str]) -> str:
    return ",".join(f"{key}:{item}" for key, item in value.items())


NO_PAIRS: Mapping[str, str] = MappingProxyType({})
"""The default of a map option."""

STRING: Kind[str] = Kind("String", _string)
INTEGER: Kind[int] = Kind("Integer", _integer)
LONG: Kind[int] = Kind("Long", _long)
DOUBLE: Kind[float] = Kind("Double", _double)
FLOAT: Kind[float] = Kind("Float", _double)
BOOLEAN: Kind[bool] = Kind("Boolean", _boolean)
MEMORY: Kind[int] = Kind("MemorySize", _memory, format_memory)
DURATION: Kind[timedelta] = Kind("Duration", _duration, format_duration)
MILLISECONDS: Kind[timedelta] = Kind("Duration", _milliseconds, format_duration)
"""A number of milliseconds before 1.20, a duration since."""
TEXT_DURATION: Kind[timedelta] = Kind("Duration", _text_duration, format_duration)
"""A duration that was declared as text before 1.20."""
STRINGS: Kind[tuple[str, ...]] = Kind("List<String>", _string_list, ";".join)
MAP: Kind[Mapping[str, str]] = Kind("Map", _map, _write_map, is_map=True)
MAPS: Kind[tuple[Mapping[str, str], ...]] = Kind(
    "List<Map>", _map_list, lambda value: ";".join(map(_write_map, value))
)
ENUM: Kind[str] = Kind("Enum", _string)
"""One of the option's choices, in any case; `Option.read` gives it in Flink's own spelling."""
