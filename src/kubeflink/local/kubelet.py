"""The kubelet: one worker for each pod in the store, and what the API server asks about pods."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence

from kubeflink import objects
from kubeflink.apiserver import statuses
from kubeflink.apiserver.pods import LogOptions
from kubeflink.apiserver.store import Store
from kubeflink.errors import GoneError
from kubeflink.local.command import HOST
from kubeflink.local.events import EventRecorder
from kubeflink.local.logs import read_log
from kubeflink.local.node import NODE_NAME, Node
from kubeflink.local.pods import PodContext, PodWorker, seated_ports
from kubeflink.local.processes import kill_recorded
from kubeflink.local.readiness import Readiness
from kubeflink.local.seats import Seats
from kubeflink.local.sockets import listening_ports
from kubeflink.local.state import remove_tree
from kubeflink.objects import JsonObject

log = logging.getLogger(__name__)

_LOG_INTERVAL = 10.0  # seconds between two looks at the sizes of logs


class Kubelet:
    """Runs all pods. A `PodBackend` of the API server."""

    def __init__(self, node: Node, store: Store, seats: Seats) -> None:
        self._store = store
        self._node = node
        self._seats = seats
        self._context = PodContext(
            node=node,
            store=store,
            events=EventRecorder(store, "kubelet", NODE_NAME),
            seats=seats,
            becomes_ready=Readiness(self._own_places).wait,
        )
        self._workers: dict[str, PodWorker] = {}
        self._names: dict[tuple[str, str], str] = {}

    async def run(self) -> None:
        """Follow the store until cancelled; the processes are left running."""
        self._remove_strays({objects.uid_of(pod) for pod in await self._pods()})
        async with asyncio.TaskGroup() as group:
            group.create_task(self._trim_logs(), name="log sizes")
            while True:
                watch = self._store.watch(objects.PODS)
                try:
                    while True:
                        for event in await watch.batch():
                            self._on_event(group, event.type == "DELETED", event.object)
                except GoneError:
                    self._remove_missing(group, await self._pods())

    async def _trim_logs(self) -> None:
        while True:
            await asyncio.sleep(_LOG_INTERVAL)
            for worker in list(self._workers.values()):
                try:
                    worker.trim_logs()
                except OSError as error:  # such as a disk that is full again at once
                    log.warning("logs of pod %s: %s", objects.name_of(worker.pod), error)

    async def stop_everything(self, grace_seconds: float) -> None:
        """End all processes; to be called after `run` was cancelled."""
        async with asyncio.TaskGroup() as group:
            for worker in self._workers.values():
                group.create_task(worker.stop(grace_seconds), name="end of a pod")

    async def _pods(self) -> list[JsonObject]:
        return (await self._store.list(objects.PODS)).items

    def _on_event(self, group: asyncio.TaskGroup, is_deleted: bool, pod: JsonObject) -> None:
        uid = objects.uid_of(pod)
        worker = self._workers.get(uid)
        if is_deleted:
            if worker is not None:
                worker.remove()
        elif worker is not None:
            worker.update(pod)
        else:
            worker = self._workers[uid] = PodWorker(self._context, pod)
            self._names[_key(pod)] = uid
            group.create_task(self._work(worker, uid), name=f"pod {objects.name_of(pod)}")

    def _remove_missing(self, group: asyncio.TaskGroup, pods: list[JsonObject]) -> None:
        living = {objects.uid_of(pod) for pod in pods}
        for uid, worker in self._workers.items():
            if uid not in living:
                worker.remove()
        for pod in pods:
            self._on_event(group, False, pod)

    async def _work(self, worker: PodWorker, uid: str) -> None:
        for step in (worker.run, worker.end):
            try:
                await step()
                break
            except Exception:
                # A fault in one pod's handling must not end the others; it is told in the server's
                # log, and the pod stays as it is until it is deleted.
                log.exception("pod %s", objects.name_of(worker.pod))
                what = "the kubelet failed; see the server's log"
                await worker.tell("Warning", "FailedSync", what)
        else:
            return
        del self._workers[uid]
        if self._names.get(_key(worker.pod)) == uid:
            del self._names[_key(worker.pod)]

    def _remove_strays(self, living: set[str]) -> None:
        """End the processes of pods that were deleted by force while no server was there."""
        for directory in self._node.state.pods.iterdir():
            if directory.name.rpartition("_")[2] in living:
                continue
            kill_recorded(directory.glob("containers/*/process.json"))
            remove_tree(directory)

    # What the API server and the Service proxy ask.

    async def log(
        self, namespace: str, pod: str, container: str, options: LogOptions
    ) -> AsyncIterator[bytes]:
        """The container's output; with `follow` until the container ends.

        `since_seconds` is not looked at: the lines carry no time of ours.
        """
        worker = self._worker(namespace, pod)
        view = worker.view(container)
        if view is None or (view.restarts == 0 and "waiting" in view.state):
            reason = "ContainerCreating" if view is None else view.state["waiting"]["reason"]
            raise statuses.bad_request(
                f'container "{container}" in pod "{pod}" is waiting to start: {reason}'
            )
        # In its back-off, a container's last start is the current one, as in Kubernetes.
        start = view.restarts - 1 if options.previous else view.restarts
        path = worker.files(container).log(start)
        if options.previous and not path.exists():
            raise statuses.bad_request(
                f'previous terminated container "{container}" in pod "{pod}" not found'
            )

        def is_growing() -> bool:
            current = worker.view(container)
            return current is not None and current.is_running and current.restarts == start

        chunks = read_log(
            path,
            tail_lines=options.tail_lines,
            limit_bytes=options.limit_bytes,
            is_growing=is_growing if options.follow else None,
        )
        async for chunk in chunks:
            yield chunk

    async def connect(
        self, namespace: str, pod: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to a port of the pod; `OSError` where nothing listens."""
        worker = self._worker(namespace, pod)
        real = await self.real_port(worker.pod, port)
        return await asyncio.open_connection(HOST, port if real is None else real)

    async def real_port(self, pod: JsonObject, port: int | str) -> int | None:
        """The port of 127.0.0.1 that stands for a port of the pod; None if there is none (yet).

        The ports of a JobManager or a broker are those of its seat. On the host network they are
        Flink's own, which the JobManager writes into its Services; a name is looked up there. All
        other processes listen where they say.
        """
        if pod["spec"].get("hostNetwork"):
            return port if isinstance(port, int) else await self._announced_port(pod, port)
        number = _number_of(pod, port)
        seated = self._seats.ports(pod) if _has_a_seat(pod) else {}
        for name, real in seated.items():
            if port == name or (number is not None and number == _number_of(pod, name)):
                return real
        return number

    async def _own_places(self, pod: JsonObject, port: int | str) -> Sequence[int]:
        """The real ports of the pod's own where one of its ports may be; see `Readiness`.

        On the host network a number may be anybody's, and a Service tells the leader's port only:
        where that is another pod's, this one is a standby, and any of its own ports may be it.
        """
        real = await self.real_port(pod, port)
        if real is None or not pod["spec"].get("hostNetwork"):
            return () if real is None else (real,)
        own = self._listening(pod)
        if real in own:
            return (real,)
        is_anothers = isinstance(port, str) and any(
            real in self._listening(worker.pod) for worker in self._workers.values()
        )
        return sorted(own) if is_anothers else ()

    def _listening(self, pod: JsonObject) -> frozenset[int]:
        worker = self._workers.get(objects.uid_of(pod))
        return frozenset() if worker is None else listening_ports(worker.groups())

    async def _announced_port(self, pod: JsonObject, name: str) -> int | None:
        labels = objects.labels_of(pod)
        services = await self._store.list(objects.SERVICES, objects.namespace_of(pod))
        for service in services.items:
            selector = service["spec"].get("selector")
            if selector and selector.items() <= labels.items():
                for port in service["spec"].get("ports") or ():
                    if port.get("name") == name and isinstance(port.get("targetPort"), int):
                        return int(port["targetPort"])
        return None

    def _worker(self, namespace: str, pod: str) -> PodWorker:
        worker = self._workers.get(self._names.get((namespace, pod), ""))
        if worker is None:
            raise statuses.not_found(objects.PODS, pod)
        return worker


def _key(pod: JsonObject) -> tuple[str, str]:
    return objects.namespace_of(pod) or "", objects.name_of(pod)


def _has_a_seat(pod: JsonObject) -> bool:
    return any(map(seated_ports, pod["spec"]["containers"]))


def _number_of(pod: JsonObject, port: int | str) -> int | None:
    """The container port of this name."""
    if isinstance(port, int):
        return port
    for container in pod["spec"]["containers"]:
        for each in container.get("ports") or ():
            if each.get("name") == port:
                return int(each["containerPort"])
    return int(port) if port.isdecimal() else None
