"""Values of a configuration, and their text as Java writes it.

A value from `config.yaml` keeps the type that YAML gave it, because that is how Flink writes it
into the cluster's own `config.yaml`; a value from `-D`, from `flink-conf.yaml` or from a keyword is
text. Options are read from the text (`ConfigurationUtils` calls `toString` on everything that does
not have the wanted type already), and where Flink's text shows up in objects it has to be Java's:
`1.0E10`, `true`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import Enum
from pathlib import PurePath
from typing import TypeAlias

from kubeflink.config.java_text import is_java_whitespace, java_double, java_trim
from kubeflink.config.units import format_duration

Value: TypeAlias = str | int | float | bool | tuple[str, ...]
"""What a key can hold. A list is only there where Flink's client itself sets one (the program's
arguments); lists of a file have become text by then, and mappings have become nested keys."""


def text_of(value: object) -> str:
    """The text of a value as Java's `toString` gives it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_double(value)
    if isinstance(value, list | tuple):
        return joined([text_of(item) for item in value])
    return str(value)


_EXCERPT = 100
"""Characters of a value that a message shows."""


def excerpt(text: str) -> str:
    """A text in quotes as a message shows it: on one line, and without the rest of a long one."""
    return repr(text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}...")


def text_of_keyword(value: object) -> str:
    """The text in Flink's notation of what a Python caller gave for an option.

    bool, int, float, timedelta, Enum, path and text as one would expect; a list is joined by
    semicolons and a mapping is `key:value` pairs, both quoted as Flink reads them. A mapping inside
    a list (tolerations, owner references) works the same way. `TypeError` for anything else.
    """
    if isinstance(value, Enum):
        return text_of_keyword(value.value)
    if isinstance(value, str | bool | int | float):
        return text_of(value)
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return ",".join(
            quoted(f"{_quoted_part(key)}:{_quoted_part(item)}", ",") for key, item in value.items()
        )
    if isinstance(value, list | tuple):
        return joined([text_of_keyword(item) for item in value])
    raise TypeError(f"a {type(value).__name__} is no value for an option")


def joined(pieces: Sequence[str]) -> str:
    """Pieces as one list option, `a;b`, quoted so that Flink gets the same pieces back.

    As Flink writes it (`StructuredOptionsSplitter.escapeWithSingleQuote`), apart from pieces that
    Flink would lose: those with blanks around them, and empty ones at either end.
    """
    last = len(pieces) - 1
    return ";".join(
        "" if piece == "" and 0 < index < last else quoted(piece, ";")
        for index, piece in enumerate(pieces)
    )


def _quoted_part(value: object) -> str:
    return quoted(text_of_keyword(value), ":")


def quoted(text: str, delimiter: str) -> str:
    """Text as one piece of a list with this delimiter: quoted only where it must be."""
    plain = (
        text != ""
        and text == text.strip()
        and not any(character in text for character in f"'\"{delimiter}")
    )
    return text if plain else "'" + text.replace("'", "''") + "'"


def split(text: str, delimiter: str) -> list[str]:
    """Split like Flink's `StructuredOptionsSplitter`.

    Pieces may be in single or double quotes, which are doubled inside; blanks around a piece do not
    count, and neither does an empty piece at the ends. `ValueError` for quotes in the wrong place.
    """
    pieces: list[str] = []
    cursor, expect_delimiter, last_was_delimiter = 0, False, False
    while cursor < len(text):
        character = text[cursor]
        if character == delimiter:
            if last_was_delimiter:
                pieces.append("")
            last_was_delimiter, expect_delimiter = True, False
            cursor += 1
        elif not is_java_whitespace(character):
            if expect_delimiter:
                raise ValueError(f"the quote before position {cursor + 1} must end the piece")
            expect_delimiter = character in "'\""
            piece, cursor = (_quoted_piece if expect_delimiter else _plain_piece)(
                text, cursor, delimiter
            )
            pieces.append(piece)
            last_was_delimiter = False
        else:
            cursor += 1
    return pieces


def _quoted_piece(text: str, start: int, _delimiter: str) -> tuple[str, int]:
    quote, cursor, piece = text[start], start + 1, ""
    while True:
        end = text.find(quote, cursor)
        if end < 0:
            raise ValueError(f"the quote at position {start + 1} is not closed")
        piece += text[cursor:end]
        if text[end + 1 : end + 2] != quote:
            return piece, end + 1
        piece += quote
        cursor = end + 2


def _plain_piece(text: str, start: int, delimiter: str) -> tuple[str, int]:
    end = text.find(delimiter, start)
    end = len(text) if end < 0 else end
    return java_trim(text[start:end]), end


def pairs(text: str) -> dict[str, str]:
    """`a:b,c:d` as Flink 1.x reads it; `ValueError` names the piece that is no pair."""
    result: dict[str, str] = {}
    for piece in split(text, ","):
        parts = split(piece, ":")
        if len(parts) != 2:
            raise ValueError(_no_pair(piece, parts))
        key, value = parts
        if key in result:
            raise ValueError(f"{key!r} stands there twice")
        result[key] = value
    return result


def _no_pair(piece: str, parts: list[str]) -> str:
    if len(parts) > 2:
        return f"{piece!r} has more than one colon; quote the value as in 'key:''a:b'''"
    return f"{piece!r} is no pair: a key, a colon and a value that is not empty are needed"
