"""Documentation that is run: fenced blocks of Markdown as one program, in the order of the page.

The language of a block says what becomes of it:

    ```sh        runs in one bash, line by line, together with all other `sh` blocks of the page
    ```python    runs at its place; blocks with nothing but text between them share their names,
                 and `await` may stand outside of functions, as in a notebook
    ```text      is what the block before it prints: its lines must be there in this order, where
                 `...` stands for anything

HTML comments before a block, which readers do not see, say what is different about it:

    <!-- exit 4 -->            its only command ends with this exit code
    <!-- file: words.sql -->   it is the content of this file
    <!-- not run: WHY -->      a test cannot have what it needs; it is parsed only
    <!-- until Ctrl-C -->      its only command gets a Ctrl-C when it has printed something
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

SNIPPETS = Path(__file__).with_name("snippets.py")
INTERRUPTED = Path(__file__).with_name("interrupted.py")

_FENCE = re.compile(r"^```(\w*)\s*$")
_MARK = re.compile(r"^<!-- (exit|file:|not run:|until Ctrl-C)\s*(.*?)\s*-->$")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block; `line` is that of its first line of text, from 1."""

    language: str
    text: str
    line: int
    exit_code: int = 0
    file: str | None = None
    not_run: str | None = None
    until_interrupt: bool = False


def blocks_of(text: str) -> list[Block]:
    """The fenced blocks of a page."""
    found: list[Block] = []
    marks: dict[str, str] = {}
    unknown = ""
    language: str | None = None
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        fence = _FENCE.match(line)
        if language is not None:
            if fence is not None:
                found.append(_block(language, lines, number - len(lines), marks))
                language, marks = None, {}
            else:
                lines.append(line)
        elif fence is not None:
            if unknown:
                raise ValueError(f"line {number}: unknown comment {unknown} before a block")
            language, lines = fence[1], []
        elif (mark := _MARK.match(line)) is not None:
            marks[mark[1]] = mark[2]
        elif line.strip():
            marks, unknown = {}, line if line.startswith("<!--") else ""
    if language is not None:
        raise ValueError("a block is not closed")
    return found


def _block(language: str, lines: Sequence[str], line: int, marks: Mapping[str, str]) -> Block:
    return Block(
        language,
        "".join(f"{each}\n" for each in lines),
        line,
        exit_code=int(marks.get("exit", 0)),
        file=marks.get("file:"),
        not_run=marks.get("not run:"),
        until_interrupt="until Ctrl-C" in marks,
    )


def commands_of(block: Block) -> list[list[str]]:
    """The words of each command of a shell block, with continued lines joined."""
    joined = block.text.replace("\\\n", " ")
    found = [shlex.split(line, comments=True) for line in joined.splitlines()]
    return [words for words in found if words]


def check_python(block: Block, name: str) -> None:
    """SyntaxError for a block that is no Python."""
    compile(block.text, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@dataclass(frozen=True, slots=True)
class Run:
    """What became of a page: the exit code of the whole, and what each block printed."""

    code: int
    printed: Mapping[int, str]
    """By the line of the block; blocks that were not reached are missing."""

    def check(self, blocks: Sequence[Block], name: str) -> None:
        """AssertionError for a block that failed, and for one that printed something else."""
        last = max(self.printed, default=0)
        assert self.code == 0, (
            f"{name} line {last} ended with {self.code}:\n{self.printed.get(last, '')}"
        )
        before = 0
        for block in blocks:
            if block.language == "text" and block.not_run is None:
                check_lines(self.printed[before], block.text, f"{name} line {block.line}")
            elif block.line in self.printed:
                before = block.line


def check_lines(printed: str, expected: str, where: str) -> None:
    """AssertionError unless the lines expected are among those printed, in the same order."""
    rest = iter([line.rstrip() for line in printed.splitlines()])
    for line in expected.splitlines():
        pattern = ".*".join(map(re.escape, line.rstrip().split("...")))
        assert any(re.fullmatch(pattern, seen) for seen in rest), (
            f"{where}: no line like {line!r} at its place in:\n{printed}"
        )


class Page:
    """A page as a program in `directory`, where the files of the page and its output are."""

    def __init__(
        self, blocks: Sequence[Block], directory: Path, python: Path = Path(sys.executable)
    ) -> None:
        self.blocks = blocks
        self.directory = directory
        self.python = python
        self.outputs = directory / ".output"

    def run(self, env: Mapping[str, str], seconds: float) -> Run:
        """Run it in a process group of its own, which ends with it."""
        self.outputs.mkdir(parents=True)
        script = self.outputs / "page.sh"
        script.write_text("\n".join(self._script()), encoding="utf-8")
        process = subprocess.Popen(
            ["bash", str(script)],
            cwd=self.directory,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = -signal.SIGKILL
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(30)
        outputs = {int(path.stem): path for path in self.outputs.glob("*.out")}
        printed = {
            line: path.read_text(encoding="utf-8", errors="replace")
            for line, path in outputs.items()
        }
        return Run(code, printed)

    def _script(self) -> list[str]:
        lines = ["set -eu -o pipefail", "shopt -s expand_aliases"]
        snippets: list[Block] = []
        for block in self.blocks:
            if block.language == "python" and block.file is None and block.not_run is None:
                snippets.append(block)
            elif block.not_run is None and block.language != "text":
                lines += [*self._python(snippets), *self._shell_or_file(block)]
                snippets = []
        return [*lines, *self._python(snippets), ""]

    def _shell_or_file(self, block: Block) -> list[str]:
        if block.file is not None:
            path = self.outputs / f"{block.line}.content"
            path.write_text(block.text, encoding="utf-8")
            return [f"cp {shlex.quote(str(path))} {shlex.quote(block.file)}"]
        if block.language != "sh":
            raise ValueError(f"line {block.line}: nothing is known of {block.language!r}")
        commands = block.text.rstrip()
        if block.until_interrupt:
            commands = f"{shlex.join([sys.executable, str(INTERRUPTED)])} {commands}"
        if block.exit_code:
            expected = f'[ "$code" = {block.exit_code} ]'
            checked = f"code=$?; set -e\n{expected} || {{ echo exit code $code; exit 1; }}"
            commands = f"set +e\n{commands}\n{checked}"
        return [f"exec >{shlex.quote(str(self._output(block)))} 2>&1", commands]

    def _python(self, snippets: Sequence[Block]) -> list[str]:
        if not snippets:
            return []
        words = [str(self.python), str(SNIPPETS)]
        for block in snippets:
            source = self.outputs / f"{block.line}.py"
            source.write_text(block.text, encoding="utf-8")
            words += [str(source), str(self._output(block)), str(block.exit_code)]
        return [shlex.join(words)]

    def _output(self, block: Block) -> Path:
        return self.outputs / f"{block.line}.out"


def documented_role(name: str) -> dict[str, Any]:
    """The Role of that name in the page about rights."""
    page = Path(__file__).parents[2] / "docs" / "rights.md"
    roles = [
        yaml.safe_load(block.text)
        for block in blocks_of(page.read_text(encoding="utf-8"))
        if block.language == "yaml"
    ]
    (found,) = (role for role in roles if role["metadata"]["name"] == name)
    return dict(found)
