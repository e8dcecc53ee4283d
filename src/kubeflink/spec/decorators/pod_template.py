"""The TaskManagers' pod template, for the JobManager to use (PodTemplateMountDecorator).

The template travels as a ConfigMap: its file is on the client's machine, and the JobManager that
creates TaskManagers cannot reach it there.
"""

from __future__ import annotations

from kubeflink.objects import JsonObject
from kubeflink.spec import names
from kubeflink.spec.decorators.decorator import Decorator
from kubeflink.spec.parameters import JobManagerParameters
from kubeflink.spec.pod import FlinkPod, config_map, config_map_volume, mount

VOLUME = "pod-template-volume"
DIRECTORY = "/opt/flink/pod-template"
FILE = "taskmanager-pod-template.yaml"


class PodTemplateMount(Decorator[JobManagerParameters]):
    """A ConfigMap with the text of the template as it is."""

    def decorate(self, pod: FlinkPod) -> FlinkPod:
        if self.parameters.inputs.taskmanager_template is None:
            return pod
        name = names.pod_template_config_map_name(self.parameters.cluster_id)
        volume = config_map_volume(VOLUME, name, {FILE: FILE})
        return pod.add_volumes(volume).add_mounts(mount(VOLUME, DIRECTORY))

    def accompanying(self) -> list[JsonObject]:
        template = self.parameters.inputs.taskmanager_template
        if template is None:
            return []
        name = names.pod_template_config_map_name(self.parameters.cluster_id)
        return [config_map(name, {FILE: template.text}, self.parameters.common_labels)]
