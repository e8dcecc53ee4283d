"""TaskManager pods, as the driver in the JobManager creates them (KubernetesTaskManagerFactory).

The pods of a cluster are not created by the client that deploys it, but by the JobManager, from
what it knows when it runs: the mounted configuration file, the arguments of its own start script,
and what its entry point and its services set. A TaskManager reads the same mounted file; so it gets
as arguments what the JobManager's configuration has beyond the file (`-Dkey='value'`), and then its
own share of memory, CPU and slots (`-D key=value`). All of that can be known before, but for a few
addresses and ports; this module computes it.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kubeflink.config import Configuration
from kubeflink.config.hash_order import hash_order, java_hash
from kubeflink.config.memory import TaskManagerMemory, jobmanager_memory, worker_memory
from kubeflink.config.options import (
    blob,
    deployment,
    high_availability,
    jobmanager,
    kubernetes,
    pipeline,
    rest,
    taskmanager,
    web,
)
from kubeflink.config.values import text_of
from kubeflink.config.versions import FLINK_CONF_YAML
from kubeflink.config.yaml_flow import flow_text
from kubeflink.objects import JsonObject, owner_reference
from kubeflink.spec import names
from kubeflink.spec.client import deployment_target
from kubeflink.spec.cluster_side import cluster_side_configuration
from kubeflink.spec.decorators.cmd_taskmanager import TaskManagerCommand
from kubeflink.spec.decorators.decorator import Step
from kubeflink.spec.decorators.env_secrets import EnvSecrets
from kubeflink.spec.decorators.flink_conf import FlinkConf
from kubeflink.spec.decorators.hadoop_conf import HadoopConf
from kubeflink.spec.decorators.init_taskmanager import InitTaskManager
from kubeflink.spec.decorators.kerberos import Kerberos
from kubeflink.spec.decorators.mount_secrets import MountSecrets
from kubeflink.spec.decorators.persistent_volume_claims import PersistentVolumeClaims
from kubeflink.spec.inputs import Inputs, read_inputs
from kubeflink.spec.jobmanager import initial_pod
from kubeflink.spec.parameters import (
    APPLICATION,
    JOBMANAGER_ENV_PREFIX,
    TaskManagerParameters,
    is_high_availability_on,
)
from kubeflink.spec.pod import FlinkPod
from kubeflink.spec.program import PYTHON_DRIVER, scheme_of
from kubeflink.spec.shell import dynamic_properties, parse_dynamic_properties

TASKMANAGER_DECORATORS: tuple[Callable[[TaskManagerParameters], Step], ...] = (
    InitTaskManager,
    EnvSecrets,
    MountSecrets,
    PersistentVolumeClaims,
    TaskManagerCommand,
    HadoopConf,
    Kerberos,
    FlinkConf,
)
"""All steps from a pod template to a TaskManager, in the order in which they work."""

EMBEDDED_TARGET = "embedded"
MOUNTED_FILE = "the mounted configuration file"
PYTHON_JAR_DIRECTORY = "/opt/flink/opt"


@dataclass(frozen=True, slots=True)
class JobManagerAddress:
    """What only a running JobManager knows of itself.

    `pod_ip` counts with high availability, the ports with host network, where 0 stands for a port
    that is not known yet. `temporary_directory` is the random one of its web server, None to make
    one up.
    """

    pod_ip: str = "127.0.0.1"
    rpc_port: int = 0
    blob_server_port: int = 0
    temporary_directory: str | None = None


def build_taskmanager_pod(
    configuration: Configuration,
    *,
    attempt: int,
    index: int,
    deployment: JsonObject | None = None,
    address: JobManagerAddress | None = None,
    inputs: Inputs | None = None,
    environ: Mapping[str, str] = os.environ,
) -> JsonObject:
    """The pod that the JobManager creates as worker `index` of its start number `attempt`.

    `configuration` is that of the cluster as `session_configuration` or `application_configuration`
    gave it. `deployment` becomes the owner; without it the owner is one that is still to be made,
    and the text `<uid of deployment/NAME>` stands for its uid. `inputs` are the files of the
    cluster; without them they are read as `build_jobmanager` reads them, with `environ`.

    Raises `ConfigurationError` and `TemplateError` where the JobManager could not create the pod.
    """
    return decorate_taskmanager(
        configuration,
        attempt=attempt,
        index=index,
        deployment=deployment,
        address=address or JobManagerAddress(),
        inputs=inputs if inputs is not None else read_inputs(configuration, environ),
    )[0]


def decorate_taskmanager(
    configuration: Configuration,
    *,
    attempt: int,
    index: int,
    deployment: JsonObject | None,
    address: JobManagerAddress,
    inputs: Inputs,
) -> tuple[JsonObject, FlinkPod]:
    """The pod as an object, and as the decorators left it, with their notices. Pure."""
    mounted = as_read(cluster_side_configuration(configuration, inputs))
    running = running_configuration(mounted, address)
    pod_name = names.taskmanager_pod_name(running.get(kubernetes.CLUSTER_ID) or "", attempt, index)
    own = running.with_values({taskmanager.RESOURCE_ID.key: pod_name})
    parameters = TaskManagerParameters(
        running, inputs, worker_memory(running), pod_name, difference(mounted, own)
    )
    return _decorated(parameters, deployment)


def _decorated(
    parameters: TaskManagerParameters, deployment: JsonObject | None
) -> tuple[JsonObject, FlinkPod]:
    pod = initial_pod(parameters.inputs.taskmanager_template)
    for decorator in TASKMANAGER_DECORATORS:
        pod = decorator(parameters).decorate(pod)
    owner = deployment or _future_deployment(parameters)
    pod = pod.with_metadata(ownerReferences=[owner_reference(owner)])
    return {"apiVersion": "v1", "kind": "Pod", **pod.assemble()}, pod


@dataclass(frozen=True, slots=True)
class RequestedTaskManager:
    """A worker that a running JobManager asks for: what only the JobManager knows of it.

    `properties` is what the JobManager's configuration has beyond the mounted file, in its order.
    """

    name: str
    properties: Mapping[str, str]
    memory: TaskManagerMemory


def build_requested_taskmanager(
    running: Configuration,
    requested: RequestedTaskManager,
    *,
    deployment: JsonObject,
    inputs: Inputs,
) -> JsonObject:
    """The pod for a worker that was asked for. Pure.

    Everything but the worker's name, its properties and its sizes comes from `running`, which is
    what `running_configuration` made of the cluster's own file.
    """
    line = dynamic_properties(requested.properties)
    parameters = TaskManagerParameters(running, inputs, requested.memory, requested.name, line)
    return _decorated(parameters, deployment)[0]


def _future_deployment(parameters: TaskManagerParameters) -> JsonObject:
    name = names.deployment_name(parameters.cluster_id)
    # An empty uid is refused by every API server, with words that do not say what is missing.
    metadata = {"name": name, "uid": f"<uid of deployment/{name}>"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}


def difference(mounted: Configuration, own: Configuration) -> str:
    """The arguments that turn the mounted configuration into a TaskManager's own one."""
    texts = {key: text_of(value) for key, value in own.items()}
    changed = {key: text for key, text in texts.items() if mounted.text(key) != text}
    return dynamic_properties({key: changed[key] for key in hash_order(changed)})


# --- the JobManager's configuration when it runs ---------------------------------------------


def as_read(configuration: Configuration) -> Configuration:
    """The configuration as a process of the cluster reads it from the mounted file.

    Lists have become the text that Flink makes of a YAML list. `flink-conf.yaml` loses what its
    reader takes for a comment, blanks around values, and keys whose value is empty.
    """
    texts = {key: text_of(value) for key, value in configuration.items()}
    if configuration.file_name == FLINK_CONF_YAML:
        texts = {key: text.partition("#")[0].strip() for key, text in texts.items()}
        empty = [key for key, text in texts.items() if not text]
        return configuration.with_values(texts, MOUNTED_FILE).without(*empty)
    lists = {k: flow_text(list(v)) for k, v in configuration.items() if isinstance(v, tuple)}
    return configuration.with_values(lists, MOUNTED_FILE)


def running_configuration(mounted: Configuration, address: JobManagerAddress) -> Configuration:
    """The configuration of the JobManager when it asks for workers.

    On top of the mounted file come the memory settings that the start script computes, the
    arguments of `kubernetes.jobmanager.entrypoint.args`, and then what `KubernetesEntrypointUtils`,
    `ClusterEntrypoint` and, for an application, `ApplicationClusterEntryPoint` set.
    """
    arguments = parse_dynamic_properties(mounted.get(kubernetes.JOBMANAGER_ENTRYPOINT_ARGS))
    environment = mounted.with_prefix(JOBMANAGER_ENV_PREFIX)
    started = mounted.with_values(arguments)
    memory = jobmanager_memory(started, environ=environment).dynamic_properties()
    running = mounted.with_values(dict(memory)).with_values(arguments)
    running = running.with_values(_entry_point_values(running, address))
    if deployment_target(mounted) == APPLICATION:
        running = running.with_values(_application_values(running))
    return running


def _entry_point_values(running: Configuration, address: JobManagerAddress) -> dict[str, object]:
    values: dict[str, object] = {
        web.TMPDIR.key: address.temporary_directory or _temporary_directory(running),
        jobmanager.RPC_PORT.key: _rpc_port(running),
    }
    if running.get(kubernetes.HOSTNETWORK_ENABLED):
        values |= {
            rest.BIND_PORT.key: "0",
            high_availability.JOBMANAGER_PORT.key: "0",
            taskmanager.RPC_PORT.key: "0",
            jobmanager.RPC_PORT.key: str(address.rpc_port),
            blob.SERVER_PORT.key: str(address.blob_server_port),
        }
    if is_high_availability_on(running):
        values |= {jobmanager.RPC_ADDRESS.key: address.pod_ip, rest.ADDRESS.key: address.pod_ip}
    return values


def _temporary_directory(running: Configuration) -> str:
    return f"{running.get(web.TMPDIR)}/flink-web-{uuid.uuid4()}"


def _rpc_port(running: Configuration) -> str:
    """The port that is bound: with ZooKeeper another option counts (`getRPCPortRange`)."""
    if running.get(high_availability.TYPE).upper() == "ZOOKEEPER":
        return running.get(high_availability.JOBMANAGER_PORT)
    return str(running.get(jobmanager.RPC_PORT))


def _application_values(running: Configuration) -> dict[str, object]:
    """An application runs its own job, with the jars as they are in the JobManager's pod."""
    jars = [_path_in_pod(running, uri) for uri in running.get(pipeline.JARS) or ()]
    if running.get(deployment.INTERNAL_APPLICATION_MAIN) == PYTHON_DRIVER:
        jars = [f"file:{PYTHON_JAR_DIRECTORY}/flink-python-{running.version}.jar"]
    values: dict[str, object] = {deployment.EXECUTION_TARGET.key: EMBEDDED_TARGET}
    lists = {pipeline.JARS.key: jars, pipeline.CLASSPATHS.key: running.get(pipeline.CLASSPATHS)}
    for key, items in lists.items():
        if items or running.version.writes_empty_lists:
            values[key] = _list_text(running, list(items or ()))
    job_id = deployment.INTERNAL_PIPELINE_JOB_ID.key
    if (
        running.version.gives_workers_the_job_id
        and is_high_availability_on(running)
        and job_id not in running
    ):
        values[job_id] = application_job_id(running.get(kubernetes.CLUSTER_ID) or "")
    return values


def application_job_id(cluster_id: str) -> str:
    """The job id of an application with high availability: 32 hex digits that never change.

    A JobManager that takes over has to find the job of the one before; so the id follows from the
    cluster's (`ApplicationDispatcherBootstrap`): the hash of its text as a signed number.
    """
    number = java_hash(cluster_id)
    signed = number - (1 << 32) if number >= 1 << 31 else number
    return f"{signed & (1 << 64) - 1:016x}{0:016x}"


def _list_text(running: Configuration, items: list[str]) -> str:
    """A list as the text that Flink makes of it."""
    return ";".join(items) if running.file_name == FLINK_CONF_YAML else flow_text(items)


def _path_in_pod(running: Configuration, uri: str) -> str:
    """Where the JobManager has a jar: in its image, or where it put what it fetched."""
    if scheme_of(uri) == "local":
        return "file:" + uri[len("local:") :].replace("//", "", 1)
    directory = running.get(deployment.USER_ARTIFACTS_BASE_DIR)
    namespace = running.get(kubernetes.NAMESPACE)
    cluster_id = running.get(kubernetes.CLUSTER_ID)
    return f"file:{directory}/{namespace}/{cluster_id}/{uri.rsplit('/', 1)[-1]}"
