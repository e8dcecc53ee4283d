"""`info`: the plan of a program, in Flink's frame.

A plan is made by the program itself, whose `main` runs up to its first job. Without a JVM on this
side a session's JobManager does that: it gets the jar, answers with the plan, and forgets the jar.
What it answers is the plan of the job graph, the one of a running job, where Flink's client prints
the stream graph's; both name the operators, their parallelism and what feeds them.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubeflink.cli import console, progress, tables
from kubeflink.cli.jobs import HELP_NAMES, on_cluster, open_cluster
from kubeflink.cli.parameters import output_option, property_option
from kubeflink.errors import UsageError

if TYPE_CHECKING:
    from kubeflink.cluster.access import Connection
    from kubeflink.objects import JsonObject

TITLE = "----------------------- Execution Plan -----------------------"
RULE = "--------------------------------------------------------------"


@click.command("info", context_settings={**HELP_NAMES, "allow_interspersed_args": False})
@on_cluster
@click.option("-c", "--class", "entry_class", metavar="CLASS", help="The class with `main`.")
@click.option("-p", "--parallelism", type=click.IntRange(min=1), help="The job's parallelism.")
@property_option
@output_option("text", "json", "yaml")
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def info_command(
    *, connection: Connection, cluster: str, program: str, output: str, **given: Any
) -> None:
    """Show the plan of PROGRAM, a jar, without running its job.

    The JobManager of the session makes it: the jar is uploaded for that and removed again. Words
    after PROGRAM are its arguments.
    """
    from kubeflink.cli.running import run
    from kubeflink.cluster.jars import check_jar

    if not program.endswith(".jar"):
        raise UsageError(
            f"{program} is no jar, and the JobManager makes plans of jars alone",
            hint="A Python program makes its plan in a JVM on this side: kubeflink info -py FILE",
        )
    check_jar(Path(program))

    async def ask() -> JsonObject:
        async with AsyncExitStack() as stack:
            found = await open_cluster(stack, connection, cluster)
            with progress.uploading(Path(program).name) as on_upload:
                return await found.plan(
                    program,
                    entry_class=given["entry_class"],
                    args=given["arguments"],
                    parallelism=given["parallelism"],
                    options=given["options"] or None,
                    on_upload=on_upload,
                )

    plan = run(ask())
    if output == "text":
        show(plan)
    else:
        tables.document(plan, output)


def show(plan: JsonObject) -> None:
    """Print a plan between the lines that Flink's `info` prints."""
    import json

    for line in (TITLE, json.dumps(plan, indent=2), RULE, "", "No description provided."):
        console.out(line)
