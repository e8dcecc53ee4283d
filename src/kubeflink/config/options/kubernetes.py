"""Options of the native Kubernetes integration (`KubernetesConfigOptions`)."""

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

CONTEXT = option(
    "kubernetes.context",
    STRING,
    about="Context of the kubeconfig to use; the current one if unset.",
)
REST_SERVICE_EXPOSED_TYPE = option(
    "kubernetes.rest-service.exposed.type",
    ENUM,
    "ClusterIP",
    choices=("ClusterIP", "NodePort", "LoadBalancer", "Headless_ClusterIP"),
    about=(
        "How the REST Service is reached: inside the cluster only (ClusterIP, "
        "Headless_ClusterIP), through a port of every node, or through a load balancer."
    ),
)
REST_SERVICE_EXPOSED_NODE_PORT_ADDRESS_TYPE = option(
    "kubernetes.rest-service.exposed.node-port-address-type",
    ENUM,
    "InternalIP",
    choices=("InternalIP", "ExternalIP"),
    about="Which address of a node is used to reach a REST Service of type NodePort.",
)
JOBMANAGER_SERVICE_ACCOUNT = option(
    "kubernetes.jobmanager.service-account",
    STRING,
    "default",
    fallback_keys=("kubernetes.service-account",),
    about=("Service account of the JobManager pod; it has to be allowed to make and watch pods."),
)
TASKMANAGER_SERVICE_ACCOUNT = option(
    "kubernetes.taskmanager.service-account",
    STRING,
    "default",
    fallback_keys=("kubernetes.service-account",),
    about=(
        "Service account of the TaskManager pods; with high availability it needs access to "
        "ConfigMaps."
    ),
)
SERVICE_ACCOUNT = option(
    "kubernetes.service-account",
    STRING,
    "default",
    about="Service account of both kinds of pods where no own one is given.",
)
JOBMANAGER_OWNER_REFERENCE = option(
    "kubernetes.jobmanager.owner.reference",
    MAPS,
    about=(
        "Objects that own the JobManager Deployment, so that it goes when they go; such as "
        "apiVersion:v1,kind:ConfigMap,name:x,uid:y. Several are separated by semicolons."
    ),
)
JOBMANAGER_CPU_AMOUNT = option(
    "kubernetes.jobmanager.cpu.amount",
    DOUBLE,
    1.0,
    deprecated_keys=("kubernetes.jobmanager.cpu",),
    minimum=0,
    about="CPU that the JobManager's container requests, in cores.",
)
JOBMANAGER_CPU_LIMIT_FACTOR = option(
    "kubernetes.jobmanager.cpu.limit-factor",
    DOUBLE,
    1.0,
    minimum=1,
    about="The CPU limit of the JobManager as a multiple of its request; at least 1.",
)
JOBMANAGER_MEMORY_LIMIT_FACTOR = option(
    "kubernetes.jobmanager.memory.limit-factor",
    DOUBLE,
    1.0,
    minimum=1,
    about="The memory limit of the JobManager as a multiple of its request; at least 1.",
)
TASKMANAGER_CPU_AMOUNT = option(
    "kubernetes.taskmanager.cpu.amount",
    DOUBLE,
    -1.0,
    deprecated_keys=("kubernetes.taskmanager.cpu",),
    about=(
        "CPU that a TaskManager's container requests, in cores; one per slot if it is not positive."
    ),
)
TASKMANAGER_CPU_LIMIT_FACTOR = option(
    "kubernetes.taskmanager.cpu.limit-factor",
    DOUBLE,
    1.0,
    minimum=1,
    about="The CPU limit of a TaskManager as a multiple of its request; at least 1.",
)
TASKMANAGER_MEMORY_LIMIT_FACTOR = option(
    "kubernetes.taskmanager.memory.limit-factor",
    DOUBLE,
    1.0,
    minimum=1,
    about="The memory limit of a TaskManager as a multiple of its request; at least 1.",
)
CONTAINER_IMAGE_PULL_POLICY = option(
    "kubernetes.container.image.pull-policy",
    ENUM,
    "IfNotPresent",
    choices=("IfNotPresent", "Always", "Never"),
    about="When a node pulls the image.",
)
CONTAINER_IMAGE_PULL_SECRETS = option(
    "kubernetes.container.image.pull-secrets",
    STRINGS,
    about=(
        "Names of Secrets with the credentials for the image registry, separated by semicolons."
    ),
)
CONFIG_FILE = option(
    "kubernetes.config.file",
    STRING,
    about="Kubeconfig of the client; the usual places are searched if unset.",
)
NAMESPACE = option(
    "kubernetes.namespace", STRING, "default", about="Namespace in which the cluster lives."
)
JOBMANAGER_LABELS = option(
    "kubernetes.jobmanager.labels",
    MAP,
    about="Further labels of the JobManager pod and Deployment: key:value,key:value.",
)
TASKMANAGER_LABELS = option(
    "kubernetes.taskmanager.labels",
    MAP,
    about="Further labels of the TaskManager pods: key:value,key:value.",
)
JOBMANAGER_NODE_SELECTOR = option(
    "kubernetes.jobmanager.node-selector",
    MAP,
    about="Labels that a node must have to run the JobManager: key:value,key:value.",
)
TASKMANAGER_NODE_SELECTOR = option(
    "kubernetes.taskmanager.node-selector",
    MAP,
    about="Labels that a node must have to run TaskManagers: key:value,key:value.",
)
CLUSTER_ID = option(
    "kubernetes.cluster-id",
    STRING,
    about=(
        "Name of the cluster, from which the names of all its objects follow: at most 45 "
        "lower-case letters, digits and dashes. Made at random if unset."
    ),
)
CONTAINER_IMAGE_REF = option(
    "kubernetes.container.image.ref",
    STRING,
    "apache/flink:{version}-scala_2.12",
    deprecated_keys=("kubernetes.container.image",),
    about=("Image of all Flink containers. The default is the official one of the Flink version."),
)
ENTRY_PATH = option(
    "kubernetes.entry.path",
    STRING,
    "/docker-entrypoint.sh",
    about="Script inside the image that starts Flink's processes.",
)
FLINK_CONF_DIR = option(
    "kubernetes.flink.conf.dir",
    STRING,
    "/opt/flink/conf",
    about="Directory of the pods in which the configuration is mounted.",
)
FLINK_LOG_DIR = option(
    "kubernetes.flink.log.dir",
    STRING,
    about="Directory of the pods for log files; the image's own one if unset.",
)
HADOOP_CONF_CONFIG_MAP_NAME = option(
    "kubernetes.hadoop.conf.config-map.name",
    STRING,
    about=("A ConfigMap that exists already and holds the Hadoop configuration to be mounted."),
)
JOBMANAGER_ANNOTATIONS = option(
    "kubernetes.jobmanager.annotations",
    MAP,
    about="Further annotations of the JobManager pod and Deployment: key:value,key:value.",
)
TASKMANAGER_ANNOTATIONS = option(
    "kubernetes.taskmanager.annotations",
    MAP,
    about="Further annotations of the TaskManager pods: key:value,key:value.",
)
JOBMANAGER_ENTRYPOINT_ARGS = option(
    "kubernetes.jobmanager.entrypoint.args",
    STRING,
    "",
    about="Shell text that is put at the end of the JobManager's start command as it is.",
)
TASKMANAGER_ENTRYPOINT_ARGS = option(
    "kubernetes.taskmanager.entrypoint.args",
    STRING,
    "",
    about="Shell text that is put at the end of the TaskManagers' start command as it is.",
)
JOBMANAGER_TOLERATIONS = option(
    "kubernetes.jobmanager.tolerations",
    MAPS,
    about=(
        "Taints that the JobManager pod tolerates: "
        "key:k,operator:Equal,value:v,effect:NoSchedule. Several are separated by semicolons."
    ),
)
TASKMANAGER_TOLERATIONS = option(
    "kubernetes.taskmanager.tolerations",
    MAPS,
    about="Taints that the TaskManager pods tolerate, written like those of the JobManager.",
)
REST_SERVICE_ANNOTATIONS = option(
    "kubernetes.rest-service.annotations",
    MAP,
    about="Annotations of the REST Service: key:value,key:value.",
)
REST_SERVICE_LABELS = option(
    "kubernetes.rest-service.labels",
    MAP,
    since=(2, 2),
    about="Further labels of the REST Service: key:value,key:value.",
)
INTERNAL_SERVICE_ANNOTATIONS = option(
    "kubernetes.internal-service.annotations",
    MAP,
    since=(1, 20),
    about=(
        "Annotations of the Service by which TaskManagers find the JobManager: key:value,key:value."
    ),
)
INTERNAL_SERVICE_LABELS = option(
    "kubernetes.internal-service.labels",
    MAP,
    since=(2, 2),
    about=(
        "Further labels of the Service by which TaskManagers find the JobManager: "
        "key:value,key:value."
    ),
)
SECRETS = option(
    "kubernetes.secrets",
    MAP,
    about="Secrets to mount as files into all Flink containers: name:/path,name:/path.",
)
ENV_SECRET_KEY_REF = option(
    "kubernetes.env.secretKeyRef",
    MAPS,
    about=(
        "Environment variables from Secrets: env:NAME,secret:name,key:key. Several are "
        "separated by semicolons."
    ),
)
TRANSACTIONAL_OPERATION_MAX_RETRIES = option(
    "kubernetes.transactional-operation.max-retries",
    INTEGER,
    15,
    minimum=0,
    earlier=(((1, 19), {"default": 5}),),
    about="How often an update of a ConfigMap is tried again after a conflict.",
)
TRANSACTIONAL_OPERATION_INITIAL_RETRY_DELAY = option(
    "kubernetes.transactional-operation.initial-retry-delay",
    DURATION,
    timedelta(milliseconds=50),
    since=(1, 20),
    about="Pause before the first retry of an update; it doubles with every one.",
)
TRANSACTIONAL_OPERATION_MAX_RETRY_DELAY = option(
    "kubernetes.transactional-operation.max-retry-delay",
    DURATION,
    timedelta(minutes=1),
    since=(1, 20),
    about="Upper bound of the pause between retries of an update.",
)
POD_TEMPLATE_FILE_JOBMANAGER = option(
    "kubernetes.pod-template-file.jobmanager",
    STRING,
    fallback_keys=("kubernetes.pod-template-file", "kubernetes.pod-template-file.default"),
    about="File of the client with a pod on which the JobManager pod is built.",
)
POD_TEMPLATE_FILE_TASKMANAGER = option(
    "kubernetes.pod-template-file.taskmanager",
    STRING,
    fallback_keys=("kubernetes.pod-template-file", "kubernetes.pod-template-file.default"),
    about="File of the client with a pod on which the TaskManager pods are built.",
)
POD_TEMPLATE_FILE_DEFAULT = option(
    "kubernetes.pod-template-file.default",
    STRING,
    deprecated_keys=("kubernetes.pod-template-file",),
    about=(
        "File of the client with a pod for both roles, where a role has no template of its own."
    ),
)
CLIENT_IO_POOL_SIZE = option(
    "kubernetes.client.io-pool.size",
    INTEGER,
    4,
    minimum=1,
    about=("Threads of the JobManager's Kubernetes client, and so pods that are created at once."),
)
JOBMANAGER_REPLICAS = option(
    "kubernetes.jobmanager.replicas",
    INTEGER,
    1,
    minimum=1,
    about="Number of JobManager pods; more than one needs high availability.",
)
HOSTNETWORK_ENABLED = option(
    "kubernetes.hostnetwork.enabled",
    BOOLEAN,
    False,
    about="Whether pods use the network of their node. Ports are random then.",
)
CLIENT_USER_AGENT = option(
    "kubernetes.client.user-agent",
    STRING,
    "flink",
    about="Name under which the client shows up in the API server's logs.",
)
DECORATOR_HADOOP_CONF_MOUNT_ENABLED = option(
    "kubernetes.decorator.hadoop-conf-mount.enabled",
    BOOLEAN,
    True,
    about="Whether the Hadoop configuration is mounted where there is one.",
)
DECORATOR_KERBEROS_MOUNT_ENABLED = option(
    "kubernetes.decorator.kerberos-mount.enabled",
    BOOLEAN,
    True,
    about="Whether keytab and krb5.conf are mounted where they are configured.",
)
ARTIFACTS_LOCAL_UPLOAD_ENABLED = option(
    "kubernetes.artifacts.local-upload-enabled",
    BOOLEAN,
    False,
    since=(1, 20),
    about="Whether an application's local files are uploaded to the target directory first.",
)
ARTIFACTS_LOCAL_UPLOAD_OVERWRITE = option(
    "kubernetes.artifacts.local-upload-overwrite",
    BOOLEAN,
    False,
    since=(1, 20),
    about="Whether an upload replaces a file that is there already.",
)
ARTIFACTS_LOCAL_UPLOAD_TARGET = option(
    "kubernetes.artifacts.local-upload-target",
    STRING,
    since=(1, 20),
    about=("Directory of a remote file system to which an application's local files are uploaded."),
)
NODE_NAME_LABEL = option(
    "kubernetes.node-name-label",
    STRING,
    "kubernetes.io/hostname",
    about="Label of nodes that holds their name; blocked nodes are avoided by it.",
)
PERSISTENT_VOLUME_CLAIMS = option(
    "kubernetes.persistent-volume-claims",
    MAP,
    since=(2, 3),
    about=("Persistent volume claims to mount into all Flink containers: name:/path,name:/path."),
)
PERSISTENT_VOLUME_CLAIM_READ_ONLY = option(
    "kubernetes.persistent-volume-claim-read-only",
    BOOLEAN,
    False,
    since=(2, 3),
    about="Whether the persistent volume claims are mounted read-only.",
)
INTERNAL_JOBMANAGER_ENTRYPOINT_CLASS = option(
    "kubernetes.internal.jobmanager.entrypoint.class",
    STRING,
    about="Class that the JobManager container runs; set by the client, not by users.",
)
