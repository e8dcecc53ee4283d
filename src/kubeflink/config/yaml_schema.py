"""What a plain scalar means to the two kinds of readers that read our files.

Flink (snakeyaml-engine, core schema of YAML 1.2) and everything written in Go (`kubectl`, the API
server, Helm: goyaml.v2 behind sigs.k8s.io/yaml) disagree: `yes` is a text to one and true to the
other, `012` is 12 or 10, `1_000` a text or 1000. Reading needs one of the two rules, writing needs
both: what either of them would take for something else than text has to be quoted.
"""

from __future__ import annotations

import re
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool | None

_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
_NOT_A_NUMBER = re.compile(r"\.(?:nan|NaN|NAN)")

_GO_TRUE = _TRUE | {"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"}
_GO_FALSE = _FALSE | {"n", "N", "no", "No", "NO", "off", "Off", "OFF"}
_GO_INTEGER = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))"
)


def resolve_core(text: str) -> Scalar:
    """A plain scalar by the core schema of YAML 1.2, as Flink reads it."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if _NULL.fullmatch(text):
        return None
    if _INTEGER.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if _HEXADECIMAL.fullmatch(text):
        return int(text[2:], 16)
    return _float(text)


def resolve_go(text: str) -> Scalar:
    """A plain scalar by the rules of goyaml.v2, as Kubernetes reads it; dates stay text."""
    if text in _GO_TRUE:
        return True
    if text in _GO_FALSE:
        return False
    if _NULL.fullmatch(text):
        return None
    digits = text.replace("_", "") if text[:1] in "+-.0123456789" else text
    match = _GO_INTEGER.fullmatch(digits)
    if match is not None:
        sign, hexadecimal, binary, octal, decimal = match.groups()
        for value, base in ((hexadecimal, 16), (binary, 2), (octal, 8), (decimal, 10)):
            if value is not None:
                number = int(value, base)
                return -number if sign == "-" else number
    return text if isinstance(resolved := _float(digits), str) else resolved


def _float(text: str) -> float | str:
    if _FLOAT.fullmatch(text):
        return float(text)
    if match := _INFINITE.fullmatch(text):
        return float(f"{match[1]}inf")
    if _NOT_A_NUMBER.fullmatch(text):
        return float("nan")
    return text


def is_text_to_everyone(text: str) -> bool:
    """Whether a plain scalar is text by both rules, and no merge key either."""
    return (
        text not in ("<<", "=")
        and isinstance(resolve_core(text), str)
        and isinstance(resolve_go(text), str)
    )
