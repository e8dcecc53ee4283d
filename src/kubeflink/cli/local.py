"""`kubeflink local`: an embedded Kubernetes in the background."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from kubeflink.cli import console, extras, tables
from kubeflink.cli.jobs import HELP_NAMES
from kubeflink.cli.parameters import Seconds, output_option

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kubeflink.local.daemon import Status

F = TypeVar("F", bound="Callable[..., Any]")

DEFAULT_NAME = "default"


def _name_argument(function: F) -> F:
    return click.argument("name", default=DEFAULT_NAME)(function)


@click.group("local", context_settings=HELP_NAMES)
def local_command() -> None:
    """An embedded Kubernetes in the background, whose pods are processes with real Flink.

    It needs no Docker and no root; the extra `local` brings Flink and a JRE. Several of them go by
    different NAMEs.
    """


@local_command.command("up")
@_name_argument
@click.option("--port", type=click.IntRange(1, 65535), help="The port of its API server.")
@click.option(
    "--flink-home",
    "flink_homes",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A directory with another Flink; may be given many times.",
)
@click.option(
    "--timeout", type=Seconds(), default="60s", show_default=True, help="How long to wait."
)
@output_option("text", "json", "yaml")
def up(
    name: str, port: int | None, flink_homes: tuple[Path, ...], timeout: float, output: str
) -> None:
    """Start it, or find it running, and print how to use it."""
    extras.need("local", "The embedded Kubernetes")
    from kubeflink.local import daemon
    from kubeflink.local.settings import Settings

    settings = None
    if port is not None or flink_homes:
        settings = Settings(port=port or 0, flink_homes=flink_homes)
    found = daemon.up(name, settings=settings, timeout=timeout)
    if output != "text":
        tables.document(_fields(found), output)
        return
    console.say(f"the embedded Kubernetes {name} runs at {found.url}")
    console.out(f"export KUBECONFIG={shlex.quote(str(found.kubeconfig))}")


@local_command.command("down")
@_name_argument
def down(name: str) -> None:
    """End it with everything in it, and remove what killed demos have left."""
    from kubeflink.local import daemon

    if daemon.down(name):
        console.out(f"The embedded Kubernetes {name} is gone")
    else:
        console.say(f"there is no embedded Kubernetes {name}")


@local_command.command("status")
@click.argument("name", required=False)
@output_option("table", "json", "yaml")
def status(name: str | None, output: str) -> int:
    """Show whether it runs; without a NAME, all of them. Exit code 1: it does not run."""
    from kubeflink.local import daemon

    names = [name] if name is not None else daemon.all_names() or [DEFAULT_NAME]
    found = [daemon.status(each) for each in names]
    if output == "table":
        columns = ("NAME", "STATUS", "SERVER", "PID", "AGE", "FLINK", "KUBECONFIG")
        for line in tables.table(columns, [_cells(each) for each in found]):
            console.out(line)
    else:
        tables.document([_fields(each) for each in found], output)
    return 0 if all(each.is_running for each in found) else 1


@local_command.command("kubeconfig")
@_name_argument
def kubeconfig(name: str) -> None:
    """Print the path of its kubeconfig, for kubectl and every other client."""
    from kubeflink.local import daemon

    console.out(str(daemon.kubeconfig(name)))


@local_command.command("logs")
@_name_argument
@click.option("-f", "--follow", is_flag=True, help="Go on with new lines.")
@click.option("--tail", type=click.IntRange(min=0), help="Only so many last lines.")
def logs(name: str, follow: bool, tail: int | None) -> None:
    """Print the log of its server; the logs of clusters are printed by `kubeflink logs`."""
    from kubeflink.errors import LocalError
    from kubeflink.local import daemon

    found = daemon.status(name)
    if not found.log.exists():
        raise LocalError(f"there is no embedded Kubernetes {name}, and so no log")
    with found.log.open(encoding="utf-8", errors="replace") as file:
        lines = file.readlines()
        console.raw("".join(lines if tail is None else lines[max(0, len(lines) - tail) :]))
        while follow and daemon.status(name).is_running:
            _copy_new_lines(file)


def _copy_new_lines(file: Any) -> None:
    import time

    text = file.read()
    if text:
        console.raw(text)
    else:
        time.sleep(0.5)


def _fields(found: Status) -> dict[str, object]:
    return {
        "name": found.name,
        "running": found.is_running,
        "server": found.url,
        "pid": found.pid,
        "kubeconfig": str(found.kubeconfig),
        "directory": str(found.directory),
        "log": str(found.log),
        "flink": list(found.flink),
        "java": found.java,
    }


def _cells(found: Status) -> list[str]:
    since = None if found.since is None else datetime.fromtimestamp(found.since, UTC)
    return [
        found.name,
        "Running" if found.is_running else "Stopped",
        found.url or "",
        str(found.pid or ""),
        tables.age(since),
        ",".join(found.flink),
        str(found.kubeconfig) if found.is_running else "",
    ]
