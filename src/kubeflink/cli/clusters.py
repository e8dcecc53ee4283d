"""`kubeflink clusters`: which Flink clusters there are, whatever made them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kubeflink.cli import console, tables
from kubeflink.cli.parameters import connected, connection_options, output_option

if TYPE_CHECKING:
    from kubeflink.cluster.access import Connection
    from kubeflink.cluster.description import ClusterSummary


@click.command("clusters")
@connection_options()
@click.option("-A", "--all-namespaces", is_flag=True, help="In all namespaces.")
@output_option("table", "wide", "json", "yaml")
def clusters_command(*, connection: Connection, all_namespaces: bool, output: str) -> None:
    """List Flink clusters, also those that Flink's own client or its operator made."""
    from kubeflink.cli import running

    async def ask() -> tuple[ClusterSummary, ...]:
        from kubeflink.cluster import description

        async with connected(connection) as client:
            return await description.clusters(client, all_namespaces=all_namespaces)

    found = running.run(ask())
    if not found and output in ("table", "wide"):
        console.say(
            "there are no Flink clusters" + ("" if all_namespaces else " in this namespace")
        )
        return
    columns = ["NAME", "KIND", "STATUS", "TASKMANAGERS", "AGE"]
    if all_namespaces:
        columns.insert(0, "NAMESPACE")
    if output == "wide":
        columns += ["IMAGE", "RULED BY", "BROKER"]

    def cells(cluster: ClusterSummary) -> list[str]:
        values = {
            "NAMESPACE": cluster.namespace,
            "NAME": cluster.name,
            "KIND": cluster.kind,
            "STATUS": cluster.status,
            "TASKMANAGERS": str(cluster.taskmanagers),
            "AGE": tables.age(cluster.created),
            "IMAGE": cluster.image,
            "RULED BY": cluster.ruled_by or "",
            "BROKER": "yes" if cluster.has_broker else "",
        }
        return [values[column] for column in columns]

    tables.show(found, columns, cells, "table" if output == "wide" else output)
