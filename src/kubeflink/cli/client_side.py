"""Programs whose `main` runs on this side: what they print, and Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubeflink.cli import console
from kubeflink.cluster.client_side import Hearing
from kubeflink.config.options import client

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubeflink.config import Configuration
    from kubeflink.errors import RestStatusError

CLIENT = "client"

_FILE_ERRORS = ("java.io.FileNotFoundException", "java.nio.file.NoSuchFileException")


def hearing(
    on_job: Callable[[str], None] | None = None, *, out: Callable[[str], None] = console.out
) -> Hearing:
    """A program's own lines go to `out` and stderr, ours to stderr."""
    return Hearing(out, console.plain, console.say, on_job or (lambda job: None))


def is_wanted(configuration: Configuration) -> bool:
    """Whether `main` shall run on this side."""
    return configuration.get(client.JOB_GRAPH) == CLIENT


def advise(error: RestStatusError, words: str) -> None:
    """Say where `main` has run to who may not have expected it: it missed a file there."""
    missed = any(name in text for text in error.server_errors for name in _FILE_ERRORS)
    if missed and error.hint is None:
        error.hint = (
            "`main` runs in the JobManager, which has no files of this machine;"
            f" with {words} it runs here"
        )
