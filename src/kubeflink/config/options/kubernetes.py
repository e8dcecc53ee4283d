"""Options of Flink, family kubernetes."""

from __future__ import annotations

from datetime import timedelta

from kubeflink.config.options.kinds import (
    BOOLEAN,
    DOUBLE,
    DURATION,
    ENUM,
    INTEGER,
    MAP,
    MAPS,
    STRING,
    STRINGS,
)
from kubeflink.config.options.option import option

CONTEXT = option("kubernetes.context", STRING)
REST_SERVICE_EXPOSED_TYPE = option(
    "kubernetes.rest-service.exposed.type",
    ENUM,
    "ClusterIP",
    choices=("ClusterIP", "NodePort", "LoadBalancer", "Headless_ClusterIP"),
)
REST_SERVICE_EXPOSED_NODE_PORT_ADDRESS_TYPE = option(
    "kubernetes.rest-service.exposed.node-port-address-type",
    ENUM,
    "InternalIP",
    choices=("InternalIP", "ExternalIP"),
)
JOBMANAGER_SERVICE_ACCOUNT = option(
    "kubernetes.jobmanager.service-account",
    STRING,
    "default",
    fallback_keys=("kubernetes.service-account",),
)
TASKMANAGER_SERVICE_ACCOUNT = option(
    "kubernetes.taskmanager.service-account",
    STRING,
    "default",
    fallback_keys=("kubernetes.service-account",),
)
SERVICE_ACCOUNT = option("kubernetes.service-account", STRING, "default")
JOBMANAGER_OWNER_REFERENCE = option("kubernetes.jobmanager.owner.reference", MAPS)
JOBMANAGER_CPU_AMOUNT = option(
    "kubernetes.jobmanager.cpu.amount", DOUBLE, 1.0, deprecated_keys=("kubernetes.jobmanager.cpu",)
)
JOBMANAGER_CPU_LIMIT_FACTOR = option("kubernetes.jobmanager.cpu.limit-factor", DOUBLE, 1.0)
JOBMANAGER_MEMORY_LIMIT_FACTOR = option("kubernetes.jobmanager.memory.limit-factor", DOUBLE, 1.0)
TASKMANAGER_CPU_AMOUNT = option(
    "kubernetes.taskmanager.cpu.amount",
    DOUBLE,
    -1.0,
    deprecated_keys=("kubernetes.taskmanager.cpu",),
)
TASKMANAGER_CPU_LIMIT_FACTOR = option("kubernetes.taskmanager.cpu.limit-factor", DOUBLE, 1.0)
TASKMANAGER_MEMORY_LIMIT_FACTOR = option("kubernetes.taskmanager.memory.limit-factor", DOUBLE, 1.0)
CONTAINER_IMAGE_PULL_POLICY = option(
    "kubernetes.container.image.pull-policy",
    ENUM,
    "IfNotPresent",
    choices=("IfNotPresent", "Always", "Never"),
)
CONTAINER_IMAGE_PULL_SECRETS = option("kubernetes.container.image.pull-secrets", STRINGS)
CONFIG_FILE = option("kubernetes.config.file", STRING)
NAMESPACE = option("kubernetes.namespace", STRING, "default")
JOBMANAGER_LABELS = option("kubernetes.jobmanager.labels", MAP)
TASKMANAGER_LABELS = option("kubernetes.taskmanager.labels", MAP)
JOBMANAGER_NODE_SELECTOR = option("kubernetes.jobmanager.node-selector", MAP)
TASKMANAGER_NODE_SELECTOR = option("kubernetes.taskmanager.node-selector", MAP)
CLUSTER_ID = option("kubernetes.cluster-id", STRING)
CONTAINER_IMAGE_REF = option(
    "kubernetes.container.image.ref",
    STRING,
    "apache/flink:{version}-scala_2.12",
    deprecated_keys=("kubernetes.container.image",),
)
ENTRY_PATH = option("kubernetes.entry.path", STRING, "/docker-entrypoint.sh")
FLINK_CONF_DIR = option("kubernetes.flink.conf.dir", STRING, "/opt/flink/conf")
FLINK_LOG_DIR = option("kubernetes.flink.log.dir", STRING)
HADOOP_CONF_CONFIG_MAP_NAME = option("kubernetes.hadoop.conf.config-map.name", STRING)
JOBMANAGER_ANNOTATIONS = option("kubernetes.jobmanager.annotations", MAP)
TASKMANAGER_ANNOTATIONS = option("kubernetes.taskmanager.annotations", MAP)
JOBMANAGER_ENTRYPOINT_ARGS = option("kubernetes.jobmanager.entrypoint.args", STRING, "")
TASKMANAGER_ENTRYPOINT_ARGS = option("kubernetes.taskmanager.entrypoint.args", STRING, "")
JOBMANAGER_TOLERATIONS = option("kubernetes.jobmanager.tolerations", MAPS)
TASKMANAGER_TOLERATIONS = option("kubernetes.taskmanager.tolerations", MAPS)
REST_SERVICE_ANNOTATIONS = option("kubernetes.rest-service.annotations", MAP)
REST_SERVICE_LABELS = option("kubernetes.rest-service.labels", MAP, since=(2, 2))
INTERNAL_SERVICE_ANNOTATIONS = option("kubernetes.internal-service.annotations", MAP, since=(1, 20))
INTERNAL_SERVICE_LABELS = option("kubernetes.internal-service.labels", MAP, since=(2, 2))
SECRETS = option("kubernetes.secrets", MAP)
ENV_SECRET_KEY_REF = option("kubernetes.env.secretKeyRef", MAPS)
TRANSACTIONAL_OPERATION_MAX_RETRIES = option(
    "kubernetes.transactional-operation.max-retries",
    INTEGER,
    15,
    earlier=(((1, 19), {"default": 5}),),
)
TRANSACTIONAL_OPERATION_INITIAL_RETRY_DELAY = option(
    "kubernetes.transactional-operation.initial-retry-delay",
    DURATION,
    timedelta(milliseconds=50),
    since=(1, 20),
)
TRANSACTIONAL_OPERATION_MAX_RETRY_DELAY = option(
    "kubernetes.transactional-operation.max-retry-delay",
    DURATION,
    timedelta(minutes=1),
    since=(1, 20),
)
POD_TEMPLATE_FILE_JOBMANAGER = option(
    "kubernetes.pod-template-file.jobmanager",
    STRING,
    fallback_keys=("kubernetes.pod-template-file", "kubernetes.pod-template-file.default"),
)
POD_TEMPLATE_FILE_TASKMANAGER = option(
    "kubernetes.pod-template-file.taskmanager",
    STRING,
    fallback_keys=("kubernetes.pod-template-file", "kubernetes.pod-template-file.default"),
)
POD_TEMPLATE_FILE_DEFAULT = option(
    "kubernetes.pod-template-file.default",
    STRING,
    deprecated_keys=("kubernetes.pod-template-file",),
)
CLIENT_IO_POOL_SIZE = option("kubernetes.client.io-pool.size", INTEGER, 4)
JOBMANAGER_REPLICAS = option("kubernetes.jobmanager.replicas", INTEGER, 1)
HOSTNETWORK_ENABLED = option("kubernetes.hostnetwork.enabled", BOOLEAN, False)
CLIENT_USER_AGENT = option("kubernetes.client.user-agent", STRING, "flink")
DECORATOR_HADOOP_CONF_MOUNT_ENABLED = option(
    "kubernetes.decorator.hadoop-conf-mount.enabled", BOOLEAN, True
)
DECORATOR_KERBEROS_MOUNT_ENABLED = option(
    "kubernetes.decorator.kerberos-mount.enabled", BOOLEAN, True
)
ARTIFACTS_LOCAL_UPLOAD_ENABLED = option(
    "kubernetes.artifacts.local-upload-enabled", BOOLEAN, False, since=(1, 20)
)
ARTIFACTS_LOCAL_UPLOAD_OVERWRITE = option(
    "kubernetes.artifacts.local-upload-overwrite", BOOLEAN, False, since=(1, 20)
)
ARTIFACTS_LOCAL_UPLOAD_TARGET = option(
    "kubernetes.artifacts.local-upload-target", STRING, since=(1, 20)
)
NODE_NAME_LABEL = option("kubernetes.node-name-label", STRING, "kubernetes.io/hostname")
PERSISTENT_VOLUME_CLAIMS = option("kubernetes.persistent-volume-claims", MAP, since=(2, 3))
PERSISTENT_VOLUME_CLAIM_READ_ONLY = option(
    "kubernetes.persistent-volume-claim-read-only", BOOLEAN, False, since=(2, 3)
)
INTERNAL_JOBMANAGER_ENTRYPOINT_CLASS = option(
    "kubernetes.internal.jobmanager.entrypoint.class", STRING
)
