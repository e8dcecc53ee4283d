"""`kubeflink demo`: what the demo tells, as lines in a pipe or with a spinner on a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubeflink.cli import console, extras
from kubeflink.cli.running import run

if TYPE_CHECKING:
    from rich.status import Status

    from kubeflink.local.demo import Event, Words

TOP = 10


@click.command("demo")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--keep", is_flag=True, help="Leave the cluster running, and say how to use it.")
@click.option(
    "--top", default=TOP, show_default=True, type=click.IntRange(1), help="How many words to show."
)
def demo_command(file: Path | None, keep: bool, top: int) -> None:
    """Count the words of a text with real Flink, on a Kubernetes that kubeflink brings along.

    FILE is a text in UTF-8; without one, the first part of Newton's Opticks (1730) is counted.
    Nothing is left behind, unless --keep is given.
    """
    extras.need("local", "The embedded Kubernetes")
    from kubeflink.local import demo

    with _renderer(top) as tell:
        if keep:
            kept = run(demo.run_and_keep(file, tell))
        else:
            run(demo.run(file, tell))
    if keep:
        console.out()
        console.out(f"The cluster keeps running. Web UI: {kept.web_interface}")
        console.out(f"  export KUBECONFIG={shlex.quote(str(kept.kubeconfig))}")
        console.out(f"  kubeflink list --session {kept.cluster_id}")
        console.out(f"  kubeflink session stop {kept.cluster_id}")
        console.out("  kubeflink local down")


@contextmanager
def _renderer(top: int) -> Iterator[Callable[[Event], None]]:
    lines = _Lines(top)
    if not console.on_terminal():
        yield lines.tell
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield _Spinner(lines, status).tell


class _Lines:
    """Each event as a line: the same on a terminal and in a pipe."""

    def __init__(self, top: int) -> None:
        self.top = top
        self.state = ""

    def tell(self, event: Event) -> None:
        from kubeflink.local import demo

        match event:
            case demo.StepDone(text, seconds):
                console.out(f"{text} ... {seconds:.1f} s")
            case demo.JobChanged(job_id, state):
                if not self.state:
                    console.out(f"  job {job_id}")
                self.state = state
                console.out(f"  job is {state}")
            case demo.TaskManagersChanged(count):
                console.out(f"  TaskManagers: {count}")
            case demo.WebInterface(url):
                console.out(f"  web UI, while it runs: {url}")
            case demo.Words():
                self._table(event)
            case demo.StepBegun() | demo.Waiting():
                pass  # on a terminal, the spinner shows these

    def _table(self, words: Words) -> None:
        shown = words.counts[: self.top]
        total = sum(count for _, count in words.counts)
        console.out()
        if not shown:
            console.out(f"There is no word in {words.source}.")
        width = max((len(word) for word, _ in shown), default=0)
        digits = max((len(str(count)) for _, count in shown), default=0)
        for word, count in shown:
            console.out(f"  {word:<{width}}  {count:>{digits}}")
        console.out(f"  ({total} words, {len(words.counts)} different ones, in {words.source})")
        console.out()


class _Spinner:
    """Shows the step under way below the lines."""

    def __init__(self, lines: _Lines, status: Status) -> None:
        self.lines = lines
        self.status = status
        self.step = ""

    def tell(self, event: Event) -> None:
        from kubeflink.local import demo

        match event:
            case demo.StepBegun(text):
                self.step = text
                self.status.update(text)
            case demo.Waiting(text):
                self.status.update(f"{self.step}: {text}")
            case _:
                self.status.stop()
                self.lines.tell(event)
                self.status.start()
