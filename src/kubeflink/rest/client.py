"""The client of one JobManager's REST API: jars, jobs, savepoints, checkpoints, workers, logs.

Each method is one route (org.apache.flink.runtime.rest.messages and
org.apache.flink.runtime.webmonitor.handlers), typed. Changes that Flink recognises by an id get one
that is made here, so that a repetition after a lost answer finds the first attempt instead of doing
it twice: the trigger id of savepoints, checkpoints and stops, and the job id of a run.

The client owns nothing: the HTTP client that it was given is closed by its owner.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar
from urllib.parse import quote

import httpx2

from kubeflink.errors import RestStatusError, RestUnreachableError
from kubeflink.rest import RETRY_SECONDS, models
from kubeflink.rest.transport import Call, Detour, FirstContact, Onlooker, Transport, Way
from kubeflink.rest.upload import JarUpload, Progress

_T = TypeVar("_T")

SavepointFormat: TypeAlias = Literal["CANONICAL", "NATIVE"]
ClaimMode: TypeAlias = Literal["NO_CLAIM", "CLAIM", "LEGACY"]
CheckpointType: TypeAlias = Literal["CONFIGURED", "FULL", "INCREMENTAL"]

RUN_SECONDS = 600.0
"""How long a program's `main` may take: Flink answers `run` only after it."""

LOG_SECONDS = 600.0
"""How long a log file may take to arrive: it can be large, and the way to the cluster slow."""

UPLOAD_ANSWER_SECONDS = 120.0
"""How long Flink may take to store a jar after its last byte."""

_DIGEST = re.compile(r"-[0-9a-f]{12}(?=\.jar$)")


class FlinkClient:
    """Flink's REST API, seen from the client side."""

    def __init__(
        self,
        http: httpx2.AsyncClient,
        base_url: str,
        *,
        where: str | None = None,
        retry_seconds: float = RETRY_SECONDS,
        first_contact: FirstContact | None = None,
        onlooker: Onlooker | None = None,
        detour: Detour | None = None,
    ) -> None:
        self._transport = Transport(
            Way(http, base_url, where or base_url.rstrip("/")),
            retry_seconds=retry_seconds,
            first_contact=first_contact,
            onlooker=onlooker,
            detour=detour,
        )

    @property
    def where(self) -> str:
        """The place as messages name it."""
        return self._transport.where

    @property
    def is_unheard(self) -> bool:
        """Whether this is an address that may be wrong: it has never answered."""
        return self._transport.is_unheard

    # -- the cluster -------------------------------------------------------------------------

    async def overview(self) -> models.Overview:
        """Slots, TaskManagers, job counts, version."""
        return await self._read("/overview", models.Overview, "read the overview")

    async def web_configuration(self) -> models.WebConfiguration:
        """What the web interface may do."""
        return await self._read("/config", models.WebConfiguration, "read the web configuration")

    async def configuration(self) -> dict[str, str]:
        """The JobManager's configuration as it is in force; Flink masks secrets."""
        entries = await self._read(
            "/jobmanager/config", list[models.ConfigurationEntry], "read the configuration"
        )
        return {entry.key: entry.value for entry in entries}

    async def class_path(self) -> tuple[str, ...]:
        """What the JobManager's own JVM loads: paths in its container."""
        what = "read the JobManager's environment"
        return (await self._read("/jobmanager/environment", models.Environment, what)).classpath

    async def taskmanagers(self) -> tuple[models.TaskManagerSummary, ...]:
        """The TaskManagers that have registered."""
        what = "list the TaskManagers"
        return (await self._read("/taskmanagers", models.TaskManagersEnvelope, what)).taskmanagers

    async def taskmanager(self, taskmanager_id: str) -> dict[str, Any]:
        """All that Flink tells about one TaskManager."""
        path = f"/taskmanagers/{_segment(taskmanager_id)}"
        return await self._read(path, dict[str, Any], f"read TaskManager {taskmanager_id}")

    async def shut_down(self) -> None:
        """Ends the cluster: Flink's way out when no Deployment can be deleted."""
        await self._transport.change(
            "DELETE", "/cluster", dict[str, Any], what="shut the cluster down", repeatable=False
        )

    # -- logs --------------------------------------------------------------------------------

    async def jobmanager_logs(self) -> tuple[models.LogFile, ...]:
        """The files in the JobManager's log directory."""
        what = "list the JobManager's log files"
        return (await self._read("/jobmanager/logs", models.LogsEnvelope, what)).logs

    async def jobmanager_log(self, name: str) -> str:
        """The text of one of them."""
        return await self._text(f"/jobmanager/logs/{_segment(name)}", f"read the log {name}")

    async def taskmanager_logs(self, taskmanager_id: str) -> tuple[models.LogFile, ...]:
        """The files in a TaskManager's log directory."""
        path = f"/taskmanagers/{_segment(taskmanager_id)}/logs"
        what = f"list the log files of TaskManager {taskmanager_id}"
        return (await self._read(path, models.LogsEnvelope, what)).logs

    async def taskmanager_log(self, taskmanager_id: str, name: str) -> str:
        """The text of one of them."""
        path = f"/taskmanagers/{_segment(taskmanager_id)}/logs/{_segment(name)}"
        return await self._text(path, f"read the log {name} of TaskManager {taskmanager_id}")

    # -- jars --------------------------------------------------------------------------------

    async def jars(self) -> tuple[models.Jar, ...]:
        """The uploaded jars, newest first."""
        return (await self._read("/jars", models.JarsEnvelope, "list the jars")).files

    async def upload_jar(
        self, path: Path, *, name: str | None = None, progress: Progress | None = None
    ) -> str:
        """Sends a jar and returns its id; memory use does not depend on the jar's size.

        `name` is how Flink lists it, by default the file's own. An attempt that was cut off leaves
        at most an unused file on the JobManager.
        """
        upload = JarUpload.of(path, name or path.name, progress)
        what = f"upload {path.name}"
        call = Call(
            "POST",
            "/jars/upload",
            what,
            content=upload.chunks,
            headers=upload.headers,
            read_seconds=UPLOAD_ANSWER_SECONDS,
        )
        response = await self._transport.send(call)
        answer = self._transport.decode(response, models.UploadEnvelope, what)
        return answer.filename.rpartition("/")[2]

    async def delete_jar(self, jar_id: str) -> None:
        """Removes an uploaded jar."""
        await self._transport.change(
            "DELETE", f"/jars/{_segment(jar_id)}", dict[str, Any], what=f"delete jar {jar_id}"
        )

    async def run_jar(
        self,
        jar_id: str,
        *,
        entry_class: str | None = None,
        args: Sequence[str] = (),
        parallelism: int | None = None,
        savepoint: str | None = None,
        allow_non_restored_state: bool | None = None,
        claim_mode: ClaimMode | None = None,
        configuration: Mapping[str, str] | None = None,
        job_id: str | None = None,
    ) -> str:
        """Runs the program of an uploaded jar on the JobManager; returns the job's id.

        The answer comes when the program's `main` has submitted its job. `job_id` (32 hexadecimal
        digits; a random one by default) makes the request safe to repeat: if an answer is lost, the
        job of that id is looked for first.
        """
        job = job_id or secrets.token_hex(16)
        body = _without_none(
            {
                "entryClass": entry_class,
                "programArgsList": list(args) or None,
                "parallelism": parallelism,
                "savepointPath": savepoint,
                "allowNonRestoredState": allow_non_restored_state,
                "restoreMode": claim_mode,  # the name that all versions from 1.17 to 2.3 know
                "flinkConfiguration": dict(configuration) if configuration else None,
                "jobId": job,
            }
        )
        try:
            answer = await self._transport.change(
                "POST",
                f"/jars/{_segment(jar_id)}/run",
                models.RunEnvelope,
                what=f"run {_jar_name(jar_id)}",
                body=body,
                read_seconds=RUN_SECONDS,
            )
        except RestUnreachableError as error:
            if await self._exists(job):
                return job
            error.hint = f"Whether the program runs is not known; its job would have the id {job}"
            raise
        return answer.jobid

    async def plan(
        self,
        jar_id: str,
        *,
        entry_class: str | None = None,
        args: Sequence[str] = (),
        parallelism: int | None = None,
        configuration: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The plan of the job that an uploaded jar's program would submit; none is started.

        The program's `main` runs on the JobManager up to its first job. What Flink answers is the
        plan of the job graph, as a running job has it.
        """
        body = _without_none(
            {
                "entryClass": entry_class,
                "programArgsList": list(args) or None,
                "parallelism": parallelism,
                "flinkConfiguration": dict(configuration) if configuration else None,
            }
        )
        answer = await self._transport.change(
            "POST",
            f"/jars/{_segment(jar_id)}/plan",
            models.PlanEnvelope,
            what=f"plan {_jar_name(jar_id)}",
            body=body,
            read_seconds=RUN_SECONDS,
        )
        return answer.plan

    # -- jobs --------------------------------------------------------------------------------

    async def jobs(self) -> tuple[models.JobSummary, ...]:
        """All jobs that the JobManager remembers."""
        return (await self._read("/jobs/overview", models.JobsEnvelope, "list the jobs")).jobs

    async def job(self, job_id: str) -> models.JobDetails:
        """One job with its vertices and plan."""
        path = f"/jobs/{_segment(job_id)}"
        return await self._read(path, models.JobDetails, f"read job {job_id}")

    async def job_state(self, job_id: str) -> str:
        """The job's state alone."""
        path = f"/jobs/{_segment(job_id)}/status"
        what = f"read the state of job {job_id}"
        return (await self._read(path, models.JobStatusEnvelope, what)).status

    async def exceptions(self, job_id: str, *, limit: int = 20) -> models.JobExceptions:
        """The job's last failures, newest first."""
        path = f"/jobs/{_segment(job_id)}/exceptions?maxExceptions={limit}"
        return await self._read(path, models.JobExceptions, f"read the exceptions of job {job_id}")

    async def result(self, job_id: str) -> models.JobExecutionResult:
        """How the job ended, if it has."""
        path = f"/jobs/{_segment(job_id)}/execution-result"
        return await self._read(path, models.JobExecutionResult, f"read the result of job {job_id}")

    async def accumulators(self, job_id: str) -> tuple[models.Accumulator, ...]:
        """The values that the job's user functions collected."""
        path = f"/jobs/{_segment(job_id)}/accumulators"
        what = f"read the accumulators of job {job_id}"
        return (await self._read(path, models.Accumulators, what)).user

    async def cancel(self, job_id: str) -> None:
        """Asks for the job's cancellation; it is `CANCELLING` until it is `CANCELED`.

        A job that is `CANCELED` already is no error; one that ended otherwise is (409).
        """
        try:
            await self._transport.change(
                "PATCH",
                f"/jobs/{_segment(job_id)}",
                dict[str, Any],
                what=f"cancel job {job_id}",
                params={"mode": "cancel"},
                repeatable=True,
            )
        except RestStatusError as error:
            if error.code != 409 or await self.job_state(job_id) != "CANCELED":
                raise

    # -- savepoints and checkpoints ----------------------------------------------------------

    async def stop(
        self,
        job_id: str,
        *,
        directory: str | None = None,
        drain: bool = False,
        format_type: SavepointFormat = "CANONICAL",
        trigger_id: str | None = None,
    ) -> str:
        """Asks for a stop with savepoint; returns the id for `savepoint_status`."""
        body = {
            "targetDirectory": directory,
            "drain": drain,
            "formatType": format_type,
            "triggerId": trigger_id or secrets.token_hex(16),
        }
        return await self._trigger(f"/jobs/{_segment(job_id)}/stop", body, f"stop job {job_id}")

    async def trigger_savepoint(
        self,
        job_id: str,
        *,
        directory: str | None = None,
        cancel_job: bool = False,
        format_type: SavepointFormat = "CANONICAL",
        trigger_id: str | None = None,
    ) -> str:
        """Asks for a savepoint; returns the id for `savepoint_status`."""
        body = {
            "target-directory": directory,
            "cancel-job": cancel_job,
            "formatType": format_type,
            "triggerId": trigger_id or secrets.token_hex(16),
        }
        path = f"/jobs/{_segment(job_id)}/savepoints"
        return await self._trigger(path, body, f"savepoint of job {job_id}")

    async def savepoint_status(self, job_id: str, trigger_id: str) -> models.OperationStatus:
        """Of a savepoint or a stop."""
        path = f"/jobs/{_segment(job_id)}/savepoints/{_segment(trigger_id)}"
        what = f"read the state of savepoint request {trigger_id}"
        return await self._read(path, models.OperationStatus, what)

    async def dispose_savepoint(self, path: str) -> str:
        """Asks for the removal of a savepoint; returns the id for `disposal_status`."""
        return await self._trigger(
            "/savepoint-disposal",
            {"savepoint-path": path},
            f"dispose savepoint {path}",
            repeatable=False,  # the second attempt would not find what the first removed
        )

    async def disposal_status(self, trigger_id: str) -> models.OperationStatus:
        """Of a removal."""
        path = f"/savepoint-disposal/{_segment(trigger_id)}"
        what = f"read the state of disposal request {trigger_id}"
        return await self._read(path, models.OperationStatus, what)

    async def trigger_checkpoint(
        self,
        job_id: str,
        *,
        checkpoint_type: CheckpointType = "CONFIGURED",
        trigger_id: str | None = None,
    ) -> str:
        """Asks for a checkpoint now; returns the id for `checkpoint_status`."""
        body = {
            "checkpointType": checkpoint_type,
            "triggerId": trigger_id or secrets.token_hex(16),
        }
        path = f"/jobs/{_segment(job_id)}/checkpoints"
        return await self._trigger(path, body, f"checkpoint of job {job_id}")

    async def checkpoint_status(self, job_id: str, trigger_id: str) -> models.OperationStatus:
        """Of a checkpoint that was asked for."""
        path = f"/jobs/{_segment(job_id)}/checkpoints/{_segment(trigger_id)}"
        what = f"read the state of checkpoint request {trigger_id}"
        return await self._read(path, models.OperationStatus, what)

    async def checkpoints(self, job_id: str) -> models.Checkpoints:
        """The statistics of the job's checkpoints and savepoints."""
        path = f"/jobs/{_segment(job_id)}/checkpoints"
        return await self._read(path, models.Checkpoints, f"read the checkpoints of job {job_id}")

    async def checkpoint_configuration(self, job_id: str) -> dict[str, Any]:
        """Mode, interval and storage of the job's checkpoints, in Flink's own fields."""
        path = f"/jobs/{_segment(job_id)}/checkpoints/config"
        what = f"read the checkpoint configuration of job {job_id}"
        return await self._read(path, dict[str, Any], what)

    # -- common parts ------------------------------------------------------------------------

    async def _read(self, path: str, answer: type[_T], what: str) -> _T:
        return await self._transport.read(path, answer, what=what)

    async def _text(self, path: str, what: str) -> str:
        call = Call("GET", path, what, repeatable=True, answer_seconds=LOG_SECONDS)
        return (await self._transport.send(call)).text

    async def _trigger(
        self, path: str, body: dict[str, Any], what: str, *, repeatable: bool = True
    ) -> str:
        answer = await self._transport.change(
            "POST",
            path,
            models.TriggerEnvelope,
            what=what,
            body=_without_none(body),
            repeatable=repeatable,
        )
        return answer.request_id

    async def _exists(self, job_id: str) -> bool:
        try:
            await self.job_state(job_id)
        except RestStatusError as error:
            if error.code == 404:
                return False
            raise
        return True


def _jar_name(jar_id: str) -> str:
    """The name of the file that was uploaded, without what Flink and `cluster.jars` put to it."""
    return _DIGEST.sub("", jar_id.partition("_")[2] or jar_id)


def _segment(text: str) -> str:
    """`text` as one segment of a path."""
    return quote(text, safe="")


def _without_none(body: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if value is not None}
