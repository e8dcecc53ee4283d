"""`kubeflink broker`: the broker of a cluster, in the foreground.

In a cluster this is what the broker's container runs, with files from its Secret and ConfigMaps.
Elsewhere it makes credentials of its own, and writes a kubeconfig for the JobManager.
"""

from __future__ import annotations

import functools
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubeflink.cli import console, extras
from kubeflink.cli.invocation import Invocation
from kubeflink.cli.parameters import connection_options

if TYPE_CHECKING:
    from kubeflink.broker.process import Listening
    from kubeflink.cluster.access import Connection

log = logging.getLogger(__name__)

DIRECTORY = click.Path(file_okay=False, path_type=Path)


@click.command("broker")
@click.argument("name")
@connection_options()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8443, show_default=True, help="The port for the JobManager.")
@click.option(
    "--metrics-port", default=8080, show_default=True, help="The port for health and metrics."
)
@click.option("--conf-dir", type=DIRECTORY, help="The cluster's configuration, as it is mounted.")
@click.option("--template-dir", type=DIRECTORY, help="The TaskManagers' pod template, likewise.")
@click.option("--credentials", type=DIRECTORY, help="Where token, tls.crt and tls.key are.")
@click.option(
    "--write-kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Make new credentials, and write here the kubeconfig for the JobManager.",
)
@click.pass_obj
def broker_command(
    invocation: Invocation,
    name: str,
    *,
    connection: Connection,
    host: str,
    port: int,
    metrics_port: int,
    conf_dir: Path | None,
    template_dir: Path | None,
    credentials: Path | None,
    write_kubeconfig: Path | None,
) -> None:
    """Give the JobManager of the cluster NAME its workers, until interrupted.

    The JobManager asks here, not the API server, and gets TaskManagers of its own cluster only.
    """
    from kubeflink.cli import running
    from kubeflink.errors import UsageError

    if (credentials is None) == (write_kubeconfig is None):
        raise UsageError(
            "a broker needs credentials",
            hint="Give either --credentials DIR or --write-kubeconfig FILE.",
        )
    extras.need("broker", "The broker")
    running.log_to_stderr(max(1, invocation.verbose), with_time=True)
    running.run(
        _serve(
            connection,
            name,
            where={"host": host, "port": port, "metrics_port": metrics_port},
            files=(conf_dir, template_dir),
            flink_version=invocation.flink_version,
            credentials=credentials,
            write_kubeconfig=write_kubeconfig,
        )
    )


async def _serve(
    connection: Connection,
    name: str,
    *,
    where: dict[str, str | int],
    files: tuple[Path | None, Path | None],
    flink_version: str | None,
    credentials: Path | None,
    write_kubeconfig: Path | None,
) -> None:
    from kubeflink.broker.blueprint import read_blueprint, read_files
    from kubeflink.broker.connections import AiohttpConnections
    from kubeflink.broker.patience import awaited_blueprint
    from kubeflink.broker.process import ONE_ATTEMPT, Broker, listening_from
    from kubeflink.kube import KubeClient

    client = KubeClient.connect(
        kubeconfig=connection.kubeconfig,
        context=connection.context,
        namespace=connection.namespace,
        limits=ONE_ATTEMPT,
        connections=AiohttpConnections,
    )
    for notice in client.access.notices:
        console.say(notice)
    async with client:
        read = functools.partial(
            read_blueprint,
            client,
            name,
            client.namespace,
            files=read_files(*files),
            flink_version=flink_version,
        )
        if credentials is not None:
            listening = listening_from(credentials, **where)
            blueprint = await awaited_blueprint(
                read, host=listening.host, metrics_port=listening.metrics_port
            )
        else:
            # Somebody sits in front of it, who should hear of a wrong address at once.
            assert write_kubeconfig is not None
            blueprint = await read()
            listening = _made(name, client.namespace, write_kubeconfig, where)
        async with Broker(client, blueprint, listening) as broker:
            url = broker.server.url
            log.info("the broker of %s in namespace %s listens at %s", name, client.namespace, url)
            log.info("health and metrics: http://%s:%d/metrics", where["host"], broker.monitor.port)
            await broker.wait()


def _made(name: str, namespace: str, path: Path, where: dict[str, str | int]) -> Listening:
    """New credentials, with the JobManager's part of them in a kubeconfig of its own."""
    import tempfile

    from kubeflink.broker.process import listening_from, write_credentials
    from kubeflink.spec.broker import client_kubeconfig, make_credentials

    host = str(where["host"])
    made = make_credentials(name, namespace, *([host] if host[:1] not in "0:" else []))
    with tempfile.TemporaryDirectory(prefix="kubeflink-broker-") as directory:
        write_credentials(made, Path(directory))
        listening = listening_from(Path(directory), **where)
    path.touch(mode=0o600)
    path.chmod(0o600)
    server = f"https://{host}:{where['port']}"
    path.write_text(client_kubeconfig(made, server, namespace), encoding="utf-8")
    console.say(f"the kubeconfig for the JobManager is {path}; it is a secret")
    return listening
