"""Programs that run on this side, in and beside a JVM: Flink's own client does the work.

Both worlds come here with a Python program for a session cluster, and `info` with any program. What
they have in common is that Flink's client needs the address of a REST API and the words of one of
its own actions, and that the jobs it submits are found in what it prints.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from kubeflink.cli import console
from kubeflink.config.options import python, rest
from kubeflink.config.versions import FlinkVersion
from kubeflink.errors import ConfigurationError, LocalError

if TYPE_CHECKING:
    from kubeflink.cluster.session import SessionCluster
    from kubeflink.config import Configuration
    from kubeflink.spec import Program

WHY_PYTHON = "a Python program makes its job in a JVM on this side"
WHY_PLAN = "the plan of a program is made by the program, in a JVM on this side"

_TLS = "security.ssl."

_SUBMITTED = re.compile(r"Job has been submitted with JobID ([0-9a-f]{32})")

_NO_PYFLINK = re.compile(r"No module named '(pyflink)\b")


async def run_python(
    cluster: SessionCluster, program: Program, configuration: Configuration
) -> list[str]:
    """Run a Python program whose jobs go to this cluster; returns the ids of those it submitted.

    What the program prints goes to stdout. Raises LocalError if there is no JVM for the cluster's
    version of Flink, or if the program fails.
    """
    from kubeflink.jvm.flink_command import find_command

    version = (await cluster.overview()).flink_version
    command = find_command(_supported(version), WHY_PYTHON)
    jobs: list[str] = []
    missing: list[str] = []

    def on_line(line: str) -> None:
        console.out(line)
        jobs.extend(_SUBMITTED.findall(line))
        missing.extend(_NO_PYFLINK.findall(line))

    console.say(f"{WHY_PYTHON}: Flink {command.home.version}, Java {command.java.feature}")
    async with cluster.socket(console.say) as (host, port):
        reached = {rest.ADDRESS.key: host, rest.PORT.key: str(port)}
        try:
            await command.run(
                ["run", "-t", "remote", *_words(program, with_run_options=True)],
                configuration=_of_client(configuration, program).with_values(reached),
                on_line=on_line,
                on_error=console.plain,
            )
        except LocalError as error:
            if missing:
                error.hint = f"Install its Python API: pip install apache-flink=={version}"
            raise
    return jobs


async def show_plan(program: Program, configuration: Configuration) -> None:
    """Print the plan of a program as `flink info` does. Raises LocalError without a JVM."""
    from kubeflink.jvm.flink_command import find_command

    command = find_command(configuration.version, WHY_PLAN)
    await command.run(
        ["info", *_words(program, with_run_options=False)],
        configuration=_of_client(configuration, program),
        on_line=console.out,
        on_error=console.plain,
    )


def _supported(version: str) -> FlinkVersion | None:
    try:
        return FlinkVersion.parse(version.partition("-")[0])
    except ConfigurationError:
        return None


def _of_client(configuration: Configuration, program: Program) -> Configuration:
    """What Flink's client has to know of a configuration: nothing about Kubernetes.

    How TLS is spoken with the REST API is no option of a job, and is its business all the same.
    The Python of this process runs the program, if no other is named: Flink takes the first one of
    the path, which in a virtual environment that is not activated is another one.
    """
    from kubeflink.cluster.job_options import for_job

    values: dict[str, object] = dict(for_job(configuration))
    tls = configuration.with_prefix(_TLS)
    values |= {f"{_TLS}{key}": text for key, text in tls.items()}
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
