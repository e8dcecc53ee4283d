"""The `scale` subresource of Deployments and ReplicaSets: the number of replicas as an object."""

from __future__ import annotations

from typing import Any

from kubeflink import objects
from kubeflink.apiserver import statuses
from kubeflink.objects import JsonObject


def scale_of(workload: JsonObject) -> JsonObject:
    """The Scale of a workload."""
    metadata = workload["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    labels = (workload["spec"].get("selector") or {}).get("matchLabels") or {}
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in kept if key in metadata},
        "spec": {"replicas": workload["spec"].get("replicas", 1)},
        "status": {
            "replicas": (workload.get("status") or {}).get("replicas", 0),
            "selector": objects.label_selector(labels),
        },
    }


def with_replicas(workload: JsonObject, scale: Any) -> JsonObject:
    """The workload with the replicas (and the version as a precondition) of a Scale."""
    spec = scale.get("spec") if isinstance(scale, dict) else None
    replicas = (spec or {}).get("replicas", 0) if isinstance(spec or {}, dict) else None
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise statuses.bad_request(
            'Scale in version "v1" cannot be handled as a Scale: spec.replicas is no number'
        )
    metadata = dict(workload["metadata"])
    if version := (scale.get("metadata") or {}).get("resourceVersion"):
        metadata["resourceVersion"] = version
    return {
        **workload,
        "metadata": metadata,
        "spec": {**workload["spec"], "replicas": replicas},
    }
