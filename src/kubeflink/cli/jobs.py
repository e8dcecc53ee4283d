"""`list`, `cancel`, `stop`, `savepoint` and `checkpoint` on a cluster named by `--session`.

These share their names with Flink's actions, so they have long options only where Flink's short
ones mean something else: `-n`, `-s` and `-p` are not kubectl's there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from kubeflink.cli import console, next_step, tables
from kubeflink.cli.parameters import (
    ClusterName,
    connected,
    connection_options,
    output_option,
    timeout_option,
    wait_option,
)
from kubeflink.errors import UsageError

if TYPE_CHECKING:
    from kubeflink.cluster.access import Connection
    from kubeflink.cluster.cluster import FlinkCluster
    from kubeflink.cluster.job import Job
    from kubeflink.cluster.job_progress import JobProgress
    from kubeflink.cluster.session import SessionCluster
    from kubeflink.rest.models import JobSummary

F = TypeVar("F", bound=Callable[..., Any])

HELP_NAMES = {"help_option_names": ["-h", "--help"]}


class ChosenCluster(str):
    """The name of a cluster, with the option that chose it and says of which kind it is."""

    option: Literal["--session", "--app"] = "--session"


def on_cluster(function: F) -> F:
    """Adds the options that name a cluster; the command gets it as `cluster`, a ChosenCluster."""

    @functools.wraps(function)
    def command(*args: Any, session: str | None, app: str | None, **kw: Any) -> Any:
        if (session is None) == (app is None):
            raise UsageError("name one cluster: --session NAME or --app NAME")
        cluster = ChosenCluster(session or app or "")
        cluster.option = "--session" if app is None else "--app"
        return function(*args, cluster=cluster, **kw)

    for option, about in (
        ("--app", "The application cluster."),
        ("--session", "The session cluster."),
    ):
        named = click.option(option, type=ClusterName(), metavar="NAME", help=about)
        command = named(command)
    return connection_options(short_namespace=False)(command)  # type: ignore[return-value]


async def open_cluster(stack: AsyncExitStack, connection: Connection, name: str) -> SessionCluster:
    """A session cluster, its connections being closed with the stack."""
    from kubeflink.cluster.session import SessionCluster

    if isinstance(name, ChosenCluster) and name.option == "--app":
        raise UsageError(
            "an application cluster runs the program that it was started with, and no other",
            hint="Name a session cluster: --session NAME",
        )
    client = await stack.enter_async_context(connected(connection))
    return await stack.enter_async_context(SessionCluster(client, name))


async def open_any(
    stack: AsyncExitStack, connection: Connection, chosen: ChosenCluster
) -> FlinkCluster:
    """The same for a cluster of either kind."""
    if chosen.option == "--session":
        return await open_cluster(stack, connection, chosen)
    from kubeflink.cluster.application import ApplicationCluster

    client = await stack.enter_async_context(connected(connection))
    return await stack.enter_async_context(ApplicationCluster(client, chosen))


# --- list ------------------------------------------------------------------------------------


@click.command("list", context_settings=HELP_NAMES)
@on_cluster
@click.option("-r", "--running", is_flag=True, help="Jobs that run, or are being restarted.")
@click.option("-s", "--scheduled", is_flag=True, help="Jobs that have not begun.")
@click.option("-a", "--all", "ended_too", is_flag=True, help="Also jobs that have ended.")
@output_option("table", "json", "yaml")
def list_command(
    *,
    connection: Connection,
    cluster: ChosenCluster,
    running: bool,
    scheduled: bool,
    ended_too: bool,
    output: str,
) -> None:
    """List the jobs of a cluster: those that run or have not begun, if nothing else is said."""
    from kubeflink.cli import flink_jobs
    from kubeflink.cli.running import run

    async def ask() -> tuple[JobSummary, ...]:
        async with AsyncExitStack() as stack:
            return await (await open_any(stack, connection, cluster)).jobs()

    kinds = {"running": running, "scheduled": scheduled, "ended": ended_too}
    chosen = {kind for kind, wanted in kinds.items() if wanted or ended_too}
    chosen = chosen or {"running", "scheduled"}
    found = [job for job in run(ask()) if flink_jobs.kind_of(job) in chosen]
    found.sort(key=lambda job: job.start_time)
    if not found and output == "table":
        console.say(f"the cluster {cluster} has no jobs" + ("" if ended_too else " of that kind"))
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


# --- cancel, checkpoint ----------------------------------------------------------------------

trigger_option = click.option(
    "--trigger-id", metavar="ID", help="Go on with a request made before."
)


def say_tasks(seen: JobProgress) -> None:
    """What a request to a job waits for that has just begun."""
    tasks = ", ".join(f"{count} {state}" for state, count in sorted(seen.tasks.items()))
    title = f"{seen.name} ({seen.job_id})" if seen.name else seen.job_id
    console.say(
        f"waiting until all tasks of job {title} run: {seen.state}"
        + (f", {tasks}" if tasks else "")
    )


@click.command("cancel", context_settings=HELP_NAMES)
@on_cluster
@click.argument("job_id")
@wait_option
@timeout_option("2m", "until the job has ended")
@output_option("text", "json", "yaml")
def cancel_command(
    job_id: str,
    *,
    connection: Connection,
    cluster: ChosenCluster,
    wait: bool,
    timeout: float,
    output: str,
) -> None:
    """Cancel a job and wait until it has ended."""

    async def cancel(job: Job) -> None:
        await job.cancel(wait=wait, timeout=timeout)
        state = "CANCELED" if wait else "CANCELLING"
        told = f"Job {job.id} is {'cancelled' if wait else 'being cancelled'}"
        _show({"job_id": job.id, "state": state}, told, output)

    _on_job(connection, cluster, job_id, cancel)


@click.command("checkpoint", context_settings=HELP_NAMES)
@on_cluster
@click.argument("job_id")
@click.option("--full", is_flag=True, help="Not an incremental one.")
@trigger_option
@timeout_option("10m", "for the checkpoint")
@output_option("text", "json", "yaml")
def checkpoint_command(
    job_id: str,
    *,
    connection: Connection,
    cluster: ChosenCluster,
    full: bool,
    trigger_id: str | None,
    timeout: float,
    output: str,
) -> None:
    """Take a checkpoint of a job now."""

    async def take(job: Job) -> None:
        number = await job.checkpoint(
            checkpoint_type="FULL" if full else "CONFIGURED",
            trigger_id=trigger_id,
            timeout=timeout,
            on_progress=say_tasks,
        )
        found = {"job_id": job.id, "checkpoint_id": number}
        _show(found, f"Checkpoint {number} of job {job.id} is complete", output)

    _on_job(connection, cluster, job_id, take)


# --- savepoints ------------------------------------------------------------------------------


def savepoint_options(function: F) -> F:
    """Adds what a savepoint can be told; the command gets it as `how`, a SavepointRequest."""

    @functools.wraps(function)
    def command(
        *args: Any,
        savepoint_dir: str | None,
        format_type: Literal["CANONICAL", "NATIVE"],
        trigger_id: str | None,
        wait: bool,
        timeout: float,
        output: str,
        **kw: Any,
    ) -> Any:
        how = SavepointRequest(savepoint_dir, format_type, trigger_id, wait, timeout, output)
        return function(*args, how=how, **kw)

    for option in (
        output_option("text", "json", "yaml"),
        timeout_option("10m", "for the savepoint"),
        wait_option,
        trigger_option,
        click.option(
            "--type",
            "format_type",
            type=click.Choice(["CANONICAL", "NATIVE"], case_sensitive=False),
            default="CANONICAL",
            show_default=True,
            help="The savepoint's format.",
        ),
        click.option("--savepoint-dir", metavar="PATH", help="Where to put the savepoint."),
    ):
        command = option(command)
    return command  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class SavepointRequest:
    """How a savepoint is to be taken, and what is to be printed of it."""

    directory: str | None
    format_type: Literal["CANONICAL", "NATIVE"]
    trigger_id: str | None
    wait: bool
    timeout: float
    output: str


@click.command("stop", context_settings=HELP_NAMES)
@on_cluster
@click.argument("job_id")
@click.option("--drain", is_flag=True, help="Send the last watermark first.")
@savepoint_options
def stop_command(
    job_id: str,
    *,
    connection: Connection,
    cluster: ChosenCluster,
    drain: bool,
    how: SavepointRequest,
) -> None:
    """Stop a job with a savepoint, from which it can go on."""

    async def stop(job: Job) -> None:
        if not how.wait:
            await job.until_tasks_run(timeout=how.timeout, on_progress=say_tasks)
            trigger = await (await job.cluster.flink()).stop(
                job.id, directory=how.directory, drain=drain, format_type=how.format_type
            )
            _show_trigger(job, trigger, f"stop {cluster.option}", how)
            return
        saved = await job.stop(
            directory=how.directory,
            drain=drain,
            format_type=how.format_type,
            trigger_id=how.trigger_id,
            timeout=how.timeout,
            on_progress=say_tasks,
        )
        _show_savepoint(saved, f"Job {job.id} has been stopped", how.output)

    _on_job(connection, cluster, job_id, stop)


@click.command("savepoint", context_settings=HELP_NAMES)
@on_cluster
@click.argument("job_id", required=False)
@click.option("--dispose", metavar="PATH", help="Remove this savepoint instead of taking one.")
@savepoint_options
def savepoint_command(
    job_id: str | None,
    *,
    connection: Connection,
    cluster: ChosenCluster,
    dispose: str | None,
    how: SavepointRequest,
) -> None:
    """Take a savepoint of a job that runs on, or dispose of one."""
    if (job_id is None) == (dispose is None):
        raise UsageError("name either a job, or a savepoint with --dispose")
    if dispose is not None:
        _dispose(connection, cluster, dispose, how)
        return
    assert job_id is not None

    async def save(job: Job) -> None:
        if not how.wait:
            await job.until_tasks_run(timeout=how.timeout, on_progress=say_tasks)
            trigger = await (await job.cluster.flink()).trigger_savepoint(
                job.id, directory=how.directory, format_type=how.format_type
            )
            _show_trigger(job, trigger, f"savepoint {cluster.option}", how)
            return
        saved = await job.savepoint(
            directory=how.directory,
            format_type=how.format_type,
            trigger_id=how.trigger_id,
            timeout=how.timeout,
            on_progress=say_tasks,
        )
        _show_savepoint(saved, f"Job {job.id} goes on", how.output)

    _on_job(connection, cluster, job_id, save)


def _dispose(
    connection: Connection, chosen: ChosenCluster, path: str, how: SavepointRequest
) -> None:
    from kubeflink.cli import running

    async def dispose() -> None:
        async with AsyncExitStack() as stack:
            cluster = await open_any(stack, connection, chosen)
            await cluster.dispose_savepoint(path, timeout=how.timeout)

    running.run(dispose())
    _show({"location": path, "disposed": True}, f"Savepoint {path} is disposed of", how.output)


def _show_savepoint(saved: Any, what: str, output: str) -> None:
    _show(tables.plain(saved), f"Savepoint: {saved.location}", output)
    if output == "text":
        console.say(what)


def _show_trigger(job: Job, trigger: str, command: str, how: SavepointRequest) -> None:
    _show({"job_id": job.id, "trigger_id": trigger}, f"Trigger id: {trigger}", how.output)
    words = f"{command} {job.cluster.name} {job.id} --trigger-id {trigger}"
    console.say(f"wait for it: {next_step.command(words, job.cluster)}")


def _show(found: dict[str, Any], told: str, output: str) -> None:
    if output == "text":
        console.out(told)
    else:
        tables.document(found, output)


def _on_job(
    connection: Connection, cluster: ChosenCluster, text: str, steer: Callable[[Job], Any]
) -> None:
    """Do something with one job of a cluster."""
    from kubeflink.cli import flink_jobs, running

    wanted = flink_jobs.job_id(text, "the job's id")

    async def act() -> None:
        async with AsyncExitStack() as stack:
            found = await open_any(stack, connection, cluster)
            await steer(found.job(wanted))

    running.run(act())
