"""What Flink itself tells of its cluster, for who only looks.

A view shows what is there at the moment: it waits for no JobManager. One that takes connections and
says nothing must not hold up what Kubernetes knows of it, so all its answers together have one
limit.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kubeflink.cluster import endpoint
from kubeflink.errors import ClusterNotFoundError, FlinkError, KubernetesError
from kubeflink.kube.client import KubeClient

if TYPE_CHECKING:
    from kubeflink.rest.models import JobSummary, Overview

ANSWER_SECONDS = 5.0
"""How long the REST API may take for all its answers."""

_RETRY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class RestView:
    """The answers that came; `error` says why others did not.

    `taskmanagers` are the ids of those that have registered, None if that is not known.
    """

    overview: Overview | None = None
    jobs: tuple[JobSummary, ...] = field(default=())
    taskmanagers: frozenset[str] | None = None
    error: str | None = None


async def look(client: KubeClient, cluster_id: str, namespace: str) -> RestView:
    """Asks the REST API of a cluster, for a few seconds at most. What failed is in the answer."""
    seen = RestView()
    where = f"cluster {cluster_id}"
    try:
        route = await endpoint.route_to(client, cluster_id, namespace)
        where = route.where
        async with (
            asyncio.timeout(ANSWER_SECONDS),
            endpoint.connect(client, route, retry_seconds=_RETRY_SECONDS) as flink,
        ):
            seen = replace(seen, overview=await flink.overview())
            seen = replace(seen, jobs=await flink.jobs())
            registered = frozenset(worker.id for worker in await flink.taskmanagers())
            return replace(seen, taskmanagers=registered)
    except TimeoutError:
        told = f"Flink's REST API at {where} did not answer within {ANSWER_SECONDS:g} s"
        return replace(seen, error=told)
    except (FlinkError, KubernetesError, ClusterNotFoundError) as error:
        return replace(seen, error=error.message)
