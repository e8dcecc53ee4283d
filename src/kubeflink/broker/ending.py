"""The end of a cluster that takes itself away: an application that is done, a session that is told.

A JobManager deletes its own Deployment *before* it removes its high-availability data, and counts
on a grace period for that. Its broker is owned by the Deployment, so it would be gone just then,
and the data would stay. So the Deployment is scaled to none first: the JobManager gets its grace
period, as it always does, and is not started again, whatever becomes of the broker. Only when its
pods are gone the Deployment is deleted, and all that it owns.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from kubeflink import objects
from kubeflink.apiserver import statuses
from kubeflink.broker.blueprint import Blueprint
from kubeflink.errors import ConflictError, KubernetesError, NotFoundError
from kubeflink.kube.backoff import Backoff
from kubeflink.kube.client import KubeClient
from kubeflink.objects import DEPLOYMENTS, PODS, JsonObject
from kubeflink.spec import names

log = logging.getLogger(__name__)

LINGER_SECONDS = 60.0
"""How long JobManagers may take to end; Kubernetes gives them 30 seconds."""

_PAUSE = 0.5


class ClusterEnd:
    """Ends one cluster on its JobManager's behalf. `run` owns what goes on after the answer."""

    def __init__(self, client: KubeClient, blueprint: Blueprint) -> None:
        self._client = client
        self._deployment = blueprint.deployment
        self._namespace = blueprint.namespace
        self._labels = names.jobmanager_labels(blueprint.cluster_id)
        self._asked = asyncio.Event()
        self.clock: Callable[[], float] = time.monotonic

    async def begin(self) -> JsonObject:
        """Let the JobManager end; its answer. 404 where the cluster is gone or another one."""
        name = objects.name_of(self._deployment)
        current = await self._client.get(DEPLOYMENTS, name, self._namespace)
        if objects.uid_of(current) != objects.uid_of(self._deployment):
            raise statuses.not_found(DEPLOYMENTS, name)
        if not self._asked.is_set():
            log.info("the cluster ends itself")
            await self._client.scale(DEPLOYMENTS, name, 0, self._namespace)
            self._asked.set()
        return current

    async def run(self) -> None:
        """Delete the Deployment once its JobManagers are gone; until cancelled."""
        await self._asked.wait()
        deadline, backoff = self.clock() + LINGER_SECONDS, Backoff(0.2, 5.0)
        while True:
            ended = self.clock() >= deadline or not await self._are_there()
            if ended and await self._is_deleted():
                break
            await asyncio.sleep(backoff.pause() if ended else _PAUSE)
        # This very process is the Deployment's as well: it will be ended.
        await asyncio.Event().wait()

    async def _are_there(self) -> bool:
        try:
            found = await self._client.list(PODS, self._namespace, labels=self._labels)
        except KubernetesError as error:
            log.info("cannot see whether the JobManager has ended: %s", error.message)
            return True
        return bool(found.items)

    async def _is_deleted(self) -> bool:
        name, uid = objects.name_of(self._deployment), objects.uid_of(self._deployment)
        try:
            await self._client.delete(DEPLOYMENTS, name, self._namespace, uid=uid)
        except (NotFoundError, ConflictError):
            return True
        except KubernetesError as error:
            log.warning("the Deployment cannot be deleted yet: %s", error.message)
            return False
        return True
