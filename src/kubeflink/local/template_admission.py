"""Brings the TaskManager's pod template into TaskManager pods.

The JobManager reads the template from `/opt/flink/pod-template`, a fixed path of its image. A
process has no such file, so the pods that it asks for come without what the template says. This
admission step adds it, from the ConfigMap that the JobManager's Deployment mounts, by Flink's own
rules: lists are the template's followed by Flink's, of an entry with the same name Flink's counts,
labels and annotations are merged with Flink's on top, and what Flink sets by itself stays.
"""

from __future__ import annotations

from kubeflink import objects
from kubeflink.apiserver import defaults, statuses
from kubeflink.apiserver.admission import AdmissionRequest
from kubeflink.apiserver.metadata import copy_json
from kubeflink.config.yaml import load_core
from kubeflink.errors import ConfigurationError
from kubeflink.objects import JsonObject

TEMPLATE_KEY = "taskmanager-pod-template.yaml"
MAIN_CONTAINER = "flink-main-container"

# Where each list of a pod's or container's description has the name of an entry.
_POD_LISTS = {"volumes": "name", "imagePullSecrets": "name", "initContainers": "name"}
_CONTAINER_LISTS = {"env": "name", "volumeMounts": "mountPath", "ports": "name"}


class TaskManagerTemplateAdmission:
    """Merges the template into pods with the labels of a TaskManager."""

    def admit(self, request: AdmissionRequest) -> None:
        """Change a TaskManager pod that is being created; others pass."""
        if request.resource != objects.PODS or request.operation != "CREATE":
            return
        if objects.labels_of(request.object).get("component") != "taskmanager":
            return
        text = _template_text(request)
        if text is None:
            return
        try:
            template = load_core(text, TEMPLATE_KEY).value
        except ConfigurationError as error:
            raise statuses.bad_request(f"the TaskManager's pod template: {error.message}") from None
        if isinstance(template, dict):
            merged = merge_template(template, request.object)
            request.object["metadata"] = merged["metadata"]
            request.object["spec"] = merged["spec"]
            # The server's own defaults were filled in before; what the template added has none yet.
            defaults.fill_in(objects.PODS, request.object)


def _template_text(request: AdmissionRequest) -> str | None:
    owners = objects.owner_uids(request.object)
    for deployment in request.existing(objects.DEPLOYMENTS):
        if objects.uid_of(deployment) in owners:
            for volume in deployment["spec"]["template"]["spec"].get("volumes") or ():
                source = volume.get("configMap") or {}
                if any(item.get("path") == TEMPLATE_KEY for item in source.get("items") or ()):
                    return _data(request, objects.namespace_of(deployment), source["name"])
    return None


def _data(request: AdmissionRequest, namespace: str | None, name: str) -> str | None:
    for config_map in request.existing(objects.CONFIG_MAPS):
        if (objects.namespace_of(config_map), objects.name_of(config_map)) == (namespace, name):
            text = (config_map.get("data") or {}).get(TEMPLATE_KEY)
            return None if text is None else str(text)
    return None


def merge_template(template: JsonObject, pod: JsonObject) -> JsonObject:
    """The pod as Flink would have built it on this template."""
    base = copy_json(template)
    metadata = {**pod["metadata"]}
    for key in ("labels", "annotations"):
        values = {**(objects.metadata(base).get(key) or {}), **(metadata.get(key) or {})}
        if values:
            metadata[key] = values
    return {**pod, "metadata": metadata, "spec": _merge_spec(base.get("spec") or {}, pod["spec"])}


def _merge_spec(base: JsonObject, own: JsonObject) -> JsonObject:
    merged = _merge(base, own, _POD_LISTS)
    merged["tolerations"] = [*(base.get("tolerations") or ()), *(own.get("tolerations") or ())]
    merged["nodeSelector"] = {**(base.get("nodeSelector") or {}), **(own.get("nodeSelector") or {})}
    for key in ("tolerations", "nodeSelector"):
        if not merged[key]:
            del merged[key]
    if base.get("dnsPolicy"):
        merged["dnsPolicy"] = base["dnsPolicy"]
    account = base.get("serviceAccountName") or base.get("serviceAccount")
    if account and own.get("serviceAccountName") == "default":
        merged["serviceAccountName"] = merged["serviceAccount"] = account
    merged["containers"] = _merge_containers(base.get("containers") or [], own["containers"])
    return merged


def _merge_containers(base: list[JsonObject], own: list[JsonObject]) -> list[JsonObject]:
    ours = {container["name"]: container for container in own}
    merged = []
    for container in base:
        mine = ours.pop(container.get("name", ""), None)
        merged.append(container if mine is None else _merge_container(container, mine))
    return [*merged, *ours.values()]


def _merge_container(base: JsonObject, own: JsonObject) -> JsonObject:
    merged = _merge(base, own, _CONTAINER_LISTS)
    resources = base.get("resources") or {}
    merged["resources"] = {
        kind: {**(resources.get(kind) or {}), **((own.get("resources") or {}).get(kind) or {})}
        for kind in ("requests", "limits")
    }
    return merged


def _merge(base: JsonObject, own: JsonObject, lists: dict[str, str]) -> JsonObject:
    merged = {**base, **own}
    for key, name in lists.items():
        mine = own.get(key) or []
        taken = {entry.get(name) for entry in mine}
        theirs = [entry for entry in base.get(key) or () if entry.get(name) not in taken]
        if theirs or mine:
            merged[key] = [*theirs, *mine]
    return merged
