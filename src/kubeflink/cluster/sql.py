"""Flink SQL scripts, cut into statements.

The parser that understands the statements is Flink's, inside the JobManager. All that is done here
is what its SQL client does before: find the semicolons that end a statement, which are those that
stand outside of strings, quoted names and comments. Places are kept, here and through Flink, so
that what is refused is refused with its line in the script: a comment becomes as many blanks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kubeflink.errors import UsageError

_TOKEN = re.compile(
    r"""
    (?P<comment>--[^\n]*|/\*(?!\+).*?\*/)   # a hint, /*+ ... */, belongs to its statement
    |(?P<string>'(?:[^']|'')*')
    |(?P<name>`(?:[^`]|``)*`)
    |(?P<unclosed>'|`|/\*(?!\+))
    |(?P<end>;)
    |(?P<text>[^-/'`;]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)

_BLANKS = re.compile(r"\s*")
_NOT_A_BREAK = re.compile(r"[^\n]")
_UNCLOSED = {"'": "string", "`": "quoted name", "/*": "comment"}

_NO_RESULT = re.compile(r"\s*(SELECT|WITH|VALUES|SHOW|DESCRIBE|DESC|EXPLAIN)\b", re.IGNORECASE)
_STATEMENT_SET = re.compile(
    r"\A\s*(?:EXECUTE\s+STATEMENT\s+SET\s+BEGIN|BEGIN\s+STATEMENT\s+SET|BEGIN|END"
    r"|EXECUTE(?=\s+INSERT\b))\b\s*",
    re.IGNORECASE,
)
_STARTS_A_JOB = re.compile(
    r"\s*(?:(?:INSERT|UPDATE|DELETE|CALL)\b|(?:CREATE|REPLACE)\b.*\bAS\s+(?:SELECT|WITH|VALUES)\b)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement without its semicolon, its comments blanks, and where it begins, from 1.

    `number` counts the statements of its script, from 1.
    """

    text: str
    line: int
    column: int
    number: int

    @property
    def first_line(self) -> str:
        """The first line of its text."""
        return self.text.partition("\n")[0].rstrip()

    def place(self, line: int, column: int) -> tuple[int, int]:
        """The line and column of the script for those of this text."""
        return self.line + line - 1, column + (self.column - 1 if line == 1 else 0)

    def without(self, prefix: re.Pattern[str]) -> Statement:
        """The same without what the pattern finds at its beginning."""
        found = prefix.match(self.text)
        if found is None:
            return self
        skipped = found.group()
        lines = skipped.split("\n")
        line, column = self.place(len(lines), len(lines[-1]) + 1)
        return Statement(self.text[len(skipped) :], line, column, self.number)


def split_script(script: str, source: str = "the script") -> list[Statement]:
    """Cut a script into its statements; raises `UsageError` for a string that is never closed."""
    statements: list[Statement] = []
    parts: list[str] = []
    here = begin = (1, 1)

    def finish() -> None:
        text = "".join(parts).rstrip()
        if text:
            statement = Statement(text, *begin, len(statements) + 1)
            statements.append(statement.without(_BLANKS))
        parts.clear()

    for token in _TOKEN.finditer(script):
        kind, text = token.lastgroup, token.group()
        if kind == "unclosed":
            raise UsageError(
                f"{source}, line {here[0]}: a {_UNCLOSED[text]} begins here and is never closed"
            )
        lines = text.split("\n")
        column = here[1] if len(lines) == 1 else 1
        here = (here[0] + len(lines) - 1, column + len(lines[-1]))
        if kind == "end":
            finish()
            begin = here
        else:
            parts.append(_NOT_A_BREAK.sub(" ", text) if kind == "comment" else text)
    finish()
    return statements


def runnable_statements(script: str, source: str = "the script") -> list[Statement]:
    """The statements of a script that can run as a job, whose texts are the runner's arguments.

    Statement sets are opened up, because the runner puts all INSERTs into one anyway. Refused, with
    the line, are scripts without an INSERT and statements whose only effect is a result on a
    screen: inside the JobManager nobody would see it.
    """
    runnable: list[Statement] = []
    for whole in split_script(script, source):
        statement = whole.without(_STATEMENT_SET)
        if not statement.text.strip():
            continue
        shown = _NO_RESULT.match(statement.text)
        if shown:
            raise UsageError(
                f"{source}, line {statement.line}: {shown[1].upper()} gives a result, "
                "and a job on a cluster has no place to show one",
                hint="Write it into a table: INSERT INTO my_sink SELECT ...",
            )
        runnable.append(statement)
    if not any(_STARTS_A_JOB.match(statement.text) for statement in runnable):
        raise UsageError(f"{source}: no INSERT in it, so there is no job to run")
    return runnable


def runnable_script(script: str, source: str = "the script") -> list[str]:
    """The texts of `runnable_statements`."""
    return [statement.text for statement in runnable_statements(script, source)]
