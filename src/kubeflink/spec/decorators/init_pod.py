"""What the first decorators of both roles have in common.

The precedence of a value that both an option and the pod template can have is: an option that was
set, then the template, then the option's default (`KubernetesUtils.resolveUserDefinedValue`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from kubeflink.config.java_text import java_double
from kubeflink.config.options import kubernetes
from kubeflink.config.options.option import Option
from kubeflink.config.units import MAX_INT
from kubeflink.config.values import excerpt
from kubeflink.errors import ConfigurationError
from kubeflink.objects import JsonObject
from kubeflink.spec import names
from kubeflink.spec.parameters import Parameters
from kubeflink.spec.pod import FlinkPod

ENV_LOG_DIRECTORY = "FLINK_LOG_DIR"

_TOLERATION_FIELDS = ("key", "operator", "value", "effect", "tolerationSeconds")


def init_pod(pod: FlinkPod, parameters: Parameters) -> FlinkPod:
    """Everything that is not of the main container, but for labels and annotations."""
    host_network = parameters.host_network
    account = _resolve(
        parameters,
        parameters.service_account_option,
        parameters.configuration.get(parameters.service_account_option),
        pod.spec.get("serviceAccount", pod.spec.get("serviceAccountName")),
    )
    pod = pod.with_spec(
        serviceAccount=account,
        serviceAccountName=account,
        hostNetwork=host_network,
        dnsPolicy=_dns_policy(pod, host_network),
    )
    keep_empty = parameters.version.sends_empty_mappings
    return (
        pod.add_labels(parameters.labels)
        .add_annotations(parameters.annotations, keep_empty=keep_empty)
        .add_pull_secrets(parameters.image_pull_secrets)
        .add_node_selector(parameters.node_selector, keep_empty=keep_empty)
        .add_tolerations(map(toleration, parameters.tolerations))
    )


def init_main_container(
    pod: FlinkPod, parameters: Parameters, requests: JsonObject, limits: JsonObject
) -> FlinkPod:
    """Name, image and resources of the main container; other resources of a template stay."""
    container = pod.main_container
    resources = container.get("resources", {})
    policy = kubernetes.CONTAINER_IMAGE_PULL_POLICY
    return pod.with_main_container(
        name=names.MAIN_CONTAINER,
        image=_resolve(
            parameters, kubernetes.CONTAINER_IMAGE_REF, parameters.image, container.get("image")
        ),
        imagePullPolicy=_resolve(
            parameters,
            policy,
            parameters.configuration.get(policy),
            container.get("imagePullPolicy"),
        ),
        resources={
            **resources,
            "requests": {**resources.get("requests", {}), **requests},
            "limits": {**resources.get("limits", {}), **limits},
        },
    )


def quantities(
    memory_mib: int, memory_factor: float, cpu: float, cpu_factor: float
) -> tuple[JsonObject, JsonObject]:
    """Requests and limits of memory and CPU, as text.

    A memory limit is rounded down to MiB, and ends where Java's `int` does.
    """
    requests = {"memory": f"{memory_mib}Mi", "cpu": java_double(cpu)}
    limits = {
        "memory": f"{int(min(memory_mib * memory_factor, MAX_INT))}Mi",
        "cpu": java_double(cpu * cpu_factor),
    }
    return requests, limits


def toleration(fields: Mapping[str, str]) -> JsonObject:
    """A toleration from Flink's notation; fields that Kubernetes does not know are left out."""
    result: JsonObject = {n: value for n, value in fields.items() if n in _TOLERATION_FIELDS}
    seconds = result.get("tolerationSeconds")
    if seconds is not None:
        try:
            result["tolerationSeconds"] = int(seconds)
        except ValueError as error:
            raise ConfigurationError(
                f"tolerationSeconds of a toleration must be a whole number, not {excerpt(seconds)}"
            ) from error
    return result


def unknown_fields(what: str, fields: Mapping[str, str], known: tuple[str, ...]) -> Iterable[str]:
    """A remark for each field that is left out, with the nearest known one."""
    for name in fields:
        if name not in known:
            import difflib

            near = difflib.get_close_matches(name, known, n=1)
            advice = f" (did you mean {near[0]}?)" if near else ""
            yield f"a {what} has no field {name!r}; it is left out{advice}"


def _dns_policy(pod: FlinkPod, host_network: bool) -> str:
    if host_network:
        return "ClusterFirstWithHostNet"
    return str(pod.spec.get("dnsPolicy") or "ClusterFirst")


T = TypeVar("T")


def _resolve(
    parameters: Parameters, option: Option[T], value: object, in_template: object
) -> object:
    if in_template is None or parameters.configuration.contains(option):
        return value
    return in_template
