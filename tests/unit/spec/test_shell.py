"""Values survive the way through the shell of a container."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubeflink.spec.shell import dynamic_properties, parse_dynamic_properties, single_quoted

# A NUL cannot be in an argument at all, and lone surrogates are in no valid configuration.
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
KEYS = st.text(st.characters(exclude_characters="\0=", exclude_categories=["Cs"]), min_size=1)


def through_bash(line: str) -> list[str]:
    """The arguments that a program gets whose command line bash reads."""
    script = f"printf '%s\\0' {line}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True, env={})
    return done.stdout.decode("utf-8").split("\0")[:-1]


@pytest.mark.parametrize(
    "value",
    [
        "#a,b&c^d*e%f(g!h",
        "my'value is 1",
        "line1\nline2",
        "",
        " ",
        "$HOME `id` $(id) \\",
        "''",
        'a"b',
        "~",
        "üñ日😀",
        "-Dx=y",
        "".join(map(chr, range(1, 128))),
    ],
)
def test_bash_hands_on_the_value_unchanged(value: str) -> None:
    assert through_bash(f"-Dk={single_quoted(value)}") == [f"-Dk={value}"]


@settings(max_examples=150)
@given(st.dictionaries(KEYS, TEXTS, min_size=1, max_size=5))
def test_bash_hands_on_all_properties_unchanged(values: dict[str, str]) -> None:
    line = dynamic_properties(values)

    assert through_bash(line) == [f"-D{key}={value}" for key, value in values.items()]
    assert parse_dynamic_properties(line) == values


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-Da=b", {"a": "b"}),
        ("-D a=b -Dc", {"a": "b", "c": "true"}),
        ("-Da=1 -Da=2", {"a": "2"}),
        ("-Dx=y=z", {"x": "y=z"}),
        ("-Da='b c' -Dd=\"e f\"", {"a": "b c", "d": "e f"}),
        ("-Da=b word -Dc=d", {"a": "b"}),
        ("--host h -Da=b", {}),
        ("-Da=$HOME", {"a": "$HOME"}),
        ("-Da='open", {}),
        ("", {}),
        ("-D", {}),
    ],
)
def test_properties_are_read_up_to_the_first_other_word(
    line: str, expected: dict[str, str]
) -> None:
    assert parse_dynamic_properties(line) == expected
