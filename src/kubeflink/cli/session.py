"""`kubeflink session`: session clusters, with kubectl's habits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from kubeflink.cli import console, next_step, progress, tables
from kubeflink.cli.cluster_options import (
    Deploying,
    delete,
    deploying_options,
    stopping_options,
)
from kubeflink.cli.invocation import Invocation
from kubeflink.cli.parameters import ClusterName, connected, connection_options
from kubeflink.errors import ClusterFailedError, WaitTimeoutError

if TYPE_CHECKING:
    from kubeflink.cluster.access import Connection
    from kubeflink.cluster.session import SessionCluster
    from kubeflink.config import Configuration
    from kubeflink.kube import KubeClient

HELP_NAMES = {"help_option_names": ["-h", "--help"]}


@click.group("session", context_settings=HELP_NAMES)
def session_command() -> None:
    """Start, stop and attach to session clusters."""


@session_command.command("start")
@click.argument("name", required=False)
@deploying_options("5m", "until the cluster is ready")
@click.pass_obj
def start(
    invocation: Invocation,
    /,
    *,
    deploying: Deploying,
    name: str | None,
    wait: bool,
    timeout: float,
    output: str,
) -> None:
    """Start the session cluster NAME and wait until jobs can be submitted.

    Without a name one is made up.
    """
    from kubeflink.cli import running

    configuration, client = deploying.configured(invocation, name)
    check = deploying.preflight
    running.run(
        _start(client, configuration, wait=wait, timeout=timeout, check=check, output=output)
    )


async def _start(
    client: KubeClient,
    configuration: Configuration,
    *,
    wait: bool,
    timeout: float,
    check: bool,
    output: str,
) -> None:
    from kubeflink import spec
    from kubeflink.cli import preflight
    from kubeflink.cluster import deployment
    from kubeflink.cluster.session import SessionCluster

    configuration = spec.session_configuration(configuration)
    async with client:
        if check:
            await preflight.check(client, configuration)
        cluster = await SessionCluster.deploy_configured(client, configuration, wait=False)
        async with cluster:
            if wait:
                assert cluster.uid is not None
                async with deployment.taken_back_if_cancelled(
                    client, cluster.name, cluster.namespace, cluster.uid
                ):
                    await _wait_or_leave(cluster, timeout)
            await _show(cluster, output, is_ready=wait)


async def _wait_or_leave(cluster: SessionCluster, timeout: float) -> None:
    try:
        await wait_ready(cluster, timeout)
    except (ClusterFailedError, WaitTimeoutError):
        how = next_step.command(f"session stop {cluster.name}", cluster)
        console.say(f"the cluster {cluster.name} is left to be looked at; end it: {how}")
        raise
    except asyncio.CancelledError:
        console.say(f"interrupted: the cluster {cluster.name} is removed again")
        raise


async def wait_ready(cluster: SessionCluster, timeout: float) -> None:
    """Wait until a cluster is ready, and show what it waits for."""
    with progress.waiting(f"Waiting for the cluster {cluster.name}") as tell:
        await cluster.wait_ready(
            timeout=timeout, on_stage=lambda stage: tell(f"{cluster.name}: {stage.text}")
        )


async def _show(cluster: SessionCluster, output: str, *, is_ready: bool) -> None:
    address = await cluster.address()
    if output != "text":
        found = {
            "name": cluster.name,
            "namespace": cluster.namespace,
            "uid": cluster.uid,
            "ready": is_ready,
            "address": address.url,
        }
        tables.document(found, output)
        return
    where = f"session cluster {cluster.name} in namespace {cluster.namespace}"
    console.out(f"The {where} is {'ready' if is_ready else 'being started'}")
    if address.url is not None and not address.is_internal:
        console.out(f"Web UI: {address.url}")
    elif address.pending is not None:
        console.say(f"it has no address yet: {address.pending}")
    for what, words in (
        ("run a job", f"run --session {cluster.name} JAR"),
        ("web UI", f"ui {cluster.name}"),
        ("end it", f"session stop {cluster.name}"),
    ):
        console.say(f"{what}: {next_step.command(words, cluster)}")


@session_command.command("stop")
@stopping_options
def stop(*, connection: Connection, name: str, **given: Any) -> None:
    """Delete the cluster NAME and wait until nothing of it is left."""
    from kubeflink.cli import running

    running.run(delete(connection, name, **given))


@session_command.command("attach")
@click.argument("name", type=ClusterName())
@connection_options()
def attach(name: str, *, connection: Connection) -> None:
    """Read commands for the cluster NAME from standard input: help, stop, quit."""
    from kubeflink.cli import kubernetes_session, running

    async def find() -> None:
        from kubeflink.cluster import endpoint

        async with connected(connection) as client:
            await endpoint.rest_service(client, name, None)

    running.run(find())
    console.say(f"attached to the cluster {name}; help shows the commands")
    if kubernetes_session.attach(kubernetes_session.Commands()):
        running.run(delete(connection, name))
