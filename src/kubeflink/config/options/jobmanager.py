"""Options of the JobManager, its memory, schedulers and job store (`JobManagerOptions`)."""

from __future__ import annotations

from datetime import timedelta

from kubeflink.config.options.kinds import (
    BOOLEAN,
    DURATION,
    ENUM,
    FLOAT,
    INTEGER,
    LONG,
    MEMORY,
    MILLISECONDS,
    STRING,
)
from kubeflink.config.options.option import option
from kubeflink.config.units import GIB, MAX_INT, MIB

RPC_ADDRESS = option(
    "jobmanager.rpc.address",
    STRING,
    about=(
        "Address at which TaskManagers find the JobManager; on Kubernetes the internal "
        "Service, set by the client."
    ),
)
BIND_HOST = option(
    "jobmanager.bind-host",
    STRING,
    about="Local address to which the JobManager binds; all of them if unset.",
)
RPC_PORT = option(
    "jobmanager.rpc.port",
    INTEGER,
    6123,
    minimum=0,
    maximum=65535,
    about="Port of the JobManager's RPC as others see it.",
)
RPC_BIND_PORT = option(
    "jobmanager.rpc.bind-port",
    INTEGER,
    minimum=0,
    maximum=65535,
    about=("Port to which the JobManager's RPC binds, where that differs from the visible one."),
)
MEMORY_PROCESS_SIZE = option(
    "jobmanager.memory.process.size",
    MEMORY,
    about="All memory of the JobManager's process: the size of its container.",
)
MEMORY_FLINK_SIZE = option(
    "jobmanager.memory.flink.size",
    MEMORY,
    about="Memory of the JobManager without metaspace and JVM overhead.",
)
MEMORY_HEAP_SIZE = option(
    "jobmanager.memory.heap.size", MEMORY, about="Java heap of the JobManager."
)
MEMORY_OFF_HEAP_SIZE = option(
    "jobmanager.memory.off-heap.size",
    MEMORY,
    128 * MIB,
    about="Direct and native memory of the JobManager.",
)
MEMORY_ENABLE_JVM_DIRECT_MEMORY_LIMIT = option(
    "jobmanager.memory.enable-jvm-direct-memory-limit",
    BOOLEAN,
    False,
    about="Whether the JVM enforces the JobManager's off-heap size.",
)
MEMORY_JVM_METASPACE_SIZE = option(
    "jobmanager.memory.jvm-metaspace.size",
    MEMORY,
    256 * MIB,
    about="Metaspace of the JobManager's JVM.",
)
MEMORY_JVM_OVERHEAD_MIN = option(
    "jobmanager.memory.jvm-overhead.min",
    MEMORY,
    192 * MIB,
    about=("Lower bound of the JobManager's JVM overhead: stacks, code cache, garbage collection."),
)
MEMORY_JVM_OVERHEAD_MAX = option(
    "jobmanager.memory.jvm-overhead.max",
    MEMORY,
    1 * GIB,
    about="Upper bound of the JobManager's JVM overhead.",
)
MEMORY_JVM_OVERHEAD_FRACTION = option(
    "jobmanager.memory.jvm-overhead.fraction",
    FLOAT,
    0.1,
    about="Share of the process memory that is kept for JVM overhead, within its bounds.",
)
EXECUTION_ATTEMPTS_HISTORY_SIZE = option(
    "jobmanager.execution.attempts-history-size",
    INTEGER,
    16,
    deprecated_keys=("job-manager.max-attempts-history-size",),
    about="How many former attempts of a task are remembered.",
)
FAILURE_ENRICHERS = option(
    "jobmanager.failure-enrichers",
    STRING,
    since=(1, 18),
    about="Classes that add labels to failures, separated by commas.",
)
EXECUTION_FAILOVER_STRATEGY = option(
    "jobmanager.execution.failover-strategy",
    STRING,
    "region",
    about=("What is restarted when a task fails: its region of the graph, or everything (full)."),
)
ARCHIVE_FS_DIR = option(
    "jobmanager.archive.fs.dir",
    STRING,
    about="Directory to which finished jobs are archived for the history server.",
)
JOBSTORE_CACHE_SIZE = option(
    "jobstore.cache-size",
    LONG,
    52428800,
    deprecated_since=(2, 3),
    about="Bytes of finished jobs that are kept in memory.",
)
JOBSTORE_EXPIRATION_TIME = option(
    "jobstore.expiration-time",
    LONG,
    3600,
    deprecated_since=(2, 3),
    about="Seconds after which a finished job is forgotten.",
)
JOBSTORE_MAX_CAPACITY = option(
    "jobstore.max-capacity",
    INTEGER,
    MAX_INT,
    deprecated_since=(2, 3),
    about="How many finished jobs are kept.",
)
JOBSTORE_TYPE = option(
    "jobstore.type",
    ENUM,
    "File",
    choices=("File", "Memory"),
    deprecated_since=(2, 3),
    about="Where finished jobs are kept.",
)
COMPLETED_APPLICATION_STORE_CACHE_SIZE = option(
    "completed-application-store.cache-size",
    LONG,
    52428800,
    deprecated_keys=("jobstore.cache-size",),
    since=(2, 3),
    about="Bytes of finished applications that are kept in memory.",
)
COMPLETED_APPLICATION_STORE_EXPIRATION_TIME = option(
    "completed-application-store.expiration-time",
    DURATION,
    timedelta(hours=1),
    since=(2, 3),
    about="Time after which a finished application is forgotten.",
)
COMPLETED_APPLICATION_STORE_MAX_CAPACITY = option(
    "completed-application-store.max-capacity",
    INTEGER,
    MAX_INT,
    deprecated_keys=("jobstore.max-capacity",),
    since=(2, 3),
    about="How many finished applications are kept.",
)
COMPLETED_APPLICATION_STORE_TYPE = option(
    "completed-application-store.type",
    ENUM,
    "File",
    deprecated_keys=("jobstore.type",),
    choices=("File", "Memory"),
    since=(2, 3),
    about="Where finished applications are kept.",
)
RETRIEVE_TASKMANAGER_HOSTNAME = option(
    "jobmanager.retrieve-taskmanager-hostname",
    BOOLEAN,
    True,
    about="Whether the JobManager looks up the host names of TaskManagers.",
)
FUTURE_POOL_SIZE = option(
    "jobmanager.future-pool.size",
    INTEGER,
    about="Threads of the JobManager for computation; one per core if unset.",
)
IO_POOL_SIZE = option(
    "jobmanager.io-pool.size",
    INTEGER,
    about="Threads of the JobManager for blocking work; one per core if unset.",
)
SLOT_REQUEST_TIMEOUT = option(
    "slot.request.timeout",
    MILLISECONDS,
    timedelta(minutes=5),
    about="How long a job waits for a slot before it fails.",
)
SLOT_IDLE_TIMEOUT = option(
    "slot.idle.timeout",
    MILLISECONDS,
    timedelta(seconds=50),
    about="How long a job keeps a slot that it does not use.",
)
SLOT_REQUEST_MAX_INTERVAL = option(
    "slot.request.max-interval",
    DURATION,
    timedelta(milliseconds=20),
    since=(2, 0),
    about="How long requests for slots are collected before they are matched.",
)
SCHEDULER = option(
    "jobmanager.scheduler",
    ENUM,
    "Default",
    choices=("Default", "Adaptive", "AdaptiveBatch"),
    earlier=(((1, 20), {"choices": ("Ng", "Default", "Adaptive", "AdaptiveBatch")}),),
    about="Which scheduler runs jobs.",
)
SCHEDULER_MODE = option(
    "scheduler-mode",
    ENUM,
    choices=("REACTIVE",),
    about="REACTIVE makes a standalone application use all TaskManagers that there are.",
)
ADAPTIVE_SCHEDULER_SCALING_INTERVAL_MIN = option(
    "jobmanager.adaptive-scheduler.scaling-interval.min",
    DURATION,
    timedelta(seconds=30),
    since=(1, 19),
    deprecated_since=(2, 0),
    about="Shortest time between two rescalings.",
)
ADAPTIVE_SCHEDULER_EXECUTING_COOLDOWN_AFTER_RESCALING = option(
    "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling",
    DURATION,
    timedelta(seconds=30),
    deprecated_keys=("jobmanager.adaptive-scheduler.scaling-interval.min",),
    since=(2, 0),
    about="Shortest time between two rescalings of a running job.",
)
ADAPTIVE_SCHEDULER_EXECUTING_RESOURCE_STABILIZATION_TIMEOUT = option(
    "jobmanager.adaptive-scheduler.executing.resource-stabilization-timeout",
    DURATION,
    timedelta(minutes=1),
    since=(2, 0),
    about=(
        "How long resources must stay the same before a running job is rescaled to them, if "
        "they are fewer than wanted."
    ),
)
ADAPTIVE_SCHEDULER_MIN_PARALLELISM_INCREASE = option(
    "jobmanager.adaptive-scheduler.min-parallelism-increase",
    INTEGER,
    1,
    deprecated_since=(2, 0),
    about="Smallest gain of parallelism that is worth a rescaling.",
)
ADAPTIVE_SCHEDULER_SCALING_INTERVAL_MAX = option(
    "jobmanager.adaptive-scheduler.scaling-interval.max",
    DURATION,
    since=(1, 19),
    deprecated_since=(2, 0),
    about="Time after which a job is rescaled even for a small gain.",
)
ADAPTIVE_SCHEDULER_RESOURCE_WAIT_TIMEOUT = option(
    "jobmanager.adaptive-scheduler.resource-wait-timeout",
    DURATION,
    timedelta(minutes=5),
    deprecated_since=(2, 0),
    about="How long a job waits for the resources that it wants.",
)
ADAPTIVE_SCHEDULER_SUBMISSION_RESOURCE_WAIT_TIMEOUT = option(
    "jobmanager.adaptive-scheduler.submission.resource-wait-timeout",
    DURATION,
    timedelta(minutes=5),
    deprecated_keys=("jobmanager.adaptive-scheduler.resource-wait-timeout",),
    since=(2, 0),
    about="How long a submitted job waits for its resources before it fails.",
)
ADAPTIVE_SCHEDULER_RESCALE_TRIGGER_MAX_CHECKPOINT_FAILURES = option(
    "jobmanager.adaptive-scheduler.rescale-trigger.max-checkpoint-failures",
    INTEGER,
    2,
    since=(2, 0),
    about="How many checkpoints may fail before a rescaling no longer waits for one.",
)
ADAPTIVE_SCHEDULER_RESCALE_TRIGGER_MAX_DELAY = option(
    "jobmanager.adaptive-scheduler.rescale-trigger.max-delay",
    DURATION,
    since=(2, 0),
    about="How long a rescaling waits for a checkpoint.",
)
ADAPTIVE_SCHEDULER_RESOURCE_STABILIZATION_TIMEOUT = option(
    "jobmanager.adaptive-scheduler.resource-stabilization-timeout",
    DURATION,
    timedelta(seconds=10),
    deprecated_since=(2, 0),
    about=(
        "How long resources must stay the same before a job starts with them, if they are "
        "fewer than wanted."
    ),
)
ADAPTIVE_SCHEDULER_SUBMISSION_RESOURCE_STABILIZATION_TIMEOUT = option(
    "jobmanager.adaptive-scheduler.submission.resource-stabilization-timeout",
    DURATION,
    timedelta(seconds=10),
    deprecated_keys=("jobmanager.adaptive-scheduler.resource-stabilization-timeout",),
    since=(2, 0),
    about=(
        "How long resources must stay the same before a submitted job starts with them, if "
        "they are fewer than wanted."
    ),
)
ADAPTIVE_SCHEDULER_PREFER_MINIMAL_TASKMANAGERS = option(
    "jobmanager.adaptive-scheduler.prefer-minimal-taskmanagers",
    BOOLEAN,
    True,
    since=(1, 19),
    about="Whether slots are taken from as few TaskManagers as possible.",
)
PARTITION_RELEASE_DURING_JOB_EXECUTION = option(
    "jobmanager.partition.release-during-job-execution",
    BOOLEAN,
    True,
    about="Whether results between tasks are released while the job still runs.",
)
RESOURCE_ID = option(
    "jobmanager.resource-id", STRING, about="Name of the JobManager process; at random if unset."
)
PARTITION_HYBRID_PARTITION_DATA_CONSUME_CONSTRAINT = option(
    "jobmanager.partition.hybrid.partition-data-consume-constraint",
    ENUM,
    choices=("ALL_PRODUCERS_FINISHED", "ONLY_FINISHED_PRODUCERS", "UNFINISHED_PRODUCERS"),
    about="Which producers must have finished before a hybrid shuffle may be read.",
)
HEAP_SIZE = option(
    "jobmanager.heap.size",
    MEMORY,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Heap of the JobManager as Flink 1.9 and before knew it.",
)
HEAP_MB = option(
    "jobmanager.heap.mb",
    INTEGER,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Heap of the JobManager in megabytes, older still.",
)
ADAPTIVE_BATCH_SCHEDULER_MIN_PARALLELISM = option(
    "jobmanager.adaptive-batch-scheduler.min-parallelism",
    INTEGER,
    1,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Least parallelism that is chosen for a batch operator.",
)
ADAPTIVE_BATCH_SCHEDULER_MAX_PARALLELISM = option(
    "jobmanager.adaptive-batch-scheduler.max-parallelism",
    INTEGER,
    128,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Greatest parallelism that is chosen for a batch operator.",
)
ADAPTIVE_BATCH_SCHEDULER_AVG_DATA_VOLUME_PER_TASK = option(
    "jobmanager.adaptive-batch-scheduler.avg-data-volume-per-task",
    MEMORY,
    1 * GIB,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Amount of data that one task of a batch job should get.",
)
ADAPTIVE_BATCH_SCHEDULER_DEFAULT_SOURCE_PARALLELISM = option(
    "jobmanager.adaptive-batch-scheduler.default-source-parallelism",
    INTEGER,
    1,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Parallelism of sources that do not say theirs.",
)
ADAPTIVE_BATCH_SCHEDULER_SPECULATIVE_ENABLED = option(
    "jobmanager.adaptive-batch-scheduler.speculative.enabled",
    BOOLEAN,
    False,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Whether slow batch tasks are run a second time elsewhere.",
)
ADAPTIVE_BATCH_SCHEDULER_SPECULATIVE_MAX_CONCURRENT_EXECUTIONS = option(
    "jobmanager.adaptive-batch-scheduler.speculative.max-concurrent-executions",
    INTEGER,
    2,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="How many executions of one task may run at once, the first included.",
)
ADAPTIVE_BATCH_SCHEDULER_SPECULATIVE_BLOCK_SLOW_NODE_DURATION = option(
    "jobmanager.adaptive-batch-scheduler.speculative.block-slow-node-duration",
    DURATION,
    timedelta(minutes=1),
    until=(1, 20),
    deprecated_since=(1, 17),
    about="How long a node that was slow gets no tasks.",
)
