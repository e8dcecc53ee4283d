"""What a decorator is.

A decorator is one concern of a pod: it adds its part to the pod and names the objects that have to
accompany it. Decorators know nothing of each other; the lists in `spec.jobmanager` and
`spec.taskmanager` say which there are and in which order they work (`KubernetesStepDecorator`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from kubeflink.objects import JsonObject
from kubeflink.spec.parameters import Parameters
from kubeflink.spec.pod import FlinkPod

P = TypeVar("P", bound=Parameters, covariant=True)


class Step(Protocol):
    """What a list of decorators consists of, whatever parameters each of them wants."""

    def decorate(self, pod: FlinkPod) -> FlinkPod: ...

    def accompanying(self) -> list[JsonObject]: ...


@dataclass(frozen=True, slots=True)
class Decorator(Generic[P]):
    """Base of all decorators; by itself it adds nothing."""

    parameters: P

    def decorate(self, pod: FlinkPod) -> FlinkPod:
        """The pod with this decorator's part. Pure."""
        return pod

    def accompanying(self) -> list[JsonObject]:
        """The objects that are created beside the Deployment, in order, without owner. Pure."""
        return []
