"""What is waited for: one moving line on a terminal, plain lines elsewhere.

A server that does not answer is told of in the same line, or in one of its own where none moves;
elsewhere in lines now and then, see `kube.outage`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubeflink.cli import console

if TYPE_CHECKING:
    from rich.live import Live
    from rich.progress import TaskID
    from rich.text import Text

    from kubeflink.kube.outage import Outage

SOON_SECONDS = 1.0
"""How long an outage may last before a terminal shows it."""


@dataclass(slots=True)
class _Moving:
    """The line that moves, as it is at each moment that it is drawn."""

    text: str
    outage: Outage | None = None

    def __rich__(self) -> Text:
        from rich.text import Text

        told = [self.text] if self.text else []
        if self.outage is not None and self.outage.since is not None:
            told.append(self.outage.sentence)
        return Text(console.visible("; ".join(told)))


class _Screen:
    """What moves on the terminal at present: at most one line, or bars."""

    line: _Moving | None = None
    own: Live | None = None
    """The line that is there for an outage alone."""
    has_bars: bool = False


_SCREEN = _Screen()


def show_outage(outage: Outage, pause: float) -> None:
    """A teller of outages (see `kube.outage`) for a terminal."""
    from kubeflink.kube.outage import write_lines

    if _SCREEN.has_bars:
        write_lines(outage, pause)
    elif outage.since is None:
        end_outage()
    elif _SCREEN.line is not None:
        _SCREEN.line.outage = outage
    elif outage.seconds + pause >= SOON_SECONDS:
        _SCREEN.line = _Moving("", outage)
        _SCREEN.own = _live(_SCREEN.line)
        _SCREEN.own.start()


def end_outage() -> None:
    """Take an outage off the terminal."""
    if _SCREEN.own is not None:
        _SCREEN.own.stop()
        _SCREEN.own = _SCREEN.line = None
    elif _SCREEN.line is not None:
        _SCREEN.line.outage = None


def _live(line: _Moving) -> Live:
    from rich.console import Console
    from rich.live import Live
    from rich.spinner import Spinner

    # stdout is for results, wherever that leads.
    return Live(
        Spinner("dots", text=line),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        refresh_per_second=8,
    )


@contextmanager
def waiting(begin: str) -> Iterator[Callable[[str], None]]:
    """Show `begin`, and then each text that the function inside is called with."""
    if not console.progress_on_terminal():
        console.say(begin)
        yield console.say
        return
    end_outage()
    line = _SCREEN.line = _Moving(begin)

    def tell(text: str) -> None:
        line.text = text

    try:
        with _live(line):
            yield tell
    finally:
        _SCREEN.line = None


@contextmanager
def uploading(name: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal for an upload, called with the bytes sent and the bytes of all."""
    with uploading_files() as tell:
        yield None if tell is None else lambda sent, total: tell(name, sent, total)


@contextmanager
def uploading_files() -> Iterator[Callable[[str, int, int], None] | None]:
    """The same for several files, called with the name of one before the bytes; none, no bar."""
    if not console.progress_on_terminal():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    # A name is no markup, whatever is in it.
    name = TextColumn("Uploading {task.description}", markup=False)
    columns = (name, BarColumn(), DownloadColumn())
    with Progress(
        *columns, TransferSpeedColumn(), console=Console(stderr=True), transient=True
    ) as bars:
        _SCREEN.has_bars = True
        tasks: dict[str, TaskID] = {}

        def tell(name: str, sent: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(console.visible(name), total=total)
            bars.update(tasks[name], completed=sent, total=total)

        try:
            yield tell
        finally:
            _SCREEN.has_bars = False
