"""Writing YAML that every reader reads alike.

The cluster's `config.yaml` is read by Flink (YAML 1.2) and edited by people with tools in Go; a
manifest is read by `kubectl`. So a text is written plain only where it is text to both, in single
quotes where it is one printable line, as a literal block where it is several, and with escapes
otherwise. PyYAML's emitter is not used because it quotes for YAML 1.1 only: it writes the texts
`1e3` and `0o14` plain, which are numbers to both readers here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from kubeflink.config.java_text import java_double
from kubeflink.config.yaml_schema import is_text_to_everyone

_INDENT = "  "
# Unambiguous as the start of a plain scalar for every parser, in blocks.
_PLAIN_START = re.compile(r"[^\W_]|[/.$+_(^;~<]|-(?=[\w-])", re.UNICODE)
_NEVER_PLAIN = re.compile(r": | #|:$|^---|^\.\.\.|\t")
ESCAPES = {
    "\0": "\\0",
    "\a": "\\a",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\v": "\\v",
    "\f": "\\f",
    "\r": "\\r",
    "\x1b": "\\e",
    '"': '\\"',
    "\\": "\\\\",
}


def dump_flink(nested: Mapping[str, Any]) -> str:
    """The text of a `config.yaml`: nested mappings, lists and scalars, numbers as in Java."""
    return "".join(f"{line}\n" for line in _mapping(nested, "")) if nested else "{}\n"


def dump_kubernetes(obj: Mapping[str, Any]) -> str:
    """The text of a manifest: one object, in the order of its keys."""
    return dump_flink(obj)


def _mapping(mapping: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in mapping.items():
        yield from _entry(f"{indent}{_one_line(str(key))}:", value, indent)


def _sequence(items: list[Any] | tuple[Any, ...], indent: str) -> Iterator[str]:
    for item in items:
        if isinstance(item, Mapping) and item:
            first, *others = _mapping(item, indent + _INDENT)
            yield f"{indent}- {first[len(indent) + len(_INDENT) :]}"
            yield from others
        else:
            yield from _entry(f"{indent}-", item, indent)


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    """A key or a dash with what belongs to it; `indent` is that of the key or dash itself."""
    if isinstance(value, Mapping) and value:
        yield head
        yield from _mapping(value, indent + _INDENT)
    elif isinstance(value, list | tuple) and value:
        # The dashes of a list stand under its key, those of a list in a list further in.
        deeper = indent + _INDENT if head.endswith("-") else indent
        yield head
        yield from _sequence(value, deeper)
    elif isinstance(value, str) and _fits_literal_block(value):
        yield from _literal_block(head, value, indent + _INDENT)
    else:
        yield f"{head} {_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _one_line(value)
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, list | tuple):
        return "[]"
    return literal(value)


def literal(value: Any) -> str:
    """A scalar that is no text."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if math.isnan(value):
            return ".nan"
        if math.isinf(value):
            return ".inf" if value > 0 else "-.inf"
        return java_double(value)
    return str(value)


def _one_line(text: str) -> str:
    if not text.isprintable():
        return _double_quoted(text)
    if _may_be_plain(text):
        return text
    return _single_quoted(text)


def _may_be_plain(text: str) -> bool:
    return (
        _PLAIN_START.match(text) is not None
        and _NEVER_PLAIN.search(text) is None
        and text[-1:] != " "
        and is_text_to_everyone(text)
    )


def _single_quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _double_quoted(text: str) -> str:
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in ESCAPES:
        return ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _fits_literal_block(text: str) -> bool:
    """Whether a text of several lines keeps every character in a block."""
    if "\n" not in text or text[0] in " \n\t":
        return False
    return all(
        line.replace("\t", " ").isprintable() and (not line or line.strip(" \t") != "")
        for line in text.split("\n")
    )


def _literal_block(head: str, text: str, indent: str) -> Iterator[str]:
    body = text.rstrip("\n")
    newlines = len(text) - len(body)
    yield f"{head} |{'-' if newlines == 0 else '' if newlines == 1 else '+'}"
    for line in (body + "\n" * max(newlines - 1, 0)).split("\n"):
        yield indent + line if line else ""
