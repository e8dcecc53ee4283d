"""What the commands that are shown for copying know of the present one: see `kube.next_step`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from kubeflink.cluster.cluster import FlinkCluster


def remember(given: Mapping[str, str | Path | None]) -> None:
    """Notes the options that say where the present command goes, by their long names.

    They are forgotten with the command; without one, with the task that this is called in. A task
    has a copy of the variables, so what was there before is set again, and not reset by a token.
    """
    from kubeflink.kube.next_step import LED_BY

    before = LED_BY.get()
    LED_BY.set({name: str(value) for name, value in given.items() if value is not None})
    context = click.get_current_context(silent=True)
    if context is not None:
        context.call_on_close(lambda: LED_BY.set(before))


def command(words: str, cluster: FlinkCluster) -> str:
    """`kubeflink` with these words, and with what leads it to the same cluster."""
    from kubeflink.kube import next_step

    return next_step.command(words, cluster.namespace)
