"""How an object goes away: preconditions, grace periods, finalizers.

The functions are pure; `ObjectStore` applies them. Foreground deletion and orphaning are
finalizers here as in Kubernetes: the server sets `foregroundDeletion` or `orphan`, and a garbage
collector does what they ask for and removes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kubeflink import objects
from kubeflink.apiserver import statuses
from kubeflink.apiserver.metadata import copy_json, timestamp
from kubeflink.objects import JsonObject, Resource

Propagation = Literal["Background", "Foreground", "Orphan"]

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"

SERVER_FIELDS = (
    "uid",
    "creationTimestamp",
    "generation",
    "generateName",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
"""Members of `metadata` that only the server writes."""


LONGEST_GRACE = 1 << 30
"""Seconds, 34 years. There are no timestamps for much more."""


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """What a deletion asks for. `grace_period` in seconds; None: what the pod itself says."""

    grace_period: int | None = None
    propagation: Propagation | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False


PLAINLY = DeleteOptions()


@dataclass(frozen=True, slots=True)
class Deletion:
    """The object's last state; `gone` is False while somebody has to act before it can go."""

    object: JsonObject
    gone: bool


def check_preconditions(resource: Resource, obj: JsonObject, options: DeleteOptions) -> None:
    """409 where the object is another one, or another version, than the caller meant."""
    name, uid = objects.name_of(obj), objects.uid_of(obj)
    if options.uid is not None and options.uid != uid:
        raise statuses.other_object(
            resource,
            name,
            f"the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({uid}). The object might have been deleted and then recreated",
        )
    version = obj["metadata"]["resourceVersion"]
    if options.resource_version is not None and options.resource_version != version:
        raise statuses.other_object(
            resource,
            name,
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match "
            f"the ResourceVersion in record ({version}). The object might have been modified",
        )


def mark(
    resource: Resource, obj: JsonObject, options: DeleteOptions, now: float
) -> JsonObject | None:
    """The object as marked for deletion; None where nobody has to act and it can go at once.

    A second deletion can only shorten the grace period.
    """
    grace = _grace_period(resource, obj, options)
    finalizers = _finalizers(obj, options)
    if grace == 0 and not finalizers:
        return None
    metadata = {**obj["metadata"]}
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    before = metadata.get("deletionGracePeriodSeconds")
    if "deletionTimestamp" not in metadata or (before is not None and grace < before):
        metadata["deletionTimestamp"] = timestamp(now + grace)
        metadata["deletionGracePeriodSeconds"] = grace
        if "generation" in metadata and before is None:
            metadata["generation"] += 1
    marked: JsonObject = copy_json({**obj, "metadata": metadata})
    return marked


def mark_namespace(namespace: JsonObject, now: float) -> JsonObject:
    """A namespace that takes no new objects and waits for the end of those that it has."""
    marked: JsonObject = copy_json(namespace)
    marked["metadata"]["deletionTimestamp"] = timestamp(now)
    marked["status"] = {**marked.get("status", {}), "phase": "Terminating"}
    return marked


def is_released(obj: JsonObject) -> bool:
    """Whether a marked object has nobody left to wait for."""
    metadata = obj["metadata"]
    return (
        "deletionTimestamp" in metadata
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        and obj["kind"] != "Namespace"
    )


def check_finalizers(resource: Resource, draft: JsonObject, current: JsonObject) -> None:
    """An object that is being deleted gets no new finalizers."""
    if "deletionTimestamp" not in current["metadata"]:
        return
    before = set(current["metadata"].get("finalizers") or ())
    added = [each for each in draft["metadata"].get("finalizers") or () if each not in before]
    if added:
        cause = statuses.forbidden_field(
            "metadata.finalizers",
            "no new finalizers can be added if the object is being deleted, found new finalizers "
            f"[]string{{{', '.join(repr(each) for each in added)}}}".replace("'", '"'),
        )
        raise statuses.invalid(resource, objects.name_of(draft), [cause])


def _grace_period(resource: Resource, obj: JsonObject, options: DeleteOptions) -> int:
    """Seconds; only a pod that is on a node and has not ended needs any."""
    if resource != objects.PODS:
        return 0
    if not obj["spec"].get("nodeName"):
        return 0
    if (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    asked = options.grace_period
    if asked is None:
        asked = int(obj["spec"].get("terminationGracePeriodSeconds", 30))
    return min(max(asked, 0), LONGEST_GRACE)


def _finalizers(obj: JsonObject, options: DeleteOptions) -> list[str]:
    finalizers = [
        each
        for each in obj["metadata"].get("finalizers") or ()
        if options.propagation is None or each not in (FOREGROUND, ORPHAN)
    ]
    if options.propagation == "Foreground":
        finalizers.append(FOREGROUND)
    elif options.propagation == "Orphan":
        finalizers.append(ORPHAN)
    return finalizers
