"""The `scale` subresource of Deployments and ReplicaSets: the number of replicas as an object."""

from __future__ import annotations

from typing import Any

import msgspec

from kubeflink import objects
from kubeflink.apiserver import statuses
from kubeflink.objects import JsonObject


class _ScaleMetadata(msgspec.Struct, rename="camel"):
    resource_version: str | None = None


class _ScaleSpec(msgspec.Struct):
    replicas: int = 0


class _Scale(msgspec.Struct):
    metadata: _ScaleMetadata | None = None
    spec: _ScaleSpec | None = None


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
    try:
        wanted = msgspec.convert(scale, _Scale)
    except msgspec.ValidationError as error:
        raise statuses.bad_request(
            f'Scale in version "v1" cannot be handled as a Scale: {error}'
        ) from error
    replicas = wanted.spec.replicas if wanted.spec else 0
    metadata = dict(workload["metadata"])
    if wanted.metadata and (version := wanted.metadata.resource_version):
        metadata["resourceVersion"] = version
    return {
        **workload,
        "metadata": metadata,
        "spec": {**workload["spec"], "replicas": replicas},
    }
