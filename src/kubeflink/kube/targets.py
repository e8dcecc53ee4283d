"""Which pod and which port a port-forward leads to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubeflink import errors, objects
from kubeflink.kube.client import KubeClient
from kubeflink.objects import JsonObject


@dataclass(frozen=True, slots=True)
class Target:
    """A port of a pod."""

    pod: str
    port: int


async def of_pod(client: KubeClient, pod: str, port: int, namespace: str) -> Target:
    """The pod itself, if it runs."""
    found = await client.get(objects.PODS, pod, namespace)
    if not is_running(found):
        phase = (found.get("status") or {}).get("phase", "Unknown")
        raise errors.ClusterError(
            f'Pod {pod} in namespace "{namespace}" is not running (phase {phase})'
        )
    return Target(pod, port)


async def of_service(
    client: KubeClient, service: str, port: int | str, namespace: str, avoid: str | None = None
) -> Target:
    """A pod behind a Service: the youngest ready one, else the youngest that runs.

    `avoid` is a pod that has just failed; it is taken only if there is no other.
    """
    found = await client.get(objects.SERVICES, service, namespace)
    selector: Mapping[str, str] = (found.get("spec") or {}).get("selector") or {}
    if not selector:
        raise errors.ClusterError(
            f'Service {service} in namespace "{namespace}" selects no pods',
            hint="Forward to a pod instead.",
        )
    pods = (await client.list(objects.PODS, namespace, labels=selector)).items
    pod = choose(pods, avoid)
    if pod is None:
        raise errors.NoPodRunningError(
            f'No pod of Service {service} in namespace "{namespace}" is running'
        )
    return Target(objects.name_of(pod), target_port(found, port, pod))


def choose(pods: Sequence[JsonObject], avoid: str | None = None) -> JsonObject | None:
    """The pod to take of those that a Service selects."""
    running = [pod for pod in pods if is_running(pod)]

    def rank(pod: JsonObject) -> tuple[bool, bool, str]:
        created = str(objects.metadata(pod).get("creationTimestamp", ""))
        return objects.name_of(pod) != avoid, is_ready(pod), created

    return max(running, key=rank, default=None)


def is_running(pod: JsonObject) -> bool:
    """Whether the pod's containers run and are not about to be stopped."""
    phase = (pod.get("status") or {}).get("phase")
    return phase == "Running" and not objects.metadata(pod).get("deletionTimestamp")


def is_ready(pod: JsonObject) -> bool:
    """Whether the pod's condition `Ready` is true."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def target_port(service: JsonObject, wanted: int | str, pod: JsonObject) -> int:
    """The container's port behind a Service's port, given by number or by name."""
    ports = (service.get("spec") or {}).get("ports") or ()
    for port in ports:
        if wanted in (port.get("port"), port.get("name")):
            target = port.get("targetPort") or port["port"]
            return target if isinstance(target, int) else _container_port(pod, str(target))
    known = ", ".join(str(port.get("name") or port.get("port")) for port in ports) or "none"
    raise errors.ClusterError(
        f"Service {objects.name_of(service)} has no port {wanted}", hint=f"Its ports: {known}"
    )


def _container_port(pod: JsonObject, name: str) -> int:
    for container in (pod.get("spec") or {}).get("containers") or ():
        for port in container.get("ports") or ():
            if port.get("name") == name:
                return int(port["containerPort"])
    raise errors.ClusterError(f"Pod {objects.name_of(pod)} has no container port named {name}")
