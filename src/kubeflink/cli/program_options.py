"""Options of the commands that run a program, whether on a session or as an application."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("-c", "--class", "entry_class", metavar="CLASS", help="The class with `main`."),
    click.option("-p", "--parallelism", type=click.IntRange(min=1), help="The job's parallelism."),
    click.option("-s", "--from-savepoint", metavar="PATH", help="The savepoint to start from."),
    click.option("--allow-non-restored-state", is_flag=True, help="Skip state that nobody takes."),
    click.option(
        "--claim-mode",
        type=click.Choice(["NO_CLAIM", "CLAIM", "LEGACY"], case_sensitive=False),
        help="Who owns the savepoint afterwards.",
    ),
    click.option("-e", "--sql", metavar="STATEMENTS", help="Run these SQL statements."),
    click.option("--py-files", metavar="FILES", help="Python files, separated by commas."),
    click.option("--py-archives", metavar="FILES", help="Archives for the Python workers."),
    click.option(
        "--py-requirements", metavar="FILE", help="requirements.txt of the Python workers."
    ),
)


def program_options(function: F) -> F:
    """Adds what can be said about a program besides what and where it is, and its arguments."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
