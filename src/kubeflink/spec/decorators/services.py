"""What both Services of a cluster have in common (AbstractServiceDecorator)."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflink.objects import JsonObject
from kubeflink.spec.parameters import JobManagerParameters


def service(
    parameters: JobManagerParameters,
    name: str,
    *,
    labels: Mapping[str, str] | None,
    annotations: Mapping[str, str] | None,
    spec: JsonObject,
) -> JsonObject:
    """A Service in front of the JobManager. Here, unlike on pods, user labels win."""
    metadata: JsonObject = {"name": name, "labels": {**parameters.common_labels, **(labels or {})}}
    if annotations is not None:
        metadata["annotations"] = dict(annotations)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {**spec, "selector": parameters.selector},
    }
