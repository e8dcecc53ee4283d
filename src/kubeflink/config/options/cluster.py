"""Options of Flink, family cluster."""

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

EXTERNAL_RESOURCE_RESOURCE_NAME_KUBERNETES_CONFIG_KEY = option(
    "external-resource.<resource_name>.kubernetes.config-key", STRING
)
EXTERNAL_RESOURCES = option("external-resources", STRINGS, ())
EXTERNAL_RESOURCE_NAME_DRIVER_FACTORY_CLASS = option(
    "external-resource.<name>.driver-factory.class", STRING
)
EXTERNAL_RESOURCE_NAME_AMOUNT = option("external-resource.<name>.amount", LONG)
EXTERNAL_RESOURCE_NAME_PARAM_PARAM = option("external-resource.<name>.param.<param>", STRING)
HEARTBEAT_INTERVAL = option("heartbeat.interval", MILLISECONDS, timedelta(seconds=10))
HEARTBEAT_TIMEOUT = option("heartbeat.timeout", MILLISECONDS, timedelta(seconds=50))
HEARTBEAT_RPC_FAILURE_THRESHOLD = option("heartbeat.rpc-failure-threshold", INTEGER, 2)
ID = option("cluster.id", STRING, "00000000000000000000000000000000", since=(2, 3))
REGISTRATION_INITIAL_TIMEOUT = option(
    "cluster.registration.initial-timeout", MILLISECONDS, timedelta(milliseconds=100)
)
REGISTRATION_MAX_TIMEOUT = option(
    "cluster.registration.max-timeout", MILLISECONDS, timedelta(seconds=30)
)
REGISTRATION_ERROR_DELAY = option(
    "cluster.registration.error-delay", MILLISECONDS, timedelta(seconds=10)
)
REGISTRATION_REFUSED_REGISTRATION_DELAY = option(
    "cluster.registration.refused-registration-delay", MILLISECONDS, timedelta(seconds=30)
)
SERVICES_SHUTDOWN_TIMEOUT = option(
    "cluster.services.shutdown-timeout", MILLISECONDS, timedelta(seconds=30)
)
IO_POOL_SIZE = option("cluster.io-pool.size", INTEGER)
PROCESSES_HALT_ON_FATAL_ERROR = option("cluster.processes.halt-on-fatal-error", BOOLEAN, False)
INTERCEPT_USER_SYSTEM_EXIT = option(
    "cluster.intercept-user-system-exit", ENUM, "DISABLED", choices=("DISABLED", "LOG", "THROW")
)
THREAD_DUMP_STACKTRACE_MAX_DEPTH = option("cluster.thread-dump.stacktrace-max-depth", INTEGER, 50)
UNCAUGHT_EXCEPTION_HANDLING = option(
    "cluster.uncaught-exception-handling", ENUM, "LOG", choices=("LOG", "FAIL")
)
PROCESS_WORKING_DIR = option("process.working-dir", STRING)
PROCESS_JOBMANAGER_WORKING_DIR = option(
    "process.jobmanager.working-dir", STRING, fallback_keys=("process.working-dir",)
)
PROCESS_TASKMANAGER_WORKING_DIR = option(
    "process.taskmanager.working-dir", STRING, fallback_keys=("process.working-dir",)
)
EVENLY_SPREAD_OUT_SLOTS = option(
    "cluster.evenly-spread-out-slots", BOOLEAN, False, until=(1, 20), deprecated_since=(1, 19)
)
FINE_GRAINED_SHUFFLE_MODE_ALL_BLOCKING = option(
    "fine-grained.shuffle-mode.all-blocking",
    BOOLEAN,
    False,
    until=(1, 20),
    deprecated_since=(1, 20),
)
FINE_GRAINED_RESOURCE_MANAGEMENT_ENABLED = option(
    "cluster.fine-grained-resource-management.enabled",
    BOOLEAN,
    True,
    until=(1, 18),
    deprecated_since=(1, 18),
    earlier=(((1, 17), {"default": False}),),
)
