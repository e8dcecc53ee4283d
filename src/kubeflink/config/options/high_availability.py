"""Options of high availability (`HighAvailabilityOptions`, `KubernetesHighAvailabilityOptions`)."""

from __future__ import annotations

from datetime import timedelta

from kubeflink.config.options.kinds import BOOLEAN, DURATION, INTEGER, MAP, MILLISECONDS, STRING
from kubeflink.config.options.option import option

KUBERNETES_LEADER_ELECTION_LEASE_DURATION = option(
    "high-availability.kubernetes.leader-election.lease-duration",
    DURATION,
    timedelta(seconds=15),
    about=("How long a JobManager that does not show up any more is still taken for the leader."),
)
KUBERNETES_LEADER_ELECTION_RENEW_DEADLINE = option(
    "high-availability.kubernetes.leader-election.renew-deadline",
    DURATION,
    timedelta(seconds=15),
    about="How long the leader tries to renew its lease before it gives up being one.",
)
KUBERNETES_LEADER_ELECTION_RETRY_PERIOD = option(
    "high-availability.kubernetes.leader-election.retry-period",
    DURATION,
    timedelta(seconds=5),
    about="Pause between two attempts of a JobManager to become or stay the leader.",
)
TYPE = option(
    "high-availability.type",
    STRING,
    "NONE",
    deprecated_keys=("recovery.mode", "high-availability"),
    about=(
        "Whether and how another JobManager takes over: NONE, KUBERNETES, ZOOKEEPER, or a "
        "factory class."
    ),
)
CLUSTER_ID = option(
    "high-availability.cluster-id",
    STRING,
    "/default",
    deprecated_keys=(
        "high-availability.zookeeper.path.namespace",
        "recovery.zookeeper.path.namespace",
    ),
    about=(
        "Name that keeps the high availability data of clusters apart; on Kubernetes the "
        "cluster id."
    ),
)
STORAGE_DIR = option(
    "high-availability.storageDir",
    STRING,
    deprecated_keys=("high-availability.zookeeper.storageDir", "recovery.zookeeper.storageDir"),
    about=(
        "Directory of a file system that all JobManagers reach, where what they need for "
        "recovery is kept."
    ),
)
JOBMANAGER_PORT = option(
    "high-availability.jobmanager.port",
    STRING,
    "0",
    deprecated_keys=("recovery.jobmanager.port",),
    about="Port, or range of ports, of the JobManager's RPC with high availability.",
)
ZOOKEEPER_QUORUM = option(
    "high-availability.zookeeper.quorum",
    STRING,
    deprecated_keys=("recovery.zookeeper.quorum",),
    about="Addresses of the ZooKeeper servers.",
)
ZOOKEEPER_PATH_ROOT = option(
    "high-availability.zookeeper.path.root",
    STRING,
    "/flink",
    deprecated_keys=("recovery.zookeeper.path.root",),
    about="ZooKeeper node under which Flink keeps everything.",
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
    about="ZooKeeper node for submitted execution plans.",
)
ZOOKEEPER_PATH_APPLICATIONS = option(
    "high-availability.zookeeper.path.applications",
    STRING,
    "/applications",
    since=(2, 3),
    about="ZooKeeper node for submitted applications.",
)
ZOOKEEPER_CLIENT_SESSION_TIMEOUT = option(
    "high-availability.zookeeper.client.session-timeout",
    MILLISECONDS,
    timedelta(minutes=1),
    deprecated_keys=("recovery.zookeeper.client.session-timeout",),
    about="How long ZooKeeper keeps a session that is silent.",
)
ZOOKEEPER_CLIENT_CONNECTION_TIMEOUT = option(
    "high-availability.zookeeper.client.connection-timeout",
    MILLISECONDS,
    timedelta(seconds=15),
    deprecated_keys=("recovery.zookeeper.client.connection-timeout",),
    about="How long a connection to ZooKeeper may take.",
)
ZOOKEEPER_CLIENT_RETRY_WAIT = option(
    "high-availability.zookeeper.client.retry-wait",
    MILLISECONDS,
    timedelta(seconds=5),
    deprecated_keys=("recovery.zookeeper.client.retry-wait",),
    about="Pause before a connection to ZooKeeper is tried again.",
)
ZOOKEEPER_CLIENT_MAX_RETRY_WAIT = option(
    "high-availability.zookeeper.client.max-retry-wait",
    DURATION,
    timedelta(minutes=1),
    since=(2, 0),
    about="Upper bound of the pause between connections to ZooKeeper.",
)
ZOOKEEPER_CLIENT_MAX_RETRY_ATTEMPTS = option(
    "high-availability.zookeeper.client.max-retry-attempts",
    INTEGER,
    3,
    deprecated_keys=("recovery.zookeeper.client.max-retry-attempts",),
    about="How often a connection to ZooKeeper is tried again.",
)
ZOOKEEPER_CLIENT_ACL = option(
    "high-availability.zookeeper.client.acl",
    STRING,
    "open",
    about="Who may change Flink's ZooKeeper nodes: open to all, or their creator.",
)
ZOOKEEPER_CLIENT_TOLERATE_SUSPENDED_CONNECTIONS = option(
    "high-availability.zookeeper.client.tolerate-suspended-connections",
    BOOLEAN,
    False,
    about=("Whether a suspended ZooKeeper connection is survived as long as the session lives."),
)
ZOOKEEPER_CLIENT_ENSEMBLE_TRACKER = option(
    "high-availability.zookeeper.client.ensemble-tracker",
    BOOLEAN,
    True,
    since=(1, 18),
    about="Whether the client follows changes of the ZooKeeper ensemble.",
)
ZOOKEEPER_CLIENT_AUTHORIZATION = option(
    "high-availability.zookeeper.client.authorization",
    MAP,
    since=(1, 20),
    about="Credentials for ZooKeeper by scheme: scheme:auth,scheme:auth.",
)
ZOOKEEPER_CLIENT_MAX_CLOSE_WAIT = option(
    "high-availability.zookeeper.client.max-close-wait",
    DURATION,
    since=(1, 20),
    about="How long closing the ZooKeeper client may take.",
)
ZOOKEEPER_CLIENT_SIMULATED_SESSION_EXPIRATION_PERCENT = option(
    "high-availability.zookeeper.client.simulated-session-expiration-percent",
    INTEGER,
    since=(1, 20),
    about=(
        "Share of the session timeout after which a lost connection counts as an expired session."
    ),
)
ZOOKEEPER_PATH_JOBGRAPHS = option(
    "high-availability.zookeeper.path.jobgraphs",
    STRING,
    "/jobgraphs",
    deprecated_keys=("recovery.zookeeper.path.jobgraphs",),
    until=(1, 20),
    about="ZooKeeper node for submitted job graphs.",
)
ZOOKEEPER_PATH_RUNNING_REGISTRY = option(
    "high-availability.zookeeper.path.running-registry",
    STRING,
    "/running_job_registry/",
    until=(1, 20),
    deprecated_since=(1, 19),
    about="ZooKeeper node with the states of running jobs; no longer used.",
)
JOB_DELAY = option(
    "high-availability.job.delay",
    STRING,
    deprecated_keys=("recovery.job.delay",),
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Pause before jobs are recovered; no longer used.",
)
