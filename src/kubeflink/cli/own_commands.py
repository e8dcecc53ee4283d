"""kubeflink's own commands: a click group whose commands are imported when they are called.

The table below is all that `kubeflink --help` reads. Each module holds one command or group of
commands and imports what it needs inside them.
"""

from __future__ import annotations

import os
from importlib import import_module

import click

from kubeflink.cli import console
from kubeflink.cli.invocation import Invocation
from kubeflink.errors import KubeflinkError, UsageError

PROGRAM = "kubeflink"
COMPLETION_VARIABLE = "_KUBEFLINK_COMPLETE"

_SECTIONS = {
    "Clusters": {
        "session": ("session", "Start, stop and attach to session clusters"),
        "app": ("application", "Start application clusters and follow them"),
        "clusters": ("clusters", "List Flink clusters"),
        "describe": ("describe", "Show a cluster, its pods, jobs and troubles"),
        "logs": ("logs", "Print the logs of a cluster"),
        "ui": ("ui", "Open Flink's web UI, or print its address"),
        "broker": ("broker", "Give a JobManager its workers, so that it needs no rights itself"),
    },
    "Jobs": {
        "run": ("submission", "Run a program on a cluster"),
        "info": ("plan", "Show the plan of a program"),
        "list": ("jobs", "List the jobs of a cluster"),
        "cancel": ("jobs", "Cancel a job"),
        "stop": ("jobs", "Stop a job with a savepoint"),
        "savepoint": ("jobs", "Take a savepoint, or dispose of one"),
        "checkpoint": ("jobs", "Take a checkpoint"),
    },
    "Without a cluster": {
        "demo": ("demo", "Count the words of a text on a Kubernetes of its own"),
        "local": ("local", "An embedded Kubernetes in the background"),
        "manifest": ("manifest", "Print what would be created"),
        "diff": ("manifest", "Compare what would be created with what is there"),
        "options": ("options", "Explain configuration options"),
        "completion": ("completion", "Print the completion script for a shell"),
    },
}

_DROP_IN = {
    "kubernetes-session": "kubernetes-session.sh: deploy a session cluster",
    "run": "flink run: session, application and remote targets",
    "run-application": "flink run-application (Flink 1.x)",
    "list, cancel, stop, savepoint, checkpoint, info": "the actions of flink",
}


class OwnCommands(click.Group):
    """The group; commands are found in `_SECTIONS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for section in _SECTIONS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for section in _SECTIONS.values():
            if cmd_name in section:
                module = import_module(f"kubeflink.cli.{section[cmd_name][0]}")
                command: click.Command = getattr(module, f"{cmd_name}_command")
                return command
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            import difflib

            close = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f"Did you mean {close[0]}?" if close else f"See {PROGRAM} --help."
            raise UsageError(f"there is no command {args[0]}", hint=hint)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, section in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, about) for name, (_, about) in section.items()])
        with formatter.section("With the arguments of Flink's own scripts"):
            formatter.write_dl(list(_DROP_IN.items()))


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from kubeflink import __version__

        console.out(f"kubeflink {__version__}")
        ctx.exit()


@click.command(
    cls=OwnCommands,
    no_args_is_help=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--flink-version", metavar="VERSION", help="Flink version to imitate, such as 1.20.")
@click.option("--strict", is_flag=True, help="A misspelt configuration option is an error.")
@click.option("-v", "--verbose", count=True, help="Say what is done; twice: each request as well.")
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version of kubeflink.",
)
@click.pass_context
def commands(ctx: click.Context, flink_version: str | None, strict: bool, verbose: int) -> None:
    """Apache Flink on Kubernetes, without a JVM on this side.

    The options below stand before the command. Flink's configuration directory is FLINK_CONF_DIR,
    the Flink version to imitate KUBEFLINK_FLINK_VERSION.
    """
    if ctx.invoked_subcommand is None:
        console.out(ctx.get_help())


def run(invocation: Invocation, words: list[str]) -> int:
    """Run an own command and return its exit code.

    click's own `main` is left out: it would end the process with 1 where a pipe is broken.
    """
    if COMPLETION_VARIABLE in os.environ:
        commands.main(words, prog_name=PROGRAM, complete_var=COMPLETION_VARIABLE)
    try:
        with commands.make_context(PROGRAM, words, obj=invocation) as context:
            result = commands.invoke(context)
    except click.exceptions.Abort:
        return 130
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        console.plain(error.format_message())
        return UsageError.exit_code
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx is not None else PROGRAM
        message = _first_lower(" ".join(error.format_message().split()).rstrip("."))
        raise UsageError(message, hint=f"See {where} --help.") from None
    except click.ClickException as error:
        raise KubeflinkError(_first_lower(error.format_message())) from None
    return result if isinstance(result, int) else 0


def _first_lower(text: str) -> str:
    return text[:1].lower() + text[1:]
