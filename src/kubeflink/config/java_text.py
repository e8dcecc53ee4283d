"""Texts as Java makes and reads them, where Python has another idea.

Flink's texts end up in objects and have to be the same to the letter, and what Flink takes for a
blank decides what a value is.
"""

from __future__ import annotations

import math

_TRIMMED = "".join(map(chr, range(0x21)))
# Blank to Python and not to Java: the blanks at which no line may break, and "next line".
_NO_WHITESPACE = "\u00a0\u2007\u202f\u0085"


def java_trim(text: str) -> str:
    """`String.trim`: without everything up to the blank of ASCII, and nothing else."""
    return text.strip(_TRIMMED)


def is_java_whitespace(character: str) -> bool:
    """`Character.isWhitespace`."""
    return character.isspace() and character not in _NO_WHITESPACE


def java_double(number: float) -> str:
    """`Double.toString`: `1.5`, `1.0E10`, `1.0E-4`, `Infinity`, `NaN`."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    magnitude = abs(number)
    if magnitude == 0 or 1e-3 <= magnitude < 1e7:
        return repr(number)
    digits, power = _shortest(magnitude)
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"


def _shortest(number: float) -> tuple[str, int]:
    """The shortest digits that give this number back, and the power of ten of the first one."""
    mantissa, _, exponent = repr(number).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    power = int(exponent or 0) + len(whole) - 1
    leading = len(digits) - len(digits.lstrip("0"))
    digits = digits[leading:].rstrip("0")
    return digits, power - leading
