"""`kubeflink app`: application clusters, with kubectl's habits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubeflink.cli import console, next_step, progress, tables
from kubeflink.cli.cluster_options import (
    Deploying,
    delete,
    deploying_options,
    stopping_options,
)
from kubeflink.cli.invocation import Invocation
from kubeflink.cli.jobs import HELP_NAMES
from kubeflink.cli.program_options import program_options
from kubeflink.cli.submission import ON_COMMAND_LINE, PYTHON_SUFFIX, SQL_SUFFIX, read_statements
from kubeflink.errors import ClusterFailedError, UsageError, WaitTimeoutError
from kubeflink.spec.program import SQL_DRIVER

if TYPE_CHECKING:
    from kubeflink.cluster.access import Connection
    from kubeflink.cluster.application import ApplicationCluster
    from kubeflink.cluster.job import JobOutcome
    from kubeflink.cluster.job_progress import JobProgress
    from kubeflink.config import Configuration
    from kubeflink.kube import KubeClient
    from kubeflink.spec import Program


@click.group("app", context_settings=HELP_NAMES)
def app_command() -> None:
    """Start application clusters and follow them."""


class NamedProgram(click.Command):
    """A command for NAME PROGRAM ARGUMENTS, whose options may stand before and behind NAME.

    What stands behind PROGRAM belongs to it, but for a `--` that sets its arguments apart.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._name_last(ctx, args))

    def _name_last(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The words with the options behind NAME moved before it."""
        words = self._words(ctx, args)
        before = args[: len(args) - len(words)]
        if "--" in before or len(words) < 2 or not words[1].startswith("-") or words[1] == "--":
            return args
        name, *others = words
        program = self._words(ctx, others)
        return [*before, *others[: len(others) - len(program)], name, *program]

    def _words(self, ctx: click.Context, args: list[str]) -> list[str]:
        """What is left when the options in front are read."""
        options: list[click.Parameter] = [
            each for each in self.params if isinstance(each, click.Option)
        ]
        _, words, _ = click.Command(self.name, params=options).make_parser(ctx).parse_args([*args])
        return words


@app_command.command("start", cls=NamedProgram, context_settings={"allow_interspersed_args": False})
@deploying_options(None, "for the end of the application")
@program_options
@click.option("-C", "--classpath", "classpaths", multiple=True, metavar="URL", help="Class path.")
@click.option("--py-module", metavar="MODULE", help="Run this Python module of --py-files.")
@click.argument("name")
@click.argument("program", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def start(invocation: Invocation, /, *, deploying: Deploying, name: str, **given: Any) -> None:
    """Start the application cluster NAME with PROGRAM and follow it to its end.

    PROGRAM is where the pods find it: local:///opt/flink/usrlib/job.jar for a file of the image,
    https:// or s3:// for others; a name that ends in .py is a Python program. A name that ends in
    .sql is a SQL script, and may also be a file of this machine. Words behind it are its arguments.
    The exit code tells how it ended; Ctrl-C asks whether to end it.
    """
    from kubeflink.cli import running

    program = _program(given)
    configuration, client = deploying.configured(invocation, name)
    given["preflight"] = deploying.preflight
    running.run(_start(client, configuration, program, given))


def _program(given: Mapping[str, Any]) -> Program:
    where, module, sql = given["program"], given["py_module"], given["sql"]
    if sum(each is not None for each in (where, module, sql)) != 1:
        raise UsageError("name one program: PROGRAM, --py-module MODULE or --sql STATEMENTS")
    if where is not None and where.startswith("-"):
        raise UsageError(f"{where} is no program", hint="The program stands behind the name.")
    found = _sql_program(where, sql) if sql or is_sql(where) else _named_program(where, given)
    arguments: tuple[str, ...] = given["arguments"]
    if arguments[:1] == ("--",):
        arguments = arguments[1:]
    if found.main_class == SQL_DRIVER and arguments:
        raise UsageError("SQL takes no arguments", hint="Options go before the file.")
    return replace(
        found,
        main_class=given["entry_class"] or found.main_class,
        arguments=(*found.arguments, *arguments),
        classpaths=given["classpaths"],
        parallelism=given["parallelism"],
        detached=not given["wait"],
        savepoint_path=given["from_savepoint"],
        allow_non_restored_state=given["allow_non_restored_state"],
        claim_mode=given["claim_mode"],
    )


def is_sql(where: str | None) -> bool:
    """Whether a program is a SQL script by its name."""
    return where is not None and where.endswith(SQL_SUFFIX)


def _sql_program(where: str | None, sql: str | None) -> Program:
    from kubeflink.cli.flink_program import is_uri
    from kubeflink.spec import sql_file_program, sql_program

    if sql is not None:
        return sql_program(sql, ON_COMMAND_LINE)
    assert where is not None
    if is_uri(where):
        return sql_file_program(where)
    return sql_program(read_statements(Path(where)), where)


def _named_program(where: str | None, given: Mapping[str, Any]) -> Program:
    from kubeflink.spec import Program, PythonProgram

    is_script = where is not None and where.endswith(PYTHON_SUFFIX)
    python = PythonProgram(
        _path_in_image(where) if is_script else None,
        module=given["py_module"],
        files=given["py_files"],
        archives=given["py_archives"],
        requirements=given["py_requirements"],
    )
    return Program(
        uri=None if is_script else where, python=None if python == PythonProgram() else python
    )


def _path_in_image(where: str | None) -> str | None:
    """Without `local://`, which Flink's driver of Python programs does not know."""
    return None if where is None else where.removeprefix("local://")


async def _start(
    client: KubeClient, configuration: Configuration, program: Program, given: Mapping[str, Any]
) -> None:
    from kubeflink.cli import preflight
    from kubeflink.cluster.application import ApplicationCluster

    async with client:
        if given["preflight"]:
            await preflight.check(client, configuration, application=True)
        with progress.uploading_files() as on_upload:
            app = await ApplicationCluster.deploy_configured(
                client, configuration, program, on_upload=on_upload
            )
        async with app:
            if not given["wait"]:
                _show({"name": app.name, "namespace": app.namespace, "uid": app.uid}, given)
                return
            outcome = await _follow(app, given["timeout"])
            _show(tables.plain(outcome), given)
            outcome.check()


async def _follow(app: ApplicationCluster, timeout: float | None) -> JobOutcome:
    """Follow an application to its end; Ctrl-C asks whether to end it."""
    from kubeflink.cli import attending

    async def on_interrupt(pressed: asyncio.Event) -> None:
        if await attending.asked(f"End the application {app.name}? Otherwise it goes on.", pressed):
            await app.delete(wait=False)
            console.say(f"the application {app.name} is being ended")
        else:
            _say_it_goes_on(app)

    try:
        return await attending.attended(_shown(app, timeout), on_interrupt)
    except ClusterFailedError:
        how = next_step.command(f"app stop {app.name}", app)
        console.say(f"the cluster {app.name} is left to be looked at; end it: {how}")
        raise
    except (WaitTimeoutError, asyncio.CancelledError):
        _say_it_goes_on(app)
        raise


def _say_it_goes_on(app: ApplicationCluster) -> None:
    how = next_step.command(f"app stop {app.name}", app)
    console.say(f"the application {app.name} goes on; end it: {how}")


async def _shown(app: ApplicationCluster, timeout: float | None) -> JobOutcome:
    with progress.waiting(f"Starting the application cluster {app.name}") as tell:

        def on_progress(seen: JobProgress) -> None:
            tell(f"{seen.name or seen.job_id}: {seen.state}")

        return await app.wait(
            timeout=timeout,
            check=False,
            on_progress=on_progress,
            on_stage=lambda stage: tell(f"{app.name}: {stage.text}"),
            on_trouble=lambda seen: console.say(seen.sentence),
        )


def _show(found: dict[str, Any], given: Mapping[str, Any]) -> None:
    if given["output"] != "text":
        tables.document(found, given["output"])
    elif "state" in found:
        name, job_id = found["name"], found["job_id"]
        what = f"job {name} ({job_id})" if job_id else f"application {name}"
        console.out(f"The {what} ended as {found['state']}")
    else:
        where = f"{found['name']} in namespace {found['namespace']}"
        console.out(f"The application cluster {where} is being started")


@app_command.command("stop")
@stopping_options
def stop(*, connection: Connection, name: str, **given: Any) -> None:
    """Delete the application cluster NAME; its job is not asked for a savepoint."""
    from kubeflink.cli import running

    running.run(delete(connection, name, **given))
