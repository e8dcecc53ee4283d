"""Kubernetes quantities such as `500m`, `1600Mi`, `1.5`.

An API server writes them in its own form: `1.0` comes back as `1`, `0.5` as `500m`, `2048Mi` as
`2Gi`. So they are compared by value wherever what was sent meets what is there.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

_FORM = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([eE][+-]?[0-9]+)|([a-zA-Z]{1,2}))?")
_FACTORS: dict[str, Decimal] = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal("1e3"),
    "M": Decimal("1e6"),
    "G": Decimal("1e9"),
    "T": Decimal("1e12"),
    "P": Decimal("1e15"),
    "E": Decimal("1e18"),
    "Ki": Decimal(1024),
    "Mi": Decimal(1024**2),
    "Gi": Decimal(1024**3),
    "Ti": Decimal(1024**4),
    "Pi": Decimal(1024**5),
    "Ei": Decimal(1024**6),
}


@lru_cache(maxsize=1024)
def parse_quantity(quantity: str | int | float) -> Decimal | None:
    """The value of a quantity, None where it is none."""
    found = _FORM.fullmatch(str(quantity))
    if found is None:
        return None
    number, exponent, suffix = found.groups()
    try:
        if exponent:
            return Decimal(number + exponent)
        return Decimal(number) * _FACTORS[suffix] if suffix else Decimal(number)
    except (KeyError, InvalidOperation):
        return None


def with_plain_quantities(value: Any) -> Any:
    """An object in which quantities with the same value are the same text."""
    if isinstance(value, list):
        return [with_plain_quantities(item) for item in value]
    if not isinstance(value, dict):
        return value
    result = {key: with_plain_quantities(item) for key, item in value.items()}
    for name in _AMOUNTS:
        if isinstance(result.get(name), dict):
            result[name] = {key: _plain(amount) for key, amount in result[name].items()}
    if _SIZE in result:
        result[_SIZE] = _plain(result[_SIZE])
    return result


_AMOUNTS = ("requests", "limits")
"""Members of which every value is a quantity."""

_SIZE = "sizeLimit"
"""A member that is a quantity itself, of volumes."""


def _plain(amount: Any) -> Any:
    """With the largest unit that leaves a whole number, of the kind that it was given in."""
    value = parse_quantity(amount) if isinstance(amount, str | int | float) else None
    if value is None:
        return amount
    if not value:
        return "0"
    units = _BINARY if str(amount).endswith("i") else _DECIMAL
    for unit in units:
        in_units = value / _FACTORS[unit] if unit else value
        if in_units == in_units.to_integral_value():
            return f"{int(in_units)}{unit}"
    return str(amount)


_BINARY = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki", "")
_DECIMAL = ("E", "P", "T", "G", "M", "k", "", "m", "u", "n")
