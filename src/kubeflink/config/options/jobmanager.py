"""Options of Flink, family jobmanager."""

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

RPC_ADDRESS = option("jobmanager.rpc.address", STRING)
BIND_HOST = option("jobmanager.bind-host", STRING)
RPC_PORT = option("jobmanager.rpc.port", INTEGER, 6123)
RPC_BIND_PORT = option("jobmanager.rpc.bind-port", INTEGER)
MEMORY_PROCESS_SIZE = option("jobmanager.memory.process.size", MEMORY)
MEMORY_FLINK_SIZE = option("jobmanager.memory.flink.size", MEMORY)
MEMORY_HEAP_SIZE = option("jobmanager.memory.heap.size", MEMORY)
MEMORY_OFF_HEAP_SIZE = option("jobmanager.memory.off-heap.size", MEMORY, 128 * MIB)
MEMORY_ENABLE_JVM_DIRECT_MEMORY_LIMIT = option(
    "jobmanager.memory.enable-jvm-direct-memory-limit", BOOLEAN, False
)
MEMORY_JVM_METASPACE_SIZE = option("jobmanager.memory.jvm-metaspace.size", MEMORY, 256 * MIB)
MEMORY_JVM_OVERHEAD_MIN = option("jobmanager.memory.jvm-overhead.min", MEMORY, 192 * MIB)
MEMORY_JVM_OVERHEAD_MAX = option("jobmanager.memory.jvm-overhead.max", MEMORY, 1 * GIB)
MEMORY_JVM_OVERHEAD_FRACTION = option("jobmanager.memory.jvm-overhead.fraction", FLOAT, 0.1)
EXECUTION_ATTEMPTS_HISTORY_SIZE = option(
    "jobmanager.execution.attempts-history-size",
    INTEGER,
    16,
    deprecated_keys=("job-manager.max-attempts-history-size",),
)
FAILURE_ENRICHERS = option("jobmanager.failure-enrichers", STRING, since=(1, 18))
EXECUTION_FAILOVER_STRATEGY = option("jobmanager.execution.failover-strategy", STRING, "region")
ARCHIVE_FS_DIR = option("jobmanager.archive.fs.dir", STRING)
JOBSTORE_CACHE_SIZE = option("jobstore.cache-size", LONG, 52428800, deprecated_since=(2, 3))
JOBSTORE_EXPIRATION_TIME = option("jobstore.expiration-time", LONG, 3600, deprecated_since=(2, 3))
JOBSTORE_MAX_CAPACITY = option("jobstore.max-capacity", INTEGER, MAX_INT, deprecated_since=(2, 3))
JOBSTORE_TYPE = option(
    "jobstore.type", ENUM, "File", choices=("File", "Memory"), deprecated_since=(2, 3)
)
COMPLETED_APPLICATION_STORE_CACHE_SIZE = option(
    "completed-application-store.cache-size",
    LONG,
    52428800,
    deprecated_keys=("jobstore.cache-size",),
    since=(2, 3),
)
COMPLETED_APPLICATION_STORE_EXPIRATION_TIME = option(
    "completed-application-store.expiration-time", DURATION, timedelta(hours=1), since=(2, 3)
)
COMPLETED_APPLICATION_STORE_MAX_CAPACITY = option(
    "completed-application-store.max-capacity",
    INTEGER,
    MAX_INT,
    deprecated_keys=("jobstore.max-capacity",),
    since=(2, 3),
)
COMPLETED_APPLICATION_STORE_TYPE = option(
    "completed-application-store.type",
    ENUM,
    "File",
    deprecated_keys=("jobstore.type",),
    choices=("File", "Memory"),
    since=(2, 3),
)
RETRIEVE_TASKMANAGER_HOSTNAME = option("jobmanager.retrieve-taskmanager-hostname", BOOLEAN, True)
FUTURE_POOL_SIZE = option("jobmanager.future-pool.size", INTEGER)
IO_POOL_SIZE = option("jobmanager.io-pool.size", INTEGER)
SLOT_REQUEST_TIMEOUT = option("slot.request.timeout", MILLISECONDS, timedelta(minutes=5))
SLOT_IDLE_TIMEOUT = option("slot.idle.timeout", MILLISECONDS, timedelta(seconds=50))
SLOT_REQUEST_MAX_INTERVAL = option(
    "slot.request.max-interval", DURATION, timedelta(milliseconds=20), since=(2, 0)
)
SCHEDULER = option(
    "jobmanager.scheduler",
    ENUM,
    "Default",
    choices=("Default", "Adaptive", "AdaptiveBatch"),
    earlier=(((1, 20), {"choices": ("Ng", "Default", "Adaptive", "AdaptiveBatch")}),),
)
SCHEDULER_MODE = option("scheduler-mode", ENUM, choices=("REACTIVE",))
ADAPTIVE_SCHEDULER_SCALING_INTERVAL_MIN = option(
    "jobmanager.adaptive-scheduler.scaling-interval.min",
    DURATION,
    timedelta(seconds=30),
    since=(1, 19),
    deprecated_since=(2, 0),
)
ADAPTIVE_SCHEDULER_EXECUTING_COOLDOWN_AFTER_RESCALING = option(
    "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling",
    DURATION,
    timedelta(seconds=30),
    deprecated_keys=("jobmanager.adaptive-scheduler.scaling-interval.min",),
    since=(2, 0),
)
ADAPTIVE_SCHEDULER_EXECUTING_RESOURCE_STABILIZATION_TIMEOUT = option(
    "jobmanager.adaptive-scheduler.executing.resource-stabilization-timeout",
    DURATION,
    timedelta(minutes=1),
    since=(2, 0),
)
ADAPTIVE_SCHEDULER_MIN_PARALLELISM_INCREASE = option(
    "jobmanager.adaptive-scheduler.min-parallelism-increase", INTEGER, 1, deprecated_since=(2, 0)
)
ADAPTIVE_SCHEDULER_SCALING_INTERVAL_MAX = option(
    "jobmanager.adaptive-scheduler.scaling-interval.max",
    DURATION,
    since=(1, 19),
    deprecated_since=(2, 0),
)
ADAPTIVE_SCHEDULER_RESOURCE_WAIT_TIMEOUT = option(
    "jobmanager.adaptive-scheduler.resource-wait-timeout",
    DURATION,
    timedelta(minutes=5),
    deprecated_since=(2, 0),
)
ADAPTIVE_SCHEDULER_SUBMISSION_RESOURCE_WAIT_TIMEOUT = option(
    "jobmanager.adaptive-scheduler.submission.resource-wait-timeout",
    DURATION,
    timedelta(minutes=5),
    deprecated_keys=("jobmanager.adaptive-scheduler.resource-wait-timeout",),
    since=(2, 0),
)
ADAPTIVE_SCHEDULER_RESCALE_TRIGGER_MAX_CHECKPOINT_FAILURES = option(
    "jobmanager.adaptive-scheduler.rescale-trigger.max-checkpoint-failures",
    INTEGER,
    2,
    since=(2, 0),
)
ADAPTIVE_SCHEDULER_RESCALE_TRIGGER_MAX_DELAY = option(
    "jobmanager.adaptive-scheduler.rescale-trigger.max-delay", DURATION, since=(2, 0)
)
ADAPTIVE_SCHEDULER_RESOURCE_STABILIZATION_TIMEOUT = option(
    "jobmanager.adaptive-scheduler.resource-stabilization-timeout",
    DURATION,
    timedelta(seconds=10),
    deprecated_since=(2, 0),
)
ADAPTIVE_SCHEDULER_SUBMISSION_RESOURCE_STABILIZATION_TIMEOUT = option(
    "jobmanager.adaptive-scheduler.submission.resource-stabilization-timeout",
    DURATION,
    timedelta(seconds=10),
    deprecated_keys=("jobmanager.adaptive-scheduler.resource-stabilization-timeout",),
    since=(2, 0),
)
ADAPTIVE_SCHEDULER_PREFER_MINIMAL_TASKMANAGERS = option(
    "jobmanager.adaptive-scheduler.prefer-minimal-taskmanagers", BOOLEAN, True, since=(1, 19)
)
PARTITION_RELEASE_DURING_JOB_EXECUTION = option(
    "jobmanager.partition.release-during-job-execution", BOOLEAN, True
)
RESOURCE_ID = option("jobmanager.resource-id", STRING)
PARTITION_HYBRID_PARTITION_DATA_CONSUME_CONSTRAINT = option(
    "jobmanager.partition.hybrid.partition-data-consume-constraint",
    ENUM,
    choices=("ALL_PRODUCERS_FINISHED", "ONLY_FINISHED_PRODUCERS", "UNFINISHED_PRODUCERS"),
)
HEAP_SIZE = option("jobmanager.heap.size", MEMORY, until=(1, 20), deprecated_since=(1, 17))
HEAP_MB = option("jobmanager.heap.mb", INTEGER, until=(1, 20), deprecated_since=(1, 17))
ADAPTIVE_BATCH_SCHEDULER_MIN_PARALLELISM = option(
    "jobmanager.adaptive-batch-scheduler.min-parallelism",
    INTEGER,
    1,
    until=(1, 20),
    deprecated_since=(1, 17),
)
ADAPTIVE_BATCH_SCHEDULER_MAX_PARALLELISM = option(
    "jobmanager.adaptive-batch-scheduler.max-parallelism",
    INTEGER,
    128,
    until=(1, 20),
    deprecated_since=(1, 17),
)
ADAPTIVE_BATCH_SCHEDULER_AVG_DATA_VOLUME_PER_TASK = option(
    "jobmanager.adaptive-batch-scheduler.avg-data-volume-per-task",
    MEMORY,
    1 * GIB,
    until=(1, 20),
    deprecated_since=(1, 17),
)
ADAPTIVE_BATCH_SCHEDULER_DEFAULT_SOURCE_PARALLELISM = option(
    "jobmanager.adaptive-batch-scheduler.default-source-parallelism",
    INTEGER,
    1,
    until=(1, 20),
    deprecated_since=(1, 17),
)
ADAPTIVE_BATCH_SCHEDULER_SPECULATIVE_ENABLED = option(
    "jobmanager.adaptive-batch-scheduler.speculative.enabled",
    BOOLEAN,
    False,
    until=(1, 20),
    deprecated_since=(1, 17),
)
ADAPTIVE_BATCH_SCHEDULER_SPECULATIVE_MAX_CONCURRENT_EXECUTIONS = option(
    "jobmanager.adaptive-batch-scheduler.speculative.max-concurrent-executions",
    INTEGER,
    2,
    until=(1, 20),
    deprecated_since=(1, 17),
)
ADAPTIVE_BATCH_SCHEDULER_SPECULATIVE_BLOCK_SLOW_NODE_DURATION = option(
    "jobmanager.adaptive-batch-scheduler.speculative.block-slow-node-duration",
    DURATION,
    timedelta(minutes=1),
    until=(1, 20),
    deprecated_since=(1, 17),
)
