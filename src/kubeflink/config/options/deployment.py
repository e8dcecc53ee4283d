"""Options of Flink, family deployment."""

from __future__ import annotations

from datetime import timedelta

from kubeflink.config.options.kinds import BOOLEAN, DURATION, MAP, MILLISECONDS, STRING, STRINGS
from kubeflink.config.options.option import option

EXECUTION_TARGET = option("execution.target", STRING)
EXECUTION_ATTACHED = option("execution.attached", BOOLEAN, False)
EXECUTION_SHUTDOWN_ON_ATTACHED_EXIT = option("execution.shutdown-on-attached-exit", BOOLEAN, False)
EXECUTION_JOB_LISTENERS = option("execution.job-listeners", STRINGS)
EXECUTION_JOB_STATUS_CHANGED_LISTENERS = option(
    "execution.job-status-changed-listeners", STRINGS, since=(2, 0)
)
EXECUTION_SHUTDOWN_ON_APPLICATION_FINISH = option(
    "execution.shutdown-on-application-finish", BOOLEAN, True
)
EXECUTION_SUBMIT_FAILED_JOB_ON_APPLICATION_ERROR = option(
    "execution.submit-failed-job-on-application-error", BOOLEAN, False, deprecated_since=(2, 3)
)
EXECUTION_PROGRAM_CONFIG_WILDCARDS = option("execution.program-config.wildcards", STRINGS, ())
EXECUTION_PROGRAM_CONFIG_ENABLED = option(
    "execution.program-config.enabled",
    BOOLEAN,
    True,
    deprecated_keys=("execution.allow-client-job-configurations",),
)
EXECUTION_TERMINATE_APPLICATION_ON_ANY_JOB_TERMINATED_EXCEPTIONALLY = option(
    "execution.terminate-application-on-any-job-terminated-exceptionally",
    BOOLEAN,
    True,
    since=(2, 3),
)
INTERNAL_DEPLOYMENT_CONFIG_DIR = option("$internal.deployment.config-dir", STRING)
INTERNAL_PIPELINE_JOB_ID = option("$internal.pipeline.job-id", STRING)
INTERNAL_APPLICATION_PROGRAM_ARGS = option("$internal.application.program-args", STRINGS)
INTERNAL_APPLICATION_MAIN = option("$internal.application.main", STRING)
USER_ARTIFACTS_BASE_DIR = option(
    "user.artifacts.base-dir", STRING, "/opt/flink/artifacts", since=(1, 19)
)
USER_ARTIFACTS_ARTIFACT_LIST = option("user.artifacts.artifact-list", STRINGS, since=(1, 19))
USER_ARTIFACTS_RAW_HTTP_ENABLED = option(
    "user.artifacts.raw-http-enabled", BOOLEAN, False, since=(1, 19)
)
USER_ARTIFACTS_HTTP_HEADERS = option("user.artifacts.http-headers", MAP, since=(1, 19))
CLIENT_TIMEOUT = option(
    "client.timeout", DURATION, timedelta(minutes=1), deprecated_keys=("akka.client.timeout",)
)
CLIENT_RETRY_PERIOD = option("client.retry-period", DURATION, timedelta(seconds=2))
CLIENT_HEARTBEAT_TIMEOUT = option("client.heartbeat.timeout", MILLISECONDS, timedelta(minutes=3))
CLIENT_HEARTBEAT_INTERVAL = option("client.heartbeat.interval", MILLISECONDS, timedelta(seconds=30))
