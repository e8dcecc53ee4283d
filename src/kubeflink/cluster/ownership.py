"""Whose an object is: this cluster's, another Flink cluster's, or somebody else's.

Flink's client takes whatever has the right name for its own. It reports a cluster where there is
only somebody's Service called `<id>-rest`, overwrites a ConfigMap of the right name, and deletes a
Deployment that it failed to create because it was there. Here names prove nothing: an object is a
cluster's own if it carries the labels that Flink puts on everything it makes, or, for the two
Kerberos objects that get none, if it is owned by the cluster's Deployment.
"""

from __future__ import annotations

from kubeflink import objects
from kubeflink.objects import JsonObject
from kubeflink.spec import names


def is_of_cluster(obj: JsonObject, cluster_id: str) -> bool:
    """Whether Flink, or kubeflink, made this object for that cluster."""
    labels = objects.labels_of(obj)
    if all(labels.get(key) == value for key, value in names.common_labels(cluster_id).items()):
        return True
    references = objects.metadata(obj).get("ownerReferences") or ()
    deployment = ("Deployment", names.deployment_name(cluster_id))
    return any((ref.get("kind"), ref.get("name")) == deployment for ref in references)


def is_native(obj: JsonObject) -> bool:
    """Whether it belongs to any cluster of Flink's native integration."""
    return objects.labels_of(obj).get(names.LABEL_TYPE) == names.NATIVE_TYPE


def owner_of(obj: JsonObject) -> str:
    """Whose it is, for a message: the best evidence that the object itself carries."""
    labels = objects.labels_of(obj)
    for ref in objects.metadata(obj).get("ownerReferences") or ():
        return f"it is owned by {ref.get('kind')} {ref.get('name')}"
    if is_native(obj):
        return f"it belongs to the Flink cluster {labels.get(names.LABEL_APP)}"
    for key in ("app.kubernetes.io/managed-by", "app.kubernetes.io/name", names.LABEL_APP):
        if key in labels:
            return f"it is labelled {key}={labels[key]}"
    fields = objects.metadata(obj).get("managedFields") or ()
    if fields and fields[0].get("manager"):
        return f"it was made by {fields[0]['manager']}"
    return "it carries no label of Flink's"


def flink_deployment_of(obj: JsonObject) -> str | None:
    """The operator's `FlinkDeployment` that rules this object; None for a free cluster."""
    for ref in objects.metadata(obj).get("ownerReferences") or ():
        if ref.get("kind") == "FlinkDeployment":
            return str(ref.get("name"))
    return None
