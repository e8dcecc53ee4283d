"""Options of the ResourceManager and its slots (`ResourceManagerOptions`)."""

from __future__ import annotations

from datetime import timedelta

from kubeflink.config.options.kinds import (
    BOOLEAN,
    DOUBLE,
    DURATION,
    INTEGER,
    LONG,
    MEMORY,
    MILLISECONDS,
    TEXT_DURATION,
)
from kubeflink.config.options.option import option
from kubeflink.config.units import MAX_INT

JOB_TIMEOUT = option(
    "resourcemanager.job.timeout",
    TEXT_DURATION,
    timedelta(minutes=5),
    about="How long a job without a leading JobManager keeps its resources.",
)
RPC_PORT = option(
    "resourcemanager.rpc.port", INTEGER, 0, about="Port of the ResourceManager; no longer used."
)
SLOTMANAGER_NUMBER_OF_SLOTS_MIN = option(
    "slotmanager.number-of-slots.min",
    INTEGER,
    0,
    since=(1, 19),
    minimum=0,
    about=("Slots that the cluster always has; TaskManagers are started for them without a job."),
)
SLOTMANAGER_NUMBER_OF_SLOTS_MAX = option(
    "slotmanager.number-of-slots.max",
    INTEGER,
    MAX_INT,
    about="Slots that the cluster never goes above.",
)
SLOTMANAGER_MIN_TOTAL_RESOURCE_CPU = option(
    "slotmanager.min-total-resource.cpu",
    DOUBLE,
    since=(1, 19),
    about="CPU that the cluster's TaskManagers always have together.",
)
SLOTMANAGER_MAX_TOTAL_RESOURCE_CPU = option(
    "slotmanager.max-total-resource.cpu",
    DOUBLE,
    about="CPU that the cluster's TaskManagers never go above together.",
)
SLOTMANAGER_MIN_TOTAL_RESOURCE_MEMORY = option(
    "slotmanager.min-total-resource.memory",
    MEMORY,
    since=(1, 19),
    about="Memory that the cluster's TaskManagers always have together.",
)
SLOTMANAGER_MAX_TOTAL_RESOURCE_MEMORY = option(
    "slotmanager.max-total-resource.memory",
    MEMORY,
    about="Memory that the cluster's TaskManagers never go above together.",
)
SLOTMANAGER_REDUNDANT_TASKMANAGER_NUM = option(
    "slotmanager.redundant-taskmanager-num",
    INTEGER,
    0,
    minimum=0,
    about="TaskManagers that wait in case one is lost.",
)
START_WORKER_MAX_FAILURE_RATE = option(
    "resourcemanager.start-worker.max-failure-rate",
    DOUBLE,
    10.0,
    about="Failed starts of TaskManagers per minute above which new ones wait.",
)
START_WORKER_RETRY_INTERVAL = option(
    "resourcemanager.start-worker.retry-interval",
    DURATION,
    timedelta(seconds=3),
    about="How long new TaskManagers wait after too many failed starts.",
)
SLOTMANAGER_REQUIREMENT_CHECK_DELAY = option(
    "slotmanager.requirement-check.delay",
    DURATION,
    timedelta(milliseconds=50),
    about="How long changes of what jobs need are collected before slots are assigned.",
)
SLOTMANAGER_DECLARE_NEEDED_RESOURCE_DELAY = option(
    "slotmanager.declare-needed-resource.delay",
    DURATION,
    timedelta(milliseconds=50),
    about="How long changes are collected before TaskManagers are started or stopped.",
)
STANDALONE_START_UP_TIME = option(
    "resourcemanager.standalone.start-up-time",
    MILLISECONDS,
    earlier=(((1, 19), {"default": timedelta(milliseconds=-1)}),),
    about="How long a standalone cluster waits for TaskManagers before requests fail.",
)
TASKMANAGER_TIMEOUT = option(
    "resourcemanager.taskmanager-timeout",
    MILLISECONDS,
    timedelta(seconds=30),
    deprecated_keys=("slotmanager.taskmanager-timeout",),
    about="How long an idle TaskManager is kept.",
)
TASKMANAGER_REGISTRATION_TIMEOUT = option(
    "resourcemanager.taskmanager-registration.timeout",
    DURATION,
    timedelta(minutes=5),
    fallback_keys=("taskmanager.registration.timeout",),
    about="How long a started TaskManager may take to register.",
)
PREVIOUS_WORKER_RECOVERY_TIMEOUT = option(
    "resourcemanager.previous-worker.recovery.timeout",
    DURATION,
    timedelta(),
    about="How long a new JobManager waits for the TaskManagers of the one before.",
)
LOCAL_NUMBER_RESOURCEMANAGER = option(
    "local.number-resourcemanager",
    INTEGER,
    1,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="ResourceManagers of a cluster within one JVM; no longer used.",
)
SLOTMANAGER_TASKMANAGER_TIMEOUT = option(
    "slotmanager.taskmanager-timeout",
    LONG,
    30000,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="How long an idle TaskManager is kept; the older name.",
)
TASKMANAGER_RELEASE_WAIT_RESULT_CONSUMED = option(
    "resourcemanager.taskmanager-release.wait.result.consumed",
    BOOLEAN,
    True,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Whether a TaskManager stays until its results have been read.",
)
SLOTMANAGER_REQUEST_TIMEOUT = option(
    "slotmanager.request-timeout",
    LONG,
    -1,
    until=(1, 17),
    deprecated_since=(1, 17),
    about="How long a request for a slot may take; no longer used.",
)
