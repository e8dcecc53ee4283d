"""What the decorators ask for: the configuration in the terms of Kubernetes objects.

One class for what both roles have in common and one for each role, as in Flink
(`AbstractKubernetesParameters` and its subclasses). Checks that Flink makes when it reads a
parameter are made here as well, so before anything is sent.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from kubeflink.config import Configuration
from kubeflink.config.memory import JobManagerMemory, TaskManagerMemory
from kubeflink.config.options import (
    blob,
    core,
    deployment,
    high_availability,
    jobmanager,
    kubernetes,
    rest,
    taskmanager,
)
from kubeflink.config.options.option import Option
from kubeflink.config.values import excerpt
from kubeflink.config.versions import FlinkVersion
from kubeflink.errors import ConfigurationError
from kubeflink.spec import names
from kubeflink.spec.inputs import Inputs

JOBMANAGER_ENV_PREFIX = "containerized.master.env."
TASKMANAGER_ENV_PREFIX = "containerized.taskmanager.env."

SESSION = "kubernetes-session"
APPLICATION = "kubernetes-application"

HEADLESS_CLUSTER_IP = "Headless_ClusterIP"


def is_high_availability_on(configuration: Configuration) -> bool:
    """Whether any kind of high availability is configured (`HighAvailabilityMode`)."""
    return configuration.get(high_availability.TYPE).upper() != "NONE"


def is_kubernetes_high_availability(configuration: Configuration) -> bool:
    """Whether leaders and checkpoints are kept in ConfigMaps: by name, or by class as in 1.x."""
    chosen = configuration.get(high_availability.TYPE)
    return chosen.upper() == "KUBERNETES" or chosen.endswith("KubernetesHaServicesFactory")


def fixed_port(configuration: Configuration, option: Option[str]) -> int:
    """A port option that takes a range elsewhere, but has to be one number here."""
    text = configuration.get(option)
    if re.fullmatch("[0-9]{1,9}", text) and int(text) <= 65535:
        return int(text)
    raise ConfigurationError(
        f"{option.key} must be one port on Kubernetes, not {excerpt(text)}",
        option=option.key,
        origin=configuration.origin(option.key),
    )


@dataclass(frozen=True, slots=True)
class Parameters(ABC):
    """What JobManager and TaskManagers have in common."""

    configuration: Configuration
    inputs: Inputs

    @property
    def version(self) -> FlinkVersion:
        """The Flink version that is imitated."""
        return self.configuration.version

    @property
    def cluster_id(self) -> str:
        """The id of the cluster, checked."""
        cluster_id = self.configuration.get(kubernetes.CLUSTER_ID)
        if cluster_id is None:
            raise ConfigurationError(
                f"{kubernetes.CLUSTER_ID.key} is not set", option=kubernetes.CLUSTER_ID.key
            )
        origin = self.configuration.origin(kubernetes.CLUSTER_ID.key)
        return names.validate_cluster_id(cluster_id, origin)

    @property
    def namespace(self) -> str:
        """The namespace of all objects."""
        option = kubernetes.NAMESPACE
        namespace = self._checked(option.key, self.configuration.get(option))
        return names.validate_namespace(namespace, self.configuration.origin(option.key))

    @property
    def common_labels(self) -> dict[str, str]:
        """The labels of the objects beside the pods."""
        return names.common_labels(self.cluster_id)

    @property
    def image(self) -> str:
        """The configured image, or the default one of this version."""
        image = self.configuration.get_optional(kubernetes.CONTAINER_IMAGE_REF)
        if image is None:
            return self.version.default_image
        return self._checked(kubernetes.CONTAINER_IMAGE_REF.key, image)

    @property
    def image_pull_secrets(self) -> list[str]:
        """The Secrets by which the image is pulled."""
        secrets = self.configuration.get(kubernetes.CONTAINER_IMAGE_PULL_SECRETS) or ()
        return [name.strip() for name in secrets if name.strip()]

    @property
    def host_network(self) -> bool:
        """Whether the pods use the network of their node."""
        return self.configuration.get(kubernetes.HOSTNETWORK_ENABLED)

    @property
    def secrets(self) -> Mapping[str, str]:
        """Secrets that become files, with the paths of their mounts."""
        return self.configuration.get(kubernetes.SECRETS) or {}

    @property
    def env_secrets(self) -> tuple[Mapping[str, str], ...]:
        """Secrets that become environment variables: `env`, `secret` and `key` of each."""
        return self.configuration.get(kubernetes.ENV_SECRET_KEY_REF) or ()

    @property
    def persistent_volume_claims(self) -> Mapping[str, str]:
        """Claims that are mounted, with the paths; none in versions without the option."""
        if not self.version.has_persistent_volume_claims:
            return {}
        return self.configuration.get(kubernetes.PERSISTENT_VOLUME_CLAIMS) or {}

    @property
    def hadoop_config_map(self) -> str | None:
        """The name of an existing ConfigMap with Hadoop's configuration."""
        return (
            self.configuration.get(kubernetes.HADOOP_CONF_CONFIG_MAP_NAME) or ""
        ).strip() or None

    # --- what differs between the roles ---

    @property
    @abstractmethod
    def selector(self) -> dict[str, str]:
        """The labels that make a pod one of this role; user labels cannot change them."""

    @property
    @abstractmethod
    def user_labels(self) -> Mapping[str, str]:
        """The labels that the user wants for the pod."""

    @property
    def labels(self) -> dict[str, str]:
        """All labels of the pod."""
        return {**self.user_labels, **self.selector}

    @property
    @abstractmethod
    def annotations(self) -> Mapping[str, str]:
        """The annotations that the user wants for the pod."""

    @property
    @abstractmethod
    def node_selector(self) -> Mapping[str, str]:
        """Labels of the nodes on which the pod may run."""

    @property
    @abstractmethod
    def tolerations(self) -> tuple[Mapping[str, str], ...]:
        """Tolerations in Flink's notation, one mapping each."""

    @property
    @abstractmethod
    def environment(self) -> Mapping[str, str]:
        """Environment variables of the container."""

    @property
    @abstractmethod
    def service_account_option(self) -> Option[str]:
        """The option with the pod's service account."""

    def _checked(self, key: str, value: str) -> str:
        if value.strip():
            return value
        raise ConfigurationError(
            f"{key} is blank; is a variable empty?",
            option=key,
            origin=self.configuration.origin(key),
        )


@dataclass(frozen=True, slots=True)
class JobManagerParameters(Parameters):
    """What the decorators of the JobManager ask for.

    `mode` is `kubernetes-session` or `kubernetes-application`: what the start script runs.
    """

    memory: JobManagerMemory
    mode: str

    @property
    def selector(self) -> dict[str, str]:
        return names.jobmanager_labels(self.cluster_id)

    @property
    def user_labels(self) -> Mapping[str, str]:
        return self.configuration.get(kubernetes.JOBMANAGER_LABELS) or {}

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.configuration.get(kubernetes.JOBMANAGER_ANNOTATIONS) or {}

    @property
    def node_selector(self) -> Mapping[str, str]:
        return self.configuration.get(kubernetes.JOBMANAGER_NODE_SELECTOR) or {}

    @property
    def tolerations(self) -> tuple[Mapping[str, str], ...]:
        return self.configuration.get(kubernetes.JOBMANAGER_TOLERATIONS) or ()

    @property
    def environment(self) -> Mapping[str, str]:
        return self.configuration.with_prefix(JOBMANAGER_ENV_PREFIX)

    @property
    def service_account_option(self) -> Option[str]:
        return kubernetes.JOBMANAGER_SERVICE_ACCOUNT

    @property
    def owner_references(self) -> tuple[Mapping[str, str], ...]:
        """Owners of the Deployment in Flink's notation, one mapping each."""
        return self.configuration.get(kubernetes.JOBMANAGER_OWNER_REFERENCE) or ()

    @property
    def memory_mib(self) -> int:
        """What the container asks for, in MiB, rounded down as Flink does."""
        return self.memory.total_process >> 20

    @property
    def cpu(self) -> float:
        """The cores that the container asks for."""
        return self.configuration.get(kubernetes.JOBMANAGER_CPU_AMOUNT)

    @property
    def replicas(self) -> int:
        """How many JobManagers there are; more than one only with high availability."""
        option = kubernetes.JOBMANAGER_REPLICAS
        replicas = self.configuration.get(option)
        if replicas > 1 and not is_high_availability_on(self.configuration):
            raise ConfigurationError(
                f"{option.key} is {replicas}, but standby JobManagers need high availability",
                option=option.key,
                origin=self.configuration.origin(option.key),
                hint="Set high-availability.type: kubernetes and high-availability.storageDir.",
            )
        return replicas

    @property
    def has_internal_service(self) -> bool:
        """Whether TaskManagers find the JobManager by a Service; with HA a ConfigMap says it."""
        return not is_high_availability_on(self.configuration)

    @property
    def rest_port(self) -> int:
        """The port of the rest Service."""
        return self.configuration.get(rest.PORT)

    @property
    def rest_bind_port(self) -> int:
        """The port on which the REST server listens."""
        return fixed_port(self.configuration, rest.BIND_PORT)

    @property
    def rpc_port(self) -> int:
        """The port on which TaskManagers reach the JobManager."""
        return self._positive(jobmanager.RPC_PORT.key, self.configuration.get(jobmanager.RPC_PORT))

    @property
    def blob_server_port(self) -> int:
        """The port from which TaskManagers fetch jars."""
        port = fixed_port(self.configuration, blob.SERVER_PORT)
        return self._positive(blob.SERVER_PORT.key, port)

    @property
    def user_artifacts_directory(self) -> str:
        """Where the JobManager puts artifacts that it fetches."""
        return self.configuration.get(deployment.USER_ARTIFACTS_BASE_DIR)

    def _positive(self, key: str, port: int) -> int:
        if port > 0:
            return port
        raise ConfigurationError(
            f"{key} must be a fixed port, not {port}",
            option=key,
            origin=self.configuration.origin(key),
        )


@dataclass(frozen=True, slots=True)
class TaskManagerParameters(Parameters):
    """What the decorators of a TaskManager ask for.

    `configuration` is that of the running JobManager. `dynamic_properties` are the arguments by
    which the TaskManager's configuration differs from the mounted file.
    """

    memory: TaskManagerMemory
    pod_name: str
    dynamic_properties: str

    @property
    def selector(self) -> dict[str, str]:
        return names.taskmanager_labels(self.cluster_id)

    @property
    def user_labels(self) -> Mapping[str, str]:
        return self.configuration.get(kubernetes.TASKMANAGER_LABELS) or {}

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.configuration.get(kubernetes.TASKMANAGER_ANNOTATIONS) or {}

    @property
    def node_selector(self) -> Mapping[str, str]:
        return self.configuration.get(kubernetes.TASKMANAGER_NODE_SELECTOR) or {}

    @property
    def tolerations(self) -> tuple[Mapping[str, str], ...]:
        return self.configuration.get(kubernetes.TASKMANAGER_TOLERATIONS) or ()

    @property
    def environment(self) -> Mapping[str, str]:
        environment = self.configuration.with_prefix(TASKMANAGER_ENV_PREFIX)
        java_home = self.configuration.get(core.ENV_JAVA_HOME)
        if java_home is not None and self.version.sets_taskmanager_java_home:
            environment["JAVA_HOME"] = java_home
        return environment

    @property
    def service_account_option(self) -> Option[str]:
        return kubernetes.TASKMANAGER_SERVICE_ACCOUNT

    @property
    def memory_mib(self) -> int:
        """What the container asks for, in MiB, rounded down as Flink does."""
        return self.memory.total_process >> 20

    @property
    def cpu(self) -> float:
        """The cores that the container asks for."""
        return self.memory.cpu_cores

    @property
    def rpc_port(self) -> int:
        """The port on which the JobManager reaches this TaskManager."""
        return fixed_port(self.configuration, taskmanager.RPC_PORT)

    @property
    def external_resources(self) -> dict[str, int]:
        """Amounts of extended resources, such as `nvidia.com/gpu`, by their Kubernetes names."""
        resources: dict[str, int] = {}
        for name, amount in self.memory.external_resources:
            key = self.configuration.text(f"external-resource.{name}.kubernetes.config-key")
            if key is not None and key.strip():
                resources[key] = amount
        return resources
