"""`run` on a cluster that is named by `--session`: jars, SQL and Python programs.

Where a program becomes a job decides what this machine needs. A jar is uploaded, and SQL goes with
a small jar of our own: both run inside the JobManager, unless the job graph is to be made on this
side. A Python program runs here, and Flink's Python API makes the job in a JVM beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubeflink.cli import console, next_step, progress, tables
from kubeflink.cli.jobs import HELP_NAMES, on_cluster, open_cluster
from kubeflink.cli.parameters import (
    output_option,
    property_option,
    timeout_option,
    wait_option,
)
from kubeflink.cli.program_options import program_options
from kubeflink.errors import LocalError, RestStatusError, UsageError, WaitTimeoutError

if TYPE_CHECKING:
    from kubeflink.cluster.access import Connection
    from kubeflink.cluster.diagnosis import Diagnosis
    from kubeflink.cluster.job import Job, JobOutcome
    from kubeflink.cluster.job_progress import JobProgress
    from kubeflink.cluster.session import SessionCluster
    from kubeflink.cluster.sql_mistakes import Script
    from kubeflink.config import Configuration
    from kubeflink.spec import Program

SQL_SUFFIX = ".sql"
PYTHON_SUFFIX = ".py"
ON_COMMAND_LINE = "--sql"


@click.command("run", context_settings={**HELP_NAMES, "allow_interspersed_args": False})
@on_cluster
@program_options
@click.option("-C", "--classpath", "classpaths", multiple=True, metavar="URL", help="Class path.")
@click.option(
    "--job-graph",
    type=click.Choice(["cluster", "client"]),
    help="Where `main` runs and makes the job: in the cluster, or here, in a JVM.",
)
@property_option
@wait_option
@click.option("-d", "--detached", is_flag=True, help="The same as --no-wait.")
@timeout_option(None, "for the end of the job")
@output_option("text", "json", "yaml")
@click.argument("program", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run_command(
    *,
    connection: Connection,
    cluster: str,
    program: str | None,
    sql: str | None,
    wait: bool,
    detached: bool,
    **given: Any,
) -> None:
    """Run PROGRAM and follow the job to its end.

    PROGRAM is a jar, a file of SQL statements (.sql) or a Python program (.py). Words after it are
    its arguments. The exit code tells how the job ended; Ctrl-C asks whether to cancel it.
    """
    from kubeflink.cli import running

    if (program is None) == (sql is None):
        raise UsageError(
            "name one program: a jar, a file ending in .sql or .py, or --sql STATEMENTS"
        )
    from kubeflink import config
    from kubeflink.cli import client_side
    from kubeflink.config.options import client

    given["follows"] = wait and not detached
    if program is not None:
        _check_files(program, given)
    options: dict[str, object] = dict(given["options"])
    if given["job_graph"] is not None:
        options[client.JOB_GRAPH.key] = given["job_graph"]
    configuration = config.load(conf_dir=None, overrides=options, environ={})
    if program is not None and program.endswith(PYTHON_SUFFIX):
        here = _python_program(program, given)
        running.run(_run_here(connection, cluster, here, configuration, given))
        return
    if program is not None and program.endswith(SQL_SUFFIX):
        sql = read_statements(Path(program))
    if client_side.is_wanted(configuration):
        script = _script(program, sql, given)
        here = _jar_program(program, script, given)
        running.run(_run_here(connection, cluster, here, configuration, given, script))
        return
    running.run(_run(connection, cluster, program, sql, given))


def _check_files(program: str, given: Mapping[str, Any]) -> None:
    """UsageError for a file that is not there, before anybody is asked about the cluster."""
    from kubeflink.cluster.jars import check_jar

    if not program.endswith((SQL_SUFFIX, PYTHON_SUFFIX)):
        check_jar(Path(program))
    elif not Path(program).is_file():
        raise UsageError(f"There is no file {program}")
    for option in ("py_files", "py_archives", "py_requirements"):
        for word in filter(None, (given[option] or "").split(",")):
            path = word.partition("#")[0]  # what follows is the name that it gets
            if "://" not in path and not Path(path).exists():
                raise UsageError(f"There is no file {path}")


def read_statements(path: Path) -> str:
    """The text of a SQL script on this machine; UsageError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


async def _run(
    connection: Connection,
    name: str,
    program: str | None,
    sql: str | None,
    given: Mapping[str, Any],
) -> None:
    """Submit a program and, if that is wanted, follow its job to the end."""
    async with AsyncExitStack() as stack:
        cluster = await open_cluster(stack, connection, name)
        if sql is not None:
            job = await _submit_sql(cluster, program or ON_COMMAND_LINE, sql, given)
        else:
            assert program is not None
            job = await _submit_jar(cluster, program, given)
        if not given["follows"]:
            _show_job(job, None, given["output"])
            return
        if given["output"] == "text":
            console.out(f"Job has been submitted with JobID {job.id}")
        console.say(f"cancel it: {_how_to_cancel(job)}")
        outcome = await follow(job, given["timeout"])
        _show_job(job, outcome, given["output"])
        outcome.check()


async def _submit_jar(cluster: SessionCluster, jar: str, given: Mapping[str, Any]) -> Job:
    from kubeflink.cli import client_side

    try:
        with progress.uploading(Path(jar).name) as on_upload:
            return await cluster.submit_jar(
                jar,
                entry_class=given["entry_class"],
                args=given["arguments"],
                **_submission(given),
                on_upload=on_upload,
            )
    except RestStatusError as error:
        client_side.advise(error, "--job-graph client")
        raise


async def _submit_sql(
    cluster: SessionCluster, source: str, sql: str, given: Mapping[str, Any]
) -> Job:
    _check_no_arguments(given)
    return await cluster.submit_sql(sql, source=source, **_submission(given))


def _check_no_arguments(given: Mapping[str, Any]) -> None:
    if given["arguments"]:
        raise UsageError("SQL takes no arguments", hint="Options go before the file.")


def _submission(given: Mapping[str, Any]) -> dict[str, Any]:
    from kubeflink.cluster.job_options import with_classpaths

    options = with_classpaths(given["options"], given["classpaths"])
    return {
        "parallelism": given["parallelism"],
        "savepoint": given["from_savepoint"],
        "allow_non_restored_state": given["allow_non_restored_state"] or None,
        "claim_mode": given["claim_mode"],
        "options": options or None,
    }


async def _run_here(
    connection: Connection,
    name: str,
    program: Program,
    configuration: Configuration,
    given: Mapping[str, Any],
    script: Script | None = None,
) -> None:
    """Run a program on this side, which submits jobs, to its end; Ctrl-C asks about its jobs.

    `script` is that of a program that is SQL.
    """
    from kubeflink.cli import attending, client_side
    from kubeflink.cluster.client_side import run_program

    is_text = given["output"] == "text"
    jobs: list[Job] = []

    async def on_interrupt(pressed: asyncio.Event) -> None:
        for job in jobs:
            await _ask_about(job, pressed)

    async with AsyncExitStack() as stack:
        cluster = await open_cluster(stack, connection, name)
        hearing = client_side.hearing(
            lambda job: jobs.append(cluster.job(job)), out=console.out if is_text else console.plain
        )
        running_here = run_program(cluster, program, configuration, hearing)
        try:
            async with asyncio.timeout(given["timeout"]):
                await attending.attended(running_here, on_interrupt)
        except TimeoutError as error:
            for job in jobs:
                _say_it_goes_on(job)
            limit = f"{given['timeout']:.0f} s"
            raise WaitTimeoutError(f"The program has not ended after {limit}") from error
        except LocalError as error:
            await _raise_what_befell(jobs)
            explained = error if script is None else script.explained_here(error)
            if explained is error:
                raise
            raise explained from error
        for job in jobs:
            await _show_end(job, given)


async def _raise_what_befell(jobs: Sequence[Job]) -> None:
    """JobFailedError if the last job has failed: it says more than the program about that."""
    if jobs and await jobs[-1].state() in ("FAILED", "CANCELED"):
        (await jobs[-1].wait(check=False)).check()


async def _show_end(job: Job, given: Mapping[str, Any]) -> None:
    """How a job ended, if that is wanted; Flink's client has said that it was submitted."""
    if given["follows"]:
        outcome = await follow(job, given["timeout"])
        _show_job(job, outcome, given["output"])
        outcome.check()
    elif given["output"] != "text":
        _show_job(job, None, given["output"])


def _python_program(script: str, given: Mapping[str, Any]) -> Program:
    from kubeflink.spec import Program, PythonProgram

    return Program(
        main_class=given["entry_class"],
        arguments=given["arguments"],
        python=PythonProgram(
            script,
            files=given["py_files"],
            archives=given["py_archives"],
            requirements=given["py_requirements"],
        ),
        parallelism=given["parallelism"],
        detached=not given["follows"],
        savepoint_path=given["from_savepoint"],
        allow_non_restored_state=given["allow_non_restored_state"],
        claim_mode=given["claim_mode"],
    )


def _script(file: str | None, sql: str | None, given: Mapping[str, Any]) -> Script | None:
    """The statements of a program that is SQL."""
    if sql is None:
        return None
    from kubeflink.cluster.sql_mistakes import script_of_session

    _check_no_arguments(given)
    return script_of_session(sql, file or ON_COMMAND_LINE)


def _jar_program(jar: str | None, script: Script | None, given: Mapping[str, Any]) -> Program:
    """A jar, or SQL with the jar that runs it."""
    from kubeflink.spec import Program

    main_class, arguments = given["entry_class"], given["arguments"]
    if script is not None:
        from kubeflink.cluster import runner

        arguments = tuple(script.texts)
        jar, main_class = str(runner.jar()), runner.MAIN_CLASS
    return Program(
        uri=jar,
        main_class=main_class,
        arguments=arguments,
        classpaths=given["classpaths"],
        parallelism=given["parallelism"],
        detached=not given["follows"],
        savepoint_path=given["from_savepoint"],
        allow_non_restored_state=given["allow_non_restored_state"],
        claim_mode=given["claim_mode"],
    )


def _how_to_cancel(job: Job) -> str:
    return next_step.command(f"cancel --session {job.cluster.name} {job.id}", job.cluster)


async def follow(job: Job, timeout: float | None) -> JobOutcome:
    """Follow a job to its end and show its states; Ctrl-C asks whether to cancel it.

    Raises Interrupted after Ctrl-C. What then becomes of the job has been said, as it is when the
    wait is cut off in another way.
    """
    from kubeflink.cli import attending

    async def on_interrupt(pressed: asyncio.Event) -> None:
        await _ask_about(job, pressed)

    try:
        return await attending.attended(_shown(job, timeout), on_interrupt)
    except (WaitTimeoutError, asyncio.CancelledError):
        _say_it_goes_on(job)
        raise


async def _ask_about(job: Job, pressed: asyncio.Event) -> None:
    """Ask a person whether to cancel a job after Ctrl-C, and say what becomes of it."""
    from kubeflink.cli import attending

    if await attending.asked(f"Cancel job {job.id}? Otherwise it goes on.", pressed):
        await job.cancel(wait=False)
        console.say(f"job {job.id} is being cancelled")
    else:
        _say_it_goes_on(job)


def _say_it_goes_on(job: Job) -> None:
    console.say(f"job {job.id} goes on; cancel it: {_how_to_cancel(job)}")


async def _shown(job: Job, timeout: float | None) -> JobOutcome:
    with progress.waiting(f"job {job.id} was submitted") as tell:

        def on_progress(seen: JobProgress) -> None:
            tasks = ", ".join(f"{count} {state}" for state, count in sorted(seen.tasks.items()))
            tell(f"{seen.name or job.id}: {seen.state}" + (f" ({tasks})" if tasks else ""))

        def on_trouble(seen: Diagnosis) -> None:
            console.say(seen.sentence)

        return await job.wait(
            timeout=timeout, check=False, on_progress=on_progress, on_trouble=on_trouble
        )


def _show_job(job: Job, outcome: JobOutcome | None, output: str) -> None:
    if output != "text":
        tables.document(tables.plain(outcome) if outcome else {"job_id": job.id}, output)
    elif outcome is None:
        console.out(f"Job has been submitted with JobID {job.id}")
    elif outcome.succeeded:
        seconds = outcome.duration / 1000
        console.out(f"Job {outcome.name} ({job.id}) has finished after {seconds:.1f} s")
