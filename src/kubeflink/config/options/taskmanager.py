"""Options of Flink, family taskmanager."""

from __future__ import annotations

from datetime import timedelta

from kubeflink.config.options.kinds import (
    BOOLEAN,
    DOUBLE,
    DURATION,
    ENUM,
    FLOAT,
    INTEGER,
    MAP,
    MEMORY,
    MILLISECONDS,
    STRING,
)
from kubeflink.config.options.option import option
from kubeflink.config.units import GIB, KIB, MAX_LONG, MIB

JVM_EXIT_ON_OOM = option("taskmanager.jvm-exit-on-oom", BOOLEAN, False)
HOST = option("taskmanager.host", STRING)
BIND_HOST = option("taskmanager.bind-host", STRING)
RPC_PORT = option("taskmanager.rpc.port", STRING, "0")
RPC_BIND_PORT = option("taskmanager.rpc.bind-port", INTEGER)
COLLECT_SINK_PORT = option("taskmanager.collect-sink.port", INTEGER, 0, since=(1, 19))
REGISTRATION_TIMEOUT = option(
    "taskmanager.registration.timeout",
    DURATION,
    timedelta(minutes=5),
    deprecated_keys=("taskmanager.maxRegistrationDuration",),
)
NUMBER_OF_TASK_SLOTS = option("taskmanager.numberOfTaskSlots", INTEGER, 1)
SLOT_TIMEOUT = option(
    "taskmanager.slot.timeout",
    DURATION,
    timedelta(seconds=10),
    fallback_keys=("pekko.ask.timeout",),
    earlier=(((1, 17), {"fallback_keys": ("akka.ask.timeout",)}),),
)
DEBUG_MEMORY_LOG = option(
    "taskmanager.debug.memory.log",
    BOOLEAN,
    False,
    deprecated_keys=("taskmanager.debug.memory.startLogThread",),
)
DEBUG_MEMORY_LOG_INTERVAL = option(
    "taskmanager.debug.memory.log-interval",
    MILLISECONDS,
    timedelta(seconds=5),
    deprecated_keys=("taskmanager.debug.memory.logIntervalMs",),
)
MEMORY_SEGMENT_SIZE = option("taskmanager.memory.segment-size", MEMORY, 32 * KIB)
MEMORY_MIN_SEGMENT_SIZE = option("taskmanager.memory.min-segment-size", MEMORY, 256)
MEMORY_STARTING_SEGMENT_SIZE = option(
    "taskmanager.memory.starting-segment-size", MEMORY, 1 * KIB, since=(2, 0)
)
NETWORK_BIND_POLICY = option("taskmanager.network.bind-policy", STRING, "ip")
RESOURCE_ID = option("taskmanager.resource-id", STRING)
CPU_CORES = option("taskmanager.cpu.cores", DOUBLE)
MEMORY_PROCESS_SIZE = option("taskmanager.memory.process.size", MEMORY)
MEMORY_FLINK_SIZE = option("taskmanager.memory.flink.size", MEMORY)
MEMORY_FRAMEWORK_HEAP_SIZE = option("taskmanager.memory.framework.heap.size", MEMORY, 128 * MIB)
MEMORY_FRAMEWORK_OFF_HEAP_SIZE = option(
    "taskmanager.memory.framework.off-heap.size", MEMORY, 128 * MIB
)
MEMORY_TASK_HEAP_SIZE = option("taskmanager.memory.task.heap.size", MEMORY)
MEMORY_TASK_OFF_HEAP_SIZE = option("taskmanager.memory.task.off-heap.size", MEMORY, 0)
MEMORY_MANAGED_SIZE = option(
    "taskmanager.memory.managed.size", MEMORY, deprecated_keys=("taskmanager.memory.size",)
)
MEMORY_MANAGED_FRACTION = option("taskmanager.memory.managed.fraction", FLOAT, 0.4)
MEMORY_MANAGED_CONSUMER_WEIGHTS = option(
    "taskmanager.memory.managed.consumer-weights",
    MAP,
    {"OPERATOR": "70", "STATE_BACKEND": "70", "PYTHON": "30"},
)
MEMORY_NETWORK_MIN = option(
    "taskmanager.memory.network.min",
    MEMORY,
    64 * MIB,
    deprecated_keys=("taskmanager.network.memory.min",),
)
MEMORY_NETWORK_MAX = option(
    "taskmanager.memory.network.max",
    MEMORY,
    MAX_LONG,
    deprecated_keys=("taskmanager.network.memory.max",),
)
MEMORY_NETWORK_FRACTION = option(
    "taskmanager.memory.network.fraction",
    FLOAT,
    0.1,
    deprecated_keys=("taskmanager.network.memory.fraction",),
)
NETWORK_MEMORY_BUFFER_DEBLOAT_PERIOD = option(
    "taskmanager.network.memory.buffer-debloat.period", DURATION, timedelta(milliseconds=200)
)
NETWORK_MEMORY_BUFFER_DEBLOAT_SAMPLES = option(
    "taskmanager.network.memory.buffer-debloat.samples", INTEGER, 20
)
NETWORK_MEMORY_BUFFER_DEBLOAT_TARGET = option(
    "taskmanager.network.memory.buffer-debloat.target", DURATION, timedelta(seconds=1)
)
NETWORK_MEMORY_BUFFER_DEBLOAT_ENABLED = option(
    "taskmanager.network.memory.buffer-debloat.enabled", BOOLEAN, False
)
NETWORK_MEMORY_BUFFER_DEBLOAT_THRESHOLD_PERCENTAGES = option(
    "taskmanager.network.memory.buffer-debloat.threshold-percentages", INTEGER, 25
)
MEMORY_FRAMEWORK_OFF_HEAP_BATCH_SHUFFLE_SIZE = option(
    "taskmanager.memory.framework.off-heap.batch-shuffle.size", MEMORY, 64 * MIB
)
MEMORY_JVM_METASPACE_SIZE = option("taskmanager.memory.jvm-metaspace.size", MEMORY, 256 * MIB)
MEMORY_JVM_OVERHEAD_MIN = option("taskmanager.memory.jvm-overhead.min", MEMORY, 192 * MIB)
MEMORY_JVM_OVERHEAD_MAX = option("taskmanager.memory.jvm-overhead.max", MEMORY, 1 * GIB)
MEMORY_JVM_OVERHEAD_FRACTION = option("taskmanager.memory.jvm-overhead.fraction", FLOAT, 0.1)
TASK_CANCELLATION_INTERVAL = option(
    "task.cancellation.interval",
    MILLISECONDS,
    timedelta(seconds=30),
    deprecated_keys=("task.cancellation-interval",),
)
TASK_CANCELLATION_TIMEOUT = option("task.cancellation.timeout", MILLISECONDS, timedelta(minutes=3))
TASK_CANCELLATION_TIMERS_TIMEOUT = option(
    "task.cancellation.timers.timeout",
    MILLISECONDS,
    timedelta(milliseconds=7500),
    deprecated_keys=("timerservice.exceptional.shutdown.timeout",),
)
SYSTEM_OUT_MODE = option(
    "taskmanager.system-out.mode",
    ENUM,
    "DEFAULT",
    choices=("DEFAULT", "LOG", "IGNORE"),
    since=(1, 19),
)
SYSTEM_OUT_LOG_THREAD_NAME_ENABLED = option(
    "taskmanager.system-out.log.thread-name.enabled", BOOLEAN, False, since=(1, 19)
)
SYSTEM_OUT_LOG_CACHE_UPPER_SIZE = option(
    "taskmanager.system-out.log.cache-upper-size", MEMORY, 100 * KIB, since=(1, 19)
)
LOAD_BALANCE_MODE = option(
    "taskmanager.load-balance.mode",
    ENUM,
    "NONE",
    choices=("NONE", "SLOTS", "MIN_RESOURCES", "TASKS"),
    since=(1, 19),
    earlier=(
        ((2, 0), {"choices": ("NONE", "SLOTS")}),
        ((2, 1), {"choices": ("NONE", "SLOTS", "MIN_RESOURCES")}),
    ),
)
LOG_PATH = option("taskmanager.log.path", STRING, since=(1, 19))
RUNTIME_FS_TIMEOUT = option(
    "taskmanager.runtime.fs-timeout",
    DURATION,
    timedelta(),
    deprecated_keys=("taskmanager.runtime.fs_timeout",),
    since=(1, 19),
)
MINICLUSTER_NUMBER_OF_TASKMANAGERS = option(
    "minicluster.number-of-taskmanagers",
    INTEGER,
    1,
    deprecated_keys=("local.number-taskmanager",),
    since=(1, 19),
)
INTERNAL_TASKMANAGER_RESOURCE_ID_METADATA = option(
    "internal.taskmanager.resource-id.metadata", STRING
)
INTERNAL_TASKMANAGER_NODE_ID = option("internal.taskmanager.node-id", STRING)
HEAP_SIZE = option("taskmanager.heap.size", MEMORY, until=(1, 20), deprecated_since=(1, 17))
HEAP_MB = option("taskmanager.heap.mb", INTEGER, until=(1, 20), deprecated_since=(1, 17))
EXIT_ON_FATAL_AKKA_ERROR = option(
    "taskmanager.exit-on-fatal-akka-error", BOOLEAN, False, until=(1, 20), deprecated_since=(1, 17)
)
REGISTRATION_INITIAL_BACKOFF = option(
    "taskmanager.registration.initial-backoff",
    DURATION,
    timedelta(milliseconds=500),
    deprecated_keys=("taskmanager.initial-registration-pause",),
    until=(1, 20),
    deprecated_since=(1, 17),
)
REGISTRATION_MAX_BACKOFF = option(
    "taskmanager.registration.max-backoff",
    DURATION,
    timedelta(seconds=30),
    deprecated_keys=("taskmanager.max-registration-pause",),
    until=(1, 20),
    deprecated_since=(1, 17),
)
REGISTRATION_REFUSED_BACKOFF = option(
    "taskmanager.registration.refused-backoff",
    DURATION,
    timedelta(seconds=10),
    deprecated_keys=("taskmanager.refused-registration-pause",),
    until=(1, 20),
    deprecated_since=(1, 17),
)
