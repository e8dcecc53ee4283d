"""What Flink's REST API answers, as typed values.

One set of structs reads all versions from 1.17 to 2.3: a field that some version lacks has a
default, a field that is not named here is ignored, and a field that changed its name is read under
both (`location` became `endpoint`, `failureCause` and `failure-cause` exist side by side). States
stay strings, because a newer Flink may have one that is not known here, and reading an answer must
never fail for that.

Times are milliseconds since the epoch, as Flink sends them; `-1` and `0` mean "not yet". Sizes are
bytes.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

TERMINAL_STATES: Final = frozenset({"FINISHED", "CANCELED", "FAILED"})
"""The job states that nothing follows. `SUSPENDED` is none: with high availability it goes on."""

SCHEDULED_STATES: Final = frozenset({"CREATED", "INITIALIZING"})
"""The states that Flink's `list` shows as scheduled."""

COMPLETED: Final = "COMPLETED"
IN_PROGRESS: Final = "IN_PROGRESS"


class Overview(msgspec.Struct, frozen=True, rename="kebab"):
    """`/overview`: slots and job counts of the whole cluster."""

    flink_version: str = ""
    flink_commit: str = ""
    taskmanagers: int = 0
    slots_total: int = 0
    slots_available: int = 0
    jobs_running: int = 0
    jobs_finished: int = 0
    jobs_cancelled: int = 0
    jobs_failed: int = 0


class Environment(msgspec.Struct, frozen=True):
    """`/jobmanager/environment`, as far as it is used."""

    classpath: tuple[str, ...] = ()


class WebFeatures(msgspec.Struct, frozen=True, rename="kebab"):
    """What the web interface may do; without `web_submit` there are no `/jars` routes."""

    web_submit: bool = False
    web_cancel: bool = False
    web_rescale: bool = False
    web_history: bool = False


class WebConfiguration(msgspec.Struct, frozen=True, rename="kebab"):
    """`/config`: what the web interface starts with."""

    flink_version: str = ""
    flink_revision: str = ""
    refresh_interval: int = 3000
    timezone_name: str = ""
    timezone_offset: int = 0
    features: WebFeatures = WebFeatures()


class ConfigurationEntry(msgspec.Struct, frozen=True):
    """One option of `/jobmanager/config`; Flink masks the values of secrets itself."""

    key: str
    value: str


class JobSummary(msgspec.Struct, frozen=True):
    """One job of `/jobs/overview`. `tasks` counts them by lower-case state."""

    id: str = msgspec.field(name="jid")
    name: str = ""
    state: str = ""
    start_time: int = msgspec.field(name="start-time", default=-1)
    end_time: int = msgspec.field(name="end-time", default=-1)
    duration: int = 0
    last_modification: int = msgspec.field(name="last-modification", default=-1)
    tasks: dict[str, int] = {}
    job_type: str | None = msgspec.field(name="jobType", default=None)

    @property
    def is_terminal(self) -> bool:
        """Whether nothing follows this state."""
        return self.state in TERMINAL_STATES


class JobVertex(msgspec.Struct, frozen=True):
    """One vertex of a job: a chain of operators. `tasks` counts its subtasks by state."""

    id: str
    name: str = ""
    parallelism: int = 0
    max_parallelism: int = msgspec.field(name="maxParallelism", default=-1)
    status: str = ""
    start_time: int = msgspec.field(name="start-time", default=-1)
    end_time: int = msgspec.field(name="end-time", default=-1)
    duration: int = 0
    tasks: dict[str, int] = {}
    metrics: dict[str, Any] = {}


class JobDetails(msgspec.Struct, frozen=True):
    """`/jobs/ID`. `timestamps` has the time of the last entry into each state, 0 for never.

    Of a job that is initialized or suspended, as in a failover, little is known: the types and the
    plan are None then.
    """

    id: str = msgspec.field(name="jid")
    name: str = ""
    state: str = ""
    start_time: int = msgspec.field(name="start-time", default=-1)
    end_time: int = msgspec.field(name="end-time", default=-1)
    duration: int = 0
    now: int = 0
    max_parallelism: int = msgspec.field(name="maxParallelism", default=-1)
    job_type: str | None = msgspec.field(name="job-type", default=None)
    scheduler_type: str | None = msgspec.field(name="schedulerType", default=None)
    timestamps: dict[str, int] = {}
    vertices: tuple[JobVertex, ...] = ()
    status_counts: dict[str, int] = msgspec.field(name="status-counts", default_factory=dict)
    plan: dict[str, Any] | None = None

    @property
    def is_terminal(self) -> bool:
        """Whether nothing follows this state."""
        return self.state in TERMINAL_STATES


class JobException(msgspec.Struct, frozen=True):
    """One entry of a job's exception history; `task_name` is empty for a global failure."""

    name: str = msgspec.field(name="exceptionName", default="")
    stacktrace: str = ""
    timestamp: int = 0
    task_name: str | None = msgspec.field(name="taskName", default=None)
    location: str | None = None
    endpoint: str | None = None
    taskmanager_id: str | None = msgspec.field(name="taskManagerId", default=None)
    concurrent: tuple[JobException, ...] = msgspec.field(name="concurrentExceptions", default=())


class ExceptionHistory(msgspec.Struct, frozen=True):
    """The last failures of a job, newest first."""

    entries: tuple[JobException, ...] = ()
    truncated: bool = False


class JobExceptions(msgspec.Struct, frozen=True):
    """`/jobs/ID/exceptions`. `root_exception` is filled by 1.x only."""

    history: ExceptionHistory = msgspec.field(name="exceptionHistory", default=ExceptionHistory())
    root_exception: str | None = msgspec.field(name="root-exception", default=None)
    timestamp: int | None = None

    @property
    def latest_stacktrace(self) -> str:
        """The newest failure's stack trace; empty if the job never failed."""
        if self.history.entries:
            return self.history.entries[0].stacktrace
        return self.root_exception or ""


class FailureCause(msgspec.Struct, frozen=True):
    """A Java exception in an answer; its serialised form is left behind."""

    exception_class: str = msgspec.field(name="class", default="")
    stack_trace: str = msgspec.field(name="stack-trace", default="")


class QueueStatus(msgspec.Struct, frozen=True):
    """`IN_PROGRESS` or `COMPLETED`; completed operations may have failed."""

    id: str


class OperationResult(msgspec.Struct, frozen=True):
    """The outcome of a savepoint, checkpoint or disposal: one of the fields, or none of them."""

    location: str | None = None
    checkpoint_id: int | None = msgspec.field(name="checkpointId", default=None)
    savepoint_failure: FailureCause | None = msgspec.field(name="failure-cause", default=None)
    checkpoint_failure: FailureCause | None = msgspec.field(name="failureCause", default=None)

    @property
    def failure(self) -> FailureCause | None:
        """Why it failed; None if it did not."""
        return self.savepoint_failure or self.checkpoint_failure


class OperationStatus(msgspec.Struct, frozen=True):
    """The state of an operation that was triggered, asked for by its trigger id."""

    status: QueueStatus
    operation: OperationResult | None = None

    @property
    def is_completed(self) -> bool:
        """Whether it has ended, well or badly."""
        return self.status.id == COMPLETED


class JobResult(msgspec.Struct, frozen=True):
    """How a job ended: `SUCCEEDED`, `FAILED`, `CANCELED` or `UNKNOWN`."""

    id: str
    application_status: str = msgspec.field(name="application-status", default="UNKNOWN")
    net_runtime: int = msgspec.field(name="net-runtime", default=0)
    accumulator_results: dict[str, Any] = msgspec.field(
        name="accumulator-results", default_factory=dict
    )
    failure_cause: FailureCause | None = msgspec.field(name="failure-cause", default=None)


class JobExecutionResult(msgspec.Struct, frozen=True):
    """`/jobs/ID/execution-result`: in progress, or completed with a result."""

    status: QueueStatus
    result: JobResult | None = msgspec.field(name="job-execution-result", default=None)


class Accumulator(msgspec.Struct, frozen=True):
    """One user accumulator, its value as text."""

    name: str
    type: str = ""
    value: str = ""


class Accumulators(msgspec.Struct, frozen=True):
    """`/jobs/ID/accumulators`."""

    user: tuple[Accumulator, ...] = msgspec.field(name="user-task-accumulators", default=())


class Checkpoint(msgspec.Struct, frozen=True):
    """One checkpoint or savepoint in the statistics of a job."""

    id: int
    status: str = ""
    is_savepoint: bool = False
    trigger_timestamp: int = 0
    latest_ack_timestamp: int = 0
    state_size: int = 0
    end_to_end_duration: int = 0
    checkpoint_type: str = ""
    external_path: str | None = None
    discarded: bool | None = None
    failure_timestamp: int | None = None
    failure_message: str | None = None
    savepoint_format: str | None = msgspec.field(name="savepointFormat", default=None)


class RestoredCheckpoint(msgspec.Struct, frozen=True):
    """What the job was last restored from."""

    id: int
    restore_timestamp: int = 0
    is_savepoint: bool = False
    external_path: str | None = None


class LatestCheckpoints(msgspec.Struct, frozen=True):
    """The newest of each kind."""

    completed: Checkpoint | None = None
    savepoint: Checkpoint | None = None
    failed: Checkpoint | None = None
    restored: RestoredCheckpoint | None = None


class CheckpointCounts(msgspec.Struct, frozen=True):
    """How many there were in the life of this job."""

    restored: int = 0
    total: int = 0
    in_progress: int = 0
    completed: int = 0
    failed: int = 0


class Checkpoints(msgspec.Struct, frozen=True):
    """`/jobs/ID/checkpoints`; `history` is newest first and limited by Flink."""

    counts: CheckpointCounts = CheckpointCounts()
    latest: LatestCheckpoints = LatestCheckpoints()
    history: tuple[Checkpoint, ...] = ()


class TaskManagerSummary(msgspec.Struct, frozen=True):
    """One TaskManager that has registered; `id` is the pod's name in the native mode."""

    id: str
    path: str = ""
    slots_number: int = msgspec.field(name="slotsNumber", default=0)
    free_slots: int = msgspec.field(name="freeSlots", default=0)
    last_heartbeat: int = msgspec.field(name="timeSinceLastHeartbeat", default=0)
    hardware: dict[str, Any] = {}
    memory_configuration: dict[str, int | None] = msgspec.field(
        name="memoryConfiguration", default_factory=dict
    )


class LogFile(msgspec.Struct, frozen=True):
    """One file of a log directory; `mtime` only where Flink sends it."""

    name: str
    size: int = 0
    mtime: int = 0


class Jar(msgspec.Struct, frozen=True):
    """An uploaded jar. `id` is what `run` takes: a random prefix and the file's name."""

    id: str
    name: str = ""
    uploaded: int = 0
    entry: tuple[dict[str, Any], ...] = ()


class JobsEnvelope(msgspec.Struct, frozen=True):
    """`{"jobs": [...]}`. As in the other lists, the field is required: `{}` is no empty list."""

    jobs: tuple[JobSummary, ...]


class JobStatusEnvelope(msgspec.Struct, frozen=True):
    """`{"status": "RUNNING"}`."""

    status: str


class TaskManagersEnvelope(msgspec.Struct, frozen=True):
    """`{"taskmanagers": [...]}`."""

    taskmanagers: tuple[TaskManagerSummary, ...]


class LogsEnvelope(msgspec.Struct, frozen=True):
    """`{"logs": [...]}`."""

    logs: tuple[LogFile, ...]


class JarsEnvelope(msgspec.Struct, frozen=True):
    """`{"files": [...]}`."""

    files: tuple[Jar, ...]


class UploadEnvelope(msgspec.Struct, frozen=True):
    """The answer to an upload; `filename` is a path on the JobManager."""

    filename: str


class RunEnvelope(msgspec.Struct, frozen=True):
    """The answer to a run: the job's id, 32 hexadecimal digits."""

    jobid: str


class PlanEnvelope(msgspec.Struct, frozen=True):
    """The answer to a plan: the JSON plan of a job graph, with its nodes and their inputs."""

    plan: dict[str, Any]


class TriggerEnvelope(msgspec.Struct, frozen=True):
    """The answer to a trigger: the id to ask with."""

    request_id: str = msgspec.field(name="request-id")


class ErrorEnvelope(msgspec.Struct, frozen=True):
    """Flink's errors: one or two texts, of which the last has the stack trace."""

    errors: tuple[str, ...] = ()
