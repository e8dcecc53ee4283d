"""`kubeflink demo`: the word count, plain in a pipe, with a clock and a table on a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from kubeflink.cli import console, tables

if TYPE_CHECKING:
    from kubeflink.local.demo import Event, Words

TOP = 10


@click.command("demo", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--keep", is_flag=True, help="Leave the cluster running, in the background.")
@click.option(
    "--top", type=click.IntRange(min=1), default=TOP, show_default=True, help="Words to show."
)
def demo_command(file: Path | None, keep: bool, top: int) -> None:
    """Count the words of FILE with real Flink, on a Kubernetes that kubeflink brings along.

    Without FILE a text that comes with kubeflink is counted. Needs the extra `local`: no Docker, no
    root.
    """
    from kubeflink.cli import running
    from kubeflink.local import demo

    screen: Screen = _Terminal(top) if console.on_terminal() else _Pipe(top)
    try:
        if not keep:
            running.run(demo.run(file, screen.tell))
            return
        kept = running.run(demo.run_and_keep(file, screen.tell))
    finally:
        screen.close()
    console.out(f"The cluster keeps running; its web UI is {kept.web_interface}")
    console.out(f"export KUBECONFIG={kept.kubeconfig}")
    console.out(f"kubeflink session stop {kept.cluster_id} && kubeflink local down")


class Screen(Protocol):
    """Shows what the demo tells."""

    def tell(self, event: Event) -> None:
        """Show one event."""

    def close(self) -> None:
        """Leave the screen in order, whatever was shown last."""


class _Pipe:
    """Lines that stay as they are."""

    def __init__(self, top: int) -> None:
        self._top = top

    def tell(self, event: Event) -> None:
        from kubeflink.local import demo

        match event:
            case demo.StepBegun(text):
                console.out(f"{text} ...")
            case demo.StepDone(text, seconds, detail):
                told = f": {detail}" if detail else ""
                console.out(f"{text}: done after {seconds:.1f} s{told}")
            case demo.Words():
                self._words(event)
            case _:
                line = _line(event)
                if line is not None:
                    console.out(f"  {line}")

    def _words(self, words: Words) -> None:
        rows = [(word, str(count)) for word, count in words.counts[: self._top]]
        for line in tables.table(("WORD", "COUNT"), rows):
            console.out(f"  {line}")
        console.out(f"  {_total(words)}")

    def close(self) -> None:
        pass


class _Terminal:
    """A clock behind the step that is under way, and the words as a table."""

    def __init__(self, top: int) -> None:
        from rich.console import Console

        self._top = top
        self._console = Console(highlight=False)
        self._status: Any = None

    def tell(self, event: Event) -> None:
        from kubeflink.local import demo

        match event:
            case demo.StepBegun(text):
                self._status = self._console.status(text)
                self._status.start()
            case demo.StepDone(text, seconds, detail):
                self.close()
                told = f" {detail}" if detail else ""
                self._console.print(f"[green]✓[/] {text} [dim]{seconds:.1f} s[/]{told}")
            case demo.Words():
                self._words(event)
            case _:
                line = _line(event)
                if line is not None:
                    self._console.print(f"  [dim]{line}[/]")

    def _words(self, words: Words) -> None:
        from rich.table import Table

        table = Table("word", title=f"Words of {words.source}")
        table.add_column("count", justify="right")
        for word, count in words.counts[: self._top]:
            table.add_row(word, str(count))
        self._console.print(table)
        self._console.print(f"  {_total(words)}")

    def close(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def _line(event: Event) -> str | None:
    from kubeflink.local import demo

    match event:
        case demo.Waiting(text):
            return text
        case demo.JobChanged(job_id, state):
            return f"job {job_id}: {state}"
        case demo.TaskManagersChanged(count):
            return f"TaskManagers: {count}"
        case demo.WebInterface(url):
            return f"web UI: {url}"
        case _:
            return None


def _total(words: Words) -> str:
    return f"{sum(count for _, count in words.counts)} words, {len(words.counts)} different ones"
