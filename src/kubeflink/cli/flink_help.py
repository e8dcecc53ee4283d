"""`--help` of the drop-in commands, printed from the tables that they are parsed with."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from kubeflink.cli.flink_arguments import FlinkOption

WIDTH = 90

USAGES = {
    "kubernetes-session": (
        "kubernetes-session [-Dkey=value ...]",
        "Deploy a session cluster with Flink's configuration, as kubernetes-session.sh does, or"
        " attach to the one of that id if it is there. With -Dexecution.attached=true, commands are"
        " read from standard input: help, stop, quit.",
    ),
    "run": (
        "run [OPTIONS] JAR [ARGUMENTS ...]",
        "Run a program: on a session cluster (-t kubernetes-session), as an application cluster of"
        " its own (-t kubernetes-application), or on a JobManager that is known by its address"
        " (-m HOST:PORT). For the own form see run --session NAME --help.",
    ),
    "run-application": (
        "run-application -t kubernetes-application [OPTIONS] JAR [ARGUMENTS ...]",
        "Deploy an application cluster (Flink 1.x).",
    ),
    "info": ("info [OPTIONS] JAR [ARGUMENTS ...]", "Print the execution plan of a program."),
    "list": ("list [OPTIONS]", "List the jobs of a cluster."),
    "stop": ("stop [OPTIONS] JOB-ID", "Stop a job with a savepoint."),
    "cancel": ("cancel [OPTIONS] JOB-ID", "Cancel a job."),
    "savepoint": (
        "savepoint [OPTIONS] JOB-ID [DIRECTORY]",
        "Take a savepoint of a running job, or dispose of one.",
    ),
    "checkpoint": ("checkpoint [OPTIONS] JOB-ID", "Take a checkpoint of a running job."),
}


def text(command: str, options: Sequence[FlinkOption]) -> str:
    """The whole help of a command."""
    usage, description = USAGES[command]
    paragraphs = [f"Usage: kubeflink {usage}", textwrap.fill(description, WIDTH)]
    paragraphs.append("Options:\n" + "\n".join(_lines(options)))
    return "\n\n".join(paragraphs)


def _lines(options: Sequence[FlinkOption]) -> list[str]:
    shown = [option for option in options if not option.hidden]
    names = [_names(option) for option in shown]
    column = max(map(len, names)) + 4
    lines = []
    for option, name in zip(shown, names, strict=True):
        described = textwrap.wrap(option.description, WIDTH - column) or [""]
        lines.append(f"  {name}".ljust(column) + described[0])
        lines += [" " * column + more for more in described[1:]]
    return [line.rstrip() for line in lines]


def _names(option: FlinkOption) -> str:
    names = [f"-{option.short}"] if option.short else []
    if option.long and option.long != option.short:
        names.append(f"--{option.long}")
    argument = ""
    if option.arguments:
        argument = f" <{option.argument}>"
        if option.argument_is_optional:
            argument = f" [{argument[1:]}]"
    return ",".join(names) + argument
