"""Small Kubernetes objects for tests."""

from __future__ import annotations

from kubeflink.objects import JsonObject

COLLECTION = "/api/v1/namespaces/default"
PODS = f"{COLLECTION}/pods"
SERVICES = f"{COLLECTION}/services"
CONFIG_MAPS = f"{COLLECTION}/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def config_map(name: str, labels: dict[str, str] | None = None, **data: str) -> JsonObject:
    metadata: JsonObject = {"name": name}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def pod(name: str, labels: dict[str, str] | None = None, **spec: object) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"containers": [{"name": "main", "image": "flink:2.3"}], **spec},
    }


def deployment(name: str, replicas: int = 1) -> JsonObject:
    labels = {"app": name}
    container = {"name": "main", "image": "flink:2.3", "ports": [{"containerPort": 8081}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def service(name: str, type: str = "ClusterIP", **spec: object) -> JsonObject:  # noqa: A002
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"type": type, "selector": {"app": name}, "ports": [{"port": 8081}], **spec},
    }
