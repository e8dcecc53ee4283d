"""Flink's configuration file and the logging files (FlinkConfMountDecorator).

The mount hides whatever the image has in its configuration directory.
"""

from __future__ import annotations

from kubeflink.config.options import kubernetes
from kubeflink.objects import JsonObject
from kubeflink.spec import names
from kubeflink.spec.cluster_side import cluster_side_configuration
from kubeflink.spec.decorators.decorator import Decorator
from kubeflink.spec.parameters import Parameters
from kubeflink.spec.pod import FlinkPod, config_map, config_map_volume, mount

VOLUME = "flink-config-volume"


class FlinkConf(Decorator[Parameters]):
    """A ConfigMap that is mounted over the configuration directory of the image."""

    def decorate(self, pod: FlinkPod) -> FlinkPod:
        parameters = self.parameters
        files = [*parameters.inputs.logging_files, parameters.configuration.file_name]
        name = names.config_map_name(parameters.cluster_id)
        volume = config_map_volume(VOLUME, name, {file: file for file in files})
        directory = parameters.configuration.get(kubernetes.FLINK_CONF_DIR)
        return pod.add_volumes(volume).add_mounts(mount(VOLUME, directory))

    def accompanying(self) -> list[JsonObject]:
        parameters = self.parameters
        configuration = cluster_side_configuration(parameters.configuration, parameters.inputs)
        file_name, text = configuration.nested_or_flat_text()
        data = {**parameters.inputs.logging_files, file_name: text}
        name = names.config_map_name(parameters.cluster_id)
        return [config_map(name, data, parameters.common_labels)]
