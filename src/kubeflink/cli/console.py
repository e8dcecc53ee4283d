"""What the command line prints: results on stdout, everything about them on stderr.

A line that says something to the user begins with `kubeflink:`, so that it can be told from the
output of a job or of Flink in the same terminal. Nothing is coloured here; `rich` is imported where
a table or a progress bar is wanted and stdout or stderr is a terminal.

Names of jobs, messages of servers and lines of logs are written by others, and a terminal obeys
some characters: it would be cleared, or show what nobody said. So no control character of theirs
reaches one, nor stderr at all; what is in a pipe or a file on stdout is left as it is.

What is going on is said for a person. Where it cannot be kept, as on a full disk, it is lost, and
the command goes on; the result that cannot be kept is an error. When the reader goes away
(`| grep -q`), the own commands end as other programs do; those of Flink go on without one.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol, TextIO

from kubeflink.errors import KubeflinkError

_OBEYED: Final = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What a terminal obeys, beside tab and line end: control characters, and orders of writing."""

_COLOUR: Final = re.compile("\x1b\\[[0-9;:]*m")
"""How a piece of text is shown."""

_NEEDS_READER: Final = ContextVar("ends when its reader goes away", default=True)


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


@contextmanager
def unread_is_lost() -> Iterator[None]:
    """While this is open, a reader that goes away ends nothing (as with Java's `PrintStream`).

    A script with `set -o pipefail` that looks for a line by `grep -q` counts on it.
    """
    token = _NEEDS_READER.set(False)
    try:
        yield
    finally:
        _NEEDS_READER.reset(token)


def visible(text: str) -> str:
    """The text with each character that a terminal would obey as an escape, such as `\\x1b`."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def visible_json(text: str) -> str:
    """The same for JSON, which has escapes of its own for what its strings may hold."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def out(text: str = "") -> None:
    """A line of the result."""
    raw(f"{text}\n")


def out_of_log(text: str) -> None:
    """A line that a program has logged, with its colours; others' end with the line."""
    if not sys.stdout.isatty():
        _write(f"{text}\n")
        return
    colours = _COLOUR.findall(text)
    pieces = [visible(piece) for piece in _COLOUR.split(text)]
    shown = "".join(piece for pair in zip(pieces, [*colours, ""], strict=True) for piece in pair)
    _write(f"{shown}\x1b[0m\n" if colours else f"{shown}\n")


def raw(text: str) -> None:
    """A piece of the result.

    Raises BrokenPipeError when its reader has gone and is needed, KubeflinkError when it cannot be
    kept.
    """
    _write(visible(text) if sys.stdout.isatty() else text)


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        if _NEEDS_READER.get():
            raise
        discard_stdout()
    except OSError as error:
        raise unwritable(error) from error


def unwritable(error: OSError) -> KubeflinkError:
    """What to raise when stdout cannot be written; nothing more is written there."""
    discard_stdout()
    return KubeflinkError(f"The output cannot be written: {error.strerror}")


def say(text: str) -> None:
    """A line about what is going on.

    Raises BrokenPipeError when its reader has gone and is needed, once.
    """
    raw_error(f"kubeflink: {text}\n")


def plain(text: str) -> None:
    """A line on stderr without a beginning of ours."""
    raw_error(f"{text}\n")


def raw_error(text: str) -> None:
    """A piece on stderr, such as a question."""
    try:
        sys.stderr.write(visible(text))
        sys.stderr.flush()
    except OSError as error:
        _discard(sys.stderr)
        if isinstance(error, BrokenPipeError) and _NEEDS_READER.get():
            raise


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
    _discard(sys.stdout)


def _discard(stream: TextIO) -> None:
    """What is and will be written there is lost."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return  # a stream without a descriptor has nothing to flush
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
