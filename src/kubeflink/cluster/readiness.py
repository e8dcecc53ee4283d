"""Waiting until a cluster serves, or saying why it will not.

Ready means that the REST API answers `/overview`: Flink does so only when its Dispatcher has a
leader, so from then on jobs can be submitted. While it does not answer, the pods are looked at, and
a cause that will not pass by itself ends the wait early (see `observation` and `diagnosis`).
"Cannot reach" alone is never taken for a failure of the cluster, but for a reason to go on waiting.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from kubeflink import objects
from kubeflink.cluster import endpoint, observation
from kubeflink.cluster.clock import Deadline
from kubeflink.cluster.diagnosis import Course, Observed
from kubeflink.cluster.endpoint import Route
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
from kubeflink.kube import next_step
from kubeflink.kube.client import KubeClient
from kubeflink.rest.models import Overview

logger = logging.getLogger(__name__)

READY_SECONDS = 300.0
"""The limit of a wait for readiness, where none is given: an image may have to be pulled."""

_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 2.0


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
            seen = await observation.observe_cluster(self.client, self.cluster_id, self.namespace)
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
        self._check_identity(seen.jobmanager)
        found = seen.cause()
        now = asyncio.get_running_loop().time()
        is_news = self._course.note(found, now)
        if found is not None and self._course.is_final(now):
            raise ClusterFailedError(
                f"The Flink cluster {self.cluster_id} does not start: {found.sentence}",
                hint=found.hint,
            )
        if is_news:
            self._tell(found.stage if found else seen.stage())

    async def timed_out(self, seconds: float) -> WaitTimeoutError:
        """The error for a wait that ended at its limit, with the best guess at the cause."""
        seen = self._course.seen
        told, hint = (seen.sentence, seen.hint) if seen else (self._last_error or self._stage, None)
        if seen is None and (
            finding := await observation.explain_running(
                self.client, self.cluster_id, self.namespace
            )
        ):
            told, hint = finding.sentence, finding.hint
        how = next_step.command(f"logs {self.cluster_id}", self.namespace)
        return WaitTimeoutError(
            f"The Flink cluster {self.cluster_id} was not ready after {seconds:g} s: {told}",
            hint=hint or f"Look at it: {how}",
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
