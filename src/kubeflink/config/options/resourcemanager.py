"""Options of Flink, family resourcemanager."""

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

JOB_TIMEOUT = option("resourcemanager.job.timeout", TEXT_DURATION, timedelta(minutes=5))
RPC_PORT = option("resourcemanager.rpc.port", INTEGER, 0)
SLOTMANAGER_NUMBER_OF_SLOTS_MIN = option(
    "slotmanager.number-of-slots.min", INTEGER, 0, since=(1, 19)
)
SLOTMANAGER_NUMBER_OF_SLOTS_MAX = option("slotmanager.number-of-slots.max", INTEGER, MAX_INT)
SLOTMANAGER_MIN_TOTAL_RESOURCE_CPU = option(
    "slotmanager.min-total-resource.cpu", DOUBLE, since=(1, 19)
)
SLOTMANAGER_MAX_TOTAL_RESOURCE_CPU = option("slotmanager.max-total-resource.cpu", DOUBLE)
SLOTMANAGER_MIN_TOTAL_RESOURCE_MEMORY = option(
    "slotmanager.min-total-resource.memory", MEMORY, since=(1, 19)
)
SLOTMANAGER_MAX_TOTAL_RESOURCE_MEMORY = option("slotmanager.max-total-resource.memory", MEMORY)
SLOTMANAGER_REDUNDANT_TASKMANAGER_NUM = option("slotmanager.redundant-taskmanager-num", INTEGER, 0)
START_WORKER_MAX_FAILURE_RATE = option(
    "resourcemanager.start-worker.max-failure-rate", DOUBLE, 10.0
)
START_WORKER_RETRY_INTERVAL = option(
    "resourcemanager.start-worker.retry-interval", DURATION, timedelta(seconds=3)
)
SLOTMANAGER_REQUIREMENT_CHECK_DELAY = option(
    "slotmanager.requirement-check.delay", DURATION, timedelta(milliseconds=50)
)
SLOTMANAGER_DECLARE_NEEDED_RESOURCE_DELAY = option(
    "slotmanager.declare-needed-resource.delay", DURATION, timedelta(milliseconds=50)
)
STANDALONE_START_UP_TIME = option(
    "resourcemanager.standalone.start-up-time",
    MILLISECONDS,
    earlier=(((1, 19), {"default": timedelta(milliseconds=-1)}),),
)
TASKMANAGER_TIMEOUT = option(
    "resourcemanager.taskmanager-timeout",
    MILLISECONDS,
    timedelta(seconds=30),
    deprecated_keys=("slotmanager.taskmanager-timeout",),
)
TASKMANAGER_REGISTRATION_TIMEOUT = option(
    "resourcemanager.taskmanager-registration.timeout",
    DURATION,
    timedelta(minutes=5),
    fallback_keys=("taskmanager.registration.timeout",),
)
PREVIOUS_WORKER_RECOVERY_TIMEOUT = option(
    "resourcemanager.previous-worker.recovery.timeout", DURATION, timedelta()
)
LOCAL_NUMBER_RESOURCEMANAGER = option(
    "local.number-resourcemanager", INTEGER, 1, until=(1, 20), deprecated_since=(1, 17)
)
SLOTMANAGER_TASKMANAGER_TIMEOUT = option(
    "slotmanager.taskmanager-timeout", LONG, 30000, until=(1, 20), deprecated_since=(1, 17)
)
TASKMANAGER_RELEASE_WAIT_RESULT_CONSUMED = option(
    "resourcemanager.taskmanager-release.wait.result.consumed",
    BOOLEAN,
    True,
    until=(1, 20),
    deprecated_since=(1, 17),
)
SLOTMANAGER_REQUEST_TIMEOUT = option(
    "slotmanager.request-timeout", LONG, -1, until=(1, 17), deprecated_since=(1, 17)
)
