"""The Deployment of a JobManager and what accompanies it (KubernetesJobManagerFactory).

configuration --read_inputs--> files --decorators--> pod --> Deployment
                                                '--> Services, ConfigMaps, Secret
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kubeflink.config import Configuration, Notice
from kubeflink.config.memory import cluster_specification
from kubeflink.config.options import broker
from kubeflink.objects import JsonObject, name_of
from kubeflink.spec import names, storage
from kubeflink.spec.advice import advice
from kubeflink.spec.client import deployment_target
from kubeflink.spec.decorators.cmd_jobmanager import JobManagerCommand
from kubeflink.spec.decorators.decorator import Step
from kubeflink.spec.decorators.env_secrets import EnvSecrets
from kubeflink.spec.decorators.external_service import ExternalService
from kubeflink.spec.decorators.flink_conf import FlinkConf
from kubeflink.spec.decorators.hadoop_conf import HadoopConf
from kubeflink.spec.decorators.init_jobmanager import InitJobManager
from kubeflink.spec.decorators.internal_service import InternalService
from kubeflink.spec.decorators.kerberos import Kerberos
from kubeflink.spec.decorators.mount_secrets import MountSecrets
from kubeflink.spec.decorators.persistent_volume_claims import PersistentVolumeClaims
from kubeflink.spec.decorators.pod_template import PodTemplateMount
from kubeflink.spec.inputs import Inputs, read_inputs
from kubeflink.spec.owner_references import owner_reference_from
from kubeflink.spec.parameters import JobManagerParameters
from kubeflink.spec.pod import FlinkPod
from kubeflink.spec.pod_template import PodTemplate

JOBMANAGER_DECORATORS: tuple[Callable[[JobManagerParameters], Step], ...] = (
    InitJobManager,
    EnvSecrets,
    MountSecrets,
    PersistentVolumeClaims,
    JobManagerCommand,
    InternalService,
    ExternalService,
    HadoopConf,
    Kerberos,
    FlinkConf,
    PodTemplateMount,
)
"""All steps from a pod template to a JobManager, in the order in which they work.

Accompanying objects are created in this order as well.
"""


@dataclass(frozen=True, slots=True)
class JobManagerSpec:
    """Everything that is created for a cluster.

    The accompanying objects have no owner yet: an owner reference needs the uid of the Deployment
    that was created. None of the objects names its namespace; `namespace` is that of all.
    """

    cluster_id: str
    namespace: str
    deployment: JsonObject
    accompanying: tuple[JsonObject, ...]
    notices: tuple[Notice, ...] = ()

    @property
    def objects(self) -> tuple[JsonObject, ...]:
        """All objects in the order of their creation."""
        return (self.deployment, *self.accompanying)


def build_jobmanager(
    configuration: Configuration,
    *,
    environ: Mapping[str, str] = os.environ,
    default_logging: bool = False,
) -> JobManagerSpec:
    """The objects of the cluster with this configuration.

    `configuration` is what `session_configuration` or `application_configuration` gave. Files are
    read from the configuration directory and where options and `environ` (`HADOOP_CONF_DIR`) point.
    With `default_logging`, pods log to the console also where the client has no logging file.

    Raises `ConfigurationError` and `TemplateError` for what cannot work; nothing was sent then.
    """
    inputs = read_inputs(configuration, environ, default_logging=default_logging)
    spec = assemble_jobmanager(configuration, inputs, environ)
    if not configuration.get(broker.ENABLED):
        return spec
    from kubeflink.spec.broker import with_broker

    return with_broker(spec, configuration)


def assemble_jobmanager(
    configuration: Configuration, inputs: Inputs, environ: Mapping[str, str]
) -> JobManagerSpec:
    """The same of files that were read before. Pure."""
    storage.check_high_availability(configuration)
    memory = cluster_specification(configuration, environ=environ).jobmanager
    mode = deployment_target(configuration)
    parameters = JobManagerParameters(configuration, inputs, memory, mode)
    decorators = [decorator(parameters) for decorator in JOBMANAGER_DECORATORS]
    pod = initial_pod(inputs.jobmanager_template)
    accompanying: list[JsonObject] = []
    for decorator in decorators:
        pod = decorator.decorate(pod)
        accompanying += decorator.accompanying()
    if configuration.version.sorts_accompanying_objects_by_kind:
        accompanying.sort(key=lambda obj: (_KIND_ORDER[obj["kind"]], name_of(obj)))
    notices = (
        *(*configuration.notices, *inputs.notices, *pod.notices),
        *(*advice(parameters), *storage.remarks(configuration, pod)),
    )
    return JobManagerSpec(
        parameters.cluster_id,
        parameters.namespace,
        _deployment(parameters, pod),
        tuple(accompanying),
        tuple(dict.fromkeys(notices)),
    )


_KIND_ORDER = {"Secret": 0, "Service": 1, "ConfigMap": 2}


def initial_pod(template: PodTemplate | None) -> FlinkPod:
    """The pod with which decorating begins."""
    if template is None:
        return FlinkPod()
    return FlinkPod(template.metadata, template.spec, template.main_container, template.source)


def _deployment(parameters: JobManagerParameters, pod: FlinkPod) -> JsonObject:
    metadata: JsonObject = {
        "name": names.deployment_name(parameters.cluster_id),
        "labels": parameters.labels,
    }
    if parameters.annotations or parameters.version.sends_empty_mappings:
        metadata["annotations"] = dict(parameters.annotations)
    owners = [owner_reference_from(fields) for fields in parameters.owner_references]
    if owners:
        metadata["ownerReferences"] = owners
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": parameters.replicas,
            "selector": {"matchLabels": parameters.selector},
            "template": pod.assemble(),
        },
    }
