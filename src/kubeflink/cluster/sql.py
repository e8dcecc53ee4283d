"""Flink SQL scripts, cut into statements.

The parser that understands the statements is Flink's, inside the JobManager. All that is done here
is what its SQL client does before: find the semicolons that end a statement, which are those that
stand outside of strings, quoted names and comments. Line numbers are kept, so that what is refused
is refused with its place.
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
    """One statement without its semicolon and comments; `line` is where it begins, from 1."""

    text: str
    line: int


def split_script(script: str, source: str = "the script") -> list[Statement]:
    """Cut a script into its statements; raises `UsageError` for a string that is never closed."""
    statements: list[Statement] = []
    parts: list[str] = []
    line = 1
    begin = 1

    def finish() -> None:
        text = "".join(parts).strip()
        if text:
            statements.append(Statement(text, begin))
        parts.clear()

    for token in _TOKEN.finditer(script):
        kind, text = token.lastgroup, token.group()
        if kind == "unclosed":
            raise UsageError(
                f"{source}, line {line}: a {_UNCLOSED[text]} begins here and is never closed"
            )
        if kind == "end":
            finish()
        elif kind == "comment":
            parts.append(" ")
        else:
            if not parts or not "".join(parts).strip():
                begin = line + len(text[: len(text) - len(text.lstrip())].split("\n")) - 1
            parts.append(text)
        line += text.count("\n")
    finish()
    return statements


def runnable_script(script: str, source: str = "the script") -> list[str]:
    """The statements of a script that can run as a job, ready as arguments of the runner.

    Statement sets are opened up, because the runner puts all INSERTs into one anyway. Refused, with
    the line, are scripts without an INSERT and statements whose only effect is a result on a
    screen: inside the JobManager nobody would see it.
    """
    texts: list[str] = []
    for statement in split_script(script, source):
        text = _STATEMENT_SET.sub("", statement.text, count=1)
        if not text.strip():
            continue
        shown = _NO_RESULT.match(text)
        if shown:
            raise UsageError(
                f"{source}, line {statement.line}: {shown[1].upper()} gives a result, "
                "and a job on a cluster has no place to show one",
                hint="Write it into a table: INSERT INTO my_sink SELECT ...",
            )
        texts.append(text)
    if not any(_STARTS_A_JOB.match(text) for text in texts):
        raise UsageError(f"{source}: no INSERT in it, so there is no job to run")
    return texts
