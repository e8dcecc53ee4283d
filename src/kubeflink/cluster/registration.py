"""TaskManagers that run, but for a JobManager that is no more.

Without high availability a TaskManager looks for the JobManager at the address in its own command
line. A JobManager that was restarted is there again, and the TaskManager registers once it has
given the old one up. On the host network it is not: each start draws other ports, the Services
follow, but the command line of a pod that runs cannot. Such a TaskManager knocks at the old port
until the new JobManager, which has seen its pod, loses patience and deletes it. Its slots are no
use until then, and new pods do its work.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from kubeflink import objects
from kubeflink.cluster.diagnosis import Diagnosis
from kubeflink.objects import JsonObject
from kubeflink.spec import names

_RPC_PORT: Final = re.compile(r"-D\s*jobmanager\.rpc\.port='?(\d+)")


def explain_unregistered(
    workers: Sequence[JsonObject],
    jobmanagers: Sequence[JsonObject],
    registered: Collection[str],
    internal_service: JsonObject | None,
) -> dict[str, Diagnosis]:
    """By pod name: TaskManagers that were started before the JobManager and do not know it.

    `registered` are the ids that the JobManager tells, which are the names of the pods. With high
    availability there is no internal Service, and nothing to explain: the leader's address is in a
    ConfigMap, where all TaskManagers find it.
    """
    if internal_service is None:
        return {}
    began = max(filter(None, map(_started, jobmanagers)), default=None)
    if began is None:
        return {}
    found = {}
    for pod in workers:
        started = _started(pod)
        if started is not None and started < began and objects.name_of(pod) not in registered:
            found[objects.name_of(pod)] = _explain(pod, internal_service)
    return found


def _explain(pod: JsonObject, internal_service: JsonObject) -> Diagnosis:
    told, real = _told_port(pod), _real_port(internal_service)
    name = objects.name_of(pod)
    if (pod.get("spec") or {}).get("hostNetwork") and told is not None and told != real:
        return Diagnosis(
            "unregistered",
            f"TaskManager {name} looks for the JobManager on port {told}, where it was before its"
            f" restart; now it is on {real}",
            "It will not find it and is deleted after resourcemanager.taskmanager-registration"
            ".timeout (5 min); new pods take its place. With high availability TaskManagers stay",
        )
    return Diagnosis(
        "unregistered",
        f"TaskManager {name} has not registered with the JobManager since that was restarted",
        "It does so when heartbeat.timeout (50 s) has passed",
    )


def _started(pod: Mapping[str, Any]) -> str | None:
    """When the main container's present run began (RFC 3339 in UTC: sorts as text)."""
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        if container.get("name") == names.MAIN_CONTAINER:
            running = (container.get("state") or {}).get("running") or {}
            return running.get("startedAt")
    return None


def _told_port(pod: JsonObject) -> int | None:
    """The RPC port in the pod's command line."""
    for container in (pod.get("spec") or {}).get("containers") or ():
        match = _RPC_PORT.search(" ".join(container.get("args") or ()))
        if match:
            return int(match[1])
    return None


def _real_port(service: JsonObject) -> int | None:
    """The port that the JobManager wrote into its internal Service (InternalServiceDecorator)."""
    for port in (service.get("spec") or {}).get("ports") or ():
        target = port.get("targetPort")
        if port.get("name") == names.JOBMANAGER_RPC_PORT and isinstance(target, int):
            return target
    return None
