"""Kubernetes quantities such as `500m`, `1600Mi`, `1.5`: compared by value, kept as written."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from functools import lru_cache

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
