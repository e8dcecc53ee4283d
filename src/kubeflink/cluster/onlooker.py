"""Why a JobManager does not answer, seen by who can look at its pods.

A REST API without an answer says nothing of the cause; the Deployment, the pods and their logs do.
So whoever waits for an answer has them looked at after each attempt in vain, and never before: a
cluster that answers costs no request to the API server.

A cause that will not pass by itself (see `diagnosis`) ends the wait, as it does at a start. Not so
for a JobManager that may serve again because it has served: it has answered the one who waits, it
ran for long, or somebody killed it; and not so while another one is there to take over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

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
from kubeflink.objects import JsonObject
from kubeflink.spec import names

_SIGNALS: Final = range(129, 160)
"""Exit codes of who was ended by a signal; Flink's own are below and above."""

LOOK_SECONDS = 5.0
"""How long a look may take; an API server that is slower shows nothing, and proves nothing."""

SERVED_SECONDS = 300.0
"""Who ran for so long did not fail at its start."""


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
        comes_back = has_answered or _may_come_back(seen.jobmanager.pods)
        if self._course.is_final(now) and not comes_back:
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


def _may_come_back(pods: Sequence[JsonObject]) -> bool:
    """Whether a JobManager ended in a way that says nothing of its next run, or has a standby."""
    ends = [_end_of(pod) for pod in pods]
    is_standby_there = len(ends) > 1 and None in ends
    return is_standby_there or any(
        _is_killed(ended) or _seconds_of(ended) >= SERVED_SECONDS for ended in ends if ended
    )


def _end_of(pod: JsonObject) -> Mapping[str, Any] | None:
    """How the main container ended; None while it runs, and empty if it has never run."""
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        if container.get("name") == names.MAIN_CONTAINER:
            state, last = container.get("state") or {}, container.get("lastState") or {}
            if "running" in state:
                return None
            return state.get("terminated") or last.get("terminated") or {}
    return {}


def _is_killed(ended: Mapping[str, Any]) -> bool:
    """Whether a signal ended the container, and not for its use of memory."""
    return ended.get("exitCode") in _SIGNALS and ended.get("reason") != "OOMKilled"


def _seconds_of(ended: Mapping[str, Any]) -> float:
    """How long a run lasted; 0 where that is not told."""
    started, finished = ended.get("startedAt"), ended.get("finishedAt")
    if not started or not finished:
        return 0.0
    between = datetime.fromisoformat(str(finished)) - datetime.fromisoformat(str(started))
    return between.total_seconds()
