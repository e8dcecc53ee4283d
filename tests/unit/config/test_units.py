"""Memory sizes and durations in Flink's notations."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeflink.config.units import (
    GIB,
    MAX_LONG,
    MIB,
    format_duration,
    format_memory,
    parse_duration,
    parse_memory,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1600m", 1600 * MIB),
        ("1 gb", GIB),
        ("512 kibibytes", 512 * 1024),
        ("123", 123),
        ("1 b", 1),
        ("2 KB", 2048),
        ("  5  M ", 5 * MIB),
        ("3 tebibytes", 3 * 1024 * GIB),
        ("9223372036854775807", MAX_LONG),
    ],
)
def test_memory_sizes(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is a variable empty"),
        ("gb", "is a variable empty"),
        ("1 byte", "no unit of memory"),
        ("2 kib", "no unit of memory"),
        ("1.5g", "fractions"),
        ("-1", "signs"),
        ("+5m", "signs"),
        ("1_0m", "no unit of memory"),
        ("٣m", "is a variable empty"),
        ("9223372036854775808", "64 bits"),
        ("8388608 t", "64 bits"),
    ],
)
def test_what_is_no_memory_size(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_memory(text)


@given(st.integers(0, MAX_LONG))
def test_formatted_memory_is_read_back(size: int) -> None:
    assert parse_memory(format_memory(size)) == size


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (128 * MIB, "128 mb"),
        (GIB, "1 gb"),
        (1025, "1025 bytes"),
        (2048, "2 kb"),
        (1 << 40, "1099511627776 bytes"),
    ],
)
def test_memory_is_formatted_with_the_largest_whole_unit(size: int, text: str) -> None:
    assert format_memory(size) == text


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("10 s", timedelta(seconds=10)),
        ("1min", timedelta(minutes=1)),
        ("10 M", timedelta(minutes=10)),
        ("3 d", timedelta(days=3)),
        ("50", timedelta(milliseconds=50)),
        ("10 MS", timedelta(milliseconds=10)),
        ("5 µs", timedelta(microseconds=5)),
        ("7000 nanos", timedelta(microseconds=7)),
        ("PT10S", timedelta(seconds=10)),
        ("p1dt2h", timedelta(hours=26)),
        ("PT0.5S", timedelta(milliseconds=500)),
        ("9223372036854775807 d", timedelta.max),
    ],
)
def test_durations(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is a variable empty"),
        ("s", "is a variable empty"),
        ("3 hr", "no unit of time"),
        ("5 us", "no unit of time"),
        ("1.5 s", "fractions"),
        ("-1 s", "ISO 8601"),
        ("-PT1S", "ISO 8601"),
        ("PT-1S", "negative"),
        ("PT", "ISO 8601"),
        ("PT1.5M", "ISO 8601"),
    ],
)
def test_what_is_no_duration(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_duration(text)


def test_versions_before_2_1_do_not_know_iso_durations() -> None:
    with pytest.raises(ValueError, match="no number"):
        parse_duration("PT10S", iso=False)
    with pytest.raises(ValueError, match="signs"):
        parse_duration("-1 s", iso=False)


@given(st.timedeltas(min_value=timedelta(), max_value=timedelta(days=100_000)))
def test_formatted_durations_are_read_back(duration: timedelta) -> None:
    assert parse_duration(format_duration(duration)) == duration


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(), "0 ms"),
        (timedelta(seconds=10), "10 s"),
        (timedelta(hours=26), "26 h"),
        (timedelta(milliseconds=50), "50 ms"),
    ],
)
def test_durations_are_formatted_with_the_largest_whole_unit(
    duration: timedelta, text: str
) -> None:
    assert format_duration(duration) == text
