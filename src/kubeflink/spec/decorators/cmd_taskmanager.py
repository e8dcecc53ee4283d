"""The start command of a TaskManager (CmdTaskManagerDecorator)."""

from __future__ import annotations

from kubeflink.config.options import kubernetes
from kubeflink.spec.decorators.decorator import Decorator
from kubeflink.spec.parameters import TaskManagerParameters
from kubeflink.spec.pod import FlinkPod, variable

SCRIPT = "kubernetes-taskmanager.sh"
ENV_MEMORY_ARGUMENTS = "FLINK_TM_JVM_MEM_OPTS"


class TaskManagerCommand(Decorator[TaskManagerParameters]):
    """Entry point of the image, the arguments, and the memory arguments of the JVM.

    The start script computes no memory: the JobManager decides how much each TaskManager gets.
    """

    def decorate(self, pod: FlinkPod) -> FlinkPod:
        parameters, configuration = self.parameters, self.parameters.configuration
        resources = [f"-D {key}={value}" for key, value in parameters.memory.dynamic_properties()]
        arguments = configuration.get(kubernetes.TASKMANAGER_ENTRYPOINT_ARGS)
        line = " ".join([SCRIPT, parameters.dynamic_properties, *resources, arguments])
        memory = variable(ENV_MEMORY_ARGUMENTS, " ".join(parameters.memory.jvm_arguments()))
        return pod.add_env(memory).with_main_container(
            command=[configuration.get(kubernetes.ENTRY_PATH)], args=["bash", "-c", line]
        )
