"""Keytab and krb5.conf (KerberosMountDecorator).

The two objects carry no labels, as with Flink; only their owner reference leads to them.
"""

from __future__ import annotations

import base64

from kubeflink.config.options import kubernetes
from kubeflink.objects import JsonObject
from kubeflink.spec import names
from kubeflink.spec.cluster_side import MOUNTED_KEYTAB_DIRECTORY
from kubeflink.spec.decorators.decorator import Decorator
from kubeflink.spec.parameters import Parameters
from kubeflink.spec.pod import FlinkPod, config_map, config_map_volume, mount

KEYTAB_VOLUME = "kerberos-keytab-volume"

KRB5_VOLUME = "kerberos-krb5conf-volume"
KRB5_PATH = "/etc/krb5.conf"
KRB5_FILE = "krb5.conf"


class Kerberos(Decorator[Parameters]):
    """A Secret with the keytab, a ConfigMap with the `krb5.conf` whatever its file is called."""

    def decorate(self, pod: FlinkPod) -> FlinkPod:
        inputs, cluster_id = self.parameters.inputs, self.parameters.cluster_id
        if not self._is_enabled():
            return pod
        if inputs.keytab is not None:
            secret = {"secretName": names.keytab_secret_name(cluster_id)}
            pod = pod.add_volumes({"name": KEYTAB_VOLUME, "secret": secret})
            pod = pod.add_mounts(mount(KEYTAB_VOLUME, MOUNTED_KEYTAB_DIRECTORY))
        if inputs.krb5_conf is not None:
            name = names.krb5_config_map_name(cluster_id)
            items = {inputs.krb5_conf.name: KRB5_FILE}
            pod = pod.add_volumes(config_map_volume(KRB5_VOLUME, name, items))
            pod = pod.add_mounts(mount(KRB5_VOLUME, KRB5_PATH, subPath=KRB5_FILE))
        return pod

    def accompanying(self) -> list[JsonObject]:
        inputs, cluster_id = self.parameters.inputs, self.parameters.cluster_id
        objects: list[JsonObject] = []
        if not self._is_enabled():
            return objects
        if (keytab := inputs.keytab) is not None:
            objects.append(
                {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {"name": names.keytab_secret_name(cluster_id)},
                    "data": {keytab.name: base64.b64encode(keytab.content).decode("ascii")},
                }
            )
        if (krb5_conf := inputs.krb5_conf) is not None:
            name = names.krb5_config_map_name(cluster_id)
            objects.append(config_map(name, {krb5_conf.name: krb5_conf.text}, None))
        return objects

    def _is_enabled(self) -> bool:
        return self.parameters.configuration.get(kubernetes.DECORATOR_KERBEROS_MOUNT_ENABLED)
