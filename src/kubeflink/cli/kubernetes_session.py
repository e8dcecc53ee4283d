"""`kubeflink kubernetes-session`: what `kubernetes-session.sh` does, without its JVM.

It deploys a session cluster and returns, or attaches to the one that is there under the given
cluster id. With `execution.attached` it then reads commands from standard input (`help`, `stop`,
`quit`), as Flink does; at the end of the input it returns and leaves the cluster running, where
Flink's client would wait for ever.

`echo stop | kubernetes-session ...` is how scripts stop a cluster. Flink deploys one first if it is
not there; here a pipe that begins with `stop` or `quit` deploys nothing. For this the first line is
read before anything else, if the pipe has it ready.

A signal that comes when all is deployed leaves the cluster, as with Flink; then a line says so.
"""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kubeflink.cli import console, flink_help, flink_options, log_lines
from kubeflink.cli.flink_arguments import parse
from kubeflink.cli.flink_program import unknown_word
from kubeflink.cli.invocation import Invocation, Terminated

if TYPE_CHECKING:
    from kubeflink.config import Configuration
    from kubeflink.kube import KubeClient

HELP = (
    "Available commands:\n"
    "help - show these commands\n"
    "stop - stop the kubernetes cluster\n"
    "quit - quit attach mode"
)

FIRST_LINE_SECONDS = 1.0
"""How long a pipe is given to say `stop` before a cluster is deployed."""

LOAD_BALANCER_SECONDS = 10.0


def run(invocation: Invocation, words: list[str]) -> int:
    """Deploy or find the session cluster, and stay attached to it if that is configured."""
    if "-h" in words or "--help" in words:
        console.out(flink_help.text("kubernetes-session", flink_options.SESSION))
        return 0
    configuration = session(invocation, words)
    from kubeflink.cli import running
    from kubeflink.config.options import deployment

    if not configuration.get(deployment.EXECUTION_ATTACHED):
        running.run(_deploy_or_find(configuration))
        return 0
    commands = Commands()
    only_if_there = commands.first_of_pipe() in ("stop", "quit")
    running.run(_deploy_or_find(configuration, only_if_there=only_if_there))
    with leaving(*_name_of(configuration)):
        stops = attach(commands)
    if stops:
        running.run(_stop(configuration))
    return 0


def session(invocation: Invocation, words: list[str]) -> Configuration:
    """The configuration of the session cluster that a command line describes."""
    from kubeflink import config, spec

    line = parse(flink_options.SESSION, words, program_follows=True)
    if line.arguments:
        raise unknown_word(line.arguments, line.dynamic_properties)
    configuration = config.load(
        dynamic=line.dynamic_properties,
        version=invocation.flink_version,
        strict=invocation.strict,
    )
    return spec.session_configuration(configuration)


async def _deploy_or_find(configuration: Configuration, *, only_if_there: bool = False) -> None:
    from kubeflink.cli import distribution
    from kubeflink.cli.access import configured_client
    from kubeflink.cluster import deployment, endpoint, preparation

    cluster_id, namespace = _name_of(configuration)
    # Who only stops a cluster needs no sizes and no files for it.
    built = None if only_if_there else distribution.build_jobmanager(configuration)
    async with configured_client(configuration) as client:
        console.notices(preparation.fitting(client, (built or configuration).notices))
        service = await deployment.find_rest_service(client, cluster_id)
        if service is None and built is None:
            raise await endpoint.not_found(client, cluster_id, client.namespace)
        if service is None and built is not None:
            await deployment.deploy(client, built)
        done = "Retrieve flink" if service is not None else "Create flink session"
        with leaving(cluster_id, namespace):
            await say_address(client, configuration, cluster_id, f"{done} cluster {cluster_id}")


@contextmanager
def leaving(cluster_id: str, namespace: str, kind: str = "session") -> Iterator[None]:
    """While this is open, an interruption leaves a complete cluster: say so, and how to stop it."""
    import asyncio

    try:
        yield
    except (asyncio.CancelledError, KeyboardInterrupt, Terminated):
        from kubeflink.kube import next_step

        how = next_step.command(f"{kind} stop {cluster_id}", namespace)
        console.say(f"the cluster {cluster_id} is there and goes on; stop it: {how}")
        raise


def _name_of(configuration: Configuration) -> tuple[str, str]:
    from kubeflink.config.options import kubernetes as k8s

    return configuration.get(k8s.CLUSTER_ID) or "", configuration.get(k8s.NAMESPACE)


async def say_address(
    client: KubeClient, configuration: Configuration, cluster_id: str, done: str
) -> None:
    """Print Flink's line about success, or that the cluster has no address yet."""
    from kubeflink.cluster import endpoint
    from kubeflink.cluster.addresses import address_of
    from kubeflink.config.options import kubernetes as k8s
    from kubeflink.errors import KubernetesError

    try:
        service = await endpoint.rest_service(client, cluster_id, client.namespace)
        address = await address_of(
            client,
            service,
            address_type=configuration.get(k8s.REST_SERVICE_EXPOSED_NODE_PORT_ADDRESS_TYPE),
            load_balancer_seconds=LOAD_BALANCER_SECONDS,
        )
    except KubernetesError as error:  # the cluster is there all the same
        console.say(f"{done} successfully, but its address cannot be found out: {error.message}")
        return
    if address.url is None:
        console.say(f"{done} successfully, but it has no address yet: {address.pending}")
        return
    log_lines.info(f"{done} successfully, JobManager Web Interface: {address.url}")
    if address.is_internal and not client.access.in_cluster:
        console.say(f"{address.url} is an address inside the Kubernetes cluster")


async def _stop(configuration: Configuration) -> None:
    from kubeflink.cli.access import configured_client
    from kubeflink.cluster import removal
    from kubeflink.config.options import kubernetes as k8s

    cluster_id = configuration.get(k8s.CLUSTER_ID)
    assert cluster_id is not None
    async with configured_client(configuration) as client:
        await removal.delete(client, cluster_id, wait=False)


class Commands:
    """The lines of standard input; the first may be looked at before the others are read."""

    def __init__(self) -> None:
        self._first: str | None = None

    def first_of_pipe(self) -> str | None:
        """The first line that a pipe or file has ready; None from a terminal or a silent pipe."""
        if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
            return None
        try:
            ready, _, _ = select.select([sys.stdin], [], [], FIRST_LINE_SECONDS)
        except (OSError, ValueError):
            return None  # no descriptor to wait for
        if ready:
            self._first = sys.stdin.readline()
        return self._first.strip() if self._first else None

    def __iter__(self) -> Iterator[str]:
        if self._first:
            yield self._first.rstrip("\n")
        if sys.stdin is not None and not sys.stdin.closed and self._first != "":
            for line in sys.stdin:
                yield line.rstrip("\n")


def attach(commands: Commands) -> bool:
    """Read commands until `quit`, `stop` or the end; whether the cluster is to be stopped."""
    for command in commands:
        if command == "quit":
            return False
        if command == "stop":
            return True
        if command != "help":
            console.plain(f"Unknown command '{command}'. Showing help:")
        console.plain(HELP)
    console.say("standard input has ended; the cluster keeps running")
    return False
