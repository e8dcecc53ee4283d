"""Configurations against Flink's own classes: files, units, lists, maps and what is written."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kubeflink.config import load
from kubeflink.config.options.kinds import (
    BOOLEAN,
    DOUBLE,
    INTEGER,
    LONG,
    MAP,
    MAPS,
    STRINGS,
    Kind,
    Reading,
)
from kubeflink.config.units import format_memory, parse_duration, parse_memory
from kubeflink.config.versions import FlinkVersion
from kubeflink.config.yaml import load_core
from kubeflink.errors import ConfigurationError
from support.flink_jars import JUDGES
from support.judge import FlinkJudge, Refusal

pytestmark = pytest.mark.flink

WITH_OLD_FILE = [
    each for each in JUDGES if FlinkVersion.parse(each).accepts_legacy_configuration_file
]
"""The judges that read a flink-conf.yaml."""

with_old_file = pytest.mark.parametrize("flink_judge", WITH_OLD_FILE, indirect=True)

EXAMPLES = 200
SHIPPED = 600


def words(text: str, separator: str | None = None) -> list[str]:
    return text.split(separator)


def reading(judge: FlinkJudge, *, flat: bool = False) -> Reading:
    return Reading(FlinkVersion.parse(judge.version), standard_yaml=not flat)


# --- units -----------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.integers(0, 2**64).map(str), st.sampled_from(["", "0", "-1", "+2", "1.5", "1_0", "007"])
)
MEMORY_UNITS = words("b bytes byte k kb kibibytes m MB mebibytes g Gb gibibytes t tb tebibytes p x")
TIME_UNITS = words(
    "d day days h hour hours min m minute minutes s sec secs second seconds ms milli millis "
    "millisecond milliseconds µs micro micros microsecond microseconds ns nano nanos nanosecond "
    "nanoseconds us hr mins S MIN Days"
)
BLANKS = st.sampled_from(["", " ", "  ", "\t", "\u00a0"])


def amounts(units: list[str]) -> st.SearchStrategy[str]:
    return st.tuples(BLANKS, NUMBERS, BLANKS, st.sampled_from(["", *units]), BLANKS).map("".join)


def test_memory_sizes_are_read_alike(flink_judge: FlinkJudge) -> None:
    @settings(max_examples=EXAMPLES)
    @given(amounts(MEMORY_UNITS))
    def agree(text: str) -> None:
        same_outcome(
            lambda: flink_judge.parse_memory(text), lambda: parse_memory(text), ValueError, text
        )

    agree()


def test_memory_sizes_are_written_alike(flink_judge: FlinkJudge) -> None:
    @settings(max_examples=EXAMPLES)
    @given(st.integers(0, 2**63 - 1) | st.integers(0, 2**22).map(lambda n: n << 20))
    def agree(size: int) -> None:
        assert format_memory(size) == flink_judge.format_memory(size)

    agree()


ISO = st.sampled_from(
    words("PT10S pt10s P1D P1DT2H PT0.5S PT1.5M -PT1S PT-1S P PT PT1H2M3S PT1S2M P-1DT48H PT10 P1W")
)


def test_durations_are_read_alike(flink_judge: FlinkJudge) -> None:
    iso = reading(flink_judge).version.reads_iso_durations

    def ours(text: str) -> timedelta:
        return parse_duration(text, iso=iso)

    def theirs(text: str) -> timedelta:
        try:
            return timedelta(microseconds=flink_judge.parse_duration(text) // 1000)
        except OverflowError:
            return timedelta.max

    @settings(max_examples=EXAMPLES)
    @given(amounts(TIME_UNITS) | ISO)
    def agree(text: str) -> None:
        number = re.search(r"\d+", text)
        if number is not None and int(number[0]) > 10**9:
            return  # each version has another limit there, and no duration is that long
        same_outcome(lambda: theirs(text), lambda: ours(text), ValueError, text)

    agree()


def same_outcome(
    theirs: Callable[[], Any], ours: Callable[[], Any], refusal: type[Exception], given: object
) -> bool:
    """Both give the same value, or both refuse. True if it was a value."""
    try:
        expected = theirs()
    except Refusal as flinks:
        with pytest.raises(refusal):
            print(repr(ours()), "from", repr(given), "although", flinks)
        return False
    assert ours() == expected, repr(given)
    return True


# --- values of options -----------------------------------------------------------------------

SCALARS = words(
    "5|5 |+5|-5|5.0|1_0|2147483648|-2147483648|-2147483649||0x10|٣|9223372036854775808|5L|1e3|1d|"
    "1F|NaN|Infinity|-Infinity|inf|nan|1.|.5|1e400| 5 |\t7\n|e1|1e|--1|1,5|"
    "true|TRUE|tRuE| true|yes|1|false|False|on",
    "|",
)


@pytest.mark.parametrize(
    ("name", "kind"), [("int", INTEGER), ("long", LONG), ("double", DOUBLE), ("boolean", BOOLEAN)]
)
def test_scalars_are_read_alike(flink_judge: FlinkJudge, name: str, kind: Kind[Any]) -> None:
    def theirs(text: str) -> Any:
        return comparable(flink_judge.read_option(name, text))

    def ours(text: str) -> Any:
        return comparable(kind.read(text, reading(flink_judge)))

    outcomes = Counter(
        same_outcome(partial(theirs, text), partial(ours, text), ValueError, text)
        for text in SCALARS
    )

    assert outcomes[True] >= 4
    assert outcomes[False] >= 4


def comparable(value: Any) -> Any:
    return str(value) if isinstance(value, float) and math.isnan(value) else value


# What a text of a list or a map is made of: words, delimiters, quotes, blanks, YAML's characters
# (but for anchors, which libyaml names differently).
PIECES = st.sampled_from(
    [*"abk", "1", "yes", "1e3", "~", *";:,'\"{}[]-#!|>%?=", " ", "  ", "\n", ": ", ", ", "- "]
)
STRUCTURED = st.lists(PIECES, max_size=14).map("".join)
WELL_FORMED = st.sampled_from(
    [
        "a:b,c:d",
        "a:b, c:d",
        "'a:''b,c'''",
        '"a:b"',
        "{a: b, c: 1}",
        '{"a":"b"}',
        "a: b\nc: d",
        "[a, b, 'c d']",
        "- a\n- b: c",
        "[{key: a, operator: Exists}]",
        "key:a,operator:Exists;key:b,operator:Exists",
        "a: [1, {b: c}]",
        "a: {b: 'x y'}",
        "arn: arn:aws:iam::1:role/x",
        "[a: b]",
        "[[a], b]",
        "a: !!str 1",
        "!!map {a: b}",
    ]
)


@pytest.mark.parametrize(
    ("flink_judge", "flat"),
    [*((each, False) for each in JUDGES), *((each, True) for each in WITH_OLD_FILE)],
    indirect=["flink_judge"],
)
@pytest.mark.parametrize(("name", "kind"), [("list", STRINGS), ("map", MAP), ("maps", MAPS)])
def test_lists_and_maps_are_read_alike(
    flink_judge: FlinkJudge, name: str, kind: Kind[Any], flat: bool
) -> None:
    outcomes: Counter[bool] = Counter()

    @settings(max_examples=2 * EXAMPLES)
    @given(STRUCTURED | WELL_FORMED)
    @example("a;;b")
    def agree(text: str) -> None:
        try:
            expected = flink_judge.read_option(name, text, flat=flat)
        except Refusal:
            expected = None
        try:
            got = kind.read(text, reading(flink_judge, flat=flat))
        except ValueError as error:
            refusal = str(error)
        else:
            outcomes[True] += 1
            assert as_lists(got) == expected, repr(text)
            return
        outcomes[False] += 1
        # What Flink takes for a key with a brace or a bracket is refused here, see `MAP`.
        assert expected is None or "looks like" in refusal, (text, expected)

    agree()

    assert min(outcomes[True], outcomes[False]) >= 5, outcomes


def as_lists(value: Any) -> Any:
    return [*value] if isinstance(value, tuple) else value


# --- files -----------------------------------------------------------------------------------

FILES = [
    *words(
        "a: yes|a: y|a: 1_000|a: 0o14|a: 012|a: 08|a: 1e3|a: .inf|a: 60:00|a: 2024-01-02|a: 0b11|"
        "a: 0x1F|a: -0x1F|a: +12|a: -0|a: 3000000000|a: 1.|a: .5|a: 1.5e300|a: True|a: tRUE|a: ~|"
        "a: null|a:|a: ''|a: {}|a: []|a: =|a: !!str 5|a: !!int '5'|a: !!float 5|a: !foo 5|"
        "a: !!bool yes|1: 2|true: 3|null: 4|1.5: x|? [1, 2]\n: x|a: `x|a: @x|a: %x|a: b: c|a: - b|"
        "a: 'x' y|a: [1,2\n|- 1\n- 2|just text||# nothing|a: 1\na: 2|a: 1\n---\na: 2|"
        "--- \na: 1\n...\n|<<: {a: 1}\nb: 2|x: &q {a: 1}\ny: *q|a: {b: null}",
        "|",
    ),
    "x: &q {a: 1}\ny:\n  <<: *q\n  c: 2",
    "a: [1, two, {b: c}, [x], null, 'q r', yes, 'true', '1', 1.5, 1e10]",
    "a:\n- b: c d\n  'e': 'f: g'\n- it's",
    "a: {b: 1}\nc.d: 2\nc: {e: 3}",
    'a: |\n  l1\n  l2\nb: >\n  l1\n  l2\nc: "x\\ny"',
    "a: b\tc\nb: 'd\te'",
    "\ufeffa: 1",
    "a: 1e\nb: e1\nc: +\nd: 0o8\ne: 0xG",
    "a: 2001-12-14t21:59:43.10-05:00",
    "a : 1\nb  :  2",
    "'a': 1\n\"b\": 2\na-b_c/d: 3\n$x: 4",
    "%YAML 1.2\n---\na: yes",
    "a: {b: {c: {d: 1}}, e: [f]}",
    "a: !!null x",
    "a: x # comment\nb: x#no comment\nc: '#'",
]


@pytest.mark.parametrize("text", FILES)
def test_files_are_read_alike(flink_judge: FlinkJudge, tmp_path: Path, text: str) -> None:
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")

    same_outcome(
        lambda: flink_judge.configuration(flink_judge.directory({"config.yaml": text})),
        lambda: dict(load(conf_dir=tmp_path, version=flink_judge.version, environ={}).items()),
        ConfigurationError,
        text,
    )


PRINTABLE = st.characters(exclude_categories=("Cs", "Cn", "Co"))
TEXT = st.one_of(
    st.text(PRINTABLE, max_size=20),
    st.text("ab :#'\"\\-?!&*|>%@`{}[],\n\t~.0e", max_size=12),
    st.sampled_from(
        [
            "yes",
            "no",
            "on",
            "off",
            "y",
            "n",
            "true",
            "Null",
            "~",
            "012",
            "0o14",
            "0x1F",
            "1e3",
            ".5",
            "1_000",
            "60:00",
            "2024-01-02",
            "<<",
        ]
    ),
    st.integers().map(str),
    st.floats(allow_nan=False).map(str),
)
SIMPLE_KEYS = TEXT.filter(lambda text: text != "" and "\n" not in text)
JSON_VALUES = st.recursive(
    TEXT | st.booleans() | st.integers(-(2**31), 2**31 - 1) | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(SIMPLE_KEYS, inner, max_size=3),
    max_leaves=8,
)


def json_of(value: Any) -> str:
    """JSON that is YAML, too: without the pairs of escapes for what is beyond 16 bits."""
    pair = r"\\u(d[89ab]..)\\u(d[c-f]..)"
    return re.sub(pair, lambda match: json.loads(f'"{match[0]}"'), json.dumps(value))


def test_lists_of_a_file_become_the_same_text(flink_judge: FlinkJudge, tmp_path: Path) -> None:
    @settings(max_examples=EXAMPLES)
    @given(st.lists(JSON_VALUES, max_size=5))
    @example(["&a", "a, b", "on", "a#b", "a #b", "- x", "?", "%x", "x:", "😀", "\x85", "\ufeff"])
    def agree(items: list[Any]) -> None:
        text = f"k: {json_of(items)}"
        (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
        expected = flink_judge.configuration(flink_judge.directory({"config.yaml": text}))

        got = load(conf_dir=tmp_path, version=flink_judge.version, environ={})

        assert dict(got.items()) == expected

    agree()


SEGMENTS = st.text("abcxyz-_$/1", min_size=1, max_size=5) | st.sampled_from(
    ["yes", "1", "~", "null"]
)
KEYS = st.lists(SEGMENTS, min_size=1, max_size=4).map(".".join)
FILE_VALUES = TEXT | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)


def without_prefixes(values: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of which none is the start of another: such files are refused."""
    return {
        key: value
        for key, value in values.items()
        if not any(other.startswith(f"{key}.") for other in values)
    }


CONFIGURATIONS = st.dictionaries(KEYS, FILE_VALUES, max_size=8).map(without_prefixes)
DYNAMIC = st.dictionaries(KEYS, TEXT, max_size=4)


def test_what_is_shipped_is_read_as_it_was_meant(flink_judge: FlinkJudge) -> None:
    """Our `config.yaml` through Flink's reader: the same keys, values and types."""

    @settings(max_examples=SHIPPED)
    @given(CONFIGURATIONS, DYNAMIC)
    def agree(file: dict[str, Any], dynamic: dict[str, str]) -> None:
        wanted = {f"k.{key}": value for key, value in without_prefixes({**file, **dynamic}).items()}
        configuration = load(version=flink_judge.version, environ={}).with_values(wanted)

        name, text = configuration.nested_or_flat_text()

        assert name == "config.yaml"
        assert flink_judge.configuration(flink_judge.directory({name: text})) == wanted
        assert load_core(text, name).value == (flink_judge.load_yaml(text) or {})

    agree()


def test_flink_would_ship_the_same(flink_judge: FlinkJudge, tmp_path: Path) -> None:
    """File and `-D` through both: what goes into the ConfigMap holds the same."""

    @settings(max_examples=EXAMPLES)
    @given(CONFIGURATIONS, DYNAMIC)
    def agree(file: dict[str, Any], dynamic: dict[str, str]) -> None:
        # Flink loses blank lines at the very end of its file, and so what ends with one.
        wanted = {
            key: value
            for key, value in without_prefixes({**file, **dynamic}).items()
            if not str(value).endswith("\n")
        }
        lines = [
            f"{json.dumps('k.' + key)}: {json_of(value)}\n"
            for key, value in file.items()
            if key in wanted
        ]
        added = {f"k.{key}": value for key, value in dynamic.items() if key in wanted}
        directory = flink_judge.directory({"config.yaml": "".join(lines)})
        shipped = load_core("\n".join(flink_judge.shipped_lines(directory, added)), "theirs").value

        configuration = load(
            conf_dir=directory, dynamic=[*added.items()], version=flink_judge.version, environ={}
        )

        name, text = configuration.nested_or_flat_text()
        assert load_core(text, name).value == shipped

    agree()


@with_old_file
def test_flink_would_ship_the_same_lines(flink_judge: FlinkJudge) -> None:
    @settings(max_examples=EXAMPLES)
    @given(st.dictionaries(KEYS, st.text("ab: '\";,=", max_size=8), max_size=4))
    def agree(dynamic: dict[str, str]) -> None:
        directory = flink_judge.directory({"flink-conf.yaml": "a.b: c\n"})
        expected = flink_judge.shipped_lines(directory, dynamic, flat=True)

        configuration = load(
            conf_dir=directory, dynamic=[*dynamic.items()], version=flink_judge.version, environ={}
        )

        name, text = configuration.nested_or_flat_text()
        assert name == "flink-conf.yaml"
        assert sorted(text.splitlines()) == sorted(expected)

    agree()


@with_old_file
def test_the_old_file_is_read_alike(flink_judge: FlinkJudge, tmp_path: Path) -> None:
    lines = st.text("ab: #'\"\t.\u00a0\x0c", max_size=12)

    @settings(max_examples=EXAMPLES)
    @given(st.lists(lines, max_size=4), st.sampled_from(["\n", "\r\n", "\r"]))
    @example(["k: a#b", 'q: "a #b"', "z: x # c", "nocolon", "u: {a: 1}", "k: later"], "\n")
    def agree(content: list[str], end: str) -> None:
        text = end.join(content)
        with (tmp_path / "flink-conf.yaml").open("w", encoding="utf-8", newline="") as file:
            file.write(text)
        directory = flink_judge.directory({})
        (directory / "flink-conf.yaml").write_bytes(text.encode())

        got = load(conf_dir=tmp_path, version=flink_judge.version, environ={})

        assert dict(got.items()) == flink_judge.configuration(directory)

    agree()
