"""The status of a Deployment, from which `kubectl wait` and `kubectl rollout status` read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kubeflink.objects import JsonObject

_COUNTS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")


@dataclass(frozen=True, slots=True)
class Counts:
    """Pods that are wanted, that exist, are from the newest template, and are ready."""

    wanted: int
    existing: int
    updated: int
    ready: int

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to do."""
        return self.existing == self.updated == self.ready == self.wanted


def is_ready(pod: JsonObject) -> bool:
    """Whether the pod's condition `Ready` holds."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def deployment_status(
    deployment: JsonObject, counts: Counts, failure: str | None, now: str
) -> JsonObject:
    """The whole status. `failure` is why a pod could not be created."""
    before = deployment.get("status") or {}
    numbers = {
        "replicas": counts.existing,
        "updatedReplicas": counts.updated,
        "readyReplicas": counts.ready,
        "availableReplicas": counts.ready,
        "unavailableReplicas": max(counts.wanted - counts.ready, 0),
    }
    numbers = {name: number for name, number in numbers.items() if number}
    has_moved = any(numbers.get(name) != before.get(name) for name in _COUNTS)
    known = {each["type"]: each for each in before.get("conditions") or ()}
    conditions = [_available(counts), _progressing(deployment, counts, known, has_moved, now)]
    if failure is not None:
        conditions.append(_condition("ReplicaFailure", True, "FailedCreate", failure))
    return {
        "observedGeneration": deployment["metadata"].get("generation", 1),
        **numbers,
        "conditions": [
            _dated(each, known.get(each["type"]), has_moved, now) for each in conditions
        ],
    }


def _available(counts: Counts) -> JsonObject:
    if counts.ready >= counts.wanted:
        message = "Deployment has minimum availability."
        return _condition("Available", True, "MinimumReplicasAvailable", message)
    message = "Deployment does not have minimum availability."
    return _condition("Available", False, "MinimumReplicasUnavailable", message)


def _progressing(
    deployment: JsonObject,
    counts: Counts,
    known: dict[str, JsonObject],
    has_moved: bool,
    now: str,
) -> JsonObject:
    if counts.is_complete:
        message = "All pods are up to date and available."
        return _condition("Progressing", True, "NewReplicaSetAvailable", message)
    old = known.get("Progressing")
    # What was complete once and lost a pod is no rollout; only a rollout can be late.
    if old is not None and not has_moved and old["reason"] != "NewReplicaSetAvailable":
        limit = int(deployment["spec"].get("progressDeadlineSeconds") or 600)
        if _seconds(now) - _seconds(old["lastUpdateTime"]) > limit:
            message = "Pods have not become available in time."
            return _condition("Progressing", False, "ProgressDeadlineExceeded", message)
        if old["reason"] == "ProgressDeadlineExceeded":
            return {key: old[key] for key in ("type", "status", "reason", "message")}
    return _condition("Progressing", True, "ReplicaSetUpdated", "Pods are progressing.")


def _condition(kind: str, holds: bool, reason: str, message: str) -> JsonObject:
    status = "True" if holds else "False"
    return {"type": kind, "status": status, "reason": reason, "message": message}


def _dated(condition: JsonObject, old: JsonObject | None, has_moved: bool, now: str) -> JsonObject:
    changed = old is None or old["status"] != condition["status"]
    updated = changed or old is None or old["reason"] != condition["reason"] or has_moved
    return {
        **condition,
        "lastTransitionTime": now if changed or old is None else old["lastTransitionTime"],
        "lastUpdateTime": now if updated or old is None else old["lastUpdateTime"],
    }


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
