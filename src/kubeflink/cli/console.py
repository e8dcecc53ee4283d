"""What the command line prints: results on stdout, everything about them on stderr.

A line that says something to the user begins with `kubeflink:`, so that it can be told from the
output of a job or of Flink in the same terminal. Nothing is coloured here; `rich` is imported where
a table or a progress bar is wanted and stdout or stderr is a terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Protocol

from kubeflink.errors import KubeflinkError


class Notice(Protocol):
    """Something worth knowing that stops nothing, such as a misspelt option."""

    @property
    def message(self) -> str: ...


def prepare_streams() -> None:
    """Let both streams print what they cannot encode as an escape, rather than fail.

    A stream that was closed before we started (`>&-`) is None; what goes there is lost.
    """
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the end
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the end
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def out(text: str = "") -> None:
    """A line of the result."""
    raw(f"{text}\n")


def raw(text: str) -> None:
    """A piece of the result as it is.

    Raises BrokenPipeError when its reader has gone, KubeflinkError when it cannot be kept.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_stdout()
        raise KubeflinkError(f"The output cannot be written: {error.strerror}") from error


def say(text: str) -> None:
    """A line about what is going on."""
    sys.stderr.write(f"kubeflink: {text}\n")
    sys.stderr.flush()


def plain(text: str) -> None:
    """A line on stderr as it is."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def raw_error(text: str) -> None:
    """A piece on stderr as it is, such as a question."""
    sys.stderr.write(text)
    sys.stderr.flush()


def notices(found: Iterable[Notice]) -> None:
    """One line for each notice, repeated ones once."""
    for message in dict.fromkeys(notice.message for notice in found):
        say(" ".join(message.split()))


def failure(error: KubeflinkError) -> None:
    """What went wrong, and under it what to do next."""
    first, *rest = str(error).splitlines() or [type(error).__name__]
    say(first)
    for line in rest:
        plain(f"  {line}")


def on_terminal() -> bool:
    """Whether a person reads stdout."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def progress_on_terminal() -> bool:
    """Whether a person reads stderr, where progress is shown."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def discard_stdout() -> None:
    """After a broken pipe: keep the interpreter from failing again when it flushes at exit."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return  # a stdout without a descriptor has nothing to flush
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
