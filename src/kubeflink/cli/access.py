"""Which API server a command talks to, and in which namespace.

The drop-in commands do as Flink does: `kubernetes.config.file`, `kubernetes.context` and
`kubernetes.namespace`, whose default is `default` whatever the kubeconfig says. The own commands do
as `kubectl` does. The difference has surprised enough people for a line about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubeflink.cli import console, next_step

if TYPE_CHECKING:
    from kubeflink.config import Configuration
    from kubeflink.config.rest_tls import RestTls
    from kubeflink.kube import KubeClient


def configured_client(configuration: Configuration) -> KubeClient:
    """A client for what Flink's options say. Nothing is sent; raises `KubeconfigError`."""
    from dataclasses import replace

    from kubeflink.config.options import kubernetes as k8s
    from kubeflink.kube import KubeClient, kubeconfig

    access = kubeconfig.load(
        configuration.get(k8s.CONFIG_FILE),
        configuration.get(k8s.CONTEXT),
    )
    namespace = configuration.get(k8s.NAMESPACE)
    if not configuration.contains(k8s.NAMESPACE) and access.namespace != namespace:
        console.say(
            f"namespace {namespace}, as Flink has it, not {access.namespace} of the kubeconfig"
            f" context; -Dkubernetes.namespace={access.namespace} chooses that one"
        )
    _say_notices(access.notices)
    next_step.remember(
        {
            # The own commands follow the context where no namespace is named.
            "namespace": None if access.namespace == namespace else namespace,
            "context": configuration.get(k8s.CONTEXT),
            "kubeconfig": configuration.get(k8s.CONFIG_FILE),
        }
    )
    return KubeClient.of(
        replace(access, namespace=namespace, rest_tls=rest_tls_of(configuration)),
        user_agent=configuration.get_optional(k8s.CLIENT_USER_AGENT),
    )


def rest_tls_of(configuration: Configuration) -> RestTls | None:
    """What the configuration says of TLS with the REST API, with files of this machine.

    Those that it names may be the pods' own; the environment can name others.
    """
    from os import environ

    from kubeflink.config import rest_tls

    found = rest_tls.rest_tls(configuration)
    if found is None:
        return None
    files = environ.get(rest_tls.CA_VARIABLE), environ.get(rest_tls.CERTIFICATE_VARIABLE)
    return found.with_files_of(rest_tls.given_files(*files))


def context_client(
    *, kubeconfig: str | None, context: str | None, namespace: str | None
) -> KubeClient:
    """A client by kubectl's rules. Nothing is sent; raises `KubeconfigError`."""
    from kubeflink.kube import KubeClient

    client = KubeClient.connect(kubeconfig=kubeconfig, context=context, namespace=namespace)
    _say_notices(client.access.notices)
    return client


def _say_notices(found: tuple[str, ...]) -> None:
    for notice in found:
        console.say(notice)
