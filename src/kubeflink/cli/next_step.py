"""Commands for the user to copy: they go to the cluster of the present one, wherever that is."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from kubeflink.cluster.cluster import FlinkCluster

_GIVEN: Final = "kubeflink.cli.next_step"


def remember(given: Mapping[str, str | None]) -> None:
    """Notes the options that say where the present command goes, by their long names."""
    click.get_current_context().meta[_GIVEN] = {
        name: value for name, value in given.items() if value is not None
    }


def command(words: str, cluster: FlinkCluster) -> str:
    """`kubeflink` with these words, and with what leads it to the same cluster."""
    context = click.get_current_context(silent=True)
    where = dict(context.meta.get(_GIVEN, {})) if context else {}
    if cluster.namespace != "default":  # where that is not kubectl's own, an option may say so
        where["namespace"] = cluster.namespace
    options = [f"--{name} {shlex.quote(value)}" for name, value in where.items()]
    return " ".join(["kubeflink", words, *options])
