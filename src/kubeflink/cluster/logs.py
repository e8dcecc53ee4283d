"""The logs of a cluster's pods, read once or followed.

Following a cluster is more than following its pods: TaskManagers come and go with jobs, and a
JobManager may be replaced. So the pods are listed every second, each new one is followed from its
first line (those that were there at the start from their last lines), and the lines of all come out
of one iterator. Lines of one pod keep their order. A request that is cut is made again, and none of
its lines is lost or told twice: see `log_overlap`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from kubeflink import objects
from kubeflink.cluster import log_overlap
from kubeflink.cluster.log_overlap import Overlap
from kubeflink.cluster.tasks import end
from kubeflink.errors import (
    ApiUnreachableError,
    BadRequestError,
    ClusterError,
    ClusterNotFoundError,
    NotFoundError,
    ServerError,
)
from kubeflink.kube import next_step
from kubeflink.kube.client import KubeClient
from kubeflink.objects import DEPLOYMENTS, PODS, JsonObject
from kubeflink.spec import names

POLL_SECONDS = 1.0

_WAITING = 2000
"""Lines that may wait for a reader who is slower than the pods."""


_PASSING = (ApiUnreachableError, ServerError)
"""Errors after which the same request may succeed."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of one pod, without its line break.

    `component` is `jobmanager`, `taskmanager` or `broker`.
    """

    pod: str
    component: str
    text: str


async def read(
    client: KubeClient,
    cluster_id: str,
    namespace: str | None = None,
    *,
    tail_lines: int | None = None,
    component: str | None = None,
) -> AsyncGenerator[LogLine, None]:
    """What the pods have logged so far, the JobManager first.

    ClusterNotFoundError without any pods, ClusterError where none of them has begun to log.
    """
    pods = await cluster_pods(client, cluster_id, namespace, component)
    if not pods:
        raise await _nothing_to_read(client, cluster_id, namespace, component)
    has_begun = False
    for pod in pods:
        name = objects.name_of(pod)
        try:
            text = await client.pod_logs(
                name,
                objects.namespace_of(pod),
                container=main_container(pod),
                tail_lines=tail_lines,
            )
        except (BadRequestError, NotFoundError):  # not started yet, or gone in between
            continue
        has_begun = True
        for line in _lines(text):
            yield LogLine(name, _component(pod), line)
    if not has_begun:
        where = objects.namespace_of(pods[0]) or client.namespace
        raise ClusterError(
            f"There is no log yet of {', '.join(map(objects.name_of, pods))}",
            hint=f"See why: {next_step.command(f'describe {cluster_id}', where)}",
        )


async def follow(
    client: KubeClient,
    cluster_id: str,
    namespace: str | None = None,
    *,
    tail_lines: int | None = None,
    component: str | None = None,
) -> AsyncGenerator[LogLine, None]:
    """The lines of all pods as they come, until the cluster is gone.

    The caller ends it by leaving the loop; the requests end with the iterator.
    """
    pods = await cluster_pods(client, cluster_id, namespace, component)
    if not pods:
        raise await _nothing_to_read(client, cluster_id, namespace, component)
    follower = _Follower(client, cluster_id, namespace, component, tail_lines)
    task = asyncio.create_task(follower.run(), name=f"follow the logs of {cluster_id}")
    try:
        while (line := await follower.lines.get()) is not None:
            yield line
    finally:
        await end(task)
    if follower.error is not None:
        raise follower.error


async def cluster_pods(
    client: KubeClient, cluster_id: str, namespace: str | None, component: str | None = None
) -> list[JsonObject]:
    """JobManagers, then TaskManagers, each in the order of their names; or those of a component.

    A broker is read only where it is asked for: it is no Flink, and says other things.
    """
    labels = names.common_labels(cluster_id)
    if component == names.BROKER:
        labels = names.broker_labels(cluster_id)
    elif component is not None:
        labels[names.LABEL_COMPONENT] = component
    found = await client.list(PODS, namespace, labels=labels)
    return sorted(found.items, key=lambda pod: (_component(pod), _natural(objects.name_of(pod))))


def main_container(pod: JsonObject) -> str | None:
    """The container of Flink, or of the broker; None where there is one, whatever it is called."""
    containers = [entry.get("name") for entry in (pod.get("spec") or {}).get("containers") or ()]
    known = (names.MAIN_CONTAINER, names.BROKER)
    return next((name for name in known if name in containers), None)


@dataclass(slots=True)
class _Follower:
    client: KubeClient
    cluster_id: str
    namespace: str | None
    component: str | None
    tail_lines: int | None
    lines: asyncio.Queue[LogLine | None] = field(
        default_factory=lambda: asyncio.Queue(_WAITING), init=False
    )
    followed: set[str] = field(default_factory=set, init=False)
    error: Exception | None = field(default=None, init=False)

    async def run(self) -> None:
        """Follows all pods until the cluster is gone, or an error; the last line is None."""
        try:
            async with asyncio.TaskGroup() as group:
                tail = self.tail_lines
                while await self._start_new(group, tail):
                    tail = None  # pods that come later are followed from their first line
                    await asyncio.sleep(POLL_SECONDS)
        except ExceptionGroup as errors:
            self.error = errors.exceptions[0]
        await self.lines.put(None)

    async def _start_new(self, group: asyncio.TaskGroup, tail: int | None) -> bool:
        """Takes up the pods that are new; False when there is nothing more to come."""
        try:
            pods = await cluster_pods(self.client, self.cluster_id, self.namespace, self.component)
        except _PASSING:
            return True
        for pod in pods:
            uid = objects.uid_of(pod)
            if uid not in self.followed:
                self.followed.add(uid)
                group.create_task(self._follow(pod, tail), name=f"log of {objects.name_of(pod)}")
        return bool(pods) or await _deployment_exists(self.client, self.cluster_id, self.namespace)

    async def _follow(self, pod: JsonObject, tail: int | None) -> None:
        """Hands on the lines of one pod, through restarts of its container, until it is gone."""
        name, namespace = objects.name_of(pod), objects.namespace_of(pod)
        starts, overlap = _restarts(pod), Overlap()
        while True:
            try:
                with contextlib.suppress(BadRequestError, *_PASSING):
                    # It has not started yet, or the way is broken.
                    await self._hand_on(pod, tail, overlap)
                current = await self.client.get(PODS, name, namespace)
                if objects.uid_of(current) != objects.uid_of(pod):
                    return
                if _restarts(current) > starts:
                    # A container that starts anew has a new log, which is followed from its start.
                    starts, tail = _restarts(current), None
                    overlap.clear()
                elif _has_ended(current):
                    with contextlib.suppress(BadRequestError):  # without ever having begun
                        await self._catch_up(pod, tail, overlap)
                    return
            except NotFoundError:
                return
            except _PASSING:
                pass
            await asyncio.sleep(POLL_SECONDS)

    async def _hand_on(self, pod: JsonObject, tail: int | None, overlap: Overlap) -> None:
        """Follows the log until the request ends, from where it was left if that was somewhere."""
        if not overlap.is_empty:
            await self._catch_up(pod, log_overlap.LINES, overlap)
            tail = overlap.follow_again()
        following = self.client.follow_pod_logs(
            objects.name_of(pod),
            objects.namespace_of(pod),
            container=main_container(pod),
            tail_lines=tail,
        )
        async with contextlib.aclosing(following) as lines:
            async for text in lines:
                for line in overlap.new(text.rstrip("\n")):
                    await self._put(pod, line)

    async def _catch_up(self, pod: JsonObject, tail: int | None, overlap: Overlap) -> None:
        """Hands on what was missed of the log, up to its end."""
        text = await self.client.pod_logs(
            objects.name_of(pod),
            objects.namespace_of(pod),
            container=main_container(pod),
            tail_lines=tail if overlap.is_empty else log_overlap.LINES,
        )
        for line in overlap.missed(_lines(text)):
            await self._put(pod, line)

    async def _put(self, pod: JsonObject, text: str) -> None:
        await self.lines.put(LogLine(objects.name_of(pod), _component(pod), text))


def _lines(text: str) -> list[str]:
    """What is between line ends; other characters that part lines elsewhere are of a program."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


async def _deployment_exists(client: KubeClient, cluster_id: str, namespace: str | None) -> bool:
    try:
        await client.get(DEPLOYMENTS, names.deployment_name(cluster_id), namespace)
    except NotFoundError:
        return False
    except _PASSING:
        return True
    return True


async def _nothing_to_read(
    client: KubeClient, cluster_id: str, namespace: str | None, component: str | None
) -> ClusterNotFoundError:
    from kubeflink.cluster import brokers, endpoint

    try:
        found = await client.get(DEPLOYMENTS, names.deployment_name(cluster_id), namespace)
    except NotFoundError:
        return await endpoint.not_found(client, cluster_id, namespace)
    except _PASSING:
        found = None
    if component != names.BROKER or found is None:
        return ClusterNotFoundError(f"The Flink cluster {cluster_id} has no pods yet")
    if brokers.has_broker(found):
        where = objects.namespace_of(found) or client.namespace
        return ClusterNotFoundError(
            f"The broker of the Flink cluster {cluster_id} has no pod",
            hint=f"See why: {next_step.command(f'describe {cluster_id}', where)}",
        )
    return ClusterNotFoundError(
        f"The Flink cluster {cluster_id} has no broker",
        hint="It makes its TaskManagers itself: see the log of its JobManager",
    )


def _component(pod: JsonObject) -> str:
    return str(objects.labels_of(pod).get(names.LABEL_COMPONENT, ""))


def _restarts(pod: JsonObject) -> int:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return sum(int(status.get("restartCount") or 0) for status in statuses)


def _has_ended(pod: JsonObject) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts `demo-taskmanager-1-10` after `demo-taskmanager-1-9`."""
    return [(len(part) if part.isdigit() else 0, part) for part in name.split("-")]
