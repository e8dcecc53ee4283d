"""Memory sizes and durations in Flink's notations.

Memory sizes are whole numbers of bytes (Flink's `MemorySize`): digits, then a unit or nothing for
bytes. Durations are `timedelta` (Flink's `TimeUtils`): digits and a unit, nothing meaning
milliseconds; from 2.1 on also ISO 8601 (`PT10S`). Neither knows signs or fractions. A `timedelta`
ends at a microsecond on one side, so nanoseconds are cut, and at a thousand million days on the
other, where Flink has "for ever" and here is `timedelta.max`.
"""

from __future__ import annotations

import re
from datetime import timedelta

from kubeflink.config.java_text import java_trim

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
TIB = 1 << 40
MAX_INT = 2**31 - 1
MAX_LONG = 2**63 - 1
"""The largest number of bytes, and what Flink writes for "no limit"."""

_MEMORY_UNITS = {
    unit: factor
    for units, factor in (
        (("", "b", "bytes"), 1),
        (("k", "kb", "kibibytes"), 1 << 10),
        (("m", "mb", "mebibytes"), 1 << 20),
        (("g", "gb", "gibibytes"), 1 << 30),
        (("t", "tb", "tebibytes"), 1 << 40),
    )
    for unit in units
}
_MEMORY_NAMES = (("gb", 1 << 30), ("mb", 1 << 20), ("kb", 1 << 10))

_NANOSECONDS = {
    unit: factor
    for units, factor in (
        (("d", "day", "days"), 86_400_000_000_000),
        (("h", "hour", "hours"), 3_600_000_000_000),
        (("min", "m", "minute", "minutes"), 60_000_000_000),
        (("s", "sec", "secs", "second", "seconds"), 1_000_000_000),
        (("", "ms", "milli", "millis", "millisecond", "milliseconds"), 1_000_000),
        (("µs", "micro", "micros", "microsecond", "microseconds"), 1_000),
        (("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1),
    )
    for unit in units
}
_DURATION_NAMES = (
    ("d", timedelta(days=1)),
    ("h", timedelta(hours=1)),
    ("min", timedelta(minutes=1)),
    ("s", timedelta(seconds=1)),
    ("ms", timedelta(milliseconds=1)),
    ("µs", timedelta(microseconds=1)),
)

_NUMBER = re.compile(r"([0-9]*)(.*)", re.DOTALL)
# java.time.Duration.parse: days as 24 hours, and a fraction of seconds only.
_ISO = (
    r"P(?:(?P<d>[+-]?\d+)D)?"
    r"(?:T(?=[\d+-])(?:(?P<h>[+-]?\d+)H)?(?:(?P<m>[+-]?\d+)M)?(?:(?P<s>[+-]?\d+)(?:[.,](?P<f>\d{0,9}))?S)?)?"
)


def parse_memory(text: str) -> int:
    """Bytes from `1600m`, `1 gb`, `512 kibibytes`, `1024`; `ValueError` says what is wrong."""
    number, unit = _split(text, "m, gb, bytes")
    factor = _MEMORY_UNITS.get(unit)
    if factor is None:
        raise ValueError(f"{unit!r} is no unit of memory: b, k, m, g, t (or kb, mb, ...)")
    size = number * factor
    if size > MAX_LONG:
        raise ValueError("more bytes than 64 bits can count")
    return size


def format_memory(size: int) -> str:
    """The exact form that Flink writes: `128 mb`, `256 bytes`, and whole terabytes in bytes."""
    if size % TIB == 0:
        return f"{size} bytes"
    for name, factor in _MEMORY_NAMES:
        if size % factor == 0:
            return f"{size // factor} {name}"
    return f"{size} bytes"


def parse_duration(text: str, *, iso: bool = True) -> timedelta:
    """A duration from `10 s`, `1min`, `3 d`, `50` (milliseconds), `PT10S`.

    `iso` is whether the ISO 8601 form is read (Flink 2.1 and later); versions before that have no
    durations above 64 bits of nanoseconds' seconds either, which is not imitated.
    `ValueError` says what is wrong.
    """
    stripped = java_trim(text)
    if iso and stripped[:1] in ("P", "p", "-", "+"):
        return _parse_iso(stripped)
    number, unit = _split(text, "s, min, ms")
    factor = _NANOSECONDS.get(unit)
    if factor is None:
        raise ValueError(f"{unit!r} is no unit of time: ms, s, min, h, d")
    return _from_nanoseconds(number * factor)


def format_duration(duration: timedelta) -> str:
    """The form with the largest unit that needs no fraction: `10 s`, `1 min`, `50 ms`."""
    for name, unit in _DURATION_NAMES:
        if duration and duration % unit == timedelta():
            return f"{duration // unit} {name}"
    return "0 ms"


def _split(text: str, examples: str) -> tuple[int, str]:
    stripped = java_trim(text)
    match = _NUMBER.fullmatch(stripped)
    assert match is not None  # every text matches: both groups may be empty
    if not stripped:
        raise ValueError("it is empty; is a variable empty?")
    if not match[1]:
        if stripped[0] in "+-":
            raise ValueError("it must start with a digit: signs are not allowed")
        raise ValueError(f"there is no number before {stripped!r}; is a variable empty?")
    number, unit = int(match[1]), java_trim(match[2]).lower()
    if number > MAX_LONG * 1_000_000_000:
        raise ValueError("the number is too large")
    if unit[:1] in (".", ","):
        raise ValueError(f"fractions are not allowed; use a smaller unit (one of {examples})")
    return number, unit


def _parse_iso(text: str) -> timedelta:
    match = re.fullmatch(_ISO, text, re.IGNORECASE | re.ASCII)
    if match is None or not any(match.group("d", "h", "m", "s")):
        raise ValueError(
            "it is neither a number with a unit (10 s) nor an ISO 8601 duration (PT10S)"
        )
    seconds = 86_400 * int(match["d"] or 0) + 3_600 * int(match["h"] or 0)
    seconds += 60 * int(match["m"] or 0) + int(match["s"] or 0)
    fraction = int((match["f"] or "").ljust(9, "0") or 0)
    if (match["s"] or "").startswith("-"):
        fraction = -fraction
    nanoseconds = seconds * 1_000_000_000 + fraction
    if nanoseconds < 0:
        raise ValueError("negative durations are not allowed")
    return _from_nanoseconds(nanoseconds)


def _from_nanoseconds(nanoseconds: int) -> timedelta:
    try:
        return timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        return timedelta.max
