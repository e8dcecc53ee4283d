"""Options that several own commands share, with kubectl's names and meanings."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kubeflink.errors import UsageError

if TYPE_CHECKING:
    from kubeflink.cluster.access import Connection

F = TypeVar("F", bound=Callable[..., Any])

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?:in)?)?(?:(\d+(?:\.\d+)?)s?)?", re.ASCII)


class Seconds(click.ParamType[float]):
    """A duration in seconds: `90`, `90s`, `5m`, `1h30m`."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number of seconds."""
        if isinstance(value, float):
            return value
        match = _DURATION.fullmatch(str(value).strip())
        if match is None or not any(match.groups()):
            self.fail(f"{value!r} is no duration such as 90s or 5m", param, ctx)
        hours, minutes, seconds = (float(part or 0) for part in match.groups())
        return hours * 3600 + minutes * 60 + seconds


class Property(click.ParamType[tuple[str, str]]):
    """One `-D key=value`; without `=` the value is `true`."""

    name = "key=value"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Key and value."""
        if isinstance(value, tuple):
            return value
        key, equals, text = str(value).partition("=")
        if not key.strip():
            self.fail(f"{value!r} has no key", param, ctx)
        return key, text if equals else "true"


class VersionText(click.ParamType[str]):
    """A version of Flink, as it was written."""

    name = "version"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """The text itself. Raises UsageError if there is no such version."""
        from kubeflink.cli.invocation import checked_version

        return checked_version(str(value))


class Image(click.ParamType[str]):
    """The name of a container image."""

    name = "image"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """The name itself. Raises UsageError if it is blank."""
        if not str(value).strip():
            raise UsageError("--image has no value", hint="Is a variable of the shell empty?")
        return str(value)


class ClusterName(click.ParamType[str]):
    """The name of a cluster that is there, or was."""

    name = "name"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """The name itself. Raises UsageError, before anybody is asked."""
        from kubeflink.spec import names

        return names.validate_sought_name(str(value))


def connection_options(*, short_namespace: bool = True) -> Callable[[F], F]:
    """Adds `--namespace`, `--context`, `--kubeconfig`, `--rest-ca`, `--rest-cert`.

    The command gets them as `connection`. The commands that Flink has too know only the long name
    of the first.
    """

    def add(function: F) -> F:
        @functools.wraps(function)
        def command(
            *args: Any,
            namespace: str | None,
            context: str | None,
            kubeconfig: str | None,
            rest_ca: str | None,
            rest_cert: str | None,
            **kw: Any,
        ) -> Any:
            from kubeflink.cli import next_step
            from kubeflink.cluster.access import Connection
            from kubeflink.config.rest_tls import given_files

            given = {"namespace": namespace, "context": context, "kubeconfig": kubeconfig}
            for option, value in given.items():
                if value is not None and not value.strip():
                    raise UsageError(
                        f"--{option} has no value", hint="Is a variable of the shell empty?"
                    )
            next_step.remember(given)
            connection = Connection(kubeconfig, context, namespace, given_files(rest_ca, rest_cert))
            return function(*args, connection=connection, **kw)

        names = ("-n", "--namespace") if short_namespace else ("--namespace",)
        for option in (
            click.option(
                "--rest-cert",
                metavar="FILE",
                envvar="KUBEFLINK_REST_CERT",
                help="The certificate and key to show to Flink's REST API with TLS: PEM or PKCS12.",
            ),
            click.option(
                "--rest-ca",
                metavar="FILE",
                envvar="KUBEFLINK_REST_CA",
                help="The authority to trust for Flink's REST API with TLS: PEM or PKCS12. Its"
                " password is KUBEFLINK_REST_PASSWORD.",
            ),
            click.option("--kubeconfig", metavar="FILE", help="The kubeconfig to use."),
            click.option("--context", metavar="NAME", help="The context in the kubeconfig."),
            click.option(*names, "namespace", metavar="NAME", help="The Kubernetes namespace."),
        ):
            command = option(command)
        return command  # type: ignore[return-value]  # the same but for three arguments

    return add


def output_option(*formats: str, short: bool = True) -> Callable[[F], F]:
    """Adds `-o/--output`, the first format being the default."""
    names = ("-o", "--output") if short else ("--output",)
    return click.option(
        *names,
        "output",
        type=click.Choice(formats),
        default=formats[0],
        help=f"Form of the output: {', '.join(formats)}.",
    )


def property_option(function: F) -> F:
    """Adds `-D key=value`; the command gets them as a mapping called `options`."""
    return click.option(
        "-D",
        "options",
        type=Property(),
        multiple=True,
        metavar="KEY=VALUE",
        callback=lambda _ctx, _param, pairs: dict(pairs),
        help="An option of Flink's configuration; may be given many times.",
    )(function)


broker_option = click.option(
    "--broker/--no-broker",
    default=None,
    help="Give the JobManager its TaskManagers from a broker, and no right to make pods itself.",
)


def with_broker(options: Mapping[str, str], wanted: bool | None) -> Mapping[str, str]:
    """The options with what `--broker` or `--no-broker` says; None leaves it to the options."""
    from kubeflink.config.options import broker

    return options if wanted is None else {**options, broker.ENABLED.key: str(wanted).lower()}


def timeout_option(default: str | None, what: str) -> Callable[[F], F]:
    """Adds `--timeout`, in seconds for the command; None is a wait that the user ends."""
    return click.option(
        "--timeout",
        type=Seconds(),
        default=default,
        show_default=default or "no limit",
        help=f"How long to wait {what}.",
    )


wait_option = click.option(
    "--wait/--no-wait", default=True, help="Wait until it is done (the default), or do not."
)


def connected(connection: Connection) -> Any:
    """A client for a connection, with the notices of its kubeconfig on stderr."""
    from kubeflink.cli import console

    client = connection.client()
    for notice in client.access.notices:
        console.say(notice)
    return client
