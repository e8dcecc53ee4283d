"""Arithmetic on memory sizes as Flink does it: exact, in whole bytes, within 64 bits.

A fraction is a Java `float`. Flink widens it to a `double` and multiplies by the decimal text of
that `double`, so that a tenth of 1280 MiB is 134217730 bytes and not 134217728: 0.1 as a `float` is
0.10000000149011612. Everything here reproduces that (`MemorySize`, `RangeFraction`,
`ProcessMemoryUtils`).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kubeflink.config.configuration import Configuration
from kubeflink.config.options.option import Option
from kubeflink.config.units import MAX_LONG
from kubeflink.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Range:
    """A share of a whole that is kept between two sizes in bytes. `fraction` is in [0, 1)."""

    minimum: int
    maximum: int
    fraction: float

    def of(self, whole: int) -> int:
        """The part of `whole`, which is the sum of this part and the rest."""
        return self._limited(scaled(whole, self.fraction))

    def beside(self, rest: int) -> int:
        """The part that stands beside `rest`, so that it is the fraction of both together."""
        return self._limited(scaled(rest, self.fraction / (1 - self.fraction)))

    def holds(self, size: int) -> bool:
        """Whether a size is within the limits."""
        return self.minimum <= size <= self.maximum

    def _limited(self, size: int) -> int:
        return min(max(size, self.minimum), self.maximum)

    def __str__(self) -> str:
        return f"[{readable(self.minimum)}, {readable(self.maximum)}]"


def size_of(settings: Configuration, option: Option[Any]) -> int:
    """The bytes of an option that has a default or is known to be set."""
    size = settings.get(option)
    if not isinstance(size, int):
        raise ConfigurationError(f"{option.key} is not set", option=option.key)
    return size


def range_of(
    settings: Configuration, minimum: Option[int], maximum: Option[int], fraction: Option[float]
) -> Range:
    """The range that three options describe; ConfigurationError where they contradict."""
    least, most = size_of(settings, minimum), size_of(settings, maximum)
    if least > most:
        raise ConfigurationError(
            f"{minimum.key} ({readable(least)}) is above {maximum.key} ({readable(most)})",
            option=minimum.key,
        )
    return Range(least, most, fraction_of(settings, fraction))


def fraction_of(settings: Configuration, option: Option[float]) -> float:
    """A fraction with the value that a Java `float` has; ConfigurationError outside [0, 1)."""
    fraction = single_precision(settings.get(option))
    if not 0 <= fraction < 1:
        raise ConfigurationError(
            f"{option.key} is {settings.get(option)}; it must be at least 0 and below 1",
            option=option.key,
        )
    return fraction


def single_precision(number: float) -> float:
    """The nearest number that a Java `float` can hold; infinite beyond its range."""
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def scaled(size: int, factor: float) -> int:
    """A size times a factor, cut to whole bytes; ConfigurationError beyond 64 bits."""
    # The factor's decimal text is what Java multiplies by, not its binary value.
    return _counted(int(size * Fraction(repr(factor))))


def total(*sizes: int) -> int:
    """The sum of sizes; ConfigurationError beyond 64 bits."""
    return _counted(sum(sizes))


def _counted(size: int) -> int:
    if size > MAX_LONG:
        raise ConfigurationError("the memory sizes add up to more bytes than 64 bits can count")
    return size


def readable(size: int) -> str:
    """A size for a message: exact in bytes where that is short, else rounded too."""
    for name, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << power:
            if size % (1 << power) == 0:
                return f"{size >> power} {name}"
            return f"{size / (1 << power):.1f} {name} ({size} bytes)"
    return f"{size} bytes"
