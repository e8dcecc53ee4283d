"""`kubeflink describe`: all that is worth knowing of one cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from kubeflink.cli import console, tables
from kubeflink.cli.parameters import ClusterName, connected, connection_options, output_option

if TYPE_CHECKING:
    from kubeflink.cluster.access import Connection
    from kubeflink.cluster.description import ClusterDescription


@click.command("describe")
@click.argument("name", type=ClusterName())
@connection_options()
@output_option("text", "json", "yaml")
def describe_command(name: str, *, connection: Connection, output: str) -> None:
    """Show the cluster NAME: its pods, what keeps them from running, its slots and jobs."""
    from kubeflink.cli import running

    async def ask() -> ClusterDescription:
        from kubeflink.cluster import description

        async with connected(connection) as client:
            return await description.describe(client, name)

    found = running.run(ask())
    if output != "text":
        tables.document(tables.plain(found), output)
        return
    for line in lines(found):
        console.out(line)


def lines(found: ClusterDescription) -> Iterator[str]:
    """What a person reads."""
    from kubeflink.spec import names

    summary = found.summary
    facts = {
        "Name": summary.name,
        "Namespace": summary.namespace,
        "Kind": summary.kind,
        "Status": summary.status,
        "Image": summary.image,
        "Age": tables.age(summary.created),
        "Address": _address(found),
        "Ruled by": summary.ruled_by or "",
        "Broker": names.broker_name(summary.name) if summary.has_broker else "",
    }
    if found.overview is not None:
        seen = found.overview
        facts["Flink"] = seen.flink_version
        facts["Slots"] = f"{seen.slots_available} of {seen.slots_total} free"
    for label, value in facts.items():
        if value:
            yield f"{label + ':':<12}{value}"
    yield ""
    rows = [
        [pod.name, pod.component, pod.phase, str(pod.restarts), pod.node or ""]
        for pod in found.pods
    ]
    yield from tables.table(("POD", "COMPONENT", "PHASE", "RESTARTS", "NODE"), rows)
    for trouble in found.troubles:
        yield ""
        yield f"Trouble: {trouble.sentence}"
        if trouble.hint:
            yield f"  {trouble.hint}"
    yield ""
    if found.rest_error is not None:
        yield f"Flink does not answer: {found.rest_error}"
    elif found.jobs:
        jobs = [[job.id, job.name, job.state] for job in found.jobs]
        yield from tables.table(("JOB ID", "NAME", "STATE"), jobs)
        for failure in found.failures:
            yield ""
            yield f"Job {failure.job_id} failed: {failure.cause}"
            if failure.hint:
                yield f"  {failure.hint}"
    else:
        yield "No jobs."


def _address(found: ClusterDescription) -> str:
    if found.address is None:
        return ""
    if found.address.url is None:
        return f"none yet: {found.address.pending}"
    inside = " (inside the Kubernetes cluster)" if found.address.is_internal else ""
    return f"{found.address.url}{inside}"
