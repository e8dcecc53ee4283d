"""What Flink itself tells of its cluster, for who only looks.

A view shows what is there at the moment: it waits for no JobManager. One that takes connections and
says nothing must not hold up what Kubernetes knows of it, so all its answers together have one
limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kubeflink.cluster import endpoint
from kubeflink.cluster.log_diagnosis import what_to_do
from kubeflink.errors import ClusterNotFoundError, FlinkError, KubernetesError, RestStatusError
from kubeflink.kube.client import KubeClient
from kubeflink.rest import java_errors

if TYPE_CHECKING:
    from kubeflink.rest import FlinkClient
    from kubeflink.rest.models import JobSummary, Overview

ANSWER_SECONDS = 5.0
"""How long the REST API may take for all its answers."""

MOST_FAILURES = 3
"""Of how many jobs it is asked why they failed, the last ones."""

_RETRY_SECONDS = 2.0
_FAILED = ("FAILED", "FAILING", "RESTARTING")


@dataclass(frozen=True, slots=True)
class JobFailure:
    """Why a job failed, in one line, and what to do about it. It may run again."""

    job_id: str
    cause: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class RestView:
    """The answers that came; `error` says why others did not.

    `taskmanagers` are the ids of those that have registered, None if that is not known.
    """

    overview: Overview | None = None
    jobs: tuple[JobSummary, ...] = field(default=())
    taskmanagers: frozenset[str] | None = None
    failures: tuple[JobFailure, ...] = field(default=())
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
            seen = replace(seen, taskmanagers=registered)
            return replace(seen, failures=await _failures(flink, seen.jobs))
    except TimeoutError:
        told = f"Flink's REST API at {where} did not answer within {ANSWER_SECONDS:g} s"
        return replace(seen, error=told)
    except (FlinkError, KubernetesError, ClusterNotFoundError) as error:
        return replace(seen, error=error.message)


async def _failures(flink: FlinkClient, jobs: Iterable[JobSummary]) -> tuple[JobFailure, ...]:
    """Why the last jobs failed that did; a job that is forgotten meanwhile is left out.

    So is one that has failed just now: Flink tells failures from a copy that is some seconds old.
    """
    failed = sorted((job for job in jobs if job.state in _FAILED), key=lambda job: job.start_time)
    found = []
    for job in failed[-MOST_FAILURES:]:
        try:
            trace = (await flink.exceptions(job.id, limit=1)).latest_stacktrace
        except RestStatusError as error:
            if error.code != 404:
                raise
            continue
        if trace:
            found.append(JobFailure(job.id, java_errors.root_cause(trace), what_to_do(trace)))
    return tuple(found)
