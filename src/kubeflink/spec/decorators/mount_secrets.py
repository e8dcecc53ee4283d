"""Secrets as files (MountSecretsDecorator)."""

from __future__ import annotations

from kubeflink.spec.decorators.decorator import Decorator
from kubeflink.spec.parameters import Parameters
from kubeflink.spec.pod import FlinkPod, mount


class MountSecrets(Decorator[Parameters]):
    """`kubernetes.secrets`: one volume and one mount for each Secret."""

    def decorate(self, pod: FlinkPod) -> FlinkPod:
        for secret, path in self.parameters.secrets.items():
            volume = f"{secret}-volume"
            pod = pod.add_volumes({"name": volume, "secret": {"secretName": secret}})
            pod = pod.add_mounts(mount(volume, path))
        return pod
