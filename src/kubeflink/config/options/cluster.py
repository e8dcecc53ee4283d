"""Options of the cluster, heartbeats and external resources (`ClusterOptions` and others)."""

from __future__ import annotations

from datetime import timedelta

from kubeflink.config.options.kinds import (
    BOOLEAN,
    ENUM,
    INTEGER,
    LONG,
    MILLISECONDS,
    STRING,
    STRINGS,
)
from kubeflink.config.options.option import option

EXTERNAL_RESOURCE_NAME_KUBERNETES_CONFIG_KEY = option(
    "external-resource.<name>.kubernetes.config-key",
    STRING,
    about=(
        "Name of an external resource in Kubernetes, such as nvidia.com/gpu; without it no "
        "pod asks for it."
    ),
)
EXTERNAL_RESOURCES = option(
    "external-resources",
    STRINGS,
    (),
    about=(
        "Names of external resources, separated by semicolons; their options start with "
        "external-resource."
    ),
)
EXTERNAL_RESOURCE_NAME_DRIVER_FACTORY_CLASS = option(
    "external-resource.<name>.driver-factory.class",
    STRING,
    about="Class that tells jobs about an external resource.",
)
EXTERNAL_RESOURCE_NAME_AMOUNT = option(
    "external-resource.<name>.amount", LONG, about="Units of an external resource per TaskManager."
)
EXTERNAL_RESOURCE_NAME_PARAM_PARAM = option(
    "external-resource.<name>.param.<param>",
    STRING,
    about="A parameter for the driver of an external resource.",
)
HEARTBEAT_INTERVAL = option(
    "heartbeat.interval", MILLISECONDS, timedelta(seconds=10), about="Pause between two heartbeats."
)
HEARTBEAT_TIMEOUT = option(
    "heartbeat.timeout",
    MILLISECONDS,
    timedelta(seconds=50),
    about="Silence after which a process is taken for dead.",
)
HEARTBEAT_RPC_FAILURE_THRESHOLD = option(
    "heartbeat.rpc-failure-threshold",
    INTEGER,
    2,
    about=("Failed heartbeats in a row after which a process is taken for dead; -1 for never."),
)
ID = option(
    "cluster.id",
    STRING,
    "00000000000000000000000000000000",
    since=(2, 3),
    about="Name of the cluster for logs and file names.",
)
REGISTRATION_INITIAL_TIMEOUT = option(
    "cluster.registration.initial-timeout",
    MILLISECONDS,
    timedelta(milliseconds=100),
    about="First time limit of a registration between Flink's components; it doubles.",
)
REGISTRATION_MAX_TIMEOUT = option(
    "cluster.registration.max-timeout",
    MILLISECONDS,
    timedelta(seconds=30),
    about="Greatest time limit of a registration.",
)
REGISTRATION_ERROR_DELAY = option(
    "cluster.registration.error-delay",
    MILLISECONDS,
    timedelta(seconds=10),
    about="Pause after a registration that failed.",
)
REGISTRATION_REFUSED_REGISTRATION_DELAY = option(
    "cluster.registration.refused-registration-delay",
    MILLISECONDS,
    timedelta(seconds=30),
    about="Pause after a registration that was refused.",
)
SERVICES_SHUTDOWN_TIMEOUT = option(
    "cluster.services.shutdown-timeout",
    MILLISECONDS,
    timedelta(seconds=30),
    about="How long the services of a process may take to stop.",
)
IO_POOL_SIZE = option(
    "cluster.io-pool.size",
    INTEGER,
    about="Threads of each process for blocking work; four per core if unset.",
)
PROCESSES_HALT_ON_FATAL_ERROR = option(
    "cluster.processes.halt-on-fatal-error",
    BOOLEAN,
    False,
    about="Whether a fatal error halts the JVM at once, without shutdown hooks.",
)
INTERCEPT_USER_SYSTEM_EXIT = option(
    "cluster.intercept-user-system-exit",
    ENUM,
    "DISABLED",
    choices=("DISABLED", "LOG", "THROW"),
    about="What happens when a job calls System.exit.",
)
THREAD_DUMP_STACKTRACE_MAX_DEPTH = option(
    "cluster.thread-dump.stacktrace-max-depth",
    INTEGER,
    50,
    about="Greatest depth of stacks in a thread dump.",
)
UNCAUGHT_EXCEPTION_HANDLING = option(
    "cluster.uncaught-exception-handling",
    ENUM,
    "LOG",
    choices=("LOG", "FAIL"),
    about="Whether an uncaught exception is logged only or ends the process.",
)
PROCESS_WORKING_DIR = option(
    "process.working-dir",
    STRING,
    about="Directory for what a process keeps across restarts; temporary if unset.",
)
PROCESS_JOBMANAGER_WORKING_DIR = option(
    "process.jobmanager.working-dir",
    STRING,
    fallback_keys=("process.working-dir",),
    about="Directory for what a JobManager keeps across restarts.",
)
PROCESS_TASKMANAGER_WORKING_DIR = option(
    "process.taskmanager.working-dir",
    STRING,
    fallback_keys=("process.working-dir",),
    about="Directory for what a TaskManager keeps across restarts.",
)
EVENLY_SPREAD_OUT_SLOTS = option(
    "cluster.evenly-spread-out-slots",
    BOOLEAN,
    False,
    until=(1, 20),
    deprecated_since=(1, 19),
    about=(
        "Whether slots are spread over TaskManagers; since replaced by taskmanager.load- "
        "balance.mode."
    ),
)
FINE_GRAINED_SHUFFLE_MODE_ALL_BLOCKING = option(
    "fine-grained.shuffle-mode.all-blocking",
    BOOLEAN,
    False,
    until=(1, 20),
    deprecated_since=(1, 20),
    about="Whether all edges of fine-grained batch jobs are blocking.",
)
FINE_GRAINED_RESOURCE_MANAGEMENT_ENABLED = option(
    "cluster.fine-grained-resource-management.enabled",
    BOOLEAN,
    True,
    until=(1, 18),
    deprecated_since=(1, 18),
    earlier=(((1, 17), {"default": False}),),
    about="Whether jobs may ask for slots of different sizes.",
)
