"""One pod on this node, from its binding to its end.

A worker owns everything that runs for its pod. It follows the order of a kubelet: bind, init
containers one after the other, then all containers at once, until they have ended for good or the
pod is deleted; then stop them, and confirm the deletion to the API server (only then the pod is
gone). When the server stops without being told to end the pods, the worker is cancelled and leaves
the processes running for the next server.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kubeflink import objects
from kubeflink.apiserver.deletion import DeleteOptions
from kubeflink.apiserver.metadata import timestamp
from kubeflink.apiserver.store import Store, modify
from kubeflink.errors import ConflictError, NotFoundError
from kubeflink.local.brokers import PORT_NAMES as BROKER_PORT_NAMES
from kubeflink.local.brokers import is_broker, service_addresses
from kubeflink.local.command import PORT_NAMES, FlinkScript, container_words, find_script
from kubeflink.local.containers import Container
from kubeflink.local.environment import ContainerConfigError, referenced_objects
from kubeflink.local.events import EventRecorder, Kind
from kubeflink.local.launch import ContainerPlace
from kubeflink.local.logs import trim
from kubeflink.local.node import NODE_NAME, Node, why_it_does_not_fit
from kubeflink.local.pod_status import ContainerView, pod_status, unschedulable, view_of_status
from kubeflink.local.seats import Seats
from kubeflink.local.starting import ContainerFiles
from kubeflink.local.state import remove_tree
from kubeflink.local.watching import until_written
from kubeflink.objects import JsonObject

log = logging.getLogger(__name__)

ReadinessOf = Callable[[JsonObject, JsonObject], Awaitable[None]]
"""Given the pod and a container of it, returns when that container can serve."""


@dataclass(frozen=True, slots=True)
class PodContext:
    """What all pods of the node share."""

    node: Node
    store: Store
    events: EventRecorder
    seats: Seats
    becomes_ready: ReadinessOf


class PodWorker:
    """Runs one pod. `run` ends when the pod is gone; cancelling it leaves the processes."""

    def __init__(self, context: PodContext, pod: JsonObject) -> None:
        self.pod = pod
        self._context = context
        self._deleted = asyncio.Event()
        self._gone = asyncio.Event()
        self._init: list[Container] = []
        self._main: list[Container] = []
        self._initialized = False

    @property
    def directory(self) -> Path:
        """Everything of this pod on disk."""
        namespace, name = objects.namespace_of(self.pod), objects.name_of(self.pod)
        folder = f"{namespace}_{name}_{objects.uid_of(self.pod)}"
        return self._context.node.state.pods / folder

    def files(self, container: str) -> ContainerFiles:
        """The logs and records of one of the pod's containers."""
        return ContainerFiles(self.directory / "containers" / container)

    def view(self, container: str) -> ContainerView | None:
        """What one of the containers is doing; None for a name that the pod has not."""
        for each in (*self._init, *self._main):
            if each.name == container:
                return each.view
        return None

    def trim_logs(self) -> None:
        """Cut the logs of running containers that have grown too large."""
        for container in (*self._init, *self._main):
            if container.group is not None:
                trim(container.files.log(container.view.restarts))

    def groups(self) -> list[int]:
        """The process groups that run for this pod."""
        found = (container.group for container in (*self._init, *self._main))
        return [group for group in found if group is not None]

    def update(self, pod: JsonObject) -> None:
        """The pod was changed in the store."""
        self.pod = pod
        if "deletionTimestamp" in pod["metadata"]:
            self._deleted.set()

    def remove(self) -> None:
        """The pod is not in the store any more: nothing has to be waited for."""
        self._gone.set()
        self._deleted.set()

    async def run(self) -> None:
        """Run the pod until it is gone."""
        self.update(self.pod)
        lifecycle = asyncio.create_task(self._lifecycle(), name=f"pod {objects.name_of(self.pod)}")
        deletion = asyncio.create_task(self._deleted.wait(), name="deletion")
        try:
            await asyncio.wait({lifecycle, deletion}, return_when=asyncio.FIRST_COMPLETED)
            if lifecycle.done():
                lifecycle.result()
            await deletion
        finally:
            for task in (lifecycle, deletion):
                task.cancel()
            await asyncio.gather(lifecycle, deletion, return_exceptions=True)
        await self._end()

    # Living.

    async def _lifecycle(self) -> None:
        if self._deleted.is_set():
            self._make_containers()
            await self._adopt_for_stopping()
            return
        if not self.pod["spec"].get("nodeName") and not await self._bind():
            return
        self._make_containers()
        if any(container.has_process() for container in self._main):
            self._context.seats.keep(self.pod)
        if (self.pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            return
        await self.publish()
        if not await self._run_init_containers():
            return
        self._initialized = True
        await self.publish()
        async with asyncio.TaskGroup() as group:
            for container in self._main:
                group.create_task(container.run(), name=f"container {container.name}")
        await self.publish()

    async def _adopt_for_stopping(self) -> None:
        """The server was killed while the pod ended: find its processes again, to end them."""
        async with asyncio.TaskGroup() as group:
            for container in (*self._init, *self._main):
                group.create_task(container.adopt(), name=f"adoption of {container.name}")

    async def _bind(self) -> bool:
        """What the scheduler does; False where the pod fits on no node and has to wait for ever."""
        obstacle = why_it_does_not_fit(self.pod)
        if obstacle is not None:
            status = unschedulable(self.pod, timestamp(time.time()), obstacle)
            await self._write_status(lambda _: status)
            await self.tell("Warning", "FailedScheduling", obstacle)
            return False

        def bind(pod: JsonObject) -> None:
            pod["spec"]["nodeName"] = NODE_NAME

        name, namespace = objects.name_of(self.pod), objects.namespace_of(self.pod)
        try:
            self.pod = await until_written(
                lambda: modify(self._context.store, objects.PODS, namespace, name, bind)
            )
        except NotFoundError:
            return False
        await self.tell(
            "Normal", "Scheduled", f"Successfully assigned {namespace}/{name} to {NODE_NAME}"
        )
        return True

    def _make_containers(self) -> None:
        spec, status = self.pod["spec"], self.pod.get("status") or {}
        policy = spec.get("restartPolicy", "Always")
        self._init = [
            self._container(
                each,
                status.get("initContainerStatuses") or (),
                "Never" if policy == "Never" else "OnFailure",
            )
            for each in spec.get("initContainers") or ()
        ]
        self._main = [
            self._container(each, status.get("containerStatuses") or (), policy)
            for each in spec["containers"]
        ]

    def _container(
        self, container: JsonObject, statuses: Sequence[JsonObject], policy: str
    ) -> Container:
        return Container(
            self._context.node,
            self,
            container,
            self.files(container["name"]),
            view_of_status(container, statuses),
            restart_policy=policy,
            becomes_ready=lambda: self._context.becomes_ready(self.pod, container),
        )

    async def _run_init_containers(self) -> bool:
        for container in self._init:
            if container.view.exit_code == 0:
                continue
            if await container.run() != 0:
                await self._fail("Init:Error", f"init container {container.name} failed")
                return False
        return True

    async def _fail(self, reason: str, message: str) -> None:
        def failed(status: JsonObject) -> JsonObject:
            return {**status, "phase": "Failed", "reason": reason, "message": message}

        await self._write_status(lambda pod: failed(self._status(pod)))

    # What containers need of their pod.

    async def publish(self) -> None:
        """Write the pod's status as it is now."""
        await self._write_status(self._status)

    def _status(self, pod: JsonObject) -> JsonObject:
        return pod_status(
            pod,
            now=timestamp(time.time()),
            initialized=self._initialized,
            init_views=[container.view for container in self._init],
            views=[container.view for container in self._main],
        )

    async def _write_status(self, make: Callable[[JsonObject], JsonObject]) -> None:
        uid = objects.uid_of(self.pod)

        def change(pod: JsonObject) -> JsonObject:
            return {**pod, "status": make(pod)} if objects.uid_of(pod) == uid else pod

        try:
            written = await until_written(
                lambda: modify(
                    self._context.store,
                    objects.PODS,
                    objects.namespace_of(self.pod),
                    objects.name_of(self.pod),
                    change,
                    subresource="status",
                )
            )
        except NotFoundError:
            return  # The watch will tell.
        if objects.uid_of(written) == uid:
            self.pod = written

    async def tell(self, kind: Kind, reason: str, message: str) -> None:
        """Record an event about the pod."""
        await self._context.events.record(self.pod, kind, reason, message)

    async def place(self, container: JsonObject) -> ContainerPlace:
        """Where the container lives, with the ConfigMaps and Secrets as they are now."""
        namespace = objects.namespace_of(self.pod)
        found = {}
        for resource, name in referenced_objects(self.pod):
            try:
                found[resource, name] = await self._context.store.get(resource, namespace, name)
            except NotFoundError:
                continue  # What needs it says so.
        names = () if self.pod["spec"].get("hostNetwork") else seated_ports(container)
        ports = await self._context.seats.sit_down(self.pod, names) if names else {}
        services = await self._context.store.list(objects.SERVICES, namespace)
        addresses = service_addresses(services.items)
        return ContainerPlace(self.pod, container, self.directory, found, ports, addresses)

    # Ending.

    async def end(self) -> None:
        """End a pod whose `run` has failed, once it is deleted."""
        await self._deleted.wait()
        await self._end()

    async def _end(self) -> None:
        grace = self.pod["metadata"].get("deletionGracePeriodSeconds")
        grace_seconds = 0.0 if self._gone.is_set() or grace is None else float(grace)
        for container in (*self._init, *self._main):
            if container.view.is_running:
                await self.tell("Normal", "Killing", f"Stopping container {container.name}")
        await self.stop(grace_seconds)
        self._context.seats.stand_up(self.pod)
        await self._confirm_deletion()
        if (obstacle := await asyncio.to_thread(remove_tree, self.directory)) is not None:
            log.warning("files of pod %s are left: %s", objects.name_of(self.pod), obstacle)

    async def stop(self, grace_seconds: float) -> None:
        """End all processes; the grace period ends early when the pod is deleted by force."""
        containers = (*self._init, *self._main)
        stopping = asyncio.create_task(_stop_all(containers, grace_seconds), name="stopping")
        gone = asyncio.create_task(self._gone.wait(), name="deletion by force")
        try:
            await asyncio.wait([stopping, gone], return_when=asyncio.FIRST_COMPLETED)
            if not stopping.done():
                for container in containers:
                    container.kill()
            await stopping
        finally:
            for task in (gone, stopping):
                task.cancel()
            await asyncio.gather(gone, stopping, return_exceptions=True)

    async def _confirm_deletion(self) -> None:
        uid = objects.uid_of(self.pod)
        namespace, name = objects.namespace_of(self.pod), objects.name_of(self.pod)
        try:
            options = DeleteOptions(grace_period=0, uid=uid)
            await until_written(
                lambda: self._context.store.delete(objects.PODS, namespace, name, options)
            )
        except (NotFoundError, ConflictError):
            return  # Deleted by force, and perhaps made anew.


async def _stop_all(containers: Sequence[Container], grace_seconds: float) -> None:
    async with asyncio.TaskGroup() as group:
        for container in containers:
            group.create_task(container.stop(grace_seconds), name=f"end of {container.name}")


def seated_ports(container: JsonObject) -> tuple[str, ...]:
    """The names of the ports for which the container needs real ones that stay."""
    if is_broker(container):
        return BROKER_PORT_NAMES
    script = flink_script(container)
    return PORT_NAMES if script is not None and script.component == "jobmanager" else ()


def flink_script(container: JsonObject) -> FlinkScript | None:
    """The Flink script that a container runs; None for other containers, or where it is unreadable.

    What is wrong with an unreadable one is told when it is started.
    """
    try:
        return find_script(container_words(container))
    except ContainerConfigError:
        return None
