"""Flink's command line forms; that they are Flink's is judged in tests/conformance."""

from __future__ import annotations

import pytest

from kubeflink.cli import flink_options
from kubeflink.cli.flink_arguments import CommandLine, parse
from kubeflink.config.versions import DEFAULT, FlinkVersion
from kubeflink.errors import UsageError


def read(action: str, *words: str, version: FlinkVersion = DEFAULT) -> CommandLine:
    options = flink_options.options_of(action, version)
    follows = action in flink_options.PROGRAM_ACTIONS
    return parse(options, words, program_follows=follows)


@pytest.mark.parametrize(
    "words",
    [
        ("-Dkey=a=b",),
        ("-D", "key=a=b"),
        ("-D", "key", "a=b"),
    ],
)
def test_a_property_in_all_spellings(words: tuple[str, ...]) -> None:
    assert read("run", *words, "job.jar").dynamic_properties == (("key", "a=b"),)


def test_a_bare_property_has_no_value() -> None:
    assert read("run", "-Dkey", "-t", "remote").dynamic_properties == (("key", None),)


@pytest.mark.parametrize("words", [("-t=remote",), ("-t", "remote"), ("--target=remote",)])
def test_a_value_in_all_spellings(words: tuple[str, ...]) -> None:
    assert read("run", *words, "job.jar").value("t") == "remote"


@pytest.mark.parametrize("word", ["-detached", "--detached", "--det", "-d"])
def test_one_or_two_hyphens_and_shortened_names(word: str) -> None:
    assert read("run", word, "job.jar").has("d")


def test_the_first_value_of_an_option_counts() -> None:
    assert read("run", "-p", "2", "-p", "3", "job.jar").value("p") == "2"


def test_everything_after_the_program_belongs_to_it() -> None:
    line = read("run", "-d", "job.jar", "-d", "--x", "-Dk=v", "--", "-p", "2")

    assert line.arguments == ("job.jar", "-d", "--x", "-Dk=v", "--", "-p", "2")
    assert line.dynamic_properties == ()


def test_two_hyphens_end_the_options() -> None:
    assert read("run", "--", "-d", "job.jar").arguments == ("-d", "job.jar")


def test_options_may_stand_after_the_arguments_where_no_program_follows() -> None:
    line = read("cancel", "a" * 32, "-t", "kubernetes-session")

    assert (line.arguments, line.value("t")) == (("a" * 32,), "kubernetes-session")


def test_a_shortened_name_that_fits_several_is_refused() -> None:
    with pytest.raises(UsageError, match=r"--p is ambiguous: it may be --parallelism, --python"):
        read("run", "--p", "2", "job.jar")


@pytest.mark.parametrize("words", [("--a", "1"), ("--detach",), ("--par=4",)])
def test_after_a_python_program_no_name_is_shortened(words: tuple[str, ...]) -> None:
    line = read("run", "-py", "job.py", *words)

    assert line.arguments == words


def test_complete_names_are_options_after_a_python_program() -> None:
    line = read("run", "-py", "job.py", "--pyFiles", "a.zip", "--parallelism", "2", "x")

    assert (line.value("pyfs"), line.value("p"), line.arguments) == ("a.zip", "2", ("x",))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-t",), "the option -t, --target needs a value"),
        (("-D", "key", "-t", "remote"), "the option -D key has no value"),
    ],
)
def test_missing_values(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read("run", *words)


def test_an_unknown_option_where_no_program_follows() -> None:
    with pytest.raises(UsageError, match="there is no option --bogus"):
        read("list", "--bogus")


def test_options_come_and_go_with_versions() -> None:
    old, new = FlinkVersion.parse("1.17"), FlinkVersion.parse("2.3")

    assert not read("stop", "-d", "x", version=old).has("detached")
    assert read("stop", "-detached", "x", version=new).has("detached")
    assert read("run", "-yd", "x", version=old).has("yd")
    assert read("run", "-cm", "claim", "x", version=new).value("cm") == "claim"
    assert "cm" not in {each.key for each in flink_options.options_of("run", old)}
