"""`run` on a cluster that is named by `--session`: jars, SQL and Python programs.

Where a program becomes a job decides what this machine needs. A jar is uploaded, and SQL goes with
a small jar of our own: both run inside the JobManager. A Python program runs here, and Flink's
Python API makes the job in a JVM beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubeflink.cli import console, progress, tables
from kubeflink.cli.jobs import HELP_NAMES, on_cluster, open_cluster
from kubeflink.cli.parameters import (
    output_option,
    property_option,
    timeout_option,
    wait_option,
)
from kubeflink.cli.program_options import program_options
from kubeflink.errors import UsageError, WaitTimeoutError

if TYPE_CHECKING:
    from kubeflink.cluster.access import Connection
    from kubeflink.cluster.diagnosis import Diagnosis
    from kubeflink.cluster.job import Job, JobOutcome, JobProgress
    from kubeflink.cluster.session import SessionCluster
    from kubeflink.spec import Program

SQL_SUFFIX = ".sql"
PYTHON_SUFFIX = ".py"


@click.command("run", context_settings={**HELP_NAMES, "allow_interspersed_args": False})
@on_cluster
@program_options
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
    given["follows"] = wait and not detached
    if program is not None:
        _check_files(program, given)
    if program is not None and program.endswith(PYTHON_SUFFIX):
        running.run(_run_python(connection, cluster, program, given))
        return
    if program is not None and program.endswith(SQL_SUFFIX):
        sql = read_statements(Path(program))
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
            job = await _submit_sql(cluster, program or "--sql", sql, given)
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
    with progress.uploading(Path(jar).name) as on_upload:
        return await cluster.submit_jar(
            jar,
            entry_class=given["entry_class"],
            args=given["arguments"],
            **_submission(given),
            on_upload=on_upload,
        )


async def _submit_sql(
    cluster: SessionCluster, source: str, sql: str, given: Mapping[str, Any]
) -> Job:
    if given["arguments"]:
        raise UsageError("SQL takes no arguments", hint="Options go before the file.")
    return await cluster.submit_sql(sql, source=source, **_submission(given))


def _submission(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "parallelism": given["parallelism"],
        "savepoint": given["from_savepoint"],
        "allow_non_restored_state": given["allow_non_restored_state"] or None,
        "claim_mode": given["claim_mode"],
        "options": given["options"] or None,
    }


async def _run_python(
    connection: Connection, name: str, script: str, given: Mapping[str, Any]
) -> None:
    """Run a Python program on this side and, if that is wanted, follow the jobs it submitted."""
    from kubeflink import config
    from kubeflink.cli import client_side

    configuration = config.load(conf_dir=None, overrides=given["options"], environ={})
    async with AsyncExitStack() as stack:
        cluster = await open_cluster(stack, connection, name)
        jobs = await client_side.run_python(cluster, _python_program(script, given), configuration)
        if not given["follows"]:
            return
        for job in map(cluster.job, jobs):
            outcome = await follow(job, given["timeout"])
            _show_job(job, outcome, given["output"])
            outcome.check()


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


def _how_to_cancel(job: Job) -> str:
    return f"kubeflink cancel --session {job.cluster.name} {job.id}"


async def follow(job: Job, timeout: float | None) -> JobOutcome:
    """Follow a job to its end and show its states; Ctrl-C asks whether to cancel it.

    Raises Interrupted after Ctrl-C. What then becomes of the job has been said, as it is when the
    wait is cut off in another way.
    """
    from kubeflink.cli import attending

    async def on_interrupt(pressed: asyncio.Event) -> None:
        if await attending.asked(f"Cancel job {job.id}? Otherwise it goes on.", pressed):
            await job.cancel(wait=False)
            console.say(f"job {job.id} is being cancelled")
        else:
            _say_it_goes_on(job)

    try:
        return await attending.attended(_shown(job, timeout), on_interrupt)
    except (WaitTimeoutError, asyncio.CancelledError):
        _say_it_goes_on(job)
        raise


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
