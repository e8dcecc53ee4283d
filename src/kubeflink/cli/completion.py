"""`kubeflink completion`: the script that lets a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from kubeflink.cli import console
from kubeflink.cli.own_commands import COMPLETION_VARIABLE, PROGRAM, commands


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the completion script for SHELL.

    For bash: source <(kubeflink completion bash)
    """
    found = get_completion_class(shell)
    assert found is not None
    console.out(found(commands, {}, PROGRAM, COMPLETION_VARIABLE).source())
