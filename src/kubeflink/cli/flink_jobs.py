"""`list`, `cancel`, `stop`, `savepoint`, `checkpoint`: jobs, with Flink's lines on stdout."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from kubeflink.cli import console, running
from kubeflink.cli.flink_actions import Action, cluster_of
from kubeflink.errors import UsageError

if TYPE_CHECKING:
    from kubeflink.cluster.job import Job
    from kubeflink.rest.models import JobSummary

RULE = "--------------------------------------------------------------"
RUNNING_TITLE = "------------------ Running/Restarting Jobs -------------------"
SCHEDULED_TITLE = "----------------------- Scheduled Jobs -----------------------"
TERMINATED_TITLE = "---------------------- Terminated Jobs -----------------------"

_SCHEDULED = frozenset({"CREATED", "INITIALIZING"})
_ENDED = frozenset({"FINISHED", "CANCELED", "FAILED"})


def run(action: Action) -> int:
    """Run one of these actions."""
    commands = {
        "list": _list,
        "cancel": _cancel,
        "stop": _stop,
        "savepoint": _savepoint,
        "checkpoint": _checkpoint,
    }
    console.notices(action.configuration.notices)
    running.run(commands[action.name](action))
    return 0


# --- list ------------------------------------------------------------------------------------


async def _list(action: Action) -> None:
    if action.line.arguments:
        raise UsageError(f"list takes no argument such as {action.line.arguments[0]}")
    async with cluster_of(action) as cluster:
        console.out("Waiting for response...")
        jobs = await cluster.jobs()
    chosen = {key for key in ("r", "s", "a") if action.line.has(key)} or {"r", "s"}
    for line in listing(jobs, chosen):
        console.out(line)


def kind_of(job: JobSummary) -> Literal["running", "scheduled", "ended"]:
    """Under which title a job is listed."""
    if job.state in _SCHEDULED:
        return "scheduled"
    return "ended" if job.state in _ENDED else "running"


def listing(jobs: Iterable[JobSummary], chosen: set[str]) -> list[str]:
    """The lines of `list`; `chosen` are the letters of its options (`r`, `s`, `a`)."""
    jobs = sorted(jobs, key=lambda job: (job.start_time, job.state.lower()))
    scheduled = [job for job in jobs if kind_of(job) == "scheduled"]
    ended = [job for job in jobs if kind_of(job) == "ended"]
    others = [job for job in jobs if kind_of(job) == "running"]
    lines: list[str] = []
    if chosen & {"r", "a"}:
        lines += _block(RUNNING_TITLE, others) or ["No running jobs."]
    if chosen & {"s", "a"}:
        lines += _block(SCHEDULED_TITLE, scheduled) or ["No scheduled jobs."]
    if "a" in chosen:
        lines += _block(TERMINATED_TITLE, ended)
    return lines


def _block(title: str, jobs: list[JobSummary]) -> list[str]:
    return [title, *map(_line, jobs), RULE] if jobs else []


def _line(job: JobSummary) -> str:
    start = datetime.fromtimestamp(job.start_time / 1000)
    return f"{start:%d.%m.%Y %H:%M:%S} : {job.id} : {job.name} ({job.state})"


# --- one job ---------------------------------------------------------------------------------


def job_id(text: str | None, action: str) -> str:
    """The job id of an action; `UsageError` if it is missing or is none."""
    if text is None:
        raise UsageError(
            "no job was named", hint=f"Write {action} JOB-ID; kubeflink list shows the ids."
        )
    from kubeflink.cluster import ids

    return ids.job_id(text)


async def _cancel(action: Action) -> None:
    line = action.line
    if line.has("s"):
        console.say("cancelling with a savepoint is deprecated: use stop")
        await _cancel_with_savepoint(action)
        return
    wanted = job_id(_first(line.arguments), "cancel")
    console.out(f"Cancelling job {wanted}.")
    async with cluster_of(action) as cluster:
        await cluster.job(wanted).cancel(wait=False)
    console.out(f"Cancelled job {wanted}.")


async def _cancel_with_savepoint(action: Action) -> None:
    """`-s [DIRECTORY] JOB-ID`: a single word after `-s` is the job."""
    directory = action.line.value("s")
    text = _first(action.line.arguments)
    wanted = job_id(text if text is not None else directory, "cancel")
    directory = directory if text is not None else None
    where = f"savepoint to {directory}" if directory else "savepoint to default savepoint directory"
    console.out(f"Cancelling job {wanted} with {_format(action)} {where}.")
    async with cluster_of(action) as cluster:
        job = cluster.job(wanted)
        saved = await job.savepoint(
            directory=directory, format_type=_format(action), wait_for_tasks=False
        )
        await job.cancel(wait=False)
    console.out(f"Cancelled job {wanted}. Savepoint stored in {saved.location}.")


async def _stop(action: Action) -> None:
    """`-p [DIRECTORY] JOB-ID`: a single word after `-p` is the job."""
    line = action.line
    directory, text = line.value("p"), _first(line.arguments)
    wanted = job_id(text if text is not None else directory, "stop")
    directory = directory if text is not None else None
    drain = line.has("d")
    what = "Draining job" if drain else "Suspending job"
    console.out(f'{what} "{wanted}" with a {_format(action)} savepoint.')
    async with cluster_of(action) as cluster:
        if line.has("detached"):
            console.out(f"Triggering stop-with-savepoint in detached mode for job {wanted}.")
            trigger = await (await cluster.flink()).stop(
                wanted, directory=directory, drain=drain, format_type=_format(action)
            )
            console.out(
                f"Successfully trigger stop-with-savepoint in detached mode, triggerId: {trigger}"
            )
            return
        console.out(f"Triggering stop-with-savepoint for job {wanted}.")
        console.out("Waiting for response...")
        saved = await cluster.job(wanted).stop(
            directory=directory, drain=drain, format_type=_format(action), wait_for_tasks=False
        )
    console.out(f"Savepoint completed. Path: {saved.location}")


async def _savepoint(action: Action) -> None:
    line = action.line
    if line.has("d"):
        await _dispose(action)
        return
    wanted = job_id(_first(line.arguments), "savepoint")
    directory = _first(line.arguments[1:])
    if len(line.arguments) > 2:
        console.say(f"{' '.join(line.arguments[2:])} was not used: it is one directory only")
    async with cluster_of(action) as cluster:
        job = cluster.job(wanted)
        if line.has("detached"):
            await _trigger(action, job, directory)
            return
        console.out(f"Triggering savepoint for job {wanted}.")
        console.out("Waiting for response...")
        saved = await job.savepoint(
            directory=directory, format_type=_format(action), wait_for_tasks=False
        )
    console.out(f"Savepoint completed. Path: {saved.location}")
    console.out("You can resume your program from this savepoint with the run command.")


async def _trigger(action: Action, job: Job, directory: str | None) -> None:
    console.out(f"Triggering savepoint in detached mode for job {job.id}.")
    flink = await job.cluster.flink()
    trigger = await flink.trigger_savepoint(
        job.id, directory=directory, format_type=_format(action)
    )
    console.out(f"Successfully trigger manual savepoint, triggerId: {trigger}")


async def _dispose(action: Action) -> None:
    path = action.line.value("d")
    assert path is not None
    console.out(f"Disposing savepoint '{path}'.")
    async with cluster_of(action) as cluster:
        console.out("Waiting for response...")
        await cluster.dispose_savepoint(path)
    console.out(f"Savepoint '{path}' disposed.")


async def _checkpoint(action: Action) -> None:
    wanted = job_id(_first(action.line.arguments), "checkpoint")
    full = action.line.has("full")
    console.out(f"Triggering checkpoint for job {wanted}.")
    async with cluster_of(action) as cluster:
        console.out("Waiting for response...")
        number = await cluster.job(wanted).checkpoint(
            checkpoint_type="FULL" if full else "CONFIGURED", wait_for_tasks=False
        )
    kind = "(FULL)" if full else ""
    console.out(f"Checkpoint{kind} {number} for job {wanted} completed.")
    console.out("You can resume your program from this checkpoint with the run command.")


def _format(action: Action) -> Literal["CANONICAL", "NATIVE"]:
    text = action.line.value("type") or "canonical"
    if text.upper() == "CANONICAL":
        return "CANONICAL"
    if text.upper() == "NATIVE":
        return "NATIVE"
    raise UsageError(f"{text} is no format of a savepoint", hint="It is canonical or native.")


def _first(words: tuple[str, ...]) -> str | None:
    return words[0] if words else None
