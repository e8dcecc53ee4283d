"""Texts of values, and Flink's notation of lists and maps."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeflink.config.java_text import java_double
from kubeflink.config.options.kinds import MAP, MAPS, STRINGS, Reading
from kubeflink.config.values import joined, pairs, split, text_of, text_of_keyword
from kubeflink.config.versions import FlinkVersion


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.5, "1.5"),
        (1e10, "1.0E10"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (0.0009, "9.0E-4"),
        (-2.5e-5, "-2.5E-5"),
        (123456789.0, "1.23456789E8"),
        (1.5e300, "1.5E300"),
        (0.0, "0.0"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_numbers_are_written_as_java_does(number: float, text: str) -> None:
    assert java_double(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_keep_their_value(number: float) -> None:
    assert float(java_double(number)) == number


def test_text_of_scalars_and_lists() -> None:
    assert text_of(True) == "true"
    assert text_of(7) == "7"
    assert text_of(("a", "b;c", "it's")) == "a;'b;c';'it''s'"


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a;b", ["a", "b"]),
        (" a ; b ", ["a", "b"]),
        ("", []),
        (";", []),
        ("a;", ["a"]),
        (";a", ["a"]),
        ("a;;b", ["a", "", "b"]),
        ("'a;b';c", ["a;b", "c"]),
        ('"a""b";c', ['a"b', "c"]),
        ("'';a", ["", "a"]),
        ("it's;b", ["it's", "b"]),
    ],
)
def test_split(text: str, pieces: list[str]) -> None:
    assert split(text, ";") == pieces


@pytest.mark.parametrize("text", ["'a", '"a', "'a'b;c", "'a' ;b'", "'a' 'b'"])
def test_quotes_in_the_wrong_place(text: str) -> None:
    if text == "'a' ;b'":
        assert split(text, ";") == ["a", "b'"]
    else:
        with pytest.raises(ValueError, match="quote"):
            split(text, ";")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("novalue", "'novalue' is no pair"),
        ("a:,b:c", "'a:' is no pair"),
        ("a:b:c", "more than one colon"),
        ("url:http://x", "more than one colon"),
        ("a:1,a:2", "'a' stands there twice"),
    ],
)
def test_what_is_no_map_names_the_piece(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        pairs(text)


def test_a_value_with_colon_or_comma_is_quoted_twice() -> None:
    assert pairs("'url:''http://x/y, z''',plain:v") == {"url": "http://x/y, z", "plain": "v"}


class Color(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (3, "3"),
        (1e10, "1.0E10"),
        ("x", "x"),
        (timedelta(seconds=90), "90 s"),
        (Color.RED, "red"),
        (PurePosixPath("/a/b"), "/a/b"),
        ({"a": "b", "c": 1}, "a:b,c:1"),
        (["a", "b;c"], "a;'b;c'"),
        ([{"key": "k", "operator": "Exists"}], "key:k,operator:Exists"),
    ],
)
def test_python_values_become_flinks_text(value: object, text: str) -> None:
    assert text_of_keyword(value) == text


def test_other_python_values_are_refused() -> None:
    with pytest.raises(TypeError, match="set"):
        text_of_keyword({1, 2})


TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12)
# What starts with a brace or a bracket is taken for YAML in the wrong place.
NAMES = TEXTS.filter(lambda text: text.lstrip()[:1] not in ("{", "["))
OLD = Reading(FlinkVersion.parse("1.18"), standard_yaml=False)


@given(st.lists(TEXTS, max_size=5))
def test_joined_lists_are_split_into_the_same_pieces(pieces: list[str]) -> None:
    assert split(joined(pieces), ";") == pieces


@given(st.dictionaries(NAMES, TEXTS, max_size=4))
def test_maps_of_keywords_survive_the_old_notation(value: dict[str, str]) -> None:
    assert MAP.read(text_of_keyword(value), OLD) == value


@given(st.lists(st.dictionaries(NAMES, TEXTS, min_size=1, max_size=3), max_size=3))
def test_lists_of_maps_survive_the_old_notation(value: list[dict[str, str]]) -> None:
    assert list(MAPS.read(text_of_keyword(value), OLD)) == value


def test_yaml_forms_count_only_where_the_file_is_yaml() -> None:
    new = Reading(FlinkVersion.parse("2.3"), standard_yaml=True)

    assert STRINGS.read("[a, 'b c', 1e3]", new) == ("a", "b c", "1000.0")
    assert STRINGS.read("[a, b]", OLD) == ("[a, b]",)
    assert MAP.read("{a: b, c: 1}", new) == {"a": "b", "c": "1"}
    assert MAP.read("arn: arn:aws:iam::1:role/x", new) == {"arn": "arn:aws:iam::1:role/x"}
    assert MAP.read("a:b, c: d", OLD) == {"a": "b", "c": "d"}
