"""A Flink cluster that exists, whatever made it: what both kinds of clusters have in common.

The object holds the name of a cluster and the way to it, never a copy of its state: each method
asks. It owns the connection to the REST API, which is made when it is first needed, and, if it was
made by `deploy` or `attach` without a client, the connection to the API server. `close` ends them,
as does leaving an `async with` block; the cluster itself goes on, until `delete`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias

from kubeflink import objects
from kubeflink.cluster import endpoint, readiness, removal
from kubeflink.cluster.access import Connection
from kubeflink.cluster.addresses import Address, address_of
from kubeflink.cluster.endpoint import Route
from kubeflink.errors import (
    ForbiddenError,
    KubernetesError,
    NotFoundError,
)
from kubeflink.kube.client import KubeClient
from kubeflink.objects import DEPLOYMENTS, SERVICES
from kubeflink.spec import names

if TYPE_CHECKING:
    from kubeflink.cluster.description import ClusterDescription
    from kubeflink.cluster.diagnosis import Diagnosis
    from kubeflink.cluster.job import Job, JobOutcome
    from kubeflink.cluster.logs import LogLine
    from kubeflink.cluster.onlooker import ClusterOnlooker
    from kubeflink.cluster.workers import WorkerWatch
    from kubeflink.rest import FlinkClient
    from kubeflink.rest.models import JobSummary, Overview, TaskManagerSummary

logger = logging.getLogger(__name__)

LastWords: TypeAlias = "Callable[[str, str], Awaitable[JobOutcome | None]]"
"""Given the id and the name of a job whose cluster has gone, how it ended, if that was heard."""

PROOF_SECONDS = 5.0
"""How long the API server may take to prove that a cluster is gone; then it counts as there."""


class FlinkCluster:
    """One cluster, by its id and namespace, seen through a client of the API server.

    `uid` is the Deployment's, where it is known: then a cluster that took its place under the same
    name is not mistaken for it.
    """

    _is_closed = False

    def __init__(
        self,
        client: KubeClient,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        owns_client: bool = False,
    ) -> None:
        self.name = name
        self.namespace = namespace or client.namespace
        self.uid = uid
        self._client = client
        self._resources = AsyncExitStack()
        self._flink: FlinkClient | None = None
        self.route: Route | None = None
        """The way to the REST API, once it is in use."""
        if owns_client:
            self._resources.push_async_callback(client.close)

    @classmethod
    async def attach(
        cls,
        name: str,
        *,
        namespace: str | None = None,
        kubeconfig: str | Path | None = None,
        context: str | None = None,
        rest_ca: str | Path | None = None,
        rest_cert: str | Path | None = None,
    ) -> Self:
        """A cluster that is there already. Raises ClusterNotFoundError.

        `rest_ca` and `rest_cert` are files for a REST API with TLS: the authority to trust, and the
        certificate and key to show, as PEM or PKCS12 (password: KUBEFLINK_REST_PASSWORD).
        """
        from kubeflink.config.rest_tls import given_files

        client = Connection(
            kubeconfig, context, namespace, given_files(rest_ca, rest_cert)
        ).client()
        try:
            await endpoint.rest_service(client, name, None)
        except BaseException:
            await client.close()
            raise
        return cls(client, name, owns_client=True)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} in namespace {self.namespace}>"

    def _repr_html_(self) -> str:
        from kubeflink.cluster import display

        reached = None if self.route is None else self.route.kind
        facts = {"namespace": self.namespace, "reached by": reached}
        return display.card(f"{type(self).__name__} {self.name}", facts)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections; the cluster goes on. What needs Flink then is a RuntimeError."""
        self._is_closed = True
        self._flink = None
        await self._resources.aclose()

    def _check_open(self) -> None:
        if self._is_closed:
            raise RuntimeError(f"{self!r} is closed")

    async def flink(self) -> FlinkClient:
        """The client of the cluster's REST API, by the way that works from here.

        It lives until `close`. Raises ClusterNotFoundError.
        """
        self._check_open()
        if self._flink is None:
            self.route = await endpoint.route_to(self._client, self.name, self.namespace)
            # A forwarded port is slower and breaks with its pod: worth a line unasked.
            level = logging.WARNING if self.route.kind == "port-forward" else logging.INFO
            logger.log(level, "reaching %s", self.route.where)
            connection = endpoint.connect(self._client, self.route, onlooker=self._onlooker())
            self._flink = await self._resources.enter_async_context(connection)
        return self._flink

    def on_this_loop(self) -> Self:
        """The same cluster with connections of its own, for an event loop in another thread."""
        client = KubeClient.of(self._client.access)
        return type(self)(client, self.name, self.namespace, uid=self.uid, owns_client=True)

    @asynccontextmanager
    async def socket(
        self, notify: Callable[[str], None] = endpoint.logger.info
    ) -> AsyncIterator[tuple[str, int]]:
        """Host and port of the REST API for other programs of this machine, such as Flink's own.

        They hold while the context is open; see `endpoint.socket_of`. Raises ClusterNotFoundError.
        """
        route = await endpoint.route_to(self._client, self.name, self.namespace)
        async with endpoint.socket_of(self._client, route, notify) as found:
            yield found

    @asynccontextmanager
    async def one_jobmanager(self) -> AsyncIterator[FlinkClient]:
        """A client whose requests all reach the same JobManager, for as long as that lives.

        They reach any with `flink`, which is the same to all requests but those about jars.
        """
        flink = await self.flink()
        if self.route is None or not await self._has_standby():
            yield flink
            return
        async with endpoint.connect(
            self._client, self.route, to_one_pod=True, onlooker=self._onlooker()
        ) as flink:
            yield flink

    async def _has_standby(self) -> bool:
        """Whether there is more than one JobManager; without the right to look, one is assumed."""
        name = names.deployment_name(self.name)
        try:
            deployment = await self._client.get(DEPLOYMENTS, name, self.namespace)
        except (ForbiddenError, NotFoundError):
            return False
        return int((deployment.get("spec") or {}).get("replicas", 1)) > 1

    async def exists(self) -> bool:
        """Whether the Deployment is there, and still the same one."""
        try:
            found = await self._client.get(
                DEPLOYMENTS, names.deployment_name(self.name), self.namespace
            )
        except NotFoundError:
            return False
        return self.uid in (None, objects.uid_of(found))

    async def may_exist(self) -> bool:
        """False only if it is proven that the cluster has gone: an API server has to say so."""
        try:
            async with asyncio.timeout(PROOF_SECONDS):
                return await self.exists()
        except (KubernetesError, TimeoutError):
            return True

    @asynccontextmanager
    async def ends(self) -> AsyncIterator[LastWords]:
        """Listens while open, so that a job that takes its cluster with it is known to have ended.

        A session outlives its jobs, and knows nothing of them when it has gone.
        """

        async def nothing(job_id: str, name: str) -> JobOutcome | None:
            return None

        yield nothing

    def _onlooker(self) -> ClusterOnlooker:
        from kubeflink.cluster.onlooker import ClusterOnlooker

        return ClusterOnlooker(self._client, self.name, self.namespace, self.uid)

    async def recovers_jobs(self) -> bool:
        """False where there is no high availability for certain: a JobManager forgets all jobs.

        It is seen by the internal Service, which Flink makes for clusters without it only.
        """
        try:
            name = names.internal_service_name(self.name)
            await self._client.get(SERVICES, name, self.namespace)
        except KubernetesError:
            return True
        return False

    async def has_ha_data(self) -> bool:
        """Whether there are ConfigMaps of high availability under this name."""
        return bool(await removal.ha_config_maps(self._client, self.name, self.namespace))

    async def wait_ready(
        self,
        *,
        timeout: float | None = readiness.READY_SECONDS,
        on_stage: readiness.Progress | None = None,
    ) -> Overview:
        """Waits until jobs can be submitted, within `timeout` seconds.

        Raises ClusterFailedError with the cause if it will not start.
        """
        return await readiness.wait_ready(
            self._client,
            self.name,
            self.namespace,
            uid=self.uid,
            timeout=timeout,
            on_stage=on_stage,
        )

    async def overview(self) -> Overview:
        """Slots, TaskManagers, jobs and Flink's version."""
        return await (await self.flink()).overview()

    async def address(self) -> Address:
        """Where the web interface is, for a browser."""
        service = await endpoint.rest_service(self._client, self.name, self.namespace)
        return await address_of(self._client, service)

    async def jobs(self) -> tuple[JobSummary, ...]:
        """All jobs that the JobManager remembers."""
        return await (await self.flink()).jobs()

    def job(self, job_id: str) -> Job:
        """One job, by its id; no request is made. Raises UsageError for what is no id."""
        from kubeflink.cluster.job import Job

        return Job(self, job_id)

    def watch_workers(self, on_trouble: Callable[[Diagnosis], None] | None = None) -> WorkerWatch:
        """A watch over the TaskManager pods, for `async with`; see `workers`."""
        from kubeflink.cluster.workers import WorkerWatch

        return WorkerWatch(self._client, self.name, self.namespace, on_trouble)

    async def taskmanagers(self) -> tuple[TaskManagerSummary, ...]:
        """The TaskManagers that have registered; their ids are the names of their pods."""
        return await (await self.flink()).taskmanagers()

    async def dispose_savepoint(self, path: str, *, timeout: float | None = 300.0) -> None:
        """Removes a savepoint with all its files. RestStatusError if that failed."""
        from kubeflink.cluster import savepoints

        await savepoints.dispose(self, path, timeout)

    def logs(
        self,
        *,
        follow: bool = False,
        tail_lines: int | None = None,
        component: str | None = None,
    ) -> AsyncGenerator[LogLine, None]:
        """The lines of the logs of JobManager and TaskManagers; see `logs.read` and `logs.follow`.

        `component` is `jobmanager`, `taskmanager`, or None for both; or `broker`.
        """
        from kubeflink.cluster import logs

        read = logs.follow if follow else logs.read
        return read(
            self._client, self.name, self.namespace, tail_lines=tail_lines, component=component
        )

    async def describe(self) -> ClusterDescription:
        """Everything worth knowing at once: objects, pods, troubles, slots and jobs."""
        from kubeflink.cluster import description

        return await description.describe(self._client, self.name, self.namespace)

    async def delete(
        self,
        *,
        ha_data: removal.HaData = "keep",
        wait: bool = True,
        timeout: float | None = removal.GONE_SECONDS,
        force: bool = False,
        on_remaining: Callable[[str], None] | None = None,
    ) -> None:
        """Deletes the cluster and waits until nothing of it is left; see `removal.delete`."""
        await removal.delete(
            self._client,
            self.name,
            self.namespace,
            ha_data=ha_data,
            wait=wait,
            timeout=timeout,
            force=force,
            on_remaining=on_remaining,
        )
