"""The embedded Kubernetes as a whole: store, API server, controllers, kubelet.

`EmbeddedCluster` is an async context manager. Without a state directory it is ephemeral: nothing of
it outlives the block, and not even `kill -9` of this process leaves a JVM behind (see `processes`);
what stays on disk then is removed by the next embedded cluster. With a state directory its objects,
ports and processes survive a killed server, and the next one goes on with them.

In both cases leaving the block ends all processes.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import os
import re
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kubeflink import __version__, objects
from kubeflink.apiserver.faults import FaultPlan
from kubeflink.apiserver.server import ApiServer
from kubeflink.apiserver.store import ObjectStore, modify
from kubeflink.config.yaml import dump_kubernetes
from kubeflink.errors import LocalError, NotFoundError
from kubeflink.jvm.flink_home import find_homes
from kubeflink.jvm.java import find_java
from kubeflink.local.certificates import server_certificate
from kubeflink.local.deployments import DeploymentController
from kubeflink.local.events import EventRecorder
from kubeflink.local.garbage_collector import GarbageCollector
from kubeflink.local.journal import SqliteJournal
from kubeflink.local.kubelet import Kubelet
from kubeflink.local.leftovers import collect_leftovers
from kubeflink.local.node import NODE_NAME, Node
from kubeflink.local.ports import POD_PORTS, PortBook, free_port, is_free
from kubeflink.local.processes import Guardian, start_time
from kubeflink.local.seats import Seats
from kubeflink.local.service_accounts import ServiceAccountController
from kubeflink.local.services import NodePortAdmission, ServiceController
from kubeflink.local.settings import Settings
from kubeflink.local.state import (
    StateDirectory,
    locked,
    new_ephemeral,
    read_json,
    write_file,
    write_json,
)
from kubeflink.local.template_admission import TaskManagerTemplateAdmission
from kubeflink.objects import EMBEDDED_EXTENSION, JsonObject

if TYPE_CHECKING:
    from kubeflink.kube.client import KubeClient

log = logging.getLogger(__name__)


class EmbeddedCluster:
    """A Kubernetes in this process; see the module's text.

    `faults` lets tests make its API server misbehave.
    """

    def __init__(
        self,
        state_dir: Path | None = None,
        *,
        settings: Settings | None = None,
        faults: FaultPlan | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._given = None if state_dir is None else StateDirectory(state_dir.absolute())
        self._settings = settings or Settings()
        self._faults = faults
        self._environ = environ
        self._exits = AsyncExitStack()
        self._main: asyncio.Task[None] | None = None
        self.state: StateDirectory
        self.store: ObjectStore
        self.server: ApiServer
        self.kubelet: Kubelet
        self.services: ServiceController
        self.node: Node

    @property
    def url(self) -> str:
        """The API server's base URL."""
        return self.server.url

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig file for every Kubernetes client."""
        return self.state.kubeconfig

    def client(self) -> KubeClient:
        """A client of this cluster; to be used as a context manager."""
        from kubeflink.kube.client import KubeClient

        return KubeClient.connect(kubeconfig=self.kubeconfig)

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._exits.aclose()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._exits.aclose()

    async def wait_until_failed(self) -> None:
        """Wait for as long as the cluster works; raises what ended it."""
        if self._main is not None:
            await asyncio.shield(self._main)

    # Starting. Each step puts its own undoing on the stack.

    async def _start(self) -> None:
        homes = find_homes(self._settings.flink_homes, environ=self._environ)
        java = find_java(self._environ)
        collect_leftovers(self._environ)
        self.state = self._open_state()
        guardian = self._start_guardian() if self.state.is_ephemeral else None
        book = PortBook(self.state.ports_file)
        self.node = Node(
            state=self.state,
            homes=homes,
            java=java,
            ports=book,
            guardian=guardian,
            jvm_options=self._settings.jvm_options,
            back_off=self._settings.back_off,
        )
        self.store = self._open_store(book)
        seats = Seats(book)
        self.kubelet = Kubelet(self.node, self.store, seats)
        events = EventRecorder(self.store, "controller", NODE_NAME)
        self.services = ServiceController(self.store, events, book, self.kubelet.real_port)
        await self._register_node()
        accounts = ServiceAccountController(self.store)
        await accounts.complete()
        await self._start_server()
        controllers = (
            self.kubelet,
            accounts,
            DeploymentController(self.store, events, seats),
            GarbageCollector(self.store),
            self.services,
        )
        self._main = asyncio.create_task(_run_all(controllers), name="embedded Kubernetes")
        self._exits.push_async_callback(self._stop_controllers, self._main)

    def _open_state(self) -> StateDirectory:
        if self._given is None:
            return self._exits.enter_context(new_ephemeral(self._environ))
        self._given.create()
        self._exits.enter_context(locked(self._given))
        return self._given

    def _start_guardian(self) -> Guardian:
        guardian = Guardian()
        guardian.start()
        self._exits.callback(guardian.stop)
        return guardian

    def _open_store(self, book: PortBook) -> ObjectStore:
        from kubeflink.apiserver.admission import ServiceAddresses

        admission = (NodePortAdmission(book), ServiceAddresses(), TaskManagerTemplateAdmission())
        if self.state.is_ephemeral:
            return ObjectStore(admission=admission, namespaces=_NAMESPACES)
        journal = SqliteJournal(self.state.journal)
        self._exits.callback(journal.close)
        return ObjectStore(journal=journal, admission=admission, namespaces=_NAMESPACES)

    async def _register_node(self) -> None:
        node = self.node.as_object(f"v1.32.0-kubeflink-{__version__}")
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        node["status"]["conditions"] = [
            {
                "type": "Ready",
                "status": "True",
                "reason": "KubeletReady",
                "message": "the embedded kubelet is running",
                "lastHeartbeatTime": now,
                "lastTransitionTime": now,
            }
        ]

        def change(stored: JsonObject) -> JsonObject:
            return {**stored, "status": node["status"]}

        try:
            await self.store.get(objects.NODES, None, NODE_NAME)
        except NotFoundError:
            await self.store.create(objects.NODES, None, node)
        await modify(self.store, objects.NODES, None, NODE_NAME, change, subresource="status")

    async def _start_server(self) -> None:
        certificate = server_certificate(self.state)
        self.server = ApiServer(
            self.store,
            tls=certificate.context,
            token=self.state.token(),
            backend=self.kubelet,
            proxy=self.services,
            faults=self._faults,
            port=self._port(),
        )
        await self.server.start()
        self._exits.push_async_callback(self.server.stop)
        write_file(self.state.kubeconfig, self._kubeconfig_text(certificate.authority), mode=0o600)
        write_json(
            self.state.server_file,
            {
                "pid": os.getpid(),
                "started": start_time(os.getpid()),
                "url": self.server.url,
                "port": self.server.port,
                "time": time.time(),
                "version": __version__,
                "flink": [str(home.version) for home in self.node.homes.homes],
                "java": self.node.java.feature,
            },
        )

    def _port(self) -> int:
        """The port of the API server: JVMs that are adopted know it where it was."""
        if self._settings.port:
            return self._settings.port
        before = self._port_before()
        if before is None:
            return free_port(POD_PORTS, self.node.ports.taken())
        if not is_free(before):
            raise LocalError(
                f"Port {before} of 127.0.0.1, on which this embedded cluster was, is taken",
                hint="End the process that has it, or remove the cluster: kubeflink local down",
            )
        return before

    def _port_before(self) -> int | None:
        """Where the server was, as it wrote into either file; None for a new cluster."""
        told = (read_json(self.state.server_file) or {}).get("port")
        if isinstance(told, int):
            return told
        try:
            found = _SERVER_PORT.search(self.state.kubeconfig.read_text(encoding="utf-8"))
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        return int(found[1]) if found is not None else None

    def _kubeconfig_text(self, authority: bytes) -> str:
        name = f"kubeflink-{self.state.name}"
        cluster = {
            "server": self.server.url,
            "certificate-authority-data": base64.b64encode(authority).decode("ascii"),
            "extensions": [{"name": EMBEDDED_EXTENSION, "extension": {"pods": "processes"}}],
        }
        return dump_kubernetes(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": name, "cluster": cluster}],
                "users": [{"name": name, "user": {"token": self.state.token()}}],
                "contexts": [
                    {
                        "name": name,
                        "context": {"cluster": name, "user": name, "namespace": "default"},
                    }
                ],
                "current-context": name,
            }
        )

    async def _stop_controllers(self, main: asyncio.Task[None]) -> None:
        failure = main.exception() if main.done() and not main.cancelled() else None
        main.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(main, return_exceptions=True)
        # What is thrown away anyway has nothing to save: no grace.
        await self.kubelet.stop_everything(0.0 if self.state.is_ephemeral else _STOP_GRACE)
        if failure is not None:
            raise failure


_NAMESPACES = ("default", "kube-system")
_STOP_GRACE = 5.0  # seconds
_SERVER_PORT = re.compile(r"server: \S+:(\d{1,5})\b")


async def _run_all(controllers: tuple[Any, ...]) -> None:
    async with asyncio.TaskGroup() as group:
        for controller in controllers:
            group.create_task(controller.run(), name=type(controller).__name__)
