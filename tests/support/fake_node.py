"""A node whose kubelet runs nothing: it tells of its pods what the test wants it to tell.

The real scheduler gives it the pods that tolerate its taint, which is that of the test alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from kubeflink import objects
from kubeflink.errors import NotFoundError
from kubeflink.kube.reflector import Reflector
from kubeflink.objects import JsonObject
from support.real_cluster import Namespace, put_status

TAINT = "kubeflink.test/node"

StatusOf = Callable[[JsonObject], JsonObject]


def tolerations(namespace: Namespace) -> dict[str, str]:
    """The options by which a cluster's pods may be on the namespace's own node."""
    text = f"key:{TAINT},operator:Equal,value:{namespace.name},effect:NoSchedule"
    return {f"kubernetes.{kind}.tolerations": text for kind in ("jobmanager", "taskmanager")}


@asynccontextmanager
async def node(
    namespace: Namespace,
    status_of: StatusOf | None = None,
    *,
    capacity: Mapping[str, str] | None = None,
    internal_ip: str = "192.0.2.1",
) -> AsyncIterator[str]:
    """A ready node for the namespace's pods; gone at the end. Gives its name.

    `status_of` makes the status of a pod that was put on it; without it nobody looks after them.
    """
    name = f"node-{namespace.name}"
    await _register(namespace, name, capacity or {"cpu": "8", "memory": "32Gi"}, internal_ip)
    try:
        if status_of is None:
            yield name
        else:
            kubelet = asyncio.create_task(_run(namespace, name, status_of), name="fake kubelet")
            try:
                yield name
            finally:
                kubelet.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await kubelet
    finally:
        await namespace.client.delete(objects.NODES, name)


def waiting(reason: str, message: str = "", **more: object) -> StatusOf:
    """All containers wait for this reason."""

    def status_of(pod: JsonObject) -> JsonObject:
        state = {"waiting": {"reason": reason, "message": message}}
        return {
            "phase": "Pending",
            "containerStatuses": [
                {**entry, "state": state, "started": False, **more} for entry in _containers(pod)
            ],
        }

    return status_of


def running(pod: JsonObject) -> JsonObject:
    """All containers run and are ready."""
    state = {"running": {"startedAt": timestamp()}}
    return {
        "phase": "Running",
        "podIP": "192.0.2.10",
        "podIPs": [{"ip": "192.0.2.10"}],
        "startTime": timestamp(),
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [
            {**entry, "ready": True, "started": True, "state": state} for entry in _containers(pod)
        ],
    }


def timestamp() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _containers(pod: JsonObject) -> list[JsonObject]:
    return [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "ready": False,
            "restartCount": 0,
        }
        for container in pod["spec"]["containers"]
    ]


async def _register(
    namespace: Namespace, name: str, capacity: Mapping[str, str], internal_ip: str
) -> None:
    taint = {"key": TAINT, "value": namespace.name, "effect": "NoSchedule"}
    made = await namespace.client.create(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "spec": {"taints": [taint]},
        }
    )
    resources = {"pods": "110", "ephemeral-storage": "100Gi", **capacity}
    now = timestamp()
    made["status"] = {
        "capacity": resources,
        "allocatable": resources,
        "addresses": [{"type": "InternalIP", "address": internal_ip}],
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "KubeletReady",
                "lastHeartbeatTime": now,
                "lastTransitionTime": now,
            }
        ],
    }
    made = await put_status(namespace.client, objects.NODES, made)
    # Admission marks every new node as not ready; the controller that removes this is not here.
    await namespace.client.patch(objects.NODES, name, {"spec": {"taints": [taint]}})


async def _run(namespace: Namespace, name: str, status_of: StatusOf) -> None:
    client = namespace.client
    told: set[str] = set()
    async with Reflector(
        client, objects.PODS, namespace.name, fields={"spec.nodeName": name}
    ) as pods:
        async for change in pods.changes():
            pod = change.object
            if change.type == "deleted":
                continue
            with contextlib.suppress(NotFoundError):
                if "deletionTimestamp" in pod["metadata"]:
                    await client.delete(
                        objects.PODS, objects.name_of(pod), namespace.name, grace_period=0
                    )
                elif objects.uid_of(pod) not in told:
                    told.add(objects.uid_of(pod))
                    body = {"status": status_of(pod)}
                    path = objects.PODS.path(f"{objects.name_of(pod)}/status", namespace.name)
                    answer = await client.http.patch(
                        path, json=body, headers={"Content-Type": "application/merge-patch+json"}
                    )
                    assert answer.is_success or answer.status_code == 404, answer.text
