"""`run`, `list`, `cancel`, `stop` and `savepoint` on a cluster that is named by `--session`.

These share their names with Flink's actions, so they have long options only where Flink's short
ones mean something else: `-n`, `-s` and `-p` are not kubectl's there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from kubeflink.cli import console, progress, tables
from kubeflink.cli.parameters import (
    connected,
    connection_options,
    output_option,
    property_option,
    timeout_option,
    wait_option,
)
from kubeflink.errors import UsageError

if TYPE_CHECKING:
    from kubeflink.cluster.access import Connection
    from kubeflink.cluster.job import Job, JobOutcome, JobProgress
    from kubeflink.cluster.session import SessionCluster
    from kubeflink.rest.models import JobSummary

F = TypeVar("F", bound=Callable[..., Any])

SQL_SUFFIX = ".sql"

HELP_NAMES = {"help_option_names": ["-h", "--help"]}


def on_cluster(function: F) -> F:
    """Adds the options that name a cluster; the command gets its name as `cluster`."""

    @functools.wraps(function)
    def command(*args: Any, session: str | None, app: str | None, **kw: Any) -> Any:
        if (session is None) == (app is None):
            raise UsageError("name one cluster: --session NAME or --app NAME")
        return function(*args, cluster=session or app, **kw)

    command = click.option("--app", metavar="NAME", help="The application cluster.")(command)
    command = click.option("--session", metavar="NAME", help="The session cluster.")(command)
    return connection_options(short_namespace=False)(command)  # type: ignore[return-value]


async def open_cluster(stack: AsyncExitStack, connection: Connection, name: str) -> SessionCluster:
    """A cluster of either kind, its connections being closed with the stack."""
    from kubeflink.cluster.session import SessionCluster

    client = await stack.enter_async_context(connected(connection))
    return await stack.enter_async_context(SessionCluster(client, name))


# --- run -------------------------------------------------------------------------------------


@click.command("run", context_settings={**HELP_NAMES, "allow_interspersed_args": False})
@on_cluster
@click.option("-c", "--class", "entry_class", metavar="CLASS", help="The class with `main`.")
@click.option("-p", "--parallelism", type=click.IntRange(min=1), help="The job's parallelism.")
@click.option("-s", "--from-savepoint", metavar="PATH", help="The savepoint to start from.")
@click.option("--allow-non-restored-state", is_flag=True, help="Skip state that nobody takes.")
@click.option(
    "--claim-mode",
    type=click.Choice(["NO_CLAIM", "CLAIM", "LEGACY"], case_sensitive=False),
    help="Who owns the savepoint afterwards.",
)
@property_option
@click.option("--sql", metavar="STATEMENTS", help="Run these SQL statements.")
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
    timeout: float | None,
    output: str,
    **submission: Any,
) -> None:
    """Run PROGRAM, a jar or a file of SQL statements, and follow the job to its end.

    Words after PROGRAM are its arguments. The exit code tells how the job ended.
    """
    from kubeflink.cli import running

    if (program is None) == (sql is None):
        raise UsageError("name one program: a jar, a file ending in .sql, or --sql STATEMENTS")
    if sql is None and program is not None and program.endswith(SQL_SUFFIX):
        sql = _statements(Path(program))
    running.run(
        _run(
            connection,
            cluster,
            program,
            sql,
            submission,
            follows=wait and not detached,
            timeout=timeout,
            output=output,
        )
    )


def _statements(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


async def _run(
    connection: Connection,
    name: str,
    program: str | None,
    sql: str | None,
    submission: Mapping[str, Any],
    *,
    follows: bool,
    timeout: float | None,
    output: str,
) -> None:
    """Submit a program and, if that is wanted, follow its job to the end."""
    async with AsyncExitStack() as stack:
        cluster = await open_cluster(stack, connection, name)
        if sql is not None:
            job = await _submit_sql(cluster, program or "--sql", sql, submission)
        else:
            assert program is not None
            job = await _submit_jar(cluster, program, submission)
        outcome = None
        if follows:
            _announce(job, name, output)
            outcome = await follow(job, timeout)
        _show_job(job, outcome, output)
        if outcome is not None:
            outcome.check()


async def _submit_jar(cluster: SessionCluster, jar: str, given: Mapping[str, Any]) -> Job:
    with progress.uploading(Path(jar).name) as on_upload:
        return await cluster.submit_jar(
            jar,
            entry_class=given["entry_class"],
            args=given["arguments"],
            parallelism=given["parallelism"],
            savepoint=given["from_savepoint"],
            allow_non_restored_state=given["allow_non_restored_state"] or None,
            claim_mode=given["claim_mode"],
            options=given["options"] or None,
            on_upload=on_upload,
        )


async def _submit_sql(
    cluster: SessionCluster, source: str, sql: str, given: Mapping[str, Any]
) -> Job:
    if given["arguments"]:
        raise UsageError("SQL takes no arguments", hint="Options go before the file.")
    return await cluster.submit_sql(
        sql,
        source=source,
        parallelism=given["parallelism"],
        options=given["options"] or None,
    )


def _announce(job: Job, cluster: str, output: str) -> None:
    if output == "text":
        console.out(f"Job has been submitted with JobID {job.id}")
    console.say(f"cancel it: kubeflink cancel --session {cluster} {job.id}")


async def follow(job: Job, timeout: float | None) -> JobOutcome:
    """Follow a job to its end and show its states."""
    with progress.waiting(f"job {job.id} was submitted") as tell:

        def on_progress(seen: JobProgress) -> None:
            tasks = ", ".join(f"{count} {state}" for state, count in sorted(seen.tasks.items()))
            tell(f"{seen.name or job.id}: {seen.state}" + (f" ({tasks})" if tasks else ""))

        return await job.wait(timeout=timeout, check=False, on_progress=on_progress)


def _show_job(job: Job, outcome: JobOutcome | None, output: str) -> None:
    if output != "text":
        tables.document(tables.plain(outcome) if outcome else {"job_id": job.id}, output)
    elif outcome is None:
        console.out(f"Job has been submitted with JobID {job.id}")
    elif outcome.succeeded:
        seconds = outcome.duration / 1000
        console.out(f"Job {outcome.name} ({job.id}) has finished after {seconds:.1f} s")


# --- list ------------------------------------------------------------------------------------


@click.command("list", context_settings=HELP_NAMES)
@on_cluster
@click.option("-a", "--all", "ended_too", is_flag=True, help="Also jobs that have ended.")
@output_option("table", "json", "yaml")
def list_command(*, connection: Connection, cluster: str, ended_too: bool, output: str) -> None:
    """List the jobs of a cluster."""
    from kubeflink.cli import running

    async def ask() -> tuple[JobSummary, ...]:
        async with AsyncExitStack() as stack:
            return await (await open_cluster(stack, connection, cluster)).jobs()

    ended = ("FINISHED", "CANCELED", "FAILED")
    found = [job for job in running.run(ask()) if ended_too or job.state not in ended]
    found.sort(key=lambda job: job.start_time)
    if not found and output == "table":
        console.say(f"the cluster {cluster} has no jobs" + ("" if ended_too else " that run"))
        return
    tables.show(found, ("JOB ID", "NAME", "STATE", "START", "DURATION", "TASKS"), _cells, output)


def _cells(job: JobSummary) -> list[str]:
    return [
        job.id,
        job.name,
        job.state,
        tables.moment(job.start_time),
        tables.duration(job.duration / 1000),
        f"{job.tasks.get('running', 0)}/{job.tasks.get('total', 0)}",
    ]


# --- steering --------------------------------------------------------------------------------


@click.command("cancel", context_settings=HELP_NAMES)
@on_cluster
@click.argument("job_id")
@wait_option
@timeout_option("2m", "until the job has ended")
def cancel_command(
    job_id: str, *, connection: Connection, cluster: str, wait: bool, timeout: float
) -> None:
    """Cancel a job and wait until it has ended."""

    async def cancel(job: Job) -> None:
        await job.cancel(wait=wait, timeout=timeout)

    _on_job(connection, cluster, job_id, cancel)
    console.out(f"Job {job_id} is {'cancelled' if wait else 'being cancelled'}")


@click.command("stop", context_settings=HELP_NAMES)
@on_cluster
@click.argument("job_id")
@click.option("--savepoint-dir", metavar="PATH", help="Where to put the savepoint.")
@click.option("--drain", is_flag=True, help="Send the last watermark first.")
@click.option(
    "--type",
    "format_type",
    type=click.Choice(["CANONICAL", "NATIVE"], case_sensitive=False),
    default="CANONICAL",
    show_default=True,
    help="The savepoint's format.",
)
@click.option("--trigger-id", metavar="ID", help="Go on waiting for a stop that was asked for.")
@timeout_option("10m", "for the savepoint")
@output_option("text", "json", "yaml")
def stop_command(
    job_id: str,
    *,
    connection: Connection,
    cluster: str,
    savepoint_dir: str | None,
    drain: bool,
    format_type: Literal["CANONICAL", "NATIVE"],
    trigger_id: str | None,
    timeout: float,
    output: str,
) -> None:
    """Stop a job with a savepoint, from which it can go on."""

    async def stop(job: Job) -> None:
        saved = await job.stop(
            directory=savepoint_dir,
            drain=drain,
            format_type=format_type,
            trigger_id=trigger_id,
            timeout=timeout,
        )
        _show_savepoint(saved, f"Job {job.id} has been stopped", output)

    _on_job(connection, cluster, job_id, stop)


@click.command("savepoint", context_settings=HELP_NAMES)
@on_cluster
@click.argument("job_id", required=False)
@click.option("--savepoint-dir", metavar="PATH", help="Where to put the savepoint.")
@click.option("--dispose", metavar="PATH", help="Remove this savepoint instead of taking one.")
@click.option(
    "--type",
    "format_type",
    type=click.Choice(["CANONICAL", "NATIVE"], case_sensitive=False),
    default="CANONICAL",
    show_default=True,
    help="The savepoint's format.",
)
@click.option("--trigger-id", metavar="ID", help="Go on waiting for one that was asked for.")
@timeout_option("10m", "for the savepoint")
@output_option("text", "json", "yaml")
def savepoint_command(
    job_id: str | None,
    *,
    connection: Connection,
    cluster: str,
    savepoint_dir: str | None,
    dispose: str | None,
    format_type: Literal["CANONICAL", "NATIVE"],
    trigger_id: str | None,
    timeout: float,
    output: str,
) -> None:
    """Take a savepoint of a job that runs on, or dispose of one."""
    if (job_id is None) == (dispose is None):
        raise UsageError("name either a job, or a savepoint with --dispose")
    if dispose is not None:
        _dispose(connection, cluster, dispose, timeout)
        return
    assert job_id is not None

    async def save(job: Job) -> None:
        saved = await job.savepoint(
            directory=savepoint_dir,
            format_type=format_type,
            trigger_id=trigger_id,
            timeout=timeout,
        )
        _show_savepoint(saved, f"Job {job.id} goes on", output)

    _on_job(connection, cluster, job_id, save)


def _dispose(connection: Connection, name: str, path: str, timeout: float) -> None:
    from kubeflink.cli import running

    async def dispose() -> None:
        async with AsyncExitStack() as stack:
            cluster = await open_cluster(stack, connection, name)
            await cluster.dispose_savepoint(path, timeout=timeout)

    running.run(dispose())
    console.out(f"Savepoint {path} is disposed of")


def _show_savepoint(saved: Any, what: str, output: str) -> None:
    if output == "text":
        console.out(f"Savepoint: {saved.location}")
        console.say(what)
    else:
        tables.document(tables.plain(saved), output)


def _on_job(connection: Connection, cluster: str, text: str, steer: Callable[[Job], Any]) -> None:
    """Do something with one job of a cluster."""
    from kubeflink.cli import flink_jobs, running

    wanted = flink_jobs.job_id(text, "the job's id")

    async def act() -> None:
        async with AsyncExitStack() as stack:
            found = await open_cluster(stack, connection, cluster)
            await steer(found.job(wanted))

    running.run(act())
