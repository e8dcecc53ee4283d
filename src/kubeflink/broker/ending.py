"""The end of a cluster that takes itself away: an application that is done, a session that is told.

Whether a JobManager may do that at all, the cluster's configuration says: an application's may, a
session's may not, because whoever can reach Flink's REST API can tell it to.

A JobManager deletes its own Deployment *before* it removes its high-availability data, and counts
on a grace period for that. Its broker is owned by the Deployment, so it would be gone just then,
and the data would stay. So with high availability there are three writes instead of one:

1. a mark on the cluster's rest Service (a broker may update it, and keeps nothing of its own);
2. the Deployment is scaled to none: the JobManager gets its grace period, as it always does, and is
   not started again;
3. when its pods are gone, the Deployment is deleted, and all that it owns.

A broker that is killed in between comes back, because it is a Deployment of its own; it finds the
mark and goes on. Without the mark it could not tell an end from a cluster that somebody has scaled
to none to have it rest for a while.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from kubeflink import objects
from kubeflink.apiserver import statuses
from kubeflink.broker.blueprint import Blueprint
from kubeflink.broker.notes import ServiceNotes
from kubeflink.broker.report import Report
from kubeflink.config.options import broker
from kubeflink.errors import ConflictError, KubernetesError, NotFoundError
from kubeflink.kube.backoff import Backoff
from kubeflink.kube.client import KubeClient
from kubeflink.objects import DEPLOYMENTS, PODS, JsonObject
from kubeflink.spec import names

log = logging.getLogger(__name__)

MARK = "kubeflink.io/ends"
"""An annotation of the rest Service: the uid of the Deployment that is to be deleted."""

LINGER_SECONDS = 60.0
"""How long JobManagers may take to end; Kubernetes gives them 30 seconds."""

_PAUSE = 0.5


class ClusterEnd:
    """Ends one cluster on its JobManager's behalf. `run` owns what goes on after the answer."""

    def __init__(
        self, client: KubeClient, blueprint: Blueprint, notes: ServiceNotes, report: Report
    ) -> None:
        self._client = client
        self._notes = notes
        self._report = report
        self._is_allowed = blueprint.ends_itself
        self._has_data = blueprint.high_availability
        self._deployment = blueprint.deployment
        self._name = objects.name_of(blueprint.deployment)
        self._namespace = blueprint.namespace
        self._labels = names.jobmanager_labels(blueprint.cluster_id)
        self._begun = asyncio.Event()
        self.clock: Callable[[], float] = time.monotonic

    async def begin(self) -> JsonObject:
        """Let the JobManager end; its answer. 404 where the cluster is gone or another one."""
        if not self._is_allowed:
            self._refuse()
        current = await self._client.get(DEPLOYMENTS, self._name, self._namespace)
        if objects.uid_of(current) != self._uid:
            raise statuses.not_found(DEPLOYMENTS, self._name)
        if self._begun.is_set():
            return current
        log.info("the cluster ends itself")
        if not self._has_data:
            await self._delete()
            return current
        await self._notes.amend(MARK, lambda _: self._uid)
        await self._client.scale(DEPLOYMENTS, self._name, 0, self._namespace)
        self._begun.set()
        return current

    def _refuse(self) -> None:
        why = (
            "the JobManager was told to end this cluster, and may not: "
            f"{broker.SELF_DELETION.key} is off"
        )
        self._report.count("requests_refused")
        self._report.happened("the end", f"{why}; it begins anew")
        raise statuses.forbidden(DEPLOYMENTS, self._name, f"{why} (kubeflink broker)")

    async def run(self) -> None:
        """Delete the Deployment once its JobManagers are gone; until cancelled."""
        if self._is_allowed and self._has_data:
            await self._resume()
        await self._begun.wait()
        deadline, backoff = self.clock() + LINGER_SECONDS, Backoff(0.2, 5.0)
        while True:
            ended = self.clock() >= deadline or not await self._are_there()
            if ended and await self._is_deleted():
                break
            await asyncio.sleep(backoff.pause() if ended else _PAUSE)
        # This very process is the Deployment's as well: it will be ended.
        await asyncio.Event().wait()

    @property
    def _uid(self) -> str:
        return objects.uid_of(self._deployment)

    async def _resume(self) -> None:
        """Go on with an end that a broker before this one has begun."""
        backoff = Backoff(0.2, 5.0)
        while not self._begun.is_set():
            try:
                if await self._notes.read(MARK) != self._uid:
                    return
                log.info("the cluster has begun to end itself, and goes on")
                await self._client.scale(DEPLOYMENTS, self._name, 0, self._namespace)
                self._begun.set()
            except NotFoundError:
                return  # nothing is left to be ended
            except KubernetesError as error:
                log.info("cannot see whether the cluster has begun to end: %s", error.message)
                await asyncio.sleep(backoff.pause())

    async def _are_there(self) -> bool:
        try:
            found = await self._client.list(PODS, self._namespace, labels=self._labels)
        except KubernetesError as error:
            log.info("cannot see whether the JobManager has ended: %s", error.message)
            return True
        return bool(found.items)

    async def _is_deleted(self) -> bool:
        try:
            await self._delete()
        except (NotFoundError, ConflictError):
            return True
        except KubernetesError as error:
            log.warning("the Deployment cannot be deleted yet: %s", error.message)
            return False
        return True

    async def _delete(self) -> None:
        await self._client.delete(DEPLOYMENTS, self._name, self._namespace, uid=self._uid)
