"""A SQL statement that Flink refuses, told by its place in the script.

Flink's parser and validator name a line and a column of the text that they were given. On a session
that is one statement, and the runner's exception says which. As an application Flink cuts the
script itself, and then its places are those of the script. Where Flink names no place, or one that
cannot be in this text (that of a view, say, which another script has made), it is the line in which
the statement begins.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kubeflink.cluster.sql import Statement, runnable_statements, split_script
from kubeflink.errors import LocalError, RestStatusError, SqlError, UsageError
from kubeflink.jvm.flink_command import ClientFailedError
from kubeflink.rest import java_errors

_RUNNER: Final = re.compile(
    r"^Caused by: kubeflink\.runner\.StatementException: statement (\d+)$", re.M
)
_MAIN: Final = "The main method caused an error"
_CUT_BY_FLINK: Final = "ScriptExecutor$ResultIterator.parse("
"""In the stack trace of a statement that Flink's driver of scripts could not understand."""

_READERS: Final = ("org.apache.calcite.", "org.apache.flink.table.", "org.apache.flink.sql.")
"""Whose exceptions speak of places in SQL; others mean those in data."""

_PLACE: Final = re.compile(
    r"\s*\b(?:from|at) line (\d+), column (\d+)(?: to line \d+, column \d+)?(?::\s*)?", re.I
)
_NAME: Final = re.compile(r"'([^']+)'")
_SHOWN: Final = 100
"""Characters of a statement that are shown."""


@dataclass(frozen=True, slots=True)
class Script:
    """Statements as they were given to Flink, and what their script is called."""

    source: str
    statements: Sequence[Statement]

    @property
    def texts(self) -> list[str]:
        """The statements as arguments of the runner."""
        return [statement.text for statement in self.statements]

    def explained(self, error: RestStatusError) -> SqlError | RestStatusError:
        """The error for a run that Flink's REST API refuses, without the runner's name."""
        trace = "\n".join(error.server_errors)
        if (mistake := self.mistake(trace)) is not None:
            return mistake
        if _MAIN not in trace:
            return error
        return RestStatusError(
            f"{self.source} failed: {java_errors.root_cause(trace)}",
            code=error.code,
            server_errors=error.server_errors,
            hint=error.hint,
        )

    def explained_here(self, error: LocalError) -> SqlError | LocalError:
        """The same for a run in a JVM on this side."""
        trace = error.trace if isinstance(error, ClientFailedError) else ""
        return self.mistake(trace) or error

    def mistake(self, trace: str) -> SqlError | None:
        """The error for the stack trace of the runner; None if it blames no statement."""
        found = _RUNNER.search(trace)
        if found is None or not 1 <= int(found[1]) <= len(self.statements):
            return None
        statement, why = self.statements[int(found[1]) - 1], trace[found.end() :].lstrip("\n")
        place = _place(why)
        if place is None or not _may_be_in(statement, place, why):
            return self._error(statement, (statement.line, None), why)
        return self._error(statement, statement.place(*place), why)

    def mistake_in_whole(self, trace: str) -> SqlError | None:
        """The error for the stack trace of an application, in which Flink has cut the script."""
        place = _place(trace) if _CUT_BY_FLINK in trace else None
        if place is None:
            return None
        begins = [(each.line, each.column) for each in self.statements]
        index = bisect_right(begins, place) - 1
        return self._error(self.statements[index], place, trace) if index >= 0 else None

    def _error(self, statement: Statement, place: tuple[int, int | None], why: str) -> SqlError:
        line, column = place
        where = f"{self.source}, line {line}" + (f", column {column}" if column else "")
        begins = "" if line == statement.line else f", which begins in line {statement.line}"
        return SqlError(
            f"{where}: {_sentence(why)}",
            statement=statement.number,
            line=line,
            column=column,
            hint=f"This is in statement {statement.number}{begins}:"
            f" {_shortened(statement.first_line)}",
        )


def script_of_session(text: str, source: str) -> Script:
    """A script that the runner gets as statements; UsageError for one that cannot be a job."""
    return Script(source, runnable_statements(text, source))


def cause_in_application(text: str, source: str, trace: str) -> str | None:
    """The cause in one line for an application that is this script; None if it is no mistake."""
    try:
        script = Script(source, split_script(text, source))
    except UsageError:  # one that cannot be cut here; Flink's own words have to do
        return None
    error = script.mistake_in_whole(trace)
    if error is None:
        return None
    first_line = script.statements[error.statement - 1].first_line
    return f"{error.message}, in statement {error.statement}: {_shortened(first_line)}"


def _place(trace: str) -> tuple[int, int] | None:
    """The innermost place in SQL that a stack trace names."""
    for error in reversed(java_errors.causes(trace)):
        found = _PLACE.search(error.message) if error.name.startswith(_READERS) else None
        if found is not None:
            return int(found[1]), max(1, int(found[2]))
    return None


def _may_be_in(statement: Statement, place: tuple[int, int], why: str) -> bool:
    """Whether the statement reaches there, and has a word that the sentence names, if it does."""
    lines = statement.text.split("\n")
    line, column = place
    if not 1 <= line <= len(lines) or column > len(lines[line - 1]) + 1:
        return False
    names = _NAME.findall(_sentence(why))
    return not names or any(name.lower() in statement.text.lower() for name in names)


def _sentence(trace: str) -> str:
    """Flink's own sentence without its place."""
    told = _PLACE.sub("", java_errors.root_cause(trace))
    return " ".join(told.split()).rstrip(".")


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN].rstrip()} ..."
