"""Options of how and where programs run (`DeploymentOptions`, `ClientOptions` and others)."""

from __future__ import annotations

from datetime import timedelta

from kubeflink.config.options.kinds import (
    BOOLEAN,
    DURATION,
    ENUM,
    MAP,
    MILLISECONDS,
    STRING,
    STRINGS,
)
from kubeflink.config.options.option import option

EXECUTION_TARGET = option(
    "execution.target",
    STRING,
    about=(
        "Where a program is run: kubernetes-session, kubernetes-application, remote, local "
        "and so on."
    ),
)
EXECUTION_ATTACHED = option(
    "execution.attached", BOOLEAN, False, about="Whether the client waits for the end of the job."
)
EXECUTION_SHUTDOWN_ON_ATTACHED_EXIT = option(
    "execution.shutdown-on-attached-exit",
    BOOLEAN,
    False,
    about="Whether a cluster is stopped when the attached client ends.",
)
EXECUTION_JOB_LISTENERS = option(
    "execution.job-listeners",
    STRINGS,
    about="Classes that are told when jobs are submitted and finished.",
)
EXECUTION_JOB_STATUS_CHANGED_LISTENERS = option(
    "execution.job-status-changed-listeners",
    STRINGS,
    since=(2, 0),
    about="Classes of factories for listeners to the state of jobs.",
)
EXECUTION_SHUTDOWN_ON_APPLICATION_FINISH = option(
    "execution.shutdown-on-application-finish",
    BOOLEAN,
    True,
    about="Whether the cluster of an application stops when the application ends.",
)
EXECUTION_SUBMIT_FAILED_JOB_ON_APPLICATION_ERROR = option(
    "execution.submit-failed-job-on-application-error",
    BOOLEAN,
    False,
    deprecated_since=(2, 3),
    about=(
        "Whether an application that fails before its first job leaves a failed job to look at."
    ),
)
EXECUTION_PROGRAM_CONFIG_WILDCARDS = option(
    "execution.program-config.wildcards",
    STRINGS,
    (),
    about="Keys that a program may change although changing configuration is off.",
)
EXECUTION_PROGRAM_CONFIG_ENABLED = option(
    "execution.program-config.enabled",
    BOOLEAN,
    True,
    deprecated_keys=("execution.allow-client-job-configurations",),
    about="Whether a program may change the configuration.",
)
EXECUTION_TERMINATE_APPLICATION_ON_ANY_JOB_TERMINATED_EXCEPTIONALLY = option(
    "execution.terminate-application-on-any-job-terminated-exceptionally",
    BOOLEAN,
    True,
    since=(2, 3),
    about="Whether an application ends as soon as one of its jobs fails.",
)
INTERNAL_DEPLOYMENT_CONFIG_DIR = option(
    "$internal.deployment.config-dir",
    STRING,
    about="Configuration directory of the client; set by the client.",
)
INTERNAL_PIPELINE_JOB_ID = option(
    "$internal.pipeline.job-id", STRING, about="Job id that the next job gets; set by the client."
)
INTERNAL_APPLICATION_PROGRAM_ARGS = option(
    "$internal.application.program-args",
    STRINGS,
    about="Arguments of an application's program; set by the client.",
)
INTERNAL_APPLICATION_MAIN = option(
    "$internal.application.main", STRING, about="Main class of an application; set by the client."
)
USER_ARTIFACTS_BASE_DIR = option(
    "user.artifacts.base-dir",
    STRING,
    "/opt/flink/artifacts",
    since=(1, 19),
    about="Directory of the JobManager for artifacts that it fetches.",
)
USER_ARTIFACTS_ARTIFACT_LIST = option(
    "user.artifacts.artifact-list",
    STRINGS,
    since=(1, 19),
    about=(
        "Further artifacts that the JobManager fetches for an application, separated by semicolons."
    ),
)
USER_ARTIFACTS_RAW_HTTP_ENABLED = option(
    "user.artifacts.raw-http-enabled",
    BOOLEAN,
    False,
    since=(1, 19),
    about="Whether artifacts may be fetched over unencrypted HTTP.",
)
USER_ARTIFACTS_HTTP_HEADERS = option(
    "user.artifacts.http-headers",
    MAP,
    since=(1, 19),
    about="HTTP headers for fetching artifacts: name:value,name:value.",
)
CLIENT_TIMEOUT = option(
    "client.timeout",
    DURATION,
    timedelta(minutes=1),
    deprecated_keys=("akka.client.timeout",),
    about="How long the client waits for an answer.",
)
CLIENT_RETRY_PERIOD = option(
    "client.retry-period",
    DURATION,
    timedelta(seconds=2),
    about="How often an attached client asks for the state of the job.",
)
CLIENT_HEARTBEAT_TIMEOUT = option(
    "client.heartbeat.timeout",
    MILLISECONDS,
    timedelta(minutes=3),
    about="Silence of an attached client after which its job is cancelled.",
)
CLIENT_HEARTBEAT_INTERVAL = option(
    "client.heartbeat.interval",
    MILLISECONDS,
    timedelta(seconds=30),
    about="How often an attached client says that it is there.",
)
# Not of `DeploymentOptions`: how an application starts from a savepoint.
EXECUTION_STATE_RECOVERY_PATH = option(
    "execution.state-recovery.path",
    STRING,
    since=(1, 20),
    deprecated_keys=("execution.savepoint.path",),
    about="Savepoint or checkpoint from which the job starts.",
)
EXECUTION_STATE_RECOVERY_CLAIM_MODE = option(
    "execution.state-recovery.claim-mode",
    ENUM,
    "NO_CLAIM",
    since=(1, 20),
    deprecated_keys=("execution.savepoint-restore-mode",),
    choices=("CLAIM", "NO_CLAIM", "LEGACY"),
    about="Whether Flink takes over the files of the savepoint from which the job starts.",
)
EXECUTION_STATE_RECOVERY_IGNORE_UNCLAIMED_STATE = option(
    "execution.state-recovery.ignore-unclaimed-state",
    BOOLEAN,
    False,
    since=(1, 20),
    deprecated_keys=("execution.savepoint.ignore-unclaimed-state",),
    about="Whether state in a savepoint that no operator takes is dropped.",
)
EXECUTION_SAVEPOINT_PATH = option(
    "execution.savepoint.path",
    STRING,
    until=(1, 19),
    about="Savepoint or checkpoint from which the job starts.",
)
EXECUTION_SAVEPOINT_RESTORE_MODE = option(
    "execution.savepoint-restore-mode",
    ENUM,
    "NO_CLAIM",
    until=(1, 19),
    choices=("CLAIM", "NO_CLAIM", "LEGACY"),
    about="Whether Flink takes over the files of the savepoint from which the job starts.",
)
EXECUTION_SAVEPOINT_IGNORE_UNCLAIMED_STATE = option(
    "execution.savepoint.ignore-unclaimed-state",
    BOOLEAN,
    False,
    until=(1, 19),
    about="Whether state in a savepoint that no operator takes is dropped.",
)
