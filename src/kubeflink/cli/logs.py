"""`kubeflink logs`: what JobManager, TaskManagers and broker print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kubeflink.cli import console
from kubeflink.cli.parameters import ClusterName, connected, connection_options

if TYPE_CHECKING:
    from kubeflink.cluster.access import Connection


@click.command("logs")
@click.argument("name", type=ClusterName())
@connection_options()
@click.option("-f", "--follow", is_flag=True, help="Go on with new lines, also of new pods.")
@click.option("--jobmanager", is_flag=True, help="Only the JobManager.")
@click.option("--taskmanagers", is_flag=True, help="Only the TaskManagers.")
@click.option("--broker", is_flag=True, help="Only the broker, which is left out otherwise.")
@click.option("--tail", type=click.IntRange(min=0), help="Only so many last lines of each pod.")
@click.option("--prefix/--no-prefix", default=None, help="The pod's name before each line.")
def logs_command(
    name: str,
    *,
    connection: Connection,
    follow: bool,
    jobmanager: bool,
    taskmanagers: bool,
    broker: bool,
    tail: int | None,
    prefix: bool | None,
) -> None:
    """Print the logs of the cluster NAME, the JobManager's first.

    Lines have the name of their pod in front, except with --jobmanager and with --broker.
    """
    from kubeflink.cli import running

    component = _component(jobmanager=jobmanager, taskmanagers=taskmanagers, broker=broker)
    with_prefix = component not in ("jobmanager", "broker") if prefix is None else prefix

    async def read() -> None:
        from contextlib import aclosing

        from kubeflink.cluster import logs

        reading = logs.follow if follow else logs.read
        async with connected(connection) as client:
            lines = reading(client, name, tail_lines=tail, component=component)
            async with aclosing(lines) as lines:
                async for line in lines:
                    told = f"{line.pod}: {line.text}" if with_prefix else line.text
                    console.out_of_log(told)

    running.run(read())


def _component(*, jobmanager: bool, taskmanagers: bool, broker: bool) -> str | None:
    """Whose logs are meant; None for JobManager and TaskManagers."""
    from kubeflink.errors import UsageError

    if broker and (jobmanager or taskmanagers):
        raise UsageError(
            "--broker goes with neither --jobmanager nor --taskmanagers",
            hint="Read the broker's log by itself; without an option there are the other two.",
        )
    if broker:
        return "broker"
    if jobmanager == taskmanagers:
        return None
    return "jobmanager" if jobmanager else "taskmanager"
