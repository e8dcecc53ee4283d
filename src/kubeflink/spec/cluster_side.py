"""The configuration as the cluster itself gets it.

It is not quite the client's. What is true only of the client's machine is taken out: the kubeconfig
and the addresses to bind to, of which a freshly unpacked distribution has `localhost`. And some
decorators of Flink change what they were given: the one of the internal Service sets the address
of the JobManager, the one for Kerberos the path of the keytab.
"""

from __future__ import annotations

from typing import Any

from kubeflink.config import Configuration
from kubeflink.config.options import deployment, jobmanager, kubernetes, rest, security, taskmanager
from kubeflink.config.options.option import Option
from kubeflink.spec import names
from kubeflink.spec.inputs import Inputs
from kubeflink.spec.parameters import is_high_availability_on

MOUNTED_KEYTAB_DIRECTORY = "/opt/kerberos/kerberos-keytab"

_CLIENT_ONLY: tuple[Option[Any], ...] = (
    kubernetes.CONFIG_FILE,
    deployment.INTERNAL_DEPLOYMENT_CONFIG_DIR,
    rest.BIND_ADDRESS,
    jobmanager.BIND_HOST,
    taskmanager.BIND_HOST,
    taskmanager.HOST,
)


def cluster_side_configuration(configuration: Configuration, inputs: Inputs) -> Configuration:
    """What is written into the cluster's configuration file (FlinkConfMountDecorator)."""
    values: dict[str, object] = {}
    if not is_high_availability_on(configuration):
        values[jobmanager.RPC_ADDRESS.key] = jobmanager_address(configuration)
    if inputs.keytab is not None:
        values[security.KERBEROS_LOGIN_KEYTAB.key] = mounted_keytab(inputs.keytab.name)
    configuration = configuration.with_values(values) if values else configuration
    present = (configuration.key_of(option) for option in _CLIENT_ONLY)
    return configuration.without(*(key for key in present if key is not None))


def jobmanager_address(configuration: Configuration) -> str:
    """The internal Service, by which TaskManagers find the JobManager again after a restart."""
    cluster_id = configuration.get(kubernetes.CLUSTER_ID) or ""
    namespace = configuration.get(kubernetes.NAMESPACE)
    return names.service_address(names.internal_service_name(cluster_id), namespace)


def mounted_keytab(file_name: str) -> str:
    """Where the keytab is in the pods."""
    return f"{MOUNTED_KEYTAB_DIRECTORY}/{file_name}"
