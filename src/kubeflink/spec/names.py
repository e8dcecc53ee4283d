"""Names and labels of everything that makes up a cluster, all derived from its cluster id.

The names are Flink's own (its `Constants`, and the decorators that own each object), so that
clusters made by Flink and by kubeflink find, replace and delete each other's objects.

A cluster id becomes the name of a Service, and so has to be an RFC 1035 label. Flink's client
checks only its length and leaves the rest to the API server, which finds out after the Deployment
was made; here it is refused before the first request. The limit of 45 characters leaves room for
the longest derived name, a TaskManager pod's `<id>-taskmanager-<attempt>-<index>`, within 63.
"""

from __future__ import annotations

import re

from kubeflink.errors import ConfigurationError, UsageError

CLUSTER_ID_OPTION = "kubernetes.cluster-id"
NAMESPACE_OPTION = "kubernetes.namespace"
MAX_CLUSTER_ID_LENGTH = 45
MAX_LABEL_LENGTH = 63
RANDOM_CLUSTER_ID_PREFIX = "flink-cluster-"

LABEL_APP = "app"
LABEL_COMPONENT = "component"
LABEL_TYPE = "type"
LABEL_CONFIG_MAP_TYPE = "configmap-type"
NATIVE_TYPE = "flink-native-kubernetes"
JOBMANAGER = "jobmanager"
TASKMANAGER = "taskmanager"
BROKER = "broker"
HIGH_AVAILABILITY = "high-availability"

MAIN_CONTAINER = "flink-main-container"

REST_PORT = "rest"
JOBMANAGER_RPC_PORT = "jobmanager-rpc"
BLOB_SERVER_PORT = "blobserver"
TASKMANAGER_RPC_PORT = "taskmanager-rpc"

_CLUSTER_ID = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def validate_cluster_id(cluster_id: str, origin: str | None = None) -> str:
    """The cluster id itself; `ConfigurationError` if no cluster could have it.

    `origin` says where it came from, for the message.
    """
    problem = _problem_of(cluster_id)
    if problem is None:
        return cluster_id
    raise ConfigurationError(
        f"{CLUSTER_ID_OPTION} {cluster_id!r} {problem}",
        option=CLUSTER_ID_OPTION,
        origin=origin,
        hint=_suggestion(cluster_id),
    )


def validate_sought_name(name: str) -> str:
    """The name of a cluster that is looked for; `UsageError` if Kubernetes can have none such.

    Longer names than Flink's client makes are let through: a cluster may have come another way.
    """
    if len(name) <= MAX_LABEL_LENGTH and _CLUSTER_ID.fullmatch(name):
        return name
    if not name.strip():
        raise UsageError("the name of the cluster is blank", hint="Is a shell variable empty?")
    raise UsageError(
        f"{name!r} is no name of a cluster",
        hint=f"Lower-case letters, digits and '-', a letter first, at most {MAX_LABEL_LENGTH}.",
    )


def validate_namespace(namespace: str, origin: str | None = None) -> str:
    """The namespace itself; `ConfigurationError` if Kubernetes cannot have it."""
    if len(namespace) <= MAX_LABEL_LENGTH and _LABEL.fullmatch(namespace):
        return namespace
    raise ConfigurationError(
        f"{NAMESPACE_OPTION} {namespace!r} is no name for a namespace",
        option=NAMESPACE_OPTION,
        origin=origin,
        hint="Lower-case letters, digits and '-', at most 63, no '-' at the ends.",
    )


def _problem_of(cluster_id: str) -> str | None:
    if not cluster_id.strip():
        return "is blank"
    if len(cluster_id) > MAX_CLUSTER_ID_LENGTH:
        return f"has {len(cluster_id)} characters; {MAX_CLUSTER_ID_LENGTH} are the most"
    if _CLUSTER_ID.fullmatch(cluster_id) is None:
        return "is no name for a cluster"
    return None


def _suggestion(cluster_id: str) -> str:
    rule = "Lower-case letters, digits and '-', a letter first, no '-' at the end"
    other = re.sub(r"[^a-z0-9]+", "-", cluster_id.lower()).lstrip("-0123456789")
    other = other[:MAX_CLUSTER_ID_LENGTH].rstrip("-")
    return f"{rule}, for instance {other!r}." if other else f"{rule}."


def random_cluster_id() -> str:
    """A cluster id that is not in use: 45 characters, of which 31 are random hex digits."""
    import secrets

    return RANDOM_CLUSTER_ID_PREFIX + secrets.token_hex(16)[:31]


# --- labels ----------------------------------------------------------------------------------


def common_labels(cluster_id: str) -> dict[str, str]:
    """The labels of all objects of a cluster but the two for Kerberos, which have none."""
    return {LABEL_APP: cluster_id, LABEL_TYPE: NATIVE_TYPE}


def jobmanager_labels(cluster_id: str) -> dict[str, str]:
    """The labels that select the JobManager pods of a cluster."""
    return common_labels(cluster_id) | {LABEL_COMPONENT: JOBMANAGER}


def taskmanager_labels(cluster_id: str) -> dict[str, str]:
    """The labels that select the TaskManager pods of a cluster."""
    return common_labels(cluster_id) | {LABEL_COMPONENT: TASKMANAGER}


# --- names -----------------------------------------------------------------------------------


def deployment_name(cluster_id: str) -> str:
    """The JobManager's Deployment."""
    return cluster_id


def internal_service_name(cluster_id: str) -> str:
    """The headless Service by which TaskManagers find the JobManager; none with HA."""
    return cluster_id


def rest_service_name(cluster_id: str) -> str:
    """The Service of the REST API; its existence is what makes a cluster exist for Flink."""
    return f"{cluster_id}-rest"


def config_map_name(cluster_id: str) -> str:
    """The ConfigMap with Flink's configuration file and the logging files."""
    return f"flink-config-{cluster_id}"


def pod_template_config_map_name(cluster_id: str) -> str:
    """The ConfigMap with the TaskManagers' pod template."""
    return f"pod-template-{cluster_id}"


def hadoop_config_map_name(cluster_id: str) -> str:
    """The ConfigMap with Hadoop's configuration files."""
    return f"hadoop-config-{cluster_id}"


def keytab_secret_name(cluster_id: str) -> str:
    """The Secret with the Kerberos keytab. It has no labels."""
    return f"kerberos-keytab-{cluster_id}"


def krb5_config_map_name(cluster_id: str) -> str:
    """The ConfigMap with the `krb5.conf`. It has no labels."""
    return f"kerberos-krb5conf-{cluster_id}"


def high_availability_config_map_name(cluster_id: str) -> str:
    """The ConfigMap of the leader election; it outlives the Deployment."""
    return f"{cluster_id}-cluster-config-map"


def job_config_map_name(cluster_id: str, job_id: str) -> str:
    """The ConfigMap with the checkpoints of one job; it outlives the Deployment."""
    return f"{cluster_id}-{job_id}-config-map"


def broker_name(cluster_id: str) -> str:
    """The broker's Deployment, Service, Secret, service account, Role and RoleBinding."""
    return f"{cluster_id}-broker"


def broker_client_secret_name(cluster_id: str) -> str:
    """The Secret with which a JobManager finds its broker, and proves who it is."""
    return f"{cluster_id}-broker-client"


def broker_labels(cluster_id: str) -> dict[str, str]:
    """The labels of the broker's objects; without Flink's type, because it is no Flink cluster."""
    return {LABEL_APP: cluster_id, LABEL_COMPONENT: BROKER}


def taskmanager_pod_name(cluster_id: str, attempt: int, index: int) -> str:
    """The pod of worker `index` of JobManager start `attempt`, both counted from 1."""
    return f"{cluster_id}-taskmanager-{attempt}-{index}"


def service_address(service: str, namespace: str) -> str:
    """The name of a Service as other pods of the Kubernetes cluster resolve it."""
    return f"{service}.{namespace}"
