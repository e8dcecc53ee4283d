"""Flink's own command line as a process: for what only a JVM on this side can do.

Two things need one. A Python program calls Flink's Python API, which is a thin layer over Java
objects in a JVM beside it; there the job is made, and from there it is sent to the cluster. And the
plan of a program without a cluster is made by the program's own classes.

The process gets a configuration directory of its own with just what it has to know, so that files
of this machine do not get into the job unasked. It leads a process group, which is ended with the
context: the JVM starts a Python interpreter, which must not outlive it.

Flink prints a Java stack trace for every failure. It is kept from the user's screen and made one
line; where a Python program failed there is no trace to keep, for Python itself has said why.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubeflink.config.versions import FlinkVersion
from kubeflink.errors import LocalError
from kubeflink.jvm.flink_home import FlinkHome, find_homes
from kubeflink.jvm.java import JavaRuntime, find_java

if TYPE_CHECKING:
    from kubeflink.config import Configuration

CLASS: Final = "org.apache.flink.client.cli.CliFrontend"

END_SECONDS = 10.0
"""How long an interrupted process may take to end before it is killed."""

_HEAP: Final = "-Xmx512m"
_TEMPORARY: Final = "tmp"
"""Where the client copies the program and its files to; it does not always remove them."""

_LONGEST_LINE = 16 * 1024 * 1024
_FAILURE: Final = "The program finished with the following exception:"

_ABORTED: Final = "org.apache.flink.client.program.ProgramAbortException"
_PROGRAM_ABORTED = 31
"""The exit code with which Flink's client says nothing more: the program has said it."""

# Whatever its client logs as an error it also prints, and the log would be on the same screen.
NO_LOGGING: Final = "rootLogger.level = OFF\n"


class ClientFailedError(LocalError):
    """Flink's client has ended with a failure; `trace` is the stack trace, empty without one."""

    def __init__(self, message: str, trace: str) -> None:
        from kubeflink.rest import java_errors

        super().__init__(message, hint=java_errors.advice(trace))
        self.trace = trace


@dataclass(frozen=True, slots=True)
class FlinkCommand:
    """Flink's client of one version, and the JVM it runs on."""

    home: FlinkHome
    java: JavaRuntime

    async def run(
        self,
        words: Sequence[str],
        *,
        configuration: Configuration,
        on_line: Callable[[str], None],
        on_error: Callable[[str], None],
    ) -> None:
        """Run an action with its words; `configuration` becomes its file.

        Lines of standard output and error go to `on_line` and `on_error` as they come. Raises
        LocalError with Flink's reason, in one line, if it fails (ClientFailedError has it whole).
        Cancellation ends the process.
        """
        with tempfile.TemporaryDirectory(prefix="kubeflink-client-") as scratch:
            conf = Path(scratch)
            (conf / "log4j.properties").write_text(NO_LOGGING, encoding="utf-8")
            (conf / _TEMPORARY).mkdir()
            name, text = configuration.nested_or_flat_text()
            (conf / name).write_text(text, encoding="utf-8")
            process = await asyncio.create_subprocess_exec(
                *self._java_command(conf),
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._environment(conf),
                limit=_LONGEST_LINE,
                start_new_session=True,
            )
            failure = _Failure(on_error)
            has_spoken = False

            def hear(line: str) -> None:
                nonlocal has_spoken
                has_spoken = True
                on_line(line)

            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(_lines(process.stdout, hear))
                    group.create_task(_lines(process.stderr, failure.hear))
                code = await process.wait()
            finally:
                await _end(process)
        if code == _PROGRAM_ABORTED and not has_spoken:
            # Flink's client has not listened yet when Python ends at once, as at a syntax error.
            raise LocalError(
                "The program failed and has said nothing",
                hint="One that ends at once is not always heard; see it by: python PROGRAM",
            )
        if code == _PROGRAM_ABORTED:
            raise LocalError("The program failed, as it has said above")
        if code != 0:
            told = failure.told or f"Flink's client ended with exit code {code}"
            raise ClientFailedError(told, failure.text)

    def _java_command(self, conf: Path) -> list[str]:
        jars = [self.home.class_path(), *map(str, sorted(self.home.opt.glob("flink-python*.jar")))]
        return [
            str(self.java.executable),
            _HEAP,
            "-XX:TieredStopAtLevel=1",
            "-XX:+IgnoreUnrecognizedVMOptions",
            *self.java.version_options(),
            *self.home.module_options(),
            f"-Dlog4j.configurationFile={(conf / 'log4j.properties').as_uri()}",
            f"-Dlog4j.configuration={(conf / 'log4j.properties').as_uri()}",
            f"-Dlog.file={conf / 'client.log'}",
            f"-Djava.io.tmpdir={conf / _TEMPORARY}",
            "-classpath",
            os.pathsep.join(jars),
            CLASS,
        ]

    def _environment(self, conf: Path) -> dict[str, str]:
        return {
            **os.environ,
            "FLINK_CONF_DIR": str(conf),
            "FLINK_LIB_DIR": str(self.home.lib),
            "FLINK_OPT_DIR": str(self.home.opt),
            "FLINK_PLUGINS_DIR": str(self.home.plugins),
            "PYTHONUNBUFFERED": "1",
        }


def find_command(version: FlinkVersion | None, why: str) -> FlinkCommand:
    """Flink's client of the minor version of a cluster; of any, if `version` is None.

    Raises LocalError as `client_home` does, and without a Java for it.
    """
    home = client_home(version, why)
    try:
        return FlinkCommand(home, find_java())
    except LocalError as error:
        raise LocalError(f"{why}: {_lower_first(error.message)}", hint=error.hint) from error


def client_home(version: FlinkVersion | None, why: str) -> FlinkHome:
    """Jars for a client of a cluster of this minor version; of any, if `version` is None.

    What goes from the client to the cluster are serialised Java objects, so the two have to match.
    Raises LocalError that says `why` a JVM is needed, and how to get one.
    """
    try:
        homes = find_homes().homes
    except LocalError as error:
        raise LocalError(f"{why}: {_lower_first(error.message)}", hint=error.hint) from error
    if version is None:
        return homes[0]
    for home in homes:
        if home.version.release == version.release:
            return home
    there = ", ".join(str(home.version) for home in homes)
    raise LocalError(
        f"{why}, of the cluster's version {version}; on this machine there is {there}",
        hint=f"Install it: pip install 'apache-flink-libraries=={version}', or name an unpacked"
        " distribution in KUBEFLINK_FLINK_HOMES",
    )


@dataclass(slots=True)
class _Failure:
    """Passes lines of standard error on, but keeps the stack trace at the end."""

    pass_on: Callable[[str], None]
    trace: list[str] | None = None
    _held: list[str] = field(default_factory=list)

    def hear(self, line: str) -> None:
        if self.trace is not None:
            self.trace.append(line)
        elif line.strip() == _FAILURE or line.startswith(_ABORTED):
            self.trace = []
        elif line.strip("- "):
            self._release()
            self.pass_on(line)
        else:  # a blank line, or the rule above the announcement
            self._held.append(line)

    def _release(self) -> None:
        for line in self._held:
            self.pass_on(line)
        self._held.clear()

    @property
    def told(self) -> str | None:
        """Why it failed, in one line."""
        from kubeflink.rest import java_errors

        return java_errors.root_cause(self.text) or self.text.partition("\n")[0] or None

    @property
    def text(self) -> str:
        """The whole stack trace."""
        return "\n".join(self.trace or ()).strip()


async def _lines(stream: asyncio.StreamReader | None, on_line: Callable[[str], None]) -> None:
    assert stream is not None
    async for line in stream:
        on_line(line.decode(errors="replace").rstrip("\n"))


async def _end(process: asyncio.subprocess.Process) -> None:
    """End what is left of the process group."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await process.wait()
            return


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
