"""Options of Flink, family metrics."""

from __future__ import annotations

from datetime import timedelta

from kubeflink.config.options.kinds import (
    BOOLEAN,
    DURATION,
    INTEGER,
    MAP,
    MILLISECONDS,
    NO_PAIRS,
    STRING,
    STRINGS,
)
from kubeflink.config.options.option import option

REPORTERS = option("metrics.reporters", STRING)
REPORTER_NAME_FACTORY_CLASS = option("metrics.reporter.<name>.factory.class", STRING)
REPORTER_NAME_INTERVAL = option("metrics.reporter.<name>.interval", DURATION, timedelta(seconds=10))
REPORTER_NAME_SCOPE_DELIMITER = option("metrics.reporter.<name>.scope.delimiter", STRING, ".")
REPORTER_NAME_SCOPE_VARIABLES_ADDITIONAL = option(
    "metrics.reporter.<name>.scope.variables.additional", MAP, NO_PAIRS
)
REPORTER_NAME_SCOPE_VARIABLES_EXCLUDES = option(
    "metrics.reporter.<name>.scope.variables.excludes", STRING, "."
)
REPORTER_NAME_FILTER_INCLUDES = option(
    "metrics.reporter.<name>.filter.includes", STRINGS, ("*:*:*",)
)
REPORTER_NAME_FILTER_EXCLUDES = option("metrics.reporter.<name>.filter.excludes", STRINGS, ())
REPORTER_NAME_PARAMETER = option("metrics.reporter.<name>.<parameter>", STRING)
SCOPE_DELIMITER = option("metrics.scope.delimiter", STRING, ".")
SCOPE_JM = option("metrics.scope.jm", STRING, "<host>.jobmanager")
SCOPE_TM = option("metrics.scope.tm", STRING, "<host>.taskmanager.<tm_id>")
SCOPE_JM_JOB = option(
    "metrics.scope.jm-job",
    STRING,
    "<host>.jobmanager.<job_name>",
    deprecated_keys=("metrics.scope.jm.job",),
)
SCOPE_JM_OPERATOR = option(
    "metrics.scope.jm-operator",
    STRING,
    "<host>.jobmanager.<job_name>.<operator_name>",
    since=(1, 18),
)
SCOPE_TM_JOB = option(
    "metrics.scope.tm-job",
    STRING,
    "<host>.taskmanager.<tm_id>.<job_name>",
    deprecated_keys=("metrics.scope.tm.job",),
)
SCOPE_TASK = option(
    "metrics.scope.task",
    STRING,
    "<host>.taskmanager.<tm_id>.<job_name>.<task_name>.<subtask_index>",
)
SCOPE_OPERATOR = option(
    "metrics.scope.operator",
    STRING,
    "<host>.taskmanager.<tm_id>.<job_name>.<operator_name>.<subtask_index>",
)
LATENCY_INTERVAL = option("metrics.latency.interval", MILLISECONDS, timedelta())
LATENCY_GRANULARITY = option("metrics.latency.granularity", STRING, "operator")
LATENCY_HISTORY_SIZE = option("metrics.latency.history-size", INTEGER, 128)
SYSTEM_RESOURCE = option("metrics.system-resource", BOOLEAN, False)
SYSTEM_RESOURCE_PROBING_INTERVAL = option(
    "metrics.system-resource-probing-interval", MILLISECONDS, timedelta(seconds=5)
)
INTERNAL_QUERY_SERVICE_PORT = option("metrics.internal.query-service.port", STRING, "0")
INTERNAL_QUERY_SERVICE_THREAD_PRIORITY = option(
    "metrics.internal.query-service.thread-priority", INTEGER, 1
)
FETCHER_UPDATE_INTERVAL = option(
    "metrics.fetcher.update-interval", MILLISECONDS, timedelta(seconds=10)
)
JOB_STATUS_ENABLE = option("metrics.job.status.enable", STRINGS, ("CURRENT_TIME",))
REPORTER_NAME_CLASS = option(
    "metrics.reporter.<name>.class", STRING, until=(1, 20), deprecated_since=(1, 17)
)
