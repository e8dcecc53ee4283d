"""What can be seen of a cluster from the outside: its JobManager, and its broker if it has one.

A JobManager with a broker depends on it: without one it can neither list its workers nor lead. It
gives up after a minute or so, and is started again; what its pod shows then is a consequence. So
where a JobManager ends or does not serve, the broker is looked at first. What a JobManager shows
that has nothing to do with a broker (its image, its node, its volumes, its memory) is its own.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from kubeflink import objects
from kubeflink.cluster import brokers, diagnosis
from kubeflink.cluster.diagnosis import Diagnosis, Observed
from kubeflink.cluster.log_diagnosis import LogFinding, explain_log
from kubeflink.cluster.logs import main_container
from kubeflink.errors import KubernetesError, NotFoundError
from kubeflink.kube.client import KubeClient
from kubeflink.objects import DEPLOYMENTS, PODS, JsonObject
from kubeflink.spec import names

logger = logging.getLogger(__name__)

T = TypeVar("T")

_LOG_LINES = 200

_CLIENT_ERROR = "KubernetesClientException"
"""In the log of a JobManager whose request to the API, or to its broker, has failed."""


@dataclass(frozen=True, slots=True)
class ClusterView:
    """A cluster as it was seen; `broker` is None where it has none."""

    cluster_id: str
    jobmanager: Observed
    broker: Observed | None = None

    def cause(self, *, has_served: bool = False) -> Diagnosis | None:
        """Why the JobManager does not run or serve; None while nothing is wrong.

        A JobManager that `has_served` and that runs does not need its broker in order to answer.
        """
        own = diagnosis.diagnose(self.jobmanager)
        if self.broker is None or (own is not None and own.kind != "exit"):
            return own
        if own is None and has_served:
            return None
        absent = brokers.why_absent(self.cluster_id, self.broker)
        if absent is not None or own is None:
            return absent
        began = brokers.ready_since(self.broker)
        if began is None or _last_end(self.jobmanager) < began:
            # Without a broker it had to end. It is started again, and finds one then.
            return replace(own, patience=None)
        log = "".join(self.jobmanager.logs.values())
        if own.hint is None and _CLIENT_ERROR in log:
            return replace(own, hint=brokers.reach_hint(self.cluster_id))
        return own

    @property
    def pods(self) -> tuple[JsonObject, ...]:
        """Of the JobManager, then of the broker."""
        return tuple(pod for part in self._parts for pod in part.pods)

    def explain(self, pod: JsonObject) -> Diagnosis | None:
        """Why one of the cluster's pods does not run; of a TaskManager, what it shows itself."""
        name = objects.name_of(pod)
        events = [event for part in self._parts for event in part.events.get(name, ())]
        log = "".join(part.logs.get(name, "") for part in self._parts)
        return diagnosis.explain_pod(pod, events, log)

    @property
    def _parts(self) -> tuple[Observed, ...]:
        return (self.jobmanager,) if self.broker is None else (self.jobmanager, self.broker)

    def stage(self) -> str:
        """What a start that goes well is doing right now."""
        if not self.jobmanager.pods:
            return "waiting for the JobManager pod"
        status = self.jobmanager.pods[-1].get("status") or {}
        if status.get("phase") in (None, "Pending"):
            conditions = status.get("conditions") or ()
            scheduled = {entry.get("type"): entry.get("status") for entry in conditions}
            if scheduled.get("PodScheduled") != "True":
                return "waiting for a node"
            return "starting the JobManager container"
        if self.broker is not None and brokers.ready_since(self.broker) is None:
            return "waiting for the broker"
        return "waiting for the JobManager to serve"


async def observe_cluster(client: KubeClient, cluster_id: str, namespace: str) -> ClusterView:
    """JobManager and broker. NotFoundError if the Deployment of the JobManager is not there."""
    name, labels = names.deployment_name(cluster_id), names.jobmanager_labels(cluster_id)
    jobmanager = await _observe(client, name, namespace, labels)
    assert jobmanager.deployment is not None
    broker = None
    if brokers.has_broker(jobmanager.deployment):
        name, labels = names.broker_name(cluster_id), names.broker_labels(cluster_id)
        try:
            broker = await _observe(client, name, namespace, labels)
        except NotFoundError:
            broker = Observed()
    return ClusterView(cluster_id, jobmanager, broker)


async def _observe(
    client: KubeClient, deployment_name: str, namespace: str, labels: Mapping[str, str]
) -> Observed:
    deployment = await client.get(DEPLOYMENTS, deployment_name, namespace)
    listed = await client.list(PODS, namespace, labels=labels)
    pods = [pod for pod in listed.items if not objects.metadata(pod).get("deletionTimestamp")]
    events: dict[str, list[JsonObject]] = {}
    logs: dict[str, str] = {}
    for pod in pods:
        name = objects.name_of(pod)
        if _is_waiting_for_volumes(pod):
            events[name] = await _or_empty(client.events_of(pod), [])
        if ended := _ended_container(pod):
            container, previous = ended
            logs[name] = await _or_empty(
                client.pod_logs(
                    name, namespace, container=container, tail_lines=_LOG_LINES, previous=previous
                ),
                "",
            )
    return Observed(deployment, pods, events, logs)


async def explain_running(client: KubeClient, cluster_id: str, namespace: str) -> LogFinding | None:
    """What the log of a JobManager tells that runs and does not serve; None if nothing does."""
    try:
        pods = await client.list(PODS, namespace, labels=names.jobmanager_labels(cluster_id))
        for pod in pods.items:
            if (pod.get("status") or {}).get("phase") == "Running":
                log = await client.pod_logs(
                    objects.name_of(pod),
                    namespace,
                    container=main_container(pod),
                    tail_lines=_LOG_LINES,
                )
                return explain_log(log)
    except KubernetesError as error:
        logger.debug("not to be had: %s", error.message)
    return None


def _is_waiting_for_volumes(pod: JsonObject) -> bool:
    """Whether the pod has a node but no container yet: then only its events tell why."""
    status = pod.get("status") or {}
    if status.get("phase") not in (None, "Pending"):
        return False
    waiting = [
        (container.get("state") or {}).get("waiting") or {}
        for container in status.get("containerStatuses") or ()
    ]
    reasons = {entry.get("reason") for entry in waiting}
    return reasons <= {"ContainerCreating", "PodInitializing", None}


def _ended_container(pod: JsonObject) -> tuple[str, bool] | None:
    """A container that ended badly, and whether its log is that of the run before the present."""
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        state = container.get("state") or {}
        if (state.get("terminated") or {}).get("exitCode"):
            return str(container["name"]), False
        if (container.get("lastState") or {}).get("terminated") and not container.get("ready"):
            return str(container["name"]), True
    return None


def _last_end(observed: Observed) -> str:
    """When a container of these pods has ended last, as the API server writes times."""
    ends = [""]
    for pod in observed.pods:
        for container in (pod.get("status") or {}).get("containerStatuses") or ():
            for state in (container.get("state"), container.get("lastState")):
                terminated = (state or {}).get("terminated") or {}
                ends.append(str(terminated.get("finishedAt") or ""))
    return max(ends)


async def _or_empty(asked: Awaitable[T], empty: T) -> T:
    """The answer, or nothing: events and logs explain, and their lack explains less."""
    try:
        return await asked
    except KubernetesError as error:
        logger.debug("not to be had: %s", error.message)
        return empty
