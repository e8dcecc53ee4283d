"""Options of Flink, family high_availability."""

from __future__ import annotations

from datetime import timedelta

from kubeflink.config.options.kinds import BOOLEAN, DURATION, INTEGER, MAP, MILLISECONDS, STRING
from kubeflink.config.options.option import option

KUBERNETES_LEADER_ELECTION_LEASE_DURATION = option(
    "high-availability.kubernetes.leader-election.lease-duration", DURATION, timedelta(seconds=15)
)
KUBERNETES_LEADER_ELECTION_RENEW_DEADLINE = option(
    "high-availability.kubernetes.leader-election.renew-deadline", DURATION, timedelta(seconds=15)
)
KUBERNETES_LEADER_ELECTION_RETRY_PERIOD = option(
    "high-availability.kubernetes.leader-election.retry-period", DURATION, timedelta(seconds=5)
)
TYPE = option(
    "high-availability.type", STRING, "NONE", deprecated_keys=("recovery.mode", "high-availability")
)
CLUSTER_ID = option(
    "high-availability.cluster-id",
    STRING,
    "/default",
    deprecated_keys=(
        "high-availability.zookeeper.path.namespace",
        "recovery.zookeeper.path.namespace",
    ),
)
STORAGE_DIR = option(
    "high-availability.storageDir",
    STRING,
    deprecated_keys=("high-availability.zookeeper.storageDir", "recovery.zookeeper.storageDir"),
)
JOBMANAGER_PORT = option(
    "high-availability.jobmanager.port", STRING, "0", deprecated_keys=("recovery.jobmanager.port",)
)
ZOOKEEPER_QUORUM = option(
    "high-availability.zookeeper.quorum", STRING, deprecated_keys=("recovery.zookeeper.quorum",)
)
ZOOKEEPER_PATH_ROOT = option(
    "high-availability.zookeeper.path.root",
    STRING,
    "/flink",
    deprecated_keys=("recovery.zookeeper.path.root",),
)
ZOOKEEPER_PATH_EXECUTION_PLANS = option(
    "high-availability.zookeeper.path.execution-plans",
    STRING,
    "/execution-plans",
    deprecated_keys=(
        "recovery.zookeeper.path.jobgraphs",
        "high-availability.zookeeper.path.jobgraphs",
    ),
    since=(2, 0),
)
ZOOKEEPER_PATH_APPLICATIONS = option(
    "high-availability.zookeeper.path.applications", STRING, "/applications", since=(2, 3)
)
ZOOKEEPER_CLIENT_SESSION_TIMEOUT = option(
    "high-availability.zookeeper.client.session-timeout",
    MILLISECONDS,
    timedelta(minutes=1),
    deprecated_keys=("recovery.zookeeper.client.session-timeout",),
)
ZOOKEEPER_CLIENT_CONNECTION_TIMEOUT = option(
    "high-availability.zookeeper.client.connection-timeout",
    MILLISECONDS,
    timedelta(seconds=15),
    deprecated_keys=("recovery.zookeeper.client.connection-timeout",),
)
ZOOKEEPER_CLIENT_RETRY_WAIT = option(
    "high-availability.zookeeper.client.retry-wait",
    MILLISECONDS,
    timedelta(seconds=5),
    deprecated_keys=("recovery.zookeeper.client.retry-wait",),
)
ZOOKEEPER_CLIENT_MAX_RETRY_WAIT = option(
    "high-availability.zookeeper.client.max-retry-wait",
    DURATION,
    timedelta(minutes=1),
    since=(2, 0),
)
ZOOKEEPER_CLIENT_MAX_RETRY_ATTEMPTS = option(
    "high-availability.zookeeper.client.max-retry-attempts",
    INTEGER,
    3,
    deprecated_keys=("recovery.zookeeper.client.max-retry-attempts",),
)
ZOOKEEPER_CLIENT_ACL = option("high-availability.zookeeper.client.acl", STRING, "open")
ZOOKEEPER_CLIENT_TOLERATE_SUSPENDED_CONNECTIONS = option(
    "high-availability.zookeeper.client.tolerate-suspended-connections", BOOLEAN, False
)
ZOOKEEPER_CLIENT_ENSEMBLE_TRACKER = option(
    "high-availability.zookeeper.client.ensemble-tracker", BOOLEAN, True, since=(1, 18)
)
ZOOKEEPER_CLIENT_AUTHORIZATION = option(
    "high-availability.zookeeper.client.authorization", MAP, since=(1, 20)
)
ZOOKEEPER_CLIENT_MAX_CLOSE_WAIT = option(
    "high-availability.zookeeper.client.max-close-wait", DURATION, since=(1, 20)
)
ZOOKEEPER_CLIENT_SIMULATED_SESSION_EXPIRATION_PERCENT = option(
    "high-availability.zookeeper.client.simulated-session-expiration-percent",
    INTEGER,
    since=(1, 20),
)
ZOOKEEPER_PATH_JOBGRAPHS = option(
    "high-availability.zookeeper.path.jobgraphs",
    STRING,
    "/jobgraphs",
    deprecated_keys=("recovery.zookeeper.path.jobgraphs",),
    until=(1, 20),
)
ZOOKEEPER_PATH_RUNNING_REGISTRY = option(
    "high-availability.zookeeper.path.running-registry",
    STRING,
    "/running_job_registry/",
    until=(1, 20),
    deprecated_since=(1, 19),
)
JOB_DELAY = option(
    "high-availability.job.delay",
    STRING,
    deprecated_keys=("recovery.job.delay",),
    until=(1, 20),
    deprecated_since=(1, 17),
)
