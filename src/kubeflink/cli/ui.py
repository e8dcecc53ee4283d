"""`kubeflink ui`: Flink's web interface, by an address that works in a browser on this machine."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from kubeflink.cli import console
from kubeflink.cli.parameters import ClusterName, connected, connection_options
from kubeflink.errors import NoPodRunningError, RestUnreachableError

if TYPE_CHECKING:
    from kubeflink.cluster.access import Connection
    from kubeflink.kube import KubeClient


@click.command("ui")
@click.argument("name", type=ClusterName())
@connection_options()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The local port.")
@click.option("--open/--no-open", "in_browser", default=None, help="Open a browser.")
def ui_command(name: str, *, connection: Connection, port: int, in_browser: bool | None) -> None:
    """Open the web UI of the cluster NAME; in a pipe, print its address.

    Where the cluster has no address outside of Kubernetes, a local port is forwarded to it until
    Ctrl-C.
    """
    from kubeflink.cli import running

    opens = console.on_terminal() if in_browser is None else in_browser
    running.run(_show(connection, name, port, opens=opens))


async def _show(connection: Connection, name: str, port: int, *, opens: bool) -> None:
    from kubeflink.cluster import endpoint
    from kubeflink.cluster.addresses import address_of

    async with connected(connection) as client:
        service = await endpoint.rest_service(client, name, None)
        address = await address_of(client, service)
        if address.url is not None and (client.access.in_cluster or not address.is_internal):
            _tell(address.url, opens)
        else:
            await _forward(client, name, port, opens=opens)


async def _forward(client: KubeClient, name: str, port: int, *, opens: bool) -> None:
    from kubeflink.cluster.onlooker import ClusterOnlooker
    from kubeflink.kube.portforward import PortForward
    from kubeflink.spec import names

    service = names.rest_service_name(name)
    forward = PortForward(
        client, names.REST_PORT, service=service, local_port=port, notify=console.say
    )
    try:
        async with forward:
            secure = client.access.rest_tls is not None
            _tell(forward.url.replace("http", "https", 1) if secure else forward.url, opens)
            console.say("forwarding until Ctrl-C")
            await asyncio.Event().wait()
    except NoPodRunningError as error:
        onlooker = ClusterOnlooker(client, name, client.namespace)
        await onlooker.look(has_answered=False)
        unreachable = RestUnreachableError(error.message)
        raise await onlooker.explain(unreachable, has_answered=False) from error


def _tell(url: str, opens: bool) -> None:
    console.out(url)
    if opens:
        import webbrowser

        webbrowser.open(url)
