"""From options and keyword arguments to a configuration and a client of the right API server.

The own interface has kubectl's habits: the namespace is that of the kubeconfig context unless one
is asked for, by argument or by `kubernetes.namespace`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kubeflink.kube import kubeconfig as kubeconfigs
from kubeflink.kube.client import KubeClient

if TYPE_CHECKING:
    from kubeflink.config import Configuration
    from kubeflink.config.rest_tls import RestTls


@dataclass(frozen=True, slots=True)
class Connection:
    """Which API server: the arguments that kubectl knows too. None takes kubectl's defaults."""

    kubeconfig: str | Path | None = None
    context: str | None = None
    namespace: str | None = None
    rest_tls: RestTls | None = None
    """For the REST APIs of its clusters, on top of what a configuration says."""

    def client(self, *, environ: Mapping[str, str] = os.environ) -> KubeClient:
        """A client; no request is made. Raises KubeconfigError."""
        access = kubeconfigs.load(
            self.kubeconfig, self.context, namespace=self.namespace, environ=environ
        )
        return KubeClient.of(replace(access, rest_tls=self.rest_tls), environ=environ)


def configured(
    connection: Connection,
    name: str | None,
    options: Mapping[str, object] | None,
    *,
    conf_dir: str | Path | None = None,
    flink_version: str | None = None,
    strict: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> tuple[Configuration, KubeClient]:
    """The configuration for a cluster of that name, and a client for where it is to be.

    Arguments win over options, and options over the configuration file. Raises ConfigurationError
    and KubeconfigError; no request is made.
    """
    from kubeflink import config
    from kubeflink.config.options import kubernetes as k8s

    overrides: dict[str, object] = dict(options or {})
    if name is not None:
        overrides[k8s.CLUSTER_ID.key] = name
    if connection.namespace is not None:
        overrides[k8s.NAMESPACE.key] = connection.namespace
    configuration = config.load(
        conf_dir=conf_dir,
        overrides=overrides,
        version=flink_version,
        strict=strict,
        environ=environ,
    )
    configuration = with_default_memory(configuration)
    access = kubeconfigs.load(
        connection.kubeconfig or configuration.get(k8s.CONFIG_FILE),
        connection.context or configuration.get(k8s.CONTEXT),
        environ=environ,
    )
    wanted = configuration.get_optional(k8s.NAMESPACE)
    if wanted is None:
        configuration = configuration.with_values({k8s.NAMESPACE.key: access.namespace})
    tls = _rest_tls(configuration, connection.rest_tls)
    access = replace(access, namespace=wanted or access.namespace, rest_tls=tls)
    user_agent = configuration.get_optional(k8s.CLIENT_USER_AGENT)
    return configuration, KubeClient.of(access, user_agent=user_agent, environ=environ)


def _rest_tls(configuration: Configuration, given: RestTls | None) -> RestTls | None:
    """What the configuration says about TLS, whose files may be the pods' own, and what is given.

    Whether it can be used is seen here, before anything is deployed. Raises ConfigurationError.
    """
    from kubeflink.config.rest_tls import rest_tls

    found = rest_tls(configuration)
    found = given if found is None else found.with_files_of(given)
    if found is not None and found.is_pinned:
        from kubeflink.rest.tls import context_of

        context_of(found)
    return found


def with_default_memory(configuration: Configuration) -> Configuration:
    """The configuration with sizes for the processes that have none.

    Flink itself has no default for them: its distribution brings a configuration file, with these
    values. Who deploys without a file means the same.
    """
    from kubeflink.config.options import jobmanager, taskmanager

    values: dict[str, object] = {}
    jobmanager_sizes = (
        jobmanager.MEMORY_PROCESS_SIZE,
        jobmanager.MEMORY_FLINK_SIZE,
        jobmanager.MEMORY_HEAP_SIZE,
        jobmanager.HEAP_SIZE,
    )
    taskmanager_sizes = (
        taskmanager.MEMORY_PROCESS_SIZE,
        taskmanager.MEMORY_FLINK_SIZE,
        taskmanager.MEMORY_TASK_HEAP_SIZE,
        taskmanager.HEAP_SIZE,
    )
    if not any(configuration.contains(option) for option in jobmanager_sizes):
        values[jobmanager.MEMORY_PROCESS_SIZE.key] = "1600m"
    if not any(configuration.contains(option) for option in taskmanager_sizes):
        values[taskmanager.MEMORY_PROCESS_SIZE.key] = "1728m"
    return configuration.with_values(values) if values else configuration
