"""The entry point: finds the command, runs it, and turns what went wrong into an exit code.

Two worlds share some names. Flink's commands (`kubernetes-session`, `run`, `list`, ...) have the
forms of Flink's scripts and are read by `flink_arguments`; the own commands are click commands. A
command that both have is an own one when it names a cluster by `--session` or `--app`. Nothing is
imported before it is known to be needed: `--help` must not pay for a Kubernetes client.

Exit codes: 0; 1 failed; 2 the request itself was wrong; 3 a wait ran out; 4 no such cluster;
130, 143 and 129 interrupted; 141 the reader of an own command's output went away.
"""

from __future__ import annotations

import atexit
import errno
import gc
import sys
from collections.abc import Sequence

from kubeflink.cli import console, signals
from kubeflink.cli import invocation as invocations
from kubeflink.cli.invocation import Interrupted, Invocation, Terminated
from kubeflink.errors import KubeflinkError, UsageError

FLINK_COMMANDS = (
    "kubernetes-session",
    "run",
    "run-application",
    "info",
    "list",
    "stop",
    "cancel",
    "savepoint",
    "checkpoint",
)

_FULL = (errno.ENOSPC, errno.EDQUOT)
"""What a full disk says, in whatever is written: no defect of ours."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; errors have been printed by then.

    Without `argv` this is the whole process. Its modules are then frozen for the collector at the
    end: looking for cycles in them takes a sixth of the time of a short command.
    """
    if argv is None:
        atexit.register(gc.freeze)
    words = list(sys.argv[1:] if argv is None else argv)
    console.prepare_streams()
    try:
        with signals.raised():
            code = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        console.discard_stdout()
        return 141
    return code


def _run(words: list[str]) -> int:
    try:
        for word in words:
            _check_encoding(word)
        invocation, words = invocations.split(words)
        return _dispatch(invocation, words)
    except KubeflinkError as error:
        console.failure(error)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except (Interrupted, Terminated) as end:
        return end.exit_code
    except OSError as error:
        if error.errno not in _FULL:
            raise
        console.failure(console.unwritable(error))
        return KubeflinkError.exit_code
    except BaseExceptionGroup as group:
        cause = _only_cause(group)
        if cause is None:
            raise
        console.failure(cause)
        return cause.exit_code


def _dispatch(invocation: Invocation, words: list[str]) -> int:
    if invocation.verbose:
        from kubeflink.cli import running

        running.log_to_stderr(invocation.verbose)
    if words and words[0] in FLINK_COMMANDS:
        from kubeflink.cli import flink_commands

        command, *rest = words
        if flink_commands.are_meant(invocation, command, rest):
            return flink_commands.run(invocation, command, rest)
    from kubeflink.cli import own_commands

    return own_commands.run(invocation, words)


def _check_encoding(word: str) -> None:
    """Refuse bytes that are no UTF-8: they could not be sent, and would be changed on the way."""
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        shown = word.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        raise UsageError(f"the argument {shown} is not valid UTF-8") from None


def _only_cause(group: BaseExceptionGroup[BaseException]) -> KubeflinkError | None:
    """The first error of a group in which everything is an error that a user can act on."""
    ours, others = group.split(KubeflinkError)
    if ours is None or others is not None:
        return None
    first: BaseException = ours
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    assert isinstance(first, KubeflinkError)
    return first
