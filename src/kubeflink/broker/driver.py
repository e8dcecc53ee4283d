"""Flink's `KubernetesResourceManagerDriver`: workers made and released, once each.

Which workers there should be, and what becomes of those that fail, the JobManager decides: it sees
the real pods, and asks. The driver carries out what is asked for so that it happens exactly once,
whatever dies in between:

- A request is known by its name and arguments. One that comes again, because its answer or its
  broker got lost, is answered with the pod that is there. So a broker that was killed before it
  created the pod creates it when it is asked again, and one that was killed afterwards finds it.
- One write makes a pod. Before it nothing has happened, after it everything has: there is nothing
  to be remembered, and a restarted broker only lists.
- A pod that was created for nobody, because the JobManager went away before it was answered, and
  that no JobManager asks for or lists within some time, is deleted again.

What the API server does not carry out now is tried again for as long as the JobManager waits (its
HTTP client gives up after ten seconds and asks again). What it refuses (403, a quota) is handed on,
more and more slowly, because Flink asks again at once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from kubeflink import objects
from kubeflink.apiserver import statuses
from kubeflink.apiserver.deletion import Deletion
from kubeflink.broker.blueprint import Blueprint, owned_by, usage_of
from kubeflink.broker.limits import Limits, Pace, Usage, why_too_much
from kubeflink.broker.mirror import Mirror
from kubeflink.broker.policy import Policy, left_out, refusal
from kubeflink.broker.projection import fingerprint, is_over
from kubeflink.broker.report import Report
from kubeflink.broker.tally import Tally, merged
from kubeflink.errors import (
    ApiStatusError,
    ApiUnreachableError,
    ConflictError,
    ForbiddenError,
    KubernetesError,
    NotFoundError,
    ServerError,
    TooManyRequestsError,
)
from kubeflink.kube.backoff import Backoff
from kubeflink.kube.client import KubeClient
from kubeflink.objects import PODS, JsonObject
from kubeflink.spec import names

log = logging.getLogger(__name__)

ANSWER_SECONDS = 8.0
"""How long a JobManager waits at most for the answer to one request; its client has 10 seconds."""

UNCLAIMED_SECONDS = 120.0
"""How long a pod is kept whose JobManager went away before it was answered."""

LOST_AT_MOST = 20_000
"""How many names are told to be gone when nobody knows any more what was there."""


@dataclass(slots=True)
class _Creation:
    """A pod under way. `waiting` is how many requests wait for it, `claimed` whether one has it."""

    fingerprint: str
    usage: Usage
    task: asyncio.Task[JsonObject]
    waiting: int = 0
    claimed: bool = False

    @property
    def may_be_left(self) -> bool:
        """Whether a pod may come of it, or has, that nobody has been told of."""
        if self.claimed or self.waiting:
            return False
        return not self.task.done() or not (self.task.cancelled() or self.task.exception())


@dataclass(slots=True)
class Timing:
    """Seconds; tests have less patience."""

    answer: float = ANSWER_SECONDS
    unclaimed: float = UNCLAIMED_SECONDS
    refused_first: float = 0.5
    refused_longest: float = 7.0
    retry_first: float = 0.1
    clock: Callable[[], float] = field(default=time.monotonic)


class WorkerDriver:
    """Makes and deletes the TaskManager pods of one cluster; `run` owns its tasks."""

    def __init__(
        self,
        client: KubeClient,
        blueprint: Blueprint,
        policy: Policy,
        pods: Mirror,
        limits: Limits,
        tally: Tally,
        report: Report,
        timing: Timing | None = None,
    ) -> None:
        self._client = client
        self._tally = tally
        self._blueprint = blueprint
        self._policy = policy
        self._pods = pods
        self._limits = limits
        self._report = report
        self._timing = timing or Timing()
        self._pace = Pace(limits.pods_per_minute, self._timing.clock)
        self._creating: dict[str, _Creation] = {}
        self._usages: dict[str, Usage] = {}
        self._used = Usage()
        self._unclaimed: dict[str, float] = {}
        self._refusals = Backoff(self._timing.refused_first, self._timing.refused_longest)
        self._refused_before = False
        self._highest: tuple[int, int] = (0, 0)
        self._forgotten = False
        pods.listen(self._on_pod)

    @property
    def used(self) -> Usage:
        """What all TaskManagers ask for together, with those that are being made."""
        return self._used + sum((each.usage for each in self._creating.values()), Usage())

    async def run(self) -> None:
        """Delete what nobody asked for, until cancelled; then nothing more is created."""
        try:
            while True:
                await asyncio.sleep(self._timing.unclaimed / 20)
                await self._delete_unclaimed()
        finally:
            tasks = [creation.task for creation in self._creating.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # Requests

    async def request(self, asked: JsonObject) -> JsonObject:
        """The pod for a JobManager's request, made or found. Errors are its answer.

        Being cancelled (the JobManager went away) leaves a creation that has begun to its end.
        """
        name, pod = self._read(asked)
        known = self._pods.objects.get(name)
        if known is not None:
            return self._repeated(known, fingerprint(pod))
        creation = self._creating.get(name)
        if creation is not None and creation.fingerprint != fingerprint(pod):
            raise statuses.already_exists(PODS, name)
        if creation is None:
            creation = await self._begin(name, pod)
        return await self._answer(name, creation)

    def _read(self, asked: JsonObject) -> tuple[str, JsonObject]:
        try:
            request = self._policy.worker(asked)
        except ApiStatusError as error:
            self._report.count("requests_refused")
            self._report.happened("a request", f"refused: {error.server_message or error.message}")
            raise
        pod = self._blueprint.pod(request.requested)
        if beyond := sorted(set(left_out(asked, pod))):
            self._report.count("requests_altered")
            told = ", ".join(beyond[:5]) + (", ..." if len(beyond) > 5 else "")
            log.warning("%s: left out of the request: %s", request.requested.name, told)
        self._note_name(request.requested.name)
        return request.requested.name, pod

    def _repeated(self, known: JsonObject, digest: str) -> JsonObject:
        name = objects.name_of(known)
        if fingerprint(known) != digest or "deletionTimestamp" in known["metadata"]:
            raise statuses.already_exists(PODS, name)
        self._unclaimed.pop(name, None)
        self._report.count("pods_repeated")
        return known

    async def _begin(self, name: str, pod: JsonObject) -> _Creation:
        cores, memory = usage_of(pod)
        wanted = Usage(1, cores, memory)
        why = why_too_much(self._limits, self.used, wanted)
        if why is not None:
            self._report.begin("a limit", f"no TaskManager is added: {why}")
            await self._slow_down()
            raise refusal(name, why)
        self._report.end("a limit")
        pause = self._pace.take()
        if pause > self._timing.answer:
            self._pace.give_back()
            told = f"more than {self._limits.pods_per_minute} TaskManager pods are wanted a minute"
            self._report.begin("the pace", f"{told}; they have to wait")
            raise statuses.failure(429, told, retry_after=min(pause, 60.0))
        self._report.end("the pace")
        task = asyncio.create_task(self._create(name, pod, pause), name=f"create {name}")
        creation = self._creating[name] = _Creation(fingerprint(pod), wanted, task)
        task.add_done_callback(lambda _: self._ended(name, creation))
        return creation

    async def _answer(self, name: str, creation: _Creation) -> JsonObject:
        creation.waiting += 1
        try:
            done, _ = await asyncio.wait({creation.task}, timeout=self._timing.answer)
            if not done:
                raise statuses.failure(503, f"pod {name} is still being created", retry_after=1)
            made = creation.task.result()
            creation.claimed = True
            self._unclaimed.pop(name, None)
            return made
        finally:
            creation.waiting -= 1
            if creation.may_be_left:
                # Whoever asked is gone, or has to ask again. Somebody has to claim the pod.
                self._unclaimed[name] = self._timing.clock() + self._timing.unclaimed

    def _ended(self, name: str, creation: _Creation) -> None:
        if self._creating.get(name) is creation:
            del self._creating[name]
        if not creation.task.cancelled():
            creation.task.exception()  # it is told to those who wait; there may be none left

    # Making a pod

    async def _create(self, name: str, pod: JsonObject, pause: float) -> JsonObject:
        if pause:
            await asyncio.sleep(pause)
        backoff = Backoff(self._timing.retry_first, 3.0)
        while True:
            try:
                return self._made(await self._client.create(pod, self._blueprint.namespace))
            except ConflictError as error:
                return await self._found(name, pod, error)
            except ForbiddenError as error:
                await self._refused(error)
                raise
            except (ServerError, TooManyRequestsError, ApiUnreachableError) as error:
                self._report.begin("creating pods", f"pods cannot be created: {error.message}")
                if not self._is_awaited(name):
                    self._report.count("creations_failed")
                    raise
                wanted = error.retry_after if isinstance(error, ApiStatusError) else None
                await asyncio.sleep(backoff.pause(at_least=wanted))
                if not self._is_awaited(name):
                    self._report.count("creations_failed")
                    raise
                self._report.count("creations_retried")
            except ApiStatusError as error:
                self._report.count("creations_failed")
                self._report.begin("creating pods", f"pods cannot be created: {error.message}")
                raise

    def _made(self, pod: JsonObject) -> JsonObject:
        shown = self._pods.kept(pod)
        self._pods.enter(shown)
        log.info("%s is made", objects.name_of(pod))
        self._report.count("pods_created")
        self._report.end("creating pods")
        self._refusals.reset()
        self._refused_before = False
        return shown

    async def _found(self, name: str, pod: JsonObject, conflict: ConflictError) -> JsonObject:
        """The pod that is in the way, if it is the one that was to be made."""
        found = await self._client.list(
            PODS, self._blueprint.namespace, fields={"metadata.name": name}
        )
        for other in found.items:
            is_ours = owned_by(other, self._blueprint.deployment) and self._policy.is_own(other)
            if is_ours and fingerprint(other) == fingerprint(pod):
                self._report.count("pods_repeated")
                self._report.end("creating pods")
                shown = self._pods.kept(other)
                self._pods.enter(shown)
                return shown
        raise conflict

    async def _refused(self, error: ForbiddenError) -> None:
        self._report.count("creations_failed")
        # A right that is missing is told with the rule to add; a quota has a sentence of its own.
        told = f"{error.message}. {error.hint}" if error.hint else error.server_message
        self._report.begin("creating pods", f"pods cannot be created: {told or error.message}")
        await self._slow_down()

    async def _slow_down(self) -> None:
        """The first refusal is answered at once, those that follow later and later."""
        if self._refused_before:
            await asyncio.sleep(self._refusals.pause())
        self._refused_before = True

    def _is_awaited(self, name: str) -> bool:
        creation = self._creating.get(name)
        return creation is not None and creation.waiting > 0

    # Releasing

    async def release(self, name: str) -> Deletion:
        """Delete a worker's pod; 404 where there is none of this cluster."""
        known = self._pods.objects.get(name)
        if known is None:
            raise statuses.not_found(PODS, name)
        self._unclaimed.pop(name, None)
        backoff, tries = Backoff(self._timing.retry_first, 1.0), 4
        for attempt in range(1, tries + 1):
            try:
                await self._client.delete(
                    PODS, name, self._blueprint.namespace, uid=objects.uid_of(known)
                )
                break
            except (NotFoundError, ConflictError):
                self._pods.remove(known)  # it is gone, and perhaps another one is there
                raise statuses.not_found(PODS, name) from None
            except (ServerError, TooManyRequestsError, ApiUnreachableError):
                if attempt == tries:
                    raise
                await asyncio.sleep(backoff.pause())
        log.info("%s is deleted", name)
        self._report.count("pods_deleted")
        return Deletion(known, gone=False)

    async def _delete_unclaimed(self) -> None:
        now = self._timing.clock()
        for name in [name for name, until in self._unclaimed.items() if until <= now]:
            del self._unclaimed[name]
            if name not in self._pods.objects:
                continue
            log.warning("%s is deleted: its JobManager went away before it was answered", name)
            try:
                await self.release(name)
            except NotFoundError:
                continue
            except KubernetesError as error:
                log.warning("%s cannot be deleted yet: %s", name, error.message)
                self._unclaimed[name] = now + self._timing.unclaimed

    # What is there

    def listed(self) -> None:
        """A JobManager has looked at all pods: it decides about each of them from now on."""
        for name in [name for name in self._unclaimed if name in self._pods.objects]:
            del self._unclaimed[name]

    def _on_pod(self, pod: JsonObject, gone: bool) -> None:
        name = objects.name_of(pod)
        self._used -= self._usages.pop(name, Usage())
        if gone:
            self._unclaimed.pop(name, None)
            return
        self._count_name(name)
        if not is_over(pod):
            cores, memory = usage_of(pod)
            self._usages[name] = Usage(1, cores, memory)
            self._used += self._usages[name]

    def _count_name(self, name: str) -> tuple[int, int]:
        numbers = self._policy.parse_name(name)
        assert numbers is not None
        place = numbers.attempt, numbers.index
        self._highest = max(self._highest, place)
        return place

    def _note_name(self, name: str) -> None:
        """A new name also tells which came before it, should that have been forgotten."""
        attempt, index = self._count_name(name)
        self._tally.count(attempt, index)
        if self._forgotten:
            self._forgotten = False
            self._pods.tell_lost(self._names(attempt, index - 1))

    async def lost_names(self) -> list[str]:
        """The names that the JobManager's workers may have had, and have not now.

        Those that are noted, and those up to the highest that is there; and from the next request
        it can be seen how far the JobManager has counted.
        """
        attempt, index = self._highest
        last = merged(await self._tally.read(), {attempt: index} if attempt else {})
        self._forgotten = True
        newest_first = sorted(last.items(), reverse=True)
        found = (name for each in newest_first for name in self._names(*each))
        return list(islice(found, LOST_AT_MOST))

    def _names(self, attempt: int, last: int) -> Iterator[str]:
        for index in range(max(1, last - LOST_AT_MOST), last + 1):
            name = names.taskmanager_pod_name(self._blueprint.cluster_id, attempt, index)
            if name not in self._pods.objects and name not in self._creating:
                yield name
