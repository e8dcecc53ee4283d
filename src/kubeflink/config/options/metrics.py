"""Options of metrics and their reporters (`MetricOptions`)."""

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

REPORTERS = option(
    "metrics.reporters",
    STRING,
    about=(
        "Names of the reporters to start, separated by commas; all that are configured if unset."
    ),
)
REPORTER_NAME_FACTORY_CLASS = option(
    "metrics.reporter.<name>.factory.class", STRING, about="Class that makes a metrics reporter."
)
REPORTER_NAME_INTERVAL = option(
    "metrics.reporter.<name>.interval",
    DURATION,
    timedelta(seconds=10),
    about="How often a reporter reports.",
)
REPORTER_NAME_SCOPE_DELIMITER = option(
    "metrics.reporter.<name>.scope.delimiter",
    STRING,
    ".",
    about="What separates the parts of a metric's name in a reporter.",
)
REPORTER_NAME_SCOPE_VARIABLES_ADDITIONAL = option(
    "metrics.reporter.<name>.scope.variables.additional",
    MAP,
    NO_PAIRS,
    about="Further variables of a reporter: name:value,name:value.",
)
REPORTER_NAME_SCOPE_VARIABLES_EXCLUDES = option(
    "metrics.reporter.<name>.scope.variables.excludes",
    STRING,
    ".",
    about="Variables that a reporter leaves out, separated by semicolons.",
)
REPORTER_NAME_FILTER_INCLUDES = option(
    "metrics.reporter.<name>.filter.includes",
    STRINGS,
    ("*:*:*",),
    about=("Metrics that a reporter reports: scope:name:type patterns, separated by semicolons."),
)
REPORTER_NAME_FILTER_EXCLUDES = option(
    "metrics.reporter.<name>.filter.excludes",
    STRINGS,
    (),
    about="Metrics that a reporter leaves out, written like those that it reports.",
)
REPORTER_NAME_PARAMETER = option(
    "metrics.reporter.<name>.<parameter>", STRING, about="A parameter of a metrics reporter."
)
SCOPE_DELIMITER = option(
    "metrics.scope.delimiter", STRING, ".", about="What separates the parts of a metric's name."
)
SCOPE_JM = option(
    "metrics.scope.jm",
    STRING,
    "<host>.jobmanager",
    about="Pattern of the names of JobManager metrics.",
)
SCOPE_TM = option(
    "metrics.scope.tm",
    STRING,
    "<host>.taskmanager.<tm_id>",
    about="Pattern of the names of TaskManager metrics.",
)
SCOPE_JM_JOB = option(
    "metrics.scope.jm-job",
    STRING,
    "<host>.jobmanager.<job_name>",
    deprecated_keys=("metrics.scope.jm.job",),
    about="Pattern of the names of a job's metrics on the JobManager.",
)
SCOPE_JM_OPERATOR = option(
    "metrics.scope.jm-operator",
    STRING,
    "<host>.jobmanager.<job_name>.<operator_name>",
    since=(1, 18),
    about="Pattern of the names of an operator's metrics on the JobManager.",
)
SCOPE_TM_JOB = option(
    "metrics.scope.tm-job",
    STRING,
    "<host>.taskmanager.<tm_id>.<job_name>",
    deprecated_keys=("metrics.scope.tm.job",),
    about="Pattern of the names of a job's metrics on TaskManagers.",
)
SCOPE_TASK = option(
    "metrics.scope.task",
    STRING,
    "<host>.taskmanager.<tm_id>.<job_name>.<task_name>.<subtask_index>",
    about="Pattern of the names of a task's metrics.",
)
SCOPE_OPERATOR = option(
    "metrics.scope.operator",
    STRING,
    "<host>.taskmanager.<tm_id>.<job_name>.<operator_name>.<subtask_index>",
    about="Pattern of the names of an operator's metrics.",
)
LATENCY_INTERVAL = option(
    "metrics.latency.interval",
    MILLISECONDS,
    timedelta(),
    about="How often sources send latency markers; 0 for never.",
)
LATENCY_GRANULARITY = option(
    "metrics.latency.granularity",
    STRING,
    "operator",
    about="Between what latency is measured: single, operator or subtask.",
)
LATENCY_HISTORY_SIZE = option(
    "metrics.latency.history-size", INTEGER, 128, about="Measurements per latency metric."
)
SYSTEM_RESOURCE = option(
    "metrics.system-resource",
    BOOLEAN,
    False,
    about="Whether metrics of CPU, memory and network of the host are reported.",
)
SYSTEM_RESOURCE_PROBING_INTERVAL = option(
    "metrics.system-resource-probing-interval",
    MILLISECONDS,
    timedelta(seconds=5),
    about="How often metrics of the host are taken.",
)
INTERNAL_QUERY_SERVICE_PORT = option(
    "metrics.internal.query-service.port",
    STRING,
    "0",
    about=("Port, or range of ports, at which a process answers about its metrics; 0 for any."),
)
INTERNAL_QUERY_SERVICE_THREAD_PRIORITY = option(
    "metrics.internal.query-service.thread-priority",
    INTEGER,
    1,
    about="Priority of the thread that answers about metrics; 1 is lowest.",
)
FETCHER_UPDATE_INTERVAL = option(
    "metrics.fetcher.update-interval",
    MILLISECONDS,
    timedelta(seconds=10),
    about="How often the web UI's metrics are fetched; 0 for never.",
)
JOB_STATUS_ENABLE = option(
    "metrics.job.status.enable",
    STRINGS,
    ("CURRENT_TIME",),
    about="Which metrics about the states of a job are reported.",
)
REPORTER_NAME_CLASS = option(
    "metrics.reporter.<name>.class",
    STRING,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Class of a metrics reporter; the older way.",
)
