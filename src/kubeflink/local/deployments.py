"""The Deployment controller: as many pods as asked for, from the newest template.

Pods belong to their Deployment directly; there are no ReplicaSets in between, whose history nobody
needs here. Each pod fills a seat, numbered from 0 (see `seats`), so there can be no surplus pod
during an update: an outdated pod is stopped before its successor starts, one at a time and only
while the others are ready (all at once with the strategy `Recreate`).

Restarting a container that ended is the kubelet's business. A pod that is deleted, or that failed
as a whole, is replaced here.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence

import msgspec

from kubeflink import objects
from kubeflink.apiserver.deletion import DeleteOptions
from kubeflink.apiserver.metadata import copy_json, timestamp
from kubeflink.apiserver.store import Store, modify
from kubeflink.errors import ApiStatusError, ConflictError, NotFoundError
from kubeflink.local.deployment_status import Counts, deployment_status, is_ready
from kubeflink.local.events import EventRecorder
from kubeflink.local.seats import SEAT_ANNOTATION, Seats
from kubeflink.local.watching import reconcile_on_changes
from kubeflink.objects import JsonObject

HASH_LABEL = "pod-template-hash"

_PERIOD = 15.0  # seconds; a progress deadline passes without any change


class DeploymentController:
    """Keeps all Deployments."""

    def __init__(self, store: Store, events: EventRecorder, seats: Seats) -> None:
        self._store = store
        self._events = events
        self._seats = seats
        self._known: dict[str, JsonObject] = {}

    async def run(self) -> None:
        """Until it is cancelled."""
        resources = (objects.DEPLOYMENTS, objects.PODS)
        await reconcile_on_changes(self._store, resources, self.reconcile, period=_PERIOD)

    async def reconcile(self) -> None:
        """One look at all Deployments."""
        deployments = (await self._store.list(objects.DEPLOYMENTS)).items
        living = {objects.uid_of(deployment): deployment for deployment in deployments}
        for uid in self._known.keys() - living.keys():
            gone = self._known[uid]
            names = {(objects.namespace_of(d), objects.name_of(d)) for d in deployments}
            if (objects.namespace_of(gone), objects.name_of(gone)) not in names:
                self._seats.abolish(gone)
        self._known = living
        for deployment in deployments:
            await self._reconcile_one(deployment)

    async def _reconcile_one(self, deployment: JsonObject) -> None:
        if "deletionTimestamp" in deployment["metadata"]:
            return
        pods = await self._pods_of(deployment)
        failure = None
        if not deployment["spec"].get("paused"):
            try:
                await self._change_pods(deployment, pods)
            except ApiStatusError as error:
                failure = error.server_message or error.message
                await self._events.record(deployment, "Warning", "FailedCreate", failure)
        await self._write_status(deployment, failure)

    async def _pods_of(self, deployment: JsonObject) -> list[JsonObject]:
        uid = objects.uid_of(deployment)
        pods = (await self._store.list(objects.PODS, objects.namespace_of(deployment))).items
        return [
            pod for pod in pods if uid in objects.owner_uids(pod) and HASH_LABEL in _labels(pod)
        ]

    async def _change_pods(self, deployment: JsonObject, pods: Sequence[JsonObject]) -> None:
        replicas = int(deployment["spec"].get("replicas", 1))
        for pod in pods:
            if _is_failed(pod):
                await self._delete(deployment, pod)
        active = {_seat(pod): pod for pod in pods if _is_active(pod)}
        for seat, pod in sorted(active.items()):
            if seat >= replicas:
                await self._delete(deployment, pod)
        kept = {seat: pod for seat, pod in active.items() if seat < replicas}
        await self._stop_outdated(deployment, list(kept.values()))
        for seat in range(replicas):
            if seat not in kept:
                await self._create(deployment, seat)

    async def _stop_outdated(self, deployment: JsonObject, pods: Sequence[JsonObject]) -> None:
        current = template_hash(deployment)
        outdated = [pod for pod in pods if _labels(pod)[HASH_LABEL] != current]
        strategy = (deployment["spec"].get("strategy") or {}).get("type", "RollingUpdate")
        if strategy == "RollingUpdate":
            unready = [pod for pod in pods if not is_ready(pod)]
            # An outdated pod that is not ready serves nobody; else one of them, if nothing lacks.
            outdated = [pod for pod in outdated if pod in unready] or (
                [] if unready else outdated[:1]
            )
        for pod in outdated:
            await self._delete(deployment, pod)

    async def _create(self, deployment: JsonObject, seat: int) -> None:
        template = copy_json(deployment["spec"]["template"])
        metadata = template.get("metadata") or {}
        current = template_hash(deployment)
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "generateName": f"{objects.name_of(deployment)}-{current}-",
                "labels": {**(metadata.get("labels") or {}), HASH_LABEL: current},
                "annotations": {
                    **(metadata.get("annotations") or {}),
                    SEAT_ANNOTATION: str(seat),
                },
                "ownerReferences": [objects.owner_reference(deployment)],
            },
            "spec": template["spec"],
        }
        created = await self._store.create(objects.PODS, objects.namespace_of(deployment), pod)
        message = f"Created pod: {objects.name_of(created)}"
        await self._events.record(deployment, "Normal", "SuccessfulCreate", message)

    async def _delete(self, deployment: JsonObject, pod: JsonObject) -> None:
        if "deletionTimestamp" in pod["metadata"]:
            return
        name = objects.name_of(pod)
        try:
            await self._store.delete(
                objects.PODS,
                objects.namespace_of(pod),
                name,
                DeleteOptions(uid=objects.uid_of(pod)),
            )
        except (NotFoundError, ConflictError):
            return  # Somebody was faster.
        message = f"Deleted pod: {name}"
        await self._events.record(deployment, "Normal", "SuccessfulDelete", message)

    async def _write_status(self, deployment: JsonObject, failure: str | None) -> None:
        pods = [pod for pod in await self._pods_of(deployment) if _is_active(pod)]
        current = template_hash(deployment)
        counts = Counts(
            wanted=int(deployment["spec"].get("replicas", 1)),
            existing=len(pods),
            updated=sum(_labels(pod)[HASH_LABEL] == current for pod in pods),
            ready=sum(map(is_ready, pods)),
        )

        def change(stored: JsonObject) -> JsonObject:
            if objects.uid_of(stored) != objects.uid_of(deployment):
                return stored
            status = deployment_status(stored, counts, failure, timestamp(time.time()))
            return {**stored, "status": status}

        try:
            await modify(
                self._store,
                objects.DEPLOYMENTS,
                objects.namespace_of(deployment),
                objects.name_of(deployment),
                change,
                subresource="status",
            )
        except NotFoundError:
            return  # Deleted in the meantime.


def template_hash(deployment: JsonObject) -> str:
    """A short text that changes with the pod template, as it stands in pod names and labels."""
    template = msgspec.json.encode(deployment["spec"]["template"], order="deterministic")
    return hashlib.sha256(template).hexdigest()[:10]


def _labels(pod: JsonObject) -> JsonObject:
    return dict(objects.labels_of(pod))


def _seat(pod: JsonObject) -> int:
    return int(objects.annotations_of(pod).get(SEAT_ANNOTATION, "0"))


def _is_failed(pod: JsonObject) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded")


def _is_active(pod: JsonObject) -> bool:
    return "deletionTimestamp" not in pod["metadata"] and not _is_failed(pod)
