"""Options of the commands that start and stop clusters, whether sessions or applications."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kubeflink.cli import console, next_step, progress
from kubeflink.cli.invocation import Invocation
from kubeflink.cli.parameters import (
    ClusterName,
    Image,
    VersionText,
    broker_option,
    connected,
    connection_options,
    output_option,
    property_option,
    timeout_option,
    wait_option,
    with_broker,
)

if TYPE_CHECKING:
    from kubeflink.cluster.access import Connection
    from kubeflink.config import Configuration
    from kubeflink.kube import KubeClient

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Deploying:
    """How a cluster is to be deployed. `preflight`: ask beforehand whether all is allowed."""

    connection: Connection
    options: Mapping[str, str]
    conf_dir: str | None
    image: str | None
    flink_version: str | None
    broker: bool | None
    preflight: bool

    def configured(
        self, invocation: Invocation, name: str | None
    ) -> tuple[Configuration, KubeClient]:
        """The configuration of a cluster of that name, and a client of where it will be."""
        from kubeflink.cluster.access import configured
        from kubeflink.config.options import kubernetes as k8s

        options = self.options
        if self.image is not None:
            options = {**options, k8s.CONTAINER_IMAGE_REF.key: self.image}
        configuration, client = configured(
            self.connection,
            name,
            with_broker(options, self.broker),
            conf_dir=self.conf_dir,
            flink_version=self.flink_version or invocation.flink_version,
            strict=invocation.strict,
        )
        given = self.connection
        next_step.remember(
            {
                "namespace": given.namespace,
                "context": given.context or configuration.get(k8s.CONTEXT),
                "kubeconfig": given.kubeconfig or configuration.get(k8s.CONFIG_FILE),
            }
        )
        return configuration, client


_DEPLOYING = (
    connection_options(),
    property_option,
    click.option("--conf-dir", metavar="DIR", help="Flink's configuration directory."),
    click.option("--image", type=Image(), metavar="IMAGE", help="The container image."),
    click.option(
        "--flink-version",
        type=VersionText(),
        metavar="VERSION",
        help="The Flink version of the image.",
    ),
    broker_option,
    click.option(
        "--preflight/--no-preflight",
        default=True,
        help="Ask the API server beforehand whether all that is needed is allowed.",
    ),
)


def deploying_options(timeout: str | None, what: str) -> Callable[[F], F]:
    """Adds what `start` needs: the command gets `deploying`, `wait`, `timeout` and `output`.

    `timeout` is the default, None for a wait that the user ends; `what` is waited for.
    """

    def add(function: F) -> F:
        names = Deploying.__dataclass_fields__

        @functools.wraps(function)
        def command(*args: Any, **given: Any) -> Any:
            deploying = Deploying(**{name: given.pop(name) for name in names})
            return function(*args, deploying=deploying, **given)

        waiting = (wait_option, timeout_option(timeout, what))
        for option in reversed((*_DEPLOYING, *waiting, output_option("text", "json", "yaml"))):
            command = option(command)
        return command  # type: ignore[return-value]  # the same but for its arguments

    return add


def stopping_options(function: F) -> F:
    """Adds what `stop` needs, with the cluster's name: the arguments of `delete`."""
    for option in reversed(
        (
            click.argument("name", type=ClusterName()),
            connection_options(),
            click.option(
                "--ha-data",
                type=click.Choice(["keep", "delete"]),
                default="keep",
                show_default=True,
                help="What becomes of the data of high availability, from which a cluster of the"
                " same name would recover its jobs.",
            ),
            click.option("--force", is_flag=True, help="Also a cluster that an operator rules."),
            wait_option,
            timeout_option("2m", "until everything is gone"),
        )
    ):
        function = option(function)
    return function


async def delete(
    connection: Connection,
    name: str,
    *,
    ha_data: str = "keep",
    force: bool = False,
    wait: bool = True,
    timeout: float = 120.0,
) -> None:
    """Delete a cluster of either kind, and say so. `timeout` is in seconds."""
    from kubeflink.cluster import removal

    async with connected(connection) as client:
        with progress.waiting(f"Deleting the cluster {name}") as tell:
            await removal.delete(
                client,
                name,
                ha_data="delete" if ha_data == "delete" else "keep",
                wait=wait,
                timeout=timeout,
                force=force,
                on_remaining=tell,
            )
    console.out(f"The cluster {name} is {'gone' if wait else 'being deleted'}")
