"""What a plain scalar means to the two kinds of readers that read our files.

Flink (snakeyaml-engine, core schema of YAML 1.2) and everything written in Go (`kubectl`, the API
server, Helm: goyaml.v2 behind sigs.k8s.io/yaml) disagree: `yes` is a text to one and true to the
other, `012` is 12 or 10, `1_000` a text or 1000. Reading needs one of the two rules, writing needs
both: what either of them would take for something else than text has to be quoted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool | None

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_GO_WORDS: dict[str, Scalar] = {
    **_WORDS,
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
}
# Compiled when the first number is met, which is often never.
_INTEGER = r"[-+]?[0-9]+"
_OCTAL = r"0o[0-7]+"
_HEXADECIMAL = r"0x[0-9a-fA-F]+"
_FLOAT = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
_GO_INTEGER = r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))"


def resolve_core(text: str) -> Scalar:
    """A plain scalar by the core schema of YAML 1.2, as Flink reads it.

    Raises ValueError for a whole number with more digits than Python reads (some 4300).
    """
    if text in _WORDS:
        return _WORDS[text]
    if not _may_be_number(text):
        return text
    if re.fullmatch(_INTEGER, text):
        return int(text)
    if re.fullmatch(_OCTAL, text):
        return int(text[2:], 8)
    if re.fullmatch(_HEXADECIMAL, text):
        return int(text[2:], 16)
    return float(text) if re.fullmatch(_FLOAT, text) else text


def resolve_go(text: str) -> Scalar:
    """A plain scalar by the rules of goyaml.v2, as Kubernetes reads it; dates stay text.

    Raises ValueError as `resolve_core` does.
    """
    if text in _GO_WORDS:
        return _GO_WORDS[text]
    if not _may_be_number(text):
        return text
    # A number may have underscores anywhere, but for one that starts with the point.
    digits = text if text.startswith(".") else text.replace("_", "")
    match = re.fullmatch(_GO_INTEGER, digits)
    if match is None:
        return float(digits) if re.fullmatch(_FLOAT, digits) else text
    sign, hexadecimal, binary, octal, decimal = match.groups()
    written, base = next(
        (digits, base)
        for digits, base in ((hexadecimal, 16), (binary, 2), (octal, 8), (decimal, 10))
        if digits is not None
    )
    return -int(written, base) if sign == "-" else int(written, base)


def _may_be_number(text: str) -> bool:
    return text[:1] in "+-.0123456789"


def is_text_to_everyone(text: str) -> bool:
    """Whether a plain scalar is text by both rules, and no merge key either."""
    return text not in ("<<", "=") and is_text(text, resolve_core) and is_text(text, resolve_go)


def is_text(text: str, resolve: Callable[[str], Scalar]) -> bool:
    """Whether a plain scalar is text by one of the rules."""
    try:
        return isinstance(resolve(text), str)
    except ValueError:  # a number with more digits than Python reads
        return False
