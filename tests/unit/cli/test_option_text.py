"""Options explained: on the screen, and as the page in the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflink.cli import main, option_text
from kubeflink.config.options import every_option, find
from kubeflink.config.versions import DEFAULT, FlinkVersion

PAGE = Path(__file__).parents[3] / "docs" / "options.md"


def test_the_page_in_the_documentation_is_made_from_the_declarations() -> None:
    assert PAGE.read_text(encoding="utf-8") == option_text.page(), "run make docs"


def test_the_page_has_every_option_once() -> None:
    lines = option_text.page().splitlines()
    shown = [line.split("`")[1] for line in lines if line.startswith("| `")]

    assert sorted(shown) == sorted(option.key for option in every_option())


def test_each_row_of_the_page_has_four_cells() -> None:
    rows = [line for line in option_text.page().splitlines() if line.startswith("|")]

    assert {row.replace("\\|", "").count("|") for row in rows} == {5}


@pytest.mark.parametrize(
    ("key", "version", "told"),
    [
        ("kubernetes.rest-service.labels", "2.3", "Since Flink 2.2."),
        ("kubernetes.container.image.ref", "1.20", "apache/flink:1.20.5-scala_2.12"),
        ("kubernetes.rest-service.exposed.type", "2.3", "One of ClusterIP, NodePort"),
    ],
)
def test_a_paragraph_tells_what_the_version_has(key: str, version: str, told: str) -> None:
    parsed = FlinkVersion.parse(version)
    option = find(key, parsed)
    assert option is not None

    assert told in option_text.paragraph(option, parsed)


def test_the_command_prints_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["options", "-o", "markdown"]) == 0
    assert capsys.readouterr().out == option_text.page()


def test_the_page_is_not_cut_to_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["options", "memory", "-o", "markdown"]) == 2
    assert "Leave WORD out" in capsys.readouterr().err


def test_the_page_speaks_of_the_newest_version() -> None:
    assert f"this page is for Flink {DEFAULT}" in option_text.page()
