"""Image, resources, ports, identity and placement of the JobManager (InitJobManagerDecorator)."""

from __future__ import annotations

from kubeflink.config.options import kubernetes
from kubeflink.spec import names
from kubeflink.spec.decorators.decorator import Decorator
from kubeflink.spec.decorators.init_pod import (
    ENV_LOG_DIRECTORY,
    init_main_container,
    init_pod,
    quantities,
)
from kubeflink.spec.parameters import JobManagerParameters
from kubeflink.spec.pod import FlinkPod, mount, variable, variable_from_field

ENV_POD_IP = "_POD_IP_ADDRESS"
USER_ARTIFACTS_VOLUME = "user-artifacts-volume"


class InitJobManager(Decorator[JobManagerParameters]):
    """The first decorator of the JobManager."""

    def decorate(self, pod: FlinkPod) -> FlinkPod:
        parameters, configuration = self.parameters, self.parameters.configuration
        pod = self._restart_policy(init_pod(pod, parameters))
        requests, limits = quantities(
            parameters.memory_mib,
            configuration.get(kubernetes.JOBMANAGER_MEMORY_LIMIT_FACTOR),
            parameters.cpu,
            configuration.get(kubernetes.JOBMANAGER_CPU_LIMIT_FACTOR),
        )
        pod = init_main_container(pod, parameters, requests, limits)
        pod = self._ports(pod)
        pod = pod.add_env(*(variable(name, v) for name, v in parameters.environment.items()))
        pod = pod.add_env(variable_from_field(ENV_POD_IP, "status.podIP"))
        log_directory = configuration.get(kubernetes.FLINK_LOG_DIR)
        if log_directory is not None:
            pod = pod.add_env(variable(ENV_LOG_DIRECTORY, log_directory))
        return self._user_artifacts(pod)

    def _restart_policy(self, pod: FlinkPod) -> FlinkPod:
        """A Deployment permits no other policy than Always, whatever a template says.

        Without one in the template the field is left to Kubernetes, which takes Always. Flink
        documents that it overwrites the template's value, and does not.
        """
        policy = pod.spec.get("restartPolicy")
        if policy is None:
            return pod
        if policy != "Always":
            pod = pod.note(
                f"pod template {pod.source}: restartPolicy {policy} is replaced by Always, "
                "the only one that a Deployment permits"
            )
        return pod.with_spec(restartPolicy="Always")

    def _ports(self, pod: FlinkPod) -> FlinkPod:
        """With host network the ports are random, and known only when the JobManager runs."""
        if self.parameters.host_network:
            return pod
        ports = {
            names.REST_PORT: self.parameters.rest_port,
            names.JOBMANAGER_RPC_PORT: self.parameters.rpc_port,
            names.BLOB_SERVER_PORT: self.parameters.blob_server_port,
        }
        entries = ({"name": name, "containerPort": port} for name, port in ports.items())
        return pod.add_ports(*entries)

    def _user_artifacts(self, pod: FlinkPod) -> FlinkPod:
        """Room for the jars that an application fetches from remote addresses."""
        if not self.parameters.version.user_artifacts_volume:
            return pod
        path = self.parameters.user_artifacts_directory
        volume = {"name": USER_ARTIFACTS_VOLUME, "emptyDir": {}}
        return pod.add_volumes(volume).add_mounts(mount(USER_ARTIFACTS_VOLUME, path))
