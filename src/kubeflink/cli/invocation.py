"""What was said before the command: options that hold for every command."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kubeflink.errors import UsageError

if TYPE_CHECKING:
    from kubeflink.config.versions import FlinkVersion


class Terminated(BaseException):
    """SIGTERM or SIGHUP arrived; whatever was open is closed on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


class Interrupted(BaseException):
    """Ctrl-C was answered: what to do with a running job has been settled."""

    exit_code = 130


@dataclass(frozen=True, slots=True)
class Invocation:
    """The options in front of the command.

    `flink_version` is as it was written, None for the environment's or the newest. With `strict`,
    a misspelt configuration option is an error. `verbose` counts: 1 shows what is done, 2 also each
    request.
    """

    flink_version: str | None = None
    strict: bool = False
    verbose: int = 0

    @property
    def version(self) -> FlinkVersion:
        """The Flink version to imitate; `ConfigurationError` if there is no such version."""
        from kubeflink.config.versions import DEFAULT, VERSION_VARIABLE, FlinkVersion

        text = self.flink_version or os.environ.get(VERSION_VARIABLE)
        return FlinkVersion.parse(text) if text else DEFAULT


def checked_version(text: str) -> str:
    """The value of `--flink-version`; UsageError if there is no such version, whoever uses it."""
    from kubeflink.config.versions import FlinkVersion

    if not text.strip():
        raise UsageError("the option --flink-version needs a value such as 2.3")
    FlinkVersion.parse(text)
    return text


def split(words: list[str]) -> tuple[Invocation, list[str]]:
    """Take the leading options off the words; the command comes first in what is left."""
    invocation = Invocation()
    while words:
        word, rest = words[0], words[1:]
        if word == "--strict":
            invocation = replace(invocation, strict=True)
        elif word in ("-v", "--verbose", "-vv"):
            added = 2 if word == "-vv" else 1
            invocation = replace(invocation, verbose=invocation.verbose + added)
        elif word == "--flink-version" or word.startswith("--flink-version="):
            value = word.partition("=")[2]
            if "=" not in word:
                if not rest:
                    raise UsageError("the option --flink-version needs a value such as 2.3")
                value, *rest = rest
            invocation = replace(invocation, flink_version=checked_version(value))
        else:
            break
        words = rest
    return invocation, words
