"""Flink's commands: which of them are meant by a command line, and what runs them."""

from __future__ import annotations

from kubeflink.cli import console, flink_arguments, flink_options
from kubeflink.cli.flink_arguments import FlinkOption
from kubeflink.cli.invocation import Invocation
from kubeflink.errors import UsageError

OWN_WORLD = ("--session", "--app")
"""The options that make `run`, `list` and the like own commands."""

SHARED = ("run", "list", "cancel", "stop", "savepoint", "checkpoint", "info")

_PROBE = tuple(FlinkOption(None, name[2:], arguments=1) for name in OWN_WORLD)


def are_meant(invocation: Invocation, command: str, words: list[str]) -> bool:
    """Whether this is Flink's command, and not the own one of that name.

    It is the own one if it names a cluster by `--session` or `--app`, unless these words belong to
    the program: they count up to the first word that is no option of Flink's.
    """
    if command not in SHARED or not any(_names_cluster(word) for word in words):
        return True
    options = flink_options.options_of(command, invocation.version)
    program_follows = command in flink_options.PROGRAM_ACTIONS
    try:
        line = flink_arguments.parse((*options, *_PROBE), words, program_follows=program_follows)
    except UsageError:
        return False  # an option of the own command
    if any(line.has(option.key) for option in _PROBE):
        return False
    rest = line.arguments
    return not (rest and rest[0].startswith("-") and any(_names_cluster(word) for word in rest))


def run(invocation: Invocation, command: str, words: list[str]) -> int:
    """Run one of Flink's commands and return its exit code."""
    with console.unread_is_lost():
        if command == "kubernetes-session":
            from kubeflink.cli import kubernetes_session

            return kubernetes_session.run(invocation, words)
        from kubeflink.cli.flink_actions import run as run_action

        return run_action(invocation, command, words)


def _names_cluster(word: str) -> bool:
    return word.partition("=")[0] in OWN_WORLD
