"""The program of an application cluster, and how it is to be run (Flink's `ProgramOptions`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from kubeflink.errors import UsageError

PYTHON_DRIVER = "org.apache.flink.client.python.PythonDriver"
SQL_DRIVER = "org.apache.flink.table.runtime.application.SqlDriver"
"""Runs a SQL script inside the JobManager (Flink 2.0), by the SQL gateway's jar of the image."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def argument_list(args: Sequence[str]) -> tuple[str, ...]:
    """The arguments of a program; UsageError for one string, whose letters they would be."""
    if isinstance(args, str):
        raise UsageError(
            f"The arguments of a program are a list, not one string: {args!r}",
            hint=f"Write args=[{args!r}], or args=shlex.split(...) for several",
        )
    return tuple(args)


@dataclass(frozen=True, slots=True)
class PythonProgram:
    """A program in Python: a script or a module, and what it needs.

    `script` (`-py`) and `module` (`-pym`) exclude each other. The other fields are the texts of
    `-pyfs`, `-pyarch`, `-pyreq`, `-pyexec`, `-pyclientexec` and `-pypath`, as they were given.
    """

    script: str | None = None
    module: str | None = None
    files: str | None = None
    archives: str | None = None
    requirements: str | None = None
    executable: str | None = None
    client_executable: str | None = None
    python_path: str | None = None

    @property
    def entry(self) -> list[str]:
        """The arguments by which Flink's driver of Python programs finds the program."""
        if self.module is not None:
            return ["--pyModule", self.module]
        return ["--python", self.script] if self.script is not None else []


@dataclass(frozen=True, slots=True)
class Program:
    """A program with its arguments and options of the run.

    `uri` is the jar: `local://` for a file of the image, a remote address, or a path of the
    client's machine; None for a Python program and for SQL. A jar may have `python` dependencies
    too, then without script and module. `parallelism` None leaves it to the configuration.
    `claim_mode` is `CLAIM`, `NO_CLAIM` or `LEGACY`, None for Flink's default.
    """

    uri: str | None = None
    main_class: str | None = None
    arguments: tuple[str, ...] = ()
    classpaths: tuple[str, ...] = ()
    python: PythonProgram | None = None
    parallelism: int | None = None
    detached: bool = False
    shutdown_on_attached_exit: bool = False
    savepoint_path: str | None = None
    allow_non_restored_state: bool = False
    claim_mode: str | None = None
    script: str | None = None
    """What errors call the SQL script that is sent along; None for any other program."""

    @property
    def script_text(self) -> str | None:
        """The statements of the SQL script that is sent along."""
        return None if self.script is None else self.arguments[1]

    @property
    def is_python(self) -> bool:
        """Whether it is a program in Python, and no jar that only has Python beside it."""
        return self.python is not None and bool(self.python.entry)

    @property
    def entry_class(self) -> str | None:
        """The class whose main method runs; None where the jar's manifest says it."""
        if self.main_class is None and self.is_python:
            return PYTHON_DRIVER
        return self.main_class

    @property
    def program_arguments(self) -> list[str]:
        """The arguments of the main method."""
        entry = self.python.entry if self.python is not None else []
        return [*entry, *self.arguments]


def sql_program(script: str, source: str = "the script") -> Program:
    """The program that runs these SQL statements, which are sent along in the configuration.

    `source` is what errors call them.
    """
    return Program(main_class=SQL_DRIVER, arguments=("--script", script), script=source)


def sql_file_program(uri: str) -> Program:
    """The program that runs the SQL script at an address that the JobManager can read.

    `local://` is no file system of Flink's: what it names in the image is a `file:` there.
    """
    scheme, _, rest = uri.partition(":")
    reached = f"file:{rest}" if scheme.lower() == "local" else uri
    return Program(main_class=SQL_DRIVER, arguments=("--scriptUri", reached))


def absolute_uri(uri: str) -> str:
    """The address as it is; a `file:` one of a path (`PackagedProgramUtils.resolveURI`)."""
    if _SCHEME.match(uri):
        return uri
    return "file:" + quote(str(Path(uri).absolute()), safe="/!$&'()*+,;=:@~")


def class_path_url(text: str) -> str:
    """A URL of the class path as Java writes it: `file:/a.jar` for `file:///a.jar`.

    Raises `UsageError` for what is no URL.
    """
    if not _SCHEME.match(text):
        raise UsageError(
            f"{text} is no URL for the class path",
            hint=f"Write file://{text}, a path that all pods have, or an http address.",
        )
    return re.sub(r"^file:///+", "file:/", text, flags=re.IGNORECASE)


def scheme_of(uri: str) -> str:
    """The scheme of an address; `file` for a path."""
    match = _SCHEME.match(uri)
    return match[0][:-1].lower() if match else "file"
