"""What a JobManager is shown of the real objects: what Flink's driver reads, and no more.

A pod of a real cluster is some ten times as large as what matters of it here. That is memory for
ten thousand of them, and nothing that user code has to know: images, nodes' addresses, mounts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from kubeflink import objects
from kubeflink.objects import JsonObject
from kubeflink.spec import names

FINGERPRINT = "kubeflink.io/arguments"
"""An annotation of the shown pod: the digest of its arguments, which no two requests share."""

_METADATA = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
)
_STATUS = ("phase", "reason", "message", "conditions", "startTime")
_CONTAINER_STATUS = ("name", "ready", "restartCount", "started", "state", "lastState")
_CONDITION = ("type", "status", "reason", "message")


def shown_pod(pod: JsonObject) -> JsonObject:
    """A TaskManager pod."""
    metadata, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    shown_metadata = _some(metadata, _METADATA)
    owners = [_some(each, ("kind", "name", "uid")) for each in _owners(metadata)]
    shown_metadata["ownerReferences"] = owners
    shown_metadata["annotations"] = {FINGERPRINT: fingerprint(pod)}
    shown_spec = _some(spec, ("nodeName",))
    shown_spec["containers"] = [
        {"name": each["name"], "resources": {"requests": _requests(each)}}
        for each in spec.get("containers") or ()
        if each.get("name") == names.MAIN_CONTAINER
    ]
    shown_status = _some(status, _STATUS)
    if conditions := status.get("conditions"):
        shown_status["conditions"] = [_some(each, _CONDITION) for each in conditions]
    statuses = status.get("containerStatuses")
    if statuses is not None:
        shown_status["containerStatuses"] = [_some(each, _CONTAINER_STATUS) for each in statuses]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": shown_metadata,
        "spec": shown_spec,
        "status": shown_status,
    }


def fingerprint(pod: JsonObject) -> str:
    """The digest of the main container's arguments.

    They hold the pod's name and the temporary directory of the one JobManager that asked for it: so
    the same twice is the same request, sent again.
    """
    known = objects.annotations_of(pod).get(FINGERPRINT)
    if known is not None:
        return known
    for container in (pod.get("spec") or {}).get("containers") or ():
        if container.get("name") == names.MAIN_CONTAINER:
            text = "\0".join(container.get("args") or ())
            return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
    return ""


def shown_deployment(deployment: JsonObject) -> JsonObject:
    """The JobManager's Deployment, as the owner of what it makes; its pods it need not see."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _some(deployment["metadata"], _METADATA),
        "spec": _some(deployment.get("spec") or {}, ("replicas", "selector")),
    }


def is_over(pod: JsonObject) -> bool:
    """Whether a pod has ended, so that it takes no part of any limit."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _owners(metadata: Mapping[str, Any]) -> list[JsonObject]:
    return list(metadata.get("ownerReferences") or ())


def _requests(container: JsonObject) -> JsonObject:
    asked = (container.get("resources") or {}).get("requests") or {}
    return _some(asked, ("cpu", "memory"))


def _some(mapping: Mapping[str, Any], keys: tuple[str, ...]) -> JsonObject:
    return {key: mapping[key] for key in keys if key in mapping}
