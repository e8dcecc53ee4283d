"""One line of YAML, character for character as Flink writes it.

Flink keeps a list of `config.yaml` as the text that its `YamlParserUtils.toYAMLString` makes of it,
and ships that text: `[1, 2, 'a, b']`. So it has to be made the same way, by the rules of
snakeyaml-engine's emitter for flow style without a limit of width. (Keys that are empty, of several
lines or longer than 122 characters are the exception: the emitter lays them out with a question
mark and may break the line. They are written like others here, and mean the same.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kubeflink.config.yaml_schema import is_text, resolve_core
from kubeflink.config.yaml_writer import ESCAPES, literal

# What can only stand in double quotes: control characters and line ends of any kind.
_SPECIAL = re.compile("[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPED_IN_QUOTES = re.compile(rf"{_SPECIAL.pattern}|[\"\\\xa0]")
_ESCAPES = {
    **ESCAPES,
    "\x85": "\\N",
    "\xa0": "\\_",
    "\u2028": "\\L",
    "\u2029": "\\P",
}
_NOT_PLAIN = re.compile(
    r"[&*!|>'\"%@`#]"  # what means something at the start
    r"|-(?: |$)|---|\.\.\."
    r"|.*(?:[,?\[\]{}:]| \#)"  # and what does anywhere in flow style
)


def flow_text(value: Any) -> str:
    """A value of a YAML document as one line: mappings, lists, text, numbers, booleans, null."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow_text(k)}: {flow_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow_text, value)) + "]"
    return _text(value) if isinstance(value, str) else literal(value)


def _text(text: str) -> str:
    if _SPECIAL.search(text):
        return '"' + _ESCAPED_IN_QUOTES.sub(_escape, text) + '"'
    plain = (
        text != ""
        and text == text.strip(" ")
        and not _NOT_PLAIN.match(text)
        and is_text(text, resolve_core)
    )
    return text if plain else "'" + text.replace("'", "''") + "'"


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"
