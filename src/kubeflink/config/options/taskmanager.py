"""Options of TaskManagers and their memory (`TaskManagerOptions`)."""

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

JVM_EXIT_ON_OOM = option(
    "taskmanager.jvm-exit-on-oom",
    BOOLEAN,
    False,
    about="Whether a TaskManager ends at once when a task runs out of memory.",
)
HOST = option(
    "taskmanager.host",
    STRING,
    about="Address under which a TaskManager is reached; its own one if unset.",
)
BIND_HOST = option(
    "taskmanager.bind-host", STRING, about="Local address to which a TaskManager binds."
)
RPC_PORT = option(
    "taskmanager.rpc.port",
    STRING,
    "0",
    about="Port, or range of ports, of the TaskManagers' RPC as others see it.",
)
RPC_BIND_PORT = option(
    "taskmanager.rpc.bind-port",
    INTEGER,
    minimum=0,
    maximum=65535,
    about=("Port to which a TaskManager's RPC binds, where that differs from the visible one."),
)
COLLECT_SINK_PORT = option(
    "taskmanager.collect-sink.port",
    INTEGER,
    0,
    since=(1, 19),
    about="Port at which results of collect() are fetched; any free one if 0.",
)
REGISTRATION_TIMEOUT = option(
    "taskmanager.registration.timeout",
    DURATION,
    timedelta(minutes=5),
    deprecated_keys=("taskmanager.maxRegistrationDuration",),
    about="How long a TaskManager tries to register before it ends.",
)
NUMBER_OF_TASK_SLOTS = option(
    "taskmanager.numberOfTaskSlots",
    INTEGER,
    1,
    minimum=1,
    about="Slots of one TaskManager: how many pipelines it runs side by side.",
)
SLOT_TIMEOUT = option(
    "taskmanager.slot.timeout",
    DURATION,
    timedelta(seconds=10),
    fallback_keys=("pekko.ask.timeout",),
    earlier=(((1, 17), {"fallback_keys": ("akka.ask.timeout",)}),),
    about="How long a slot stays reserved for a job that does not take it.",
)
DEBUG_MEMORY_LOG = option(
    "taskmanager.debug.memory.log",
    BOOLEAN,
    False,
    deprecated_keys=("taskmanager.debug.memory.startLogThread",),
    about="Whether TaskManagers write their memory use to the log.",
)
DEBUG_MEMORY_LOG_INTERVAL = option(
    "taskmanager.debug.memory.log-interval",
    MILLISECONDS,
    timedelta(seconds=5),
    deprecated_keys=("taskmanager.debug.memory.logIntervalMs",),
    about="Pause between two entries about memory use.",
)
MEMORY_SEGMENT_SIZE = option(
    "taskmanager.memory.segment-size",
    MEMORY,
    32 * KIB,
    about="Size of a network buffer: a power of two.",
)
MEMORY_MIN_SEGMENT_SIZE = option(
    "taskmanager.memory.min-segment-size",
    MEMORY,
    256,
    about="Smallest size to which network buffers are reduced.",
)
MEMORY_STARTING_SEGMENT_SIZE = option(
    "taskmanager.memory.starting-segment-size",
    MEMORY,
    1 * KIB,
    since=(2, 0),
    about="Size with which network buffers start.",
)
NETWORK_BIND_POLICY = option(
    "taskmanager.network.bind-policy",
    STRING,
    "ip",
    about="Whether a TaskManager is known by its IP address (ip) or its host name (name).",
)
RESOURCE_ID = option(
    "taskmanager.resource-id",
    STRING,
    about="Name of the TaskManager process; on Kubernetes its pod, set by the JobManager.",
)
CPU_CORES = option(
    "taskmanager.cpu.cores",
    DOUBLE,
    about=(
        "CPU cores of a TaskManager; on Kubernetes it wins over kubernetes.taskmanager.cpu.amount."
    ),
)
MEMORY_PROCESS_SIZE = option(
    "taskmanager.memory.process.size",
    MEMORY,
    about="All memory of a TaskManager's process: the size of its container.",
)
MEMORY_FLINK_SIZE = option(
    "taskmanager.memory.flink.size",
    MEMORY,
    about="Memory of a TaskManager without metaspace and JVM overhead.",
)
MEMORY_FRAMEWORK_HEAP_SIZE = option(
    "taskmanager.memory.framework.heap.size", MEMORY, 128 * MIB, about="Java heap for Flink itself."
)
MEMORY_FRAMEWORK_OFF_HEAP_SIZE = option(
    "taskmanager.memory.framework.off-heap.size",
    MEMORY,
    128 * MIB,
    about="Direct and native memory for Flink itself.",
)
MEMORY_TASK_HEAP_SIZE = option(
    "taskmanager.memory.task.heap.size", MEMORY, about="Java heap for the code of jobs."
)
MEMORY_TASK_OFF_HEAP_SIZE = option(
    "taskmanager.memory.task.off-heap.size",
    MEMORY,
    0,
    about="Direct and native memory for the code of jobs.",
)
MEMORY_MANAGED_SIZE = option(
    "taskmanager.memory.managed.size",
    MEMORY,
    deprecated_keys=("taskmanager.memory.size",),
    about="Memory that Flink hands to state backends, sorting and Python processes.",
)
MEMORY_MANAGED_FRACTION = option(
    "taskmanager.memory.managed.fraction",
    FLOAT,
    0.4,
    about="Share of Flink's memory that is managed, where no size is given.",
)
MEMORY_MANAGED_CONSUMER_WEIGHTS = option(
    "taskmanager.memory.managed.consumer-weights",
    MAP,
    {"OPERATOR": "70", "STATE_BACKEND": "70", "PYTHON": "30"},
    about="How managed memory is divided: OPERATOR:70,STATE_BACKEND:70,PYTHON:30.",
)
MEMORY_NETWORK_MIN = option(
    "taskmanager.memory.network.min",
    MEMORY,
    64 * MIB,
    deprecated_keys=("taskmanager.network.memory.min",),
    about="Lower bound of the memory for network buffers.",
)
MEMORY_NETWORK_MAX = option(
    "taskmanager.memory.network.max",
    MEMORY,
    MAX_LONG,
    deprecated_keys=("taskmanager.network.memory.max",),
    about="Upper bound of the memory for network buffers.",
)
MEMORY_NETWORK_FRACTION = option(
    "taskmanager.memory.network.fraction",
    FLOAT,
    0.1,
    deprecated_keys=("taskmanager.network.memory.fraction",),
    about="Share of Flink's memory for network buffers, within their bounds.",
)
NETWORK_MEMORY_BUFFER_DEBLOAT_PERIOD = option(
    "taskmanager.network.memory.buffer-debloat.period",
    DURATION,
    timedelta(milliseconds=200),
    about="Pause between two adjustments of buffer sizes.",
)
NETWORK_MEMORY_BUFFER_DEBLOAT_SAMPLES = option(
    "taskmanager.network.memory.buffer-debloat.samples",
    INTEGER,
    20,
    about="How many measurements of throughput are averaged.",
)
NETWORK_MEMORY_BUFFER_DEBLOAT_TARGET = option(
    "taskmanager.network.memory.buffer-debloat.target",
    DURATION,
    timedelta(seconds=1),
    about="Time in which the data in flight should be consumed.",
)
NETWORK_MEMORY_BUFFER_DEBLOAT_ENABLED = option(
    "taskmanager.network.memory.buffer-debloat.enabled",
    BOOLEAN,
    False,
    about="Whether buffers are sized by how fast they are consumed.",
)
NETWORK_MEMORY_BUFFER_DEBLOAT_THRESHOLD_PERCENTAGES = option(
    "taskmanager.network.memory.buffer-debloat.threshold-percentages",
    INTEGER,
    25,
    about="Change of the buffer size, in percent, that is worth an adjustment.",
)
MEMORY_FRAMEWORK_OFF_HEAP_BATCH_SHUFFLE_SIZE = option(
    "taskmanager.memory.framework.off-heap.batch-shuffle.size",
    MEMORY,
    64 * MIB,
    about="Part of Flink's direct memory with which batch shuffles are read.",
)
MEMORY_JVM_METASPACE_SIZE = option(
    "taskmanager.memory.jvm-metaspace.size",
    MEMORY,
    256 * MIB,
    about="Metaspace of a TaskManager's JVM.",
)
MEMORY_JVM_OVERHEAD_MIN = option(
    "taskmanager.memory.jvm-overhead.min",
    MEMORY,
    192 * MIB,
    about=("Lower bound of a TaskManager's JVM overhead: stacks, code cache, garbage collection."),
)
MEMORY_JVM_OVERHEAD_MAX = option(
    "taskmanager.memory.jvm-overhead.max",
    MEMORY,
    1 * GIB,
    about="Upper bound of a TaskManager's JVM overhead.",
)
MEMORY_JVM_OVERHEAD_FRACTION = option(
    "taskmanager.memory.jvm-overhead.fraction",
    FLOAT,
    0.1,
    about="Share of the process memory that is kept for JVM overhead, within its bounds.",
)
TASK_CANCELLATION_INTERVAL = option(
    "task.cancellation.interval",
    MILLISECONDS,
    timedelta(seconds=30),
    deprecated_keys=("task.cancellation-interval",),
    about="Pause between two attempts to cancel a task.",
)
TASK_CANCELLATION_TIMEOUT = option(
    "task.cancellation.timeout",
    MILLISECONDS,
    timedelta(minutes=3),
    about=("Time after which a task that cannot be cancelled ends its TaskManager; 0 for never."),
)
TASK_CANCELLATION_TIMERS_TIMEOUT = option(
    "task.cancellation.timers.timeout",
    MILLISECONDS,
    timedelta(milliseconds=7500),
    deprecated_keys=("timerservice.exceptional.shutdown.timeout",),
    about="How long a stopping task waits for its timers.",
)
SYSTEM_OUT_MODE = option(
    "taskmanager.system-out.mode",
    ENUM,
    "DEFAULT",
    choices=("DEFAULT", "LOG", "IGNORE"),
    since=(1, 19),
    about="What becomes of what jobs print: shown as it is, dropped, or written to the log.",
)
SYSTEM_OUT_LOG_THREAD_NAME_ENABLED = option(
    "taskmanager.system-out.log.thread-name.enabled",
    BOOLEAN,
    False,
    since=(1, 19),
    about="Whether the log says which thread printed.",
)
SYSTEM_OUT_LOG_CACHE_UPPER_SIZE = option(
    "taskmanager.system-out.log.cache-upper-size",
    MEMORY,
    100 * KIB,
    since=(1, 19),
    about="Longest line that is collected before it is written to the log.",
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
    about="How slots or tasks are spread over TaskManagers.",
)
LOG_PATH = option(
    "taskmanager.log.path",
    STRING,
    since=(1, 19),
    about="Log file of a TaskManager, for the web UI.",
)
RUNTIME_FS_TIMEOUT = option(
    "taskmanager.runtime.fs-timeout",
    DURATION,
    timedelta(),
    deprecated_keys=("taskmanager.runtime.fs_timeout",),
    since=(1, 19),
    about="How long opening a file may take; 0 for ever.",
)
MINICLUSTER_NUMBER_OF_TASKMANAGERS = option(
    "minicluster.number-of-taskmanagers",
    INTEGER,
    1,
    deprecated_keys=("local.number-taskmanager",),
    since=(1, 19),
    about="TaskManagers of a cluster within one JVM.",
)
INTERNAL_TASKMANAGER_RESOURCE_ID_METADATA = option(
    "internal.taskmanager.resource-id.metadata",
    STRING,
    about="More about the TaskManager for log and web UI; set by the JobManager.",
)
INTERNAL_TASKMANAGER_NODE_ID = option(
    "internal.taskmanager.node-id",
    STRING,
    about="Node on which the TaskManager runs; set by the JobManager.",
)
HEAP_SIZE = option(
    "taskmanager.heap.size",
    MEMORY,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Heap of a TaskManager as Flink 1.9 and before knew it.",
)
HEAP_MB = option(
    "taskmanager.heap.mb",
    INTEGER,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Heap of a TaskManager in megabytes, older still.",
)
EXIT_ON_FATAL_AKKA_ERROR = option(
    "taskmanager.exit-on-fatal-akka-error",
    BOOLEAN,
    False,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Whether a TaskManager ended when it was quarantined; no longer used.",
)
REGISTRATION_INITIAL_BACKOFF = option(
    "taskmanager.registration.initial-backoff",
    DURATION,
    timedelta(milliseconds=500),
    deprecated_keys=("taskmanager.initial-registration-pause",),
    until=(1, 20),
    deprecated_since=(1, 17),
    about="First pause between attempts to register; no longer used.",
)
REGISTRATION_MAX_BACKOFF = option(
    "taskmanager.registration.max-backoff",
    DURATION,
    timedelta(seconds=30),
    deprecated_keys=("taskmanager.max-registration-pause",),
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Longest pause between attempts to register; no longer used.",
)
REGISTRATION_REFUSED_BACKOFF = option(
    "taskmanager.registration.refused-backoff",
    DURATION,
    timedelta(seconds=10),
    deprecated_keys=("taskmanager.refused-registration-pause",),
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Pause after a refused registration; no longer used.",
)
# Of `NettyShuffleEnvironmentOptions`: once the way to size the network memory.
NETWORK_NUMBER_OF_BUFFERS = option(
    "taskmanager.network.numberOfBuffers",
    INTEGER,
    2048,
    until=(1, 20),
    about="Network buffers of a TaskManager as Flink 1.9 and before counted them.",
)
