"""The documentation where it is not run: commands are parsed, snippets compiled, links followed."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from kubeflink.cli import flink_arguments, flink_commands, flink_options
from kubeflink.cli import invocation as invocations
from kubeflink.cli.main import FLINK_COMMANDS
from kubeflink.cli.own_commands import PROGRAM, commands
from kubeflink.errors import UsageError
from support.documents import Block, blocks_of, check_lines, check_python, commands_of

ROOT = Path(__file__).parents[2]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md")
}
OTHERWISE = {"docs/high-availability.md", "docs/host-network.md", "docs/rights.md"}
"""Pages whose commands need more than one machine; tests of their own show what they say."""

ALIASES = {
    "kubeflink": [],
    "flink": [],
    "kubernetes-session.sh": ["kubernetes-session"],
}

PARSED = [
    pytest.param(block, id=f"{name}:{block.line}")
    for name, text in PAGES.items()
    for block in blocks_of(text)
    if block.not_run is not None or name in OTHERWISE
]


def parse(words: list[str]) -> None:
    """Read a command line as kubeflink would; UsageError if it would refuse it."""
    invocation, rest = invocations.split(words)
    if rest[0] in FLINK_COMMANDS and flink_commands.are_meant(invocation, rest[0], rest[1:]):
        options = flink_options.options_of(rest[0], invocation.version)
        follows = rest[0] in flink_options.PROGRAM_ACTIONS
        flink_arguments.parse(options, rest[1:], program_follows=follows)
        return
    command: click.Command = commands
    context = click.Context(command, info_name=PROGRAM)
    while isinstance(command, click.Group):
        name, found, rest = command.resolve_command(context, rest)
        assert found is not None
        command, context = found, click.Context(found, parent=context, info_name=name)
    command.make_context(command.name, rest, parent=context.parent)


@pytest.mark.parametrize("block", PARSED)
def test_what_is_not_run_can_be_parsed(block: Block) -> None:
    if block.language == "python":
        check_python(block, "block")
    if block.language == "sh":
        for first, *others in commands_of(block):
            if first in ALIASES:
                parse([*ALIASES[first], *others])


@pytest.mark.parametrize(
    "line",
    [
        "session start demo --image",
        "app start demo --no-such-option local:///j.jar",
        "list --no-such-option",
        "no-such-command",
    ],
)
def test_a_command_that_is_wrong_is_seen(line: str) -> None:
    with pytest.raises((UsageError, click.UsageError)):
        parse(line.split())


def test_every_page_with_commands_is_run() -> None:
    tested = (ROOT / "tests" / "local" / "test_docs.py").read_text(encoding="utf-8")
    with_blocks = {name for name, text in PAGES.items() if blocks_of(text)}

    assert {name for name in with_blocks if f'"{name}"' not in tested} == OTHERWISE


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", PAGES[name])
    local = [target for target in targets if "://" not in target]

    missing = [t for t in local if not (ROOT / name).parent.joinpath(t).exists()]
    assert missing == []


def test_all_pages_are_in_the_index() -> None:
    index = PAGES["docs/README.md"]
    pages = {Path(name).name for name in PAGES if name.startswith("docs/")} - {"README.md"}

    assert {page for page in pages if f"({page})" not in index} == set()


def test_marks_belong_to_the_next_block_only() -> None:
    page = (
        "<!-- exit 4 -->\n```sh\nno\n```\n\n<!-- not run: why -->\n\n```sh\nx\n```\n```sh\ny\n```"
    )
    found = [(block.text, block.line, block.exit_code, block.not_run) for block in blocks_of(page)]

    assert found == [("no\n", 3, 4, None), ("x\n", 9, 0, "why"), ("y\n", 12, 0, None)]


@pytest.mark.parametrize(
    "page", ["```sh\nx", "<!-- stops 4 -->\n```sh\nx\n```"], ids=["open", "misspelt"]
)
def test_a_page_that_cannot_be_understood_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match=r"block|comment"):
        blocks_of(page)


@pytest.mark.parametrize(
    ("expected", "is_there"),
    [("one\ntwo\n", True), ("t...o\n", True), ("two\none\n", False), ("on\n", False)],
)
def test_lines_are_looked_for_in_their_order(expected: str, is_there: bool) -> None:
    printed = "zero\none\nand\ntwo  \n"
    if is_there:
        check_lines(printed, expected, "here")
        return
    with pytest.raises(AssertionError, match="no line like"):
        check_lines(printed, expected, "here")
