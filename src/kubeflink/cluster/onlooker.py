"""Why a JobManager does not answer, seen by who can look at its pods.

A REST API without an answer says nothing of the cause; the Deployment, the pods and their logs do.
So whoever waits for an answer has them looked at after each attempt in vain, and never before: a
cluster that answers costs no request to the API server.

A cause that will not pass by itself (see `diagnosis`) ends the wait, as it does at a start. Not so
where the JobManager has answered before: it served, so it may serve again, as with high
availability, and what was asked of it may still be under way.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from kubeflink import objects
from kubeflink.cluster import observation
from kubeflink.cluster.diagnosis import Course
from kubeflink.cluster.log_diagnosis import LogFinding
from kubeflink.errors import (
    ClusterFailedError,
    ClusterNotFoundError,
    KubernetesError,
    NotFoundError,
    RestUnreachableError,
)
from kubeflink.kube import next_step
from kubeflink.kube.client import KubeClient

LOOK_SECONDS = 5.0
"""How long a look may take; an API server that is slower shows nothing, and proves nothing."""


@dataclass(slots=True)
class ClusterOnlooker:
    """Looks at one cluster; an `Onlooker` of `rest.transport`. `uid` is that of its Deployment."""

    client: KubeClient
    cluster_id: str
    namespace: str
    uid: str | None = None
    _course: Course = field(default_factory=Course, init=False)

    async def look(self, *, has_answered: bool) -> str | None:
        """What keeps the JobManager from answering, as it looks now; None if nothing is seen.

        Raises ClusterNotFoundError if the cluster has gone, which an API server has to say, and
        ClusterFailedError for a cause that will not pass.
        """
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                seen = await observation.observe_cluster(
                    self.client, self.cluster_id, self.namespace
                )
        except NotFoundError as error:
            raise self._gone() from error
        except (KubernetesError, TimeoutError):
            return None
        if self.uid not in (None, objects.uid_of(seen.jobmanager.deployment or {})):
            raise self._gone()
        found, now = seen.cause(has_served=has_answered), asyncio.get_running_loop().time()
        self._course.note(found, now)
        if found is None:
            return None
        if not has_answered and self._course.is_final(now):
            raise ClusterFailedError(
                f"The Flink cluster {self.cluster_id} does not serve: {found.sentence}",
                hint=found.hint,
            )
        return found.sentence

    async def explain(
        self, error: RestUnreachableError, *, has_answered: bool
    ) -> RestUnreachableError:
        """The error for a wait that has come to its end, with the cause that was seen last.

        The log is asked where the JobManager has never served: later it tells of other things, too.
        """
        how = next_step.command(f"describe {self.cluster_id}", self.namespace)
        message, hint = error.message, error.hint or f"Look at it: {how}"
        if (seen := self._course.seen) is not None:
            message = f"The Flink cluster {self.cluster_id} does not answer: {seen.sentence}"
            hint = seen.hint or hint
        elif not has_answered and (told := await self._told_by_log()) is not None:
            hint = f"The JobManager's log says: {told.sentence}\n{told.hint or hint}"
        explained = RestUnreachableError(message, hint=hint)
        explained.__cause__ = error.__cause__ or error
        return explained

    async def _told_by_log(self) -> LogFinding | None:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await observation.explain_running(
                    self.client, self.cluster_id, self.namespace
                )
        except TimeoutError:
            return None

    def _gone(self) -> ClusterNotFoundError:
        return ClusterNotFoundError(
            f"The Flink cluster {self.cluster_id} in namespace {self.namespace} has gone away"
        )
