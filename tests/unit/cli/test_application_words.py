"""The words of `app start`: options on both sides of the name, and whose the others are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubeflink.cli import main
from kubeflink.cli.application import app_command


def parsed(*words: str) -> dict[str, Any]:
    command = app_command.commands["start"]
    with command.make_context("start", list(words)) as context:
        return context.params


@pytest.mark.parametrize(
    "words",
    [
        ("--image", "i:1", "-D", "a=b", "counts", "local:///j.jar", "-p", "x"),
        ("counts", "--image", "i:1", "-D", "a=b", "local:///j.jar", "-p", "x"),
        ("--image", "i:1", "counts", "-Da=b", "local:///j.jar", "-p", "x"),
    ],
    ids=" ".join,
)
def test_options_stand_on_both_sides_of_the_name(words: tuple[str, ...]) -> None:
    found = parsed(*words)

    assert (found["name"], found["program"]) == ("counts", "local:///j.jar")
    assert (found["image"], found["options"]) == ("i:1", {"a": "b"})
    assert found["arguments"] == ("-p", "x")
    assert found["parallelism"] is None


def test_a_program_without_a_file_needs_its_options_only() -> None:
    found = parsed("counts", "--sql", "SELECT 1", "--no-wait")

    assert (found["name"], found["program"], found["sql"]) == ("counts", None, "SELECT 1")
    assert found["wait"] is False


@pytest.mark.parametrize("given", [("--", "--day", "1"), ("--day", "1")], ids=" ".join)
def test_two_hyphens_set_the_arguments_apart(given: tuple[str, ...]) -> None:
    from kubeflink.cli.application import _program

    assert _program(parsed("counts", "local:///j.jar", *given)).arguments == ("--day", "1")


def test_only_the_first_two_hyphens_are_ours() -> None:
    from kubeflink.cli.application import _program

    found = _program(parsed("counts", "local:///j.jar", "--", "--", "x"))

    assert found.arguments == ("--", "x")


def test_a_missing_program_is_told_before_anything_else(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)

    assert main(["app", "start", "counts"]) == 2
    assert "name one program" in capsys.readouterr().err
