"""Programs whose `main` runs on this side, in a JVM: Flink's own client makes the job.

Three kinds come here: programs in Python, which can be run in no other way; jars, where that is
asked for, because `main` reads files or variables of this machine; and any program whose plan is
wanted without a cluster. What they have in common is that Flink's client needs the address of a
REST API and the words of one of its own actions, and that the jobs it submits are found in what it
prints.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubeflink.config.options import python, rest
from kubeflink.config.versions import FlinkVersion
from kubeflink.errors import ConfigurationError, LocalError

if TYPE_CHECKING:
    from kubeflink.cluster.session import SessionCluster
    from kubeflink.config import Configuration
    from kubeflink.spec import Program

WHY_PYTHON = "a Python program makes its job in a JVM on this side"
WHY_JAR = "the job graph of this program is made in a JVM on this side"
WHY_PLAN = "the plan of a program is made by the program, in a JVM on this side"

_SUBMITTED = re.compile(r"Job has been submitted with JobID ([0-9a-f]{32})")

_NO_PYFLINK = re.compile(r"No module named '(pyflink)\b")


def _nothing(line: str) -> None:
    return


@dataclass(frozen=True, slots=True)
class Hearing:
    """Who hears what a program prints to standard output and error, what is done, and its jobs."""

    out: Callable[[str], None] = _nothing
    error: Callable[[str], None] = _nothing
    say: Callable[[str], None] = _nothing
    job: Callable[[str], None] = _nothing
    """Gets the id of each job as soon as it is submitted."""


async def run_program(
    cluster: SessionCluster, program: Program, configuration: Configuration, hearing: Hearing
) -> None:
    """Run a program on this side whose jobs go to this cluster, until it ends.

    Raises LocalError if there is no JVM for the cluster's version of Flink, or if the program or
    its job fails. Cancellation ends the JVM; what has been submitted goes on.
    """
    from kubeflink.jvm.flink_command import find_command

    why = WHY_PYTHON if program.is_python else WHY_JAR
    version = (await cluster.overview()).flink_version
    command = find_command(_supported(version), why)
    missing: list[str] = []

    def on_line(line: str) -> None:
        hearing.out(line)
        for job in _SUBMITTED.findall(line):
            hearing.job(job)
        missing.extend(_NO_PYFLINK.findall(line))

    hearing.say(f"{why}: Flink {command.home.version}, Java {command.java.feature}")
    async with cluster.socket(hearing.say) as (host, port):
        reached = {rest.ADDRESS.key: host, rest.PORT.key: str(port)}
        try:
            await command.run(
                ["run", "-t", "remote", *_words(program, with_run_options=True)],
                configuration=_of_client(configuration, program).with_values(reached),
                on_line=on_line,
                on_error=hearing.error,
            )
        except LocalError as error:
            if missing:
                error.hint = f"Install its Python API: pip install apache-flink=={version}"
            raise


async def submit(cluster: SessionCluster, program: Program, configuration: Configuration) -> str:
    """Run a program on this side until its `main` has returned; the id of its first job.

    LocalError if it fails or starts no job.
    """
    jobs: list[str] = []
    await run_program(cluster, program, configuration, Hearing(job=jobs.append))
    if not jobs:
        raise LocalError(f"{program.uri} ended without a job")
    return jobs[0]


async def show_plan(program: Program, configuration: Configuration, hearing: Hearing) -> None:
    """Have the plan of a program printed as `flink info` does. Raises LocalError without a JVM."""
    from kubeflink.jvm.flink_command import find_command

    command = find_command(configuration.version, WHY_PLAN)
    await command.run(
        ["info", *_words(program, with_run_options=False)],
        configuration=_of_client(configuration, program),
        on_line=hearing.out,
        on_error=hearing.error,
    )


def _supported(version: str) -> FlinkVersion | None:
    try:
        return FlinkVersion.parse(version.partition("-")[0])
    except ConfigurationError:
        return None


def _of_client(configuration: Configuration, program: Program) -> Configuration:
    """What Flink's client has to know of a configuration.

    The Python of this process runs the program, if no other is named: Flink takes the first one of
    the path, which in a virtual environment that is not activated is another one.
    """
    from kubeflink.cluster.job_options import for_client

    values: dict[str, object] = dict(for_client(configuration))
    if program.python is not None and not configuration.contains(python.CLIENT_EXECUTABLE):
        values[python.CLIENT_EXECUTABLE.key] = sys.executable
    return configuration.without(*[key for key, _ in configuration.items()]).with_values(values)


def _words(program: Program, *, with_run_options: bool) -> list[str]:
    """The words of Flink's command line that name a program and how it is to be run."""
    words: list[str] = []
    given = {"-c": program.main_class, "-p": _text(program.parallelism)}
    if program.python is not None:
        given |= {
            "-py": program.python.script,
            "-pym": program.python.module,
            "-pyfs": program.python.files,
            "-pyarch": program.python.archives,
            "-pyreq": program.python.requirements,
            "-pyexec": program.python.executable,
            "-pyclientexec": program.python.client_executable,
            "-pypath": program.python.python_path,
        }
    if with_run_options:
        given |= {"-s": program.savepoint_path, "-rm": program.claim_mode}
        flags = {"-n": program.allow_non_restored_state, "-d": program.detached}
        flags["-sae"] = program.shutdown_on_attached_exit
        words += [flag for flag, is_set in flags.items() if is_set]
    for option, text in given.items():
        words += [] if text is None else [option, text]
    for path in program.classpaths:
        words += ["-C", path]
    jar = [] if program.uri is None else [program.uri]
    return [*words, *jar, *program.arguments]


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)
