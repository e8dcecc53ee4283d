"""Waiting until a cluster serves, or saying why it will not.

Ready means that the REST API answers `/overview`: Flink does so only when its Dispatcher has a
leader, so from then on jobs can be submitted. While it does not answer, the pods are looked at, and
a cause that will not pass by itself ends the wait early (see `diagnosis`). "Cannot reach" alone is
never taken for a failure of the cluster, only for a reason to go on waiting.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from kubeflink import objects
from kubeflink.cluster import diagnosis, endpoint
from kubeflink.cluster.clock import Deadline
from kubeflink.cluster.diagnosis import Course, Observed
from kubeflink.cluster.endpoint import Route
from kubeflink.cluster.log_diagnosis import LogFinding, explain_log
from kubeflink.cluster.logs import main_container
from kubeflink.errors import (
    ClusterFailedError,
    ClusterNotFoundError,
    FlinkError,
    ForbiddenError,
    KubernetesError,
    NotFoundError,
    RestTlsError,
    WaitTimeoutError,
)
from kubeflink.kube.client import KubeClient
from kubeflink.objects import DEPLOYMENTS, PODS, JsonObject
from kubeflink.rest.models import Overview
from kubeflink.spec import names

logger = logging.getLogger(__name__)

T = TypeVar("T")

READY_SECONDS = 300.0
"""The limit of a wait for readiness, where none is given: an image may have to be pulled."""

_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 2.0
_LOG_LINES = 200


@dataclass(frozen=True, slots=True)
class Stage:
    """What a cluster that is not ready yet waits for, as one phrase such as `pulling the image`."""

    text: str


Progress = Callable[[Stage], None]


async def wait_ready(
    client: KubeClient,
    cluster_id: str,
    namespace: str | None = None,
    *,
    uid: str | None = None,
    timeout: float | None = READY_SECONDS,
    on_stage: Progress | None = None,
) -> Overview:
    """Waits until the REST API of a cluster answers, and returns its first answer.

    `uid` is that of the Deployment, so that a cluster which is replaced by another of the same name
    is not taken for it. `on_stage` is told whenever what is waited for changes. Raises
    ClusterFailedError with the cause, ClusterNotFoundError if the Deployment goes away, and
    WaitTimeoutError, in seconds. Cancellation leaves the cluster as it is.
    """
    wait = _Wait(client, cluster_id, namespace or client.namespace, uid, on_stage)
    deadline = Deadline.after(timeout)
    pause = _FIRST_PAUSE
    while True:
        overview = await wait.ask()
        if overview is not None:
            return overview
        await wait.look()
        if not await deadline.pause(pause):
            raise await wait.timed_out(timeout or 0.0)
        pause = min(pause * 1.15, _LONGEST_PAUSE)


@dataclass(slots=True)
class _Wait:
    client: KubeClient
    cluster_id: str
    namespace: str
    uid: str | None
    on_stage: Progress | None
    _route: Route | None = field(default=None, init=False)
    _course: Course = field(default_factory=Course, init=False)
    _stage: str = field(default="", init=False)
    _last_error: str = field(default="", init=False)

    async def ask(self) -> Overview | None:
        """One request to the REST API; None while it does not answer."""
        try:
            if self._route is None:
                self._route = await endpoint.route_to(self.client, self.cluster_id, self.namespace)
            async with endpoint.connect(self.client, self._route, retry_seconds=0.0) as flink:
                async with asyncio.timeout(10.0):
                    return await flink.overview()
        except (ForbiddenError, ClusterNotFoundError, RestTlsError):
            raise
        except TimeoutError:
            self._last_error = "the REST API gave no answer in 10 s"
        except (FlinkError, KubernetesError) as error:
            self._last_error = error.message
        return None

    async def look(self) -> None:
        """Looks at the Deployment and its pods; raises if they will certainly not become ready."""
        try:
            observed = await observe_jobmanager(self.client, self.cluster_id, self.namespace)
        except NotFoundError as error:
            raise ClusterNotFoundError(
                f"The Flink cluster {self.cluster_id} in namespace {self.namespace} went away"
                " while it was waited for"
            ) from error
        except ForbiddenError as error:  # then only the REST API can tell
            self._tell(f"waiting for the REST API ({error.message})")
            return
        except KubernetesError as error:
            self._last_error = error.message
            return
        self._check_identity(observed)
        found = diagnosis.diagnose(observed)
        now = asyncio.get_running_loop().time()
        if self._course.note(found, now):
            self._tell(found.sentence if found else stage_of(observed))
        if found is not None and self._course.is_final(now):
            raise ClusterFailedError(
                f"The Flink cluster {self.cluster_id} does not start: {found.sentence}",
                hint=found.hint,
            )

    async def timed_out(self, seconds: float) -> WaitTimeoutError:
        """The error for a wait that ended at its limit, with the best guess at the cause."""
        seen = self._course.seen
        told, hint = (seen.sentence, seen.hint) if seen else (self._last_error or self._stage, None)
        if seen is None and (
            finding := await explain_running(self.client, self.cluster_id, self.namespace)
        ):
            told, hint = finding.sentence, finding.hint
        return WaitTimeoutError(
            f"The Flink cluster {self.cluster_id} was not ready after {seconds:g} s: {told}",
            hint=hint or f"Look at it: kubeflink logs {self.cluster_id}",
        )

    def _check_identity(self, observed: Observed) -> None:
        if self.uid is None or observed.deployment is None:
            return
        if objects.uid_of(observed.deployment) != self.uid:
            raise ClusterNotFoundError(
                f"The Flink cluster {self.cluster_id} in namespace {self.namespace} was replaced"
                " by another of the same name"
            )

    def _tell(self, stage: str) -> None:
        if stage != self._stage:
            self._stage = stage
            logger.debug("cluster %s: %s", self.cluster_id, stage)
            if self.on_stage is not None:
                self.on_stage(Stage(stage))


async def observe_jobmanager(client: KubeClient, cluster_id: str, namespace: str) -> Observed:
    """What can be seen of a cluster's JobManager. NotFoundError if the Deployment is not there."""
    deployment = await client.get(DEPLOYMENTS, names.deployment_name(cluster_id), namespace)
    listed = await client.list(PODS, namespace, labels=names.jobmanager_labels(cluster_id))
    pods = [pod for pod in listed.items if not objects.metadata(pod).get("deletionTimestamp")]
    events: dict[str, list[JsonObject]] = {}
    logs: dict[str, str] = {}
    for pod in pods:
        name = objects.name_of(pod)
        if is_waiting_for_volumes(pod):
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


def stage_of(observed: Observed) -> str:
    """What a start that goes well is doing right now."""
    if not observed.pods:
        return "waiting for the JobManager pod"
    pod = observed.pods[-1]
    status = pod.get("status") or {}
    if status.get("phase") in (None, "Pending"):
        conditions = status.get("conditions") or ()
        scheduled = {entry.get("type"): entry.get("status") for entry in conditions}
        if scheduled.get("PodScheduled") != "True":
            return "waiting for a node"
        return "starting the JobManager container"
    return "waiting for the JobManager to serve"


def is_waiting_for_volumes(pod: JsonObject) -> bool:
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


async def _or_empty(asked: Awaitable[T], empty: T) -> T:
    """The answer, or nothing: events and logs explain, and their lack explains less."""
    try:
        return await asked
    except KubernetesError as error:
        logger.debug("not to be had: %s", error.message)
        return empty
