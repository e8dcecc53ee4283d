"""Image, resources, port, identity and placement of a TaskManager (InitTaskManagerDecorator)."""

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
from kubeflink.spec.parameters import TaskManagerParameters
from kubeflink.spec.pod import FlinkPod, variable, variable_from_field

ENV_POD_NODE = "_POD_NODE_ID"


class InitTaskManager(Decorator[TaskManagerParameters]):
    """The first decorator of a TaskManager."""

    def decorate(self, pod: FlinkPod) -> FlinkPod:
        parameters, configuration = self.parameters, self.parameters.configuration
        policy = pod.spec.get("restartPolicy", "Never")
        if policy != "Never":
            pod = pod.note(
                f"pod template {pod.source}: restartPolicy {policy} is replaced by Never, "
                "because the JobManager replaces TaskManagers itself"
            )
        pod = init_pod(pod, parameters).with_spec(restartPolicy="Never")
        pod = pod.with_metadata(name=parameters.pod_name)
        requests, limits = quantities(
            parameters.memory_mib,
            configuration.get(kubernetes.TASKMANAGER_MEMORY_LIMIT_FACTOR),
            parameters.cpu,
            configuration.get(kubernetes.TASKMANAGER_CPU_LIMIT_FACTOR),
        )
        extended = {name: str(amount) for name, amount in parameters.external_resources.items()}
        pod = init_main_container(pod, parameters, requests | extended, limits | extended)
        if not parameters.host_network:
            port = {"name": names.TASKMANAGER_RPC_PORT, "containerPort": parameters.rpc_port}
            pod = pod.add_ports(port)
        pod = pod.add_env(*(variable(name, v) for name, v in parameters.environment.items()))
        pod = pod.add_env(variable_from_field(ENV_POD_NODE, "spec.nodeName"))
        log_directory = configuration.get(kubernetes.FLINK_LOG_DIR)
        if log_directory is not None:
            pod = pod.add_env(variable(ENV_LOG_DIRECTORY, log_directory))
        return pod
