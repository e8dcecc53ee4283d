"""Kubernetes objects as kubeflink holds them: plain JSON mappings, never model classes.

What Flink's decorators build, what the API server stores and what goes over the wire is the same
thing, so that nothing is lost or added on the way; and no package of generated models has to be
imported to make seven requests. This module names the kinds and reads the common fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object; a Kubernetes object when it has `kind` and `metadata`."""

EMBEDDED_EXTENSION: Final = "kubeflink.io/embedded"
"""Marks, in a kubeconfig, a cluster whose pods are processes of this machine: see `local`."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of objects as the API serves it: `group` is empty for the core group."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As objects carry it: `v1`, `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def collection_path(self, namespace: str | None = None) -> str:
        """The path of the collection; of all namespaces, or of a cluster-wide kind, without one."""
        prefix = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if self.namespaced and namespace is not None:
            return f"{prefix}/namespaces/{namespace}/{self.plural}"
        return f"{prefix}/{self.plural}"

    def path(self, name: str, namespace: str | None = None) -> str:
        """The path of one object."""
        return f"{self.collection_path(namespace)}/{name}"


PODS = Resource("", "v1", "Pod", "pods")
SERVICES = Resource("", "v1", "Service", "services")
ENDPOINTS = Resource("", "v1", "Endpoints", "endpoints")
CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps")
SECRETS = Resource("", "v1", "Secret", "secrets")
SERVICE_ACCOUNTS = Resource("", "v1", "ServiceAccount", "serviceaccounts")
EVENTS = Resource("", "v1", "Event", "events")
NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
NODES = Resource("", "v1", "Node", "nodes", namespaced=False)
DEPLOYMENTS = Resource("apps", "v1", "Deployment", "deployments")
REPLICA_SETS = Resource("apps", "v1", "ReplicaSet", "replicasets")
ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
ROLES = Resource("rbac.authorization.k8s.io", "v1", "Role", "roles")
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")

RESOURCES: tuple[Resource, ...] = (
    PODS,
    SERVICES,
    ENDPOINTS,
    CONFIG_MAPS,
    SECRETS,
    SERVICE_ACCOUNTS,
    EVENTS,
    NAMESPACES,
    NODES,
    DEPLOYMENTS,
    REPLICA_SETS,
    ENDPOINT_SLICES,
    ROLES,
    ROLE_BINDINGS,
)

_BY_KIND = {(resource.api_version, resource.kind): resource for resource in RESOURCES}


def resource_of(obj: Mapping[str, Any]) -> Resource:
    """The resource that serves this object's kind; `KeyError` for a kind that is not known here."""
    return _BY_KIND[obj["apiVersion"], obj["kind"]]


def metadata(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object's metadata; empty where there is none."""
    return obj.get("metadata") or {}


def name_of(obj: Mapping[str, Any]) -> str:
    """The object's name; empty where it has none yet."""
    return str(metadata(obj).get("name", ""))


def namespace_of(obj: Mapping[str, Any]) -> str | None:
    """The object's namespace; None for a cluster-wide object or before it was created."""
    return metadata(obj).get("namespace")


def uid_of(obj: Mapping[str, Any]) -> str:
    """The uid that the server gave; empty before the object was created."""
    return str(metadata(obj).get("uid", ""))


def labels_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """The object's labels."""
    return metadata(obj).get("labels") or {}


def annotations_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """The object's annotations."""
    return metadata(obj).get("annotations") or {}


def owner_reference(owner: Mapping[str, Any]) -> JsonObject:
    """A reference that makes the garbage collector remove its bearer together with `owner`.

    `controller` and `blockOwnerDeletion` are set, as Flink does for everything that accompanies a
    JobManager Deployment (KubernetesUtils, setOwnerReference).
    """
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": uid_of(owner),
        "blockOwnerDeletion": True,
        "controller": True,
    }


def owner_uids(obj: Mapping[str, Any]) -> frozenset[str]:
    """The uids of all owners."""
    return frozenset(ref["uid"] for ref in metadata(obj).get("ownerReferences") or ())


def label_selector(labels: Mapping[str, str]) -> str:
    """An equality selector as the API takes it: `app=demo,component=taskmanager`."""
    return ",".join(f"{key}={value}" for key, value in labels.items())
