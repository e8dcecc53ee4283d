"""What a write makes of a client's object before it is admitted: pure steps of `ObjectStore`.

A draft is the store's own copy. It is of the right kind and in the right place, has what only the
server writes from the server, and is checked against the version that its client knew.
"""

from __future__ import annotations

import uuid

from kubeflink import objects
from kubeflink.apiserver import defaults, deletion, shapes, statuses
from kubeflink.apiserver.metadata import copy_json, random_suffix, timestamp, without_nulls
from kubeflink.apiserver.resources import ServedResource
from kubeflink.objects import JsonObject, Resource

# The longest generated name is 63 characters, with its random end.
_PREFIX_LIMIT = 58


def draft_of(resource: Resource, namespace: str | None, obj: JsonObject) -> JsonObject:
    """A copy without nulls; 400 where it is of another kind or for another place."""
    draft: JsonObject = without_nulls(obj)
    draft.setdefault("apiVersion", resource.api_version)
    draft.setdefault("kind", resource.kind)
    draft.setdefault("metadata", {})
    shapes.check(resource, draft)
    if (draft["apiVersion"], draft["kind"]) != (resource.api_version, resource.kind):
        raise statuses.bad_request(
            f"the API version in the data ({draft['apiVersion']}, Kind={draft['kind']}) does not "
            f"match the expected API version ({resource.api_version}, Kind={resource.kind})"
        )
    given = draft["metadata"].get("namespace") or None
    if not resource.namespaced:
        draft["metadata"].pop("namespace", None)
        return draft
    if given is not None and namespace is not None and given != namespace:
        raise statuses.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    draft["metadata"]["namespace"] = given or namespace or "default"
    return draft


def begin(served: ServedResource, draft: JsonObject, now: float) -> None:
    """Give a new object what the server gives: name, uid, time, first generation, first status."""
    metadata = draft["metadata"]
    if metadata.pop("resourceVersion", "") not in ("", "0"):
        raise statuses.bad_request("resourceVersion should not be set on objects to be created")
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = metadata["generateName"][:_PREFIX_LIMIT] + random_suffix()
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"):
        metadata.pop(field, None)
    metadata["uid"] = str(uuid.uuid4())
    metadata["creationTimestamp"] = timestamp(now)
    if served.generation:
        metadata["generation"] = 1
    if (status := defaults.initial_status(served.resource)) is not None:
        draft["status"] = status


def check_version(resource: Resource, draft: JsonObject, current: JsonObject) -> None:
    """409 where the client meant another object, or an older version of it."""
    uid, name = objects.uid_of(draft), objects.name_of(draft)
    if uid and uid != objects.uid_of(current):
        raise statuses.conflict(
            resource,
            name,
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
            f"{objects.uid_of(current)}",
        )
    version = draft["metadata"].get("resourceVersion", "")
    if version not in ("", "0", current["metadata"]["resourceVersion"]):
        raise statuses.modified(resource, name)


def carry_over(served: ServedResource, draft: JsonObject, current: JsonObject) -> None:
    """Put into an update what an update cannot change, whatever was sent."""
    old, new = current["metadata"], draft["metadata"]
    for field in deletion.SERVER_FIELDS:
        if field in old:
            new[field] = old[field]
        else:
            new.pop(field, None)
    if served.status:
        draft.pop("status", None)
        if "status" in current:
            draft["status"] = copy_json(current["status"])
    if served.resource == objects.SERVICES:
        # kubectl and Flink send updates without the address that the server gave.
        spec = draft.setdefault("spec", {})
        if "clusterIP" in current["spec"] and spec.get("type") != "ExternalName":
            spec.setdefault("clusterIP", current["spec"]["clusterIP"])
    deletion.check_finalizers(served.resource, draft, current)


def count_generation(served: ServedResource, draft: JsonObject, current: JsonObject) -> None:
    """Count a changed spec in `metadata.generation`."""
    if served.generation:
        generation = current["metadata"].get("generation", 1)
        changed = draft.get("spec") != current.get("spec")
        draft["metadata"]["generation"] = generation + 1 if changed else generation
