"""Command lines are read as a shell reads them, by whichever way."""

from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from kubeflink.broker.policy import split_line
from kubeflink.spec.shell import dynamic_properties, single_quoted

TEXT = st.text(alphabet=st.sampled_from("ab=-D'\"\\ \t\n\x0b\xa0$`;|&#(){}[]*?~<>!%é"), max_size=30)


def of_a_shell(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return []


@given(TEXT)
def test_words_are_those_of_a_shell(line: str) -> None:
    assert split_line(line) == of_a_shell(line)


@given(st.lists(TEXT, max_size=5))
def test_quoted_words_come_back(words: list[str]) -> None:
    assert split_line(" ".join(map(single_quoted, words))) == words


@given(st.dictionaries(st.sampled_from("abcde"), TEXT, max_size=4))
def test_properties_come_back(values: dict[str, str]) -> None:
    words = split_line(dynamic_properties(values))

    assert words == [f"-D{key}={value}" for key, value in values.items()]
