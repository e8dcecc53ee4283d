"""What is waited for: one moving line on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kubeflink.cli import console


@contextmanager
def waiting(begin: str) -> Iterator[Callable[[str], None]]:
    """Show `begin`, and then each text that the function inside is called with."""
    if not console.progress_on_terminal():
        console.say(begin)
        yield console.say
        return
    from rich.console import Console

    with Console(stderr=True).status(begin) as status:
        yield status.update


@contextmanager
def uploading(name: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal for an upload, called with the bytes sent and the bytes of all."""
    if not console.progress_on_terminal():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn(f"Uploading {name}"), BarColumn(), DownloadColumn())
    with Progress(
        *columns, TransferSpeedColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task(name, total=None)
        yield lambda sent, total: bar.update(task, completed=sent, total=total)
