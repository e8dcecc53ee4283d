"""What befell the TaskManagers while a job was followed.

Flink replaces a TaskManager that is lost and says no more than that a connection broke; the pod,
which has the reason, is deleted. So the pods are watched beside the job, and what was wrong with
one is kept after it has gone.

Where a broker makes the pods, it knows why there are none (a limit, a quota), and is asked now and
then.

A pod that waits for a node is the normal course for a moment (and for longer where an autoscaler
adds one), so such troubles count only when they last. A pod that the JobManager deletes ends by a
signal, which is no trouble.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from kubeflink import objects
from kubeflink.cluster import brokers, diagnosis, observation
from kubeflink.cluster.diagnosis import Diagnosis
from kubeflink.cluster.tasks import end
from kubeflink.errors import KubernetesError
from kubeflink.kube.client import KubeClient
from kubeflink.kube.reflector import Reflector
from kubeflink.objects import PODS, JsonObject
from kubeflink.spec import names

logger = logging.getLogger(__name__)

PASSING_SECONDS: Final = 10.0
"""How long a trouble that may pass by itself has to last before it is told."""

BROKER_SECONDS: Final = 10.0
"""How long to wait before a broker is asked what is wrong, and before it is asked again."""

_NUMBER = re.compile(r"\d+")


class WorkerWatch:
    """Watches the TaskManager pods of a cluster while its context is open.

    Without the right to list or watch pods, or without a Kubernetes to ask, it finds nothing, which
    is no error: what it has to tell is an addition. `on_trouble` is called once for each trouble of
    each pod.
    """

    def __init__(
        self,
        client: KubeClient | None,
        cluster_id: str,
        namespace: str,
        on_trouble: Callable[[Diagnosis], None] | None = None,
    ) -> None:
        self._client = client
        self._cluster_id = cluster_id
        self._labels = names.taskmanager_labels(cluster_id)
        self._namespace = namespace
        self._on_trouble = on_trouble
        self._found: dict[tuple[str, str], Diagnosis] = {}
        self._passing: dict[tuple[str, str], float] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def troubles(self) -> tuple[Diagnosis, ...]:
        """What was found so far, oldest first."""
        return tuple(self._found.values())

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name="watch TaskManagers")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._task is not None
        await end(self._task)

    async def _run(self) -> None:
        if self._client is None:
            return
        reflector = Reflector(self._client, PODS, self._namespace, labels=self._labels)
        try:
            async with reflector, asyncio.TaskGroup() as group:
                group.create_task(self._look_again(reflector), name="look again")
                group.create_task(self._ask_broker(self._client), name="ask the broker")
                async for change in reflector.changes():
                    self.look(change.object)
        except* KubernetesError as errors:
            logger.debug("TaskManager pods are not watched: %s", errors.exceptions[0])

    async def _look_again(self, reflector: Reflector) -> None:
        """For troubles that become such by lasting."""
        while True:
            await asyncio.sleep(1.0)
            for pod in list(reflector.store.values()):
                self.look(pod)

    async def _ask_broker(self, client: KubeClient) -> None:
        """Tells what keeps the broker, if there is one, from making pods."""
        while True:
            await asyncio.sleep(BROKER_SECONDS)
            try:
                seen = await observation.observe_cluster(client, self._cluster_id, self._namespace)
                if seen.broker is None:
                    return
                told = await brokers.hindrances(
                    client, self._cluster_id, self._namespace, seen.broker
                )
            except KubernetesError as error:
                logger.debug("the broker is not asked: %s", error.message)
                continue
            for trouble in told:
                # Its numbers change while it stays the same trouble.
                self._note(("broker", _NUMBER.sub("", trouble.sentence)), trouble)

    def look(self, pod: JsonObject) -> None:
        """Judges one state of one pod."""
        trouble = _trouble_of(pod)
        if trouble is None:
            return
        key = (objects.uid_of(pod), trouble.kind)
        if key in self._found:
            return
        if trouble.patience is None and not self._has_lasted(key):
            return
        self._note(key, trouble)

    def _note(self, key: tuple[str, str], trouble: Diagnosis) -> None:
        if key in self._found:
            return
        self._found[key] = trouble
        if self._on_trouble is not None:
            self._on_trouble(trouble)

    def _has_lasted(self, key: tuple[str, str]) -> bool:
        now = asyncio.get_running_loop().time()
        return now - self._passing.setdefault(key, now) >= PASSING_SECONDS


def _trouble_of(pod: JsonObject) -> Diagnosis | None:
    found = diagnosis.explain_termination(pod) or diagnosis.explain_pod(pod)
    is_deleted = objects.metadata(pod).get("deletionTimestamp") is not None
    if found is None or (is_deleted and found.kind != "memory"):
        return None
    return found
