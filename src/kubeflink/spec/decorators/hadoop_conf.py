"""Hadoop's configuration files (HadoopConfMountDecorator)."""

from __future__ import annotations

from kubeflink.config.options import kubernetes
from kubeflink.objects import JsonObject
from kubeflink.spec import names
from kubeflink.spec.decorators.decorator import Decorator
from kubeflink.spec.parameters import Parameters
from kubeflink.spec.pod import FlinkPod, config_map, config_map_volume, mount, variable

VOLUME = "hadoop-config-volume"
DIRECTORY = "/opt/hadoop/conf"
ENV_DIRECTORY = "HADOOP_CONF_DIR"


class HadoopConf(Decorator[Parameters]):
    """Mounts an existing ConfigMap, or one that is made from the client's files."""

    def decorate(self, pod: FlinkPod) -> FlinkPod:
        volume = self._volume()
        if volume is None:
            return pod
        pod = pod.add_volumes(volume).add_mounts(mount(VOLUME, DIRECTORY))
        return pod.add_env(variable(ENV_DIRECTORY, DIRECTORY))

    def _volume(self) -> JsonObject | None:
        if not self._is_enabled():
            return None
        existing = self.parameters.hadoop_config_map
        if existing is not None:
            return config_map_volume(VOLUME, existing)
        files = self.parameters.inputs.hadoop_files
        if not files:
            return None
        name = names.hadoop_config_map_name(self.parameters.cluster_id)
        return config_map_volume(VOLUME, name, {file: file for file in files})

    def accompanying(self) -> list[JsonObject]:
        parameters = self.parameters
        files = parameters.inputs.hadoop_files
        if not self._is_enabled() or parameters.hadoop_config_map is not None or not files:
            return []
        name = names.hadoop_config_map_name(parameters.cluster_id)
        return [config_map(name, files, parameters.common_labels)]

    def _is_enabled(self) -> bool:
        configuration = self.parameters.configuration
        return configuration.get(kubernetes.DECORATOR_HADOOP_CONF_MOUNT_ENABLED)
