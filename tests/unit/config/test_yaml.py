"""YAML: what each of the two readers makes of it, and that what we write is one thing to both."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeflink.config.yaml import (
    YamlError,
    dump_flink,
    dump_kubernetes,
    load_core,
    load_kubernetes,
)
from kubeflink.config.yaml_flow import flow_text


@pytest.mark.parametrize(
    ("text", "core", "go"),
    [
        ("yes", "yes", True),
        ("off", "off", False),
        ("y", "y", True),
        ("true", True, True),
        ("Null", None, None),
        ("1_000", "1_000", 1000),
        ("0o14", 12, 12),
        ("012", 12, 10),
        ("08", 8, 8.0),
        ("0x1F", 31, 31),
        ("0b11", "0b11", 3),
        ("1e3", 1000.0, 1000.0),
        ("60:00", "60:00", "60:00"),
        ("2024-01-02", "2024-01-02", "2024-01-02"),
        ("-.inf", float("-inf"), float("-inf")),
        ("'yes'", "yes", "yes"),
        ("!!str 5", "5", "5"),
        ("!!int '5'", 5, 5),
    ],
)
def test_plain_scalars(text: str, core: object, go: object) -> None:
    for load, expected in ((load_core, core), (load_kubernetes, go)):
        value = load(f"k: {text}", "f").value["k"]

        assert value == expected
        assert type(value) is type(expected)


def test_merge_keys_are_merged_for_kubernetes_only() -> None:
    text = "base: &b {a: 1, c: 0}\nother:\n  <<: *b\n  c: 2\nboth:\n  <<: [{a: 8}, {a: 9, d: 4}]"

    assert load_core(text, "f").value["other"] == {"<<": {"a": 1, "c": 0}, "c": 2}
    assert load_kubernetes(text, "f").value["other"] == {"a": 1, "c": 2}
    assert load_kubernetes(text, "f").value["both"] == {"a": 8, "d": 4}


@pytest.mark.parametrize("load", [load_core, load_kubernetes])
@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1\nb: 2\na: 3", 3, "'a' stands there twice"),
        ("a: 1\n---\na: 2", 2, "another document"),
        ("a: [b\n  c: }", 2, "no valid YAML"),
        ("a: 1\nb: @x", 2, "no valid YAML"),
        ("a: !foo 1", 1, "!foo"),
        ("? [a]\n: b", 1, "a key must be text"),
        ("a: &x {b: *x}", 1, "contains itself"),
        ("a: &x {<<: *x}", 1, "contains itself"),
        ("a: &x\n  <<: [{b: c}, *x]", 1, "contains itself"),
        ("a:\n  " + "[" * 200 + "]" * 200, 2, "nested too deeply"),
        ("a: " + "{a: " * 200 + "}" * 200, 1, "nested too deeply"),
        ("a: " + "9" * 5000, 1, "too many digits"),
        ("a: !!int " + "9" * 5000, 1, "too many digits"),
        ("a: 0x" + "f" * 5000, 1, "too many digits"),
        ("a: \x07", None, "characters that YAML forbids"),
    ],
)
def test_what_is_refused_says_where(load: Any, text: str, line: int | None, message: str) -> None:
    with pytest.raises(YamlError, match=message) as caught:
        load(text, "some.yaml")

    assert caught.value.line == line
    assert "some.yaml" in str(caught.value)


def test_an_error_never_shows_the_text_itself() -> None:
    with pytest.raises(YamlError) as caught:
        load_core("password: hunter2 : x\n", "f")

    assert "hunter2" not in str(caught.value)


def test_aliases_cannot_be_used_to_fill_the_memory() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]

    with pytest.raises(YamlError, match="too many aliases"):
        load_core("\n".join(lines), "f")


def test_lines_of_keys_and_items() -> None:
    document = load_kubernetes(
        "a: 1\nspec:\n  containers:\n  - name: x\n    image: y\n", "pod.yaml"
    )

    assert document.line(("spec",)) == 2
    assert document.line(("spec", "containers", 0, "image")) == 5
    assert document.line(("spec", "containers", 0, "nothing", "there")) == 4
    assert document.where(("spec", "containers")) == "pod.yaml line 3"


def test_an_empty_document_has_no_value() -> None:
    assert load_core("# nothing\n", "f").value is None


TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=15),
    st.text("a0 :#'\"\\-?!&*|>%@`{}[],\n\t\r~.=<", max_size=10),
    st.sampled_from(["yes", "012", "0o14", "1e3", "1_000", "0b1", "~", "<<", "=", "---", "null"]),
)
VALUES = st.recursive(
    TEXT | st.booleans() | st.integers() | st.none() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(TEXT, VALUES, max_size=5))
def test_what_is_written_means_the_same_to_both_readers(value: dict[str, Any]) -> None:
    text = dump_kubernetes(value)

    assert load_core(text, "f").value == value
    assert load_kubernetes(text, "f").value == value


@given(st.dictionaries(TEXT, VALUES, max_size=5))
def test_types_survive_writing(value: dict[str, Any]) -> None:
    assert repr(load_core(dump_flink(value), "f").value) == repr(value)


def test_text_of_very_many_digits_stays_text() -> None:
    value = {"a": "9" * 5000}

    assert load_core(dump_flink(value), "f").value == value
    assert load_kubernetes(dump_kubernetes(value), "f").value == value
    assert load_core(flow_text([value]), "f").value == [value]


def test_lines_and_special_words_in_a_flink_file() -> None:
    text = dump_flink(
        {
            "block": "one\ntwo\n",
            "args": ["--name", "two words", "", "a: b"],
            "port": "6124",
            "size": 1e10,
            "opts": '-Djm="a b" -Xlog:gc',
            "empty": {},
        }
    )

    assert text == (
        "block: |\n  one\n  two\n"
        "args:\n- --name\n- two words\n- ''\n- 'a: b'\n"
        "port: '6124'\n"
        "size: 1.0E10\n"
        'opts: -Djm="a b" -Xlog:gc\n'
        "empty: {}\n"
    )
