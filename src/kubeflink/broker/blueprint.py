"""What a TaskManager of a cluster looks like, from what the cluster was deployed with.

A JobManager builds its TaskManagers from the files that are mounted into it. The broker reads the
same files, in its own pod or from the API server, and never from the JobManager. What only the
client's machine had (a keytab, Hadoop's files) is needed by name alone, and the names are in the
JobManager's Deployment.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kubeflink import config, objects
from kubeflink.config import Configuration
from kubeflink.config.memory import TaskManagerMemory, worker_memory
from kubeflink.config.options import broker, kubernetes
from kubeflink.config.versions import FlinkVersion, version_of_image
from kubeflink.errors import ConfigurationError, NotFoundError
from kubeflink.kube.client import KubeClient
from kubeflink.objects import CONFIG_MAPS, DEPLOYMENTS, JsonObject
from kubeflink.spec import names
from kubeflink.spec.broker import ends_itself, with_client, without_api_access
from kubeflink.spec.decorators.cmd_taskmanager import SCRIPT
from kubeflink.spec.decorators.hadoop_conf import VOLUME as HADOOP_VOLUME
from kubeflink.spec.decorators.kerberos import KEYTAB_VOLUME, KRB5_VOLUME
from kubeflink.spec.decorators.pod_template import FILE as TEMPLATE_FILE
from kubeflink.spec.inputs import CONSOLE_LOGGING_FILES, OTHER_LOGGING_FILES, Inputs, LocalFile
from kubeflink.spec.parameters import is_kubernetes_high_availability
from kubeflink.spec.pod_template import PodTemplate
from kubeflink.spec.shell import dynamic_properties
from kubeflink.spec.taskmanager import (
    JobManagerAddress,
    RequestedTaskManager,
    as_read,
    build_requested_taskmanager,
    running_configuration,
)


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A cluster as the broker knows it.

    `running` is the configuration of a JobManager that runs, `worker` what it gives to a
    TaskManager. `deployment` is the JobManager's, which owns all pods. `ends_itself`: whether the
    JobManager may delete it.
    """

    cluster_id: str
    namespace: str
    running: Configuration
    inputs: Inputs
    deployment: JsonObject
    worker: TaskManagerMemory
    ends_itself: bool
    _forms: dict[TaskManagerMemory, JsonObject] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def high_availability(self) -> bool:
        """Whether leaders are elected in ConfigMaps, by JobManagers and for TaskManagers."""
        return is_kubernetes_high_availability(self.running)

    @property
    def host_network(self) -> bool:
        """Whether JobManagers write their ports into the Services."""
        return self.running.get(kubernetes.HOSTNETWORK_ENABLED)

    def pod(self, requested: RequestedTaskManager) -> JsonObject:
        """The pod for a worker: Flink's own, but for the token of the service account.

        With high availability TaskManagers look for their leader in ConfigMaps; they find them
        where the JobManager does.
        """
        form = self._forms.get(requested.memory)
        if form is None:
            if len(self._forms) > _FORMS:
                self._forms.clear()
            form = self._forms[requested.memory] = self._form(requested.memory)
        return filled(form, requested)

    def _form(self, memory: TaskManagerMemory) -> JsonObject:
        """The pod of all workers of this size, without a name and what goes with it."""
        pod = build_requested_taskmanager(
            self.running,
            RequestedTaskManager("", {}, memory),
            deployment=self.deployment,
            inputs=self.inputs,
        )
        if self.running.get(broker.TASKMANAGER_API_ACCESS):
            return pod
        if self.high_availability:
            return with_client(pod, self.cluster_id, self.namespace)
        return without_api_access(pod)


_FORMS = 100


def filled(form: JsonObject, requested: RequestedTaskManager) -> JsonObject:
    """A form with a worker's name and its properties, as `build_requested_taskmanager` has them."""
    line = f"{SCRIPT} "
    containers = []
    for container in form["spec"]["containers"]:
        if container["name"] == names.MAIN_CONTAINER:
            shell, option, text = container["args"]
            properties = dynamic_properties(requested.properties)
            text = f"{line}{properties}{text.removeprefix(line)}"
            container = {**container, "args": [shell, option, text]}
        containers.append(container)
    return {
        **form,
        "metadata": {**form["metadata"], "name": requested.name},
        "spec": {**form["spec"], "containers": containers},
    }


@dataclass(frozen=True, slots=True)
class ClusterFiles:
    """The files of a cluster's configuration directory, and its TaskManagers' template."""

    directory: Path
    template: str | None = None


def read_files(conf_dir: Path | None, template_dir: Path | None) -> ClusterFiles | None:
    """What is mounted into a broker's pod; None without a configuration directory."""
    if conf_dir is None:
        return None
    template = None if template_dir is None else template_dir / TEMPLATE_FILE
    if template is None or not template.is_file():
        return ClusterFiles(conf_dir)
    return ClusterFiles(conf_dir, template.read_text(encoding="utf-8"))


async def read_blueprint(
    client: KubeClient,
    cluster_id: str,
    namespace: str,
    *,
    files: ClusterFiles | None = None,
    flink_version: str | None = None,
) -> Blueprint:
    """The blueprint of a cluster that is deployed.

    Without `files` they are read from the cluster's ConfigMaps. Raises `NotFoundError` where there
    is no Deployment, `ConfigurationError` for a cluster that cannot have TaskManagers.
    """
    deployment = await client.get(DEPLOYMENTS, names.deployment_name(cluster_id), namespace)
    version = _version(deployment, flink_version)
    if files is not None:
        return make_blueprint(cluster_id, namespace, deployment, files, version)
    configuration = await client.get(CONFIG_MAPS, names.config_map_name(cluster_id), namespace)
    template = await _template_text(client, cluster_id, namespace)
    with _written(configuration.get("data") or {}) as directory:
        found = ClusterFiles(directory, template)
        return make_blueprint(cluster_id, namespace, deployment, found, version)


def make_blueprint(
    cluster_id: str,
    namespace: str,
    deployment: JsonObject,
    files: ClusterFiles,
    version: FlinkVersion | None = None,
) -> Blueprint:
    """The same of what was read before; only the files are read here."""
    loaded = config.load(conf_dir=files.directory, version=version, environ={})
    inputs = _inputs(deployment, files, loaded)
    mounted = as_read(loaded)
    running = running_configuration(mounted, JobManagerAddress())
    told = running.get(kubernetes.CLUSTER_ID)
    if told != cluster_id:
        raise ConfigurationError(
            f"the configuration in {files.directory} is that of the cluster {told}, not of "
            f"{cluster_id}"
        )
    return Blueprint(
        cluster_id,
        namespace,
        running,
        inputs,
        deployment,
        worker=worker_memory(running),
        ends_itself=ends_itself(mounted),
    )


def _version(deployment: JsonObject, given: str | None) -> FlinkVersion | None:
    if given is not None:
        return FlinkVersion.parse(given)
    for container in deployment["spec"]["template"]["spec"]["containers"]:
        if container["name"] == names.MAIN_CONTAINER:
            return version_of_image(str(container.get("image", "")))
    return None


async def _template_text(client: KubeClient, cluster_id: str, namespace: str) -> str | None:
    name = names.pod_template_config_map_name(cluster_id)
    try:
        found = await client.get(CONFIG_MAPS, name, namespace)
    except NotFoundError:
        return None
    text = (found.get("data") or {}).get(TEMPLATE_FILE)
    return None if text is None else str(text)


@contextmanager
def _written(data: Mapping[str, str]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="kubeflink-broker-") as name:
        directory = Path(name)
        for file, text in data.items():
            (directory / Path(file).name).write_text(text, encoding="utf-8")
        yield directory


# --- what the JobManager would have read -----------------------------------------------------


def _inputs(deployment: JsonObject, files: ClusterFiles, loaded: Configuration) -> Inputs:
    volumes = {
        volume["name"]: volume
        for volume in deployment["spec"]["template"]["spec"].get("volumes") or ()
    }
    return Inputs(
        logging_files=dict.fromkeys(_logging_files(files, loaded), ""),
        hadoop_files=dict.fromkeys(_keys_in(volumes.get(HADOOP_VOLUME)), ""),
        keytab=LocalFile("keytab", b"") if KEYTAB_VOLUME in volumes else None,
        krb5_conf=_krb5(volumes.get(KRB5_VOLUME)),
        taskmanager_template=_template(files, loaded.version),
    )


def _logging_files(files: ClusterFiles, loaded: Configuration) -> list[str]:
    shipped = list(CONSOLE_LOGGING_FILES)
    if loaded.version.ships_all_logging_files:
        shipped += OTHER_LOGGING_FILES
    return [name for name in shipped if (files.directory / name).is_file()]


def _keys_in(volume: JsonObject | None) -> list[str]:
    items = ((volume or {}).get("configMap") or {}).get("items") or ()
    return [str(item["key"]) for item in items]


def _krb5(volume: JsonObject | None) -> LocalFile | None:
    keys = _keys_in(volume)
    return LocalFile(keys[0], b"") if keys else None


def _template(files: ClusterFiles, version: FlinkVersion) -> PodTemplate | None:
    if files.template is None:
        return None
    from kubeflink.spec.template_reader import read_pod_template

    return read_pod_template(files.template, TEMPLATE_FILE, version)


def usage_of(pod: JsonObject) -> tuple[float, int]:
    """CPU cores and bytes of memory that a pod's main container asks for."""
    from kubeflink.quantities import parse_quantity

    for container in (pod.get("spec") or {}).get("containers") or ():
        if container.get("name") == names.MAIN_CONTAINER:
            asked = (container.get("resources") or {}).get("requests") or {}
            cores = parse_quantity(asked.get("cpu") or 0) or 0
            memory = parse_quantity(asked.get("memory") or 0) or 0
            return float(cores), int(memory)
    return 0.0, 0


def owned_by(pod: JsonObject, deployment: JsonObject) -> bool:
    """Whether the Deployment, this very one, owns the pod."""
    return objects.uid_of(deployment) in objects.owner_uids(pod)
