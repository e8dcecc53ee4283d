"""A cluster that is known by the address of its REST API alone, wherever it runs.

This is Flink's target `remote`: there is no Kubernetes to ask, so what is said about its jobs is
what its JobManager says.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Self

from kubeflink.cluster import endpoint
from kubeflink.cluster.addresses import Address
from kubeflink.cluster.session import SessionCluster
from kubeflink.rest import FlinkClient

if TYPE_CHECKING:
    from kubeflink.cluster.diagnosis import Diagnosis
    from kubeflink.cluster.workers import WorkerWatch
    from kubeflink.config.rest_tls import RestTls
    from kubeflink.rest.transport import FirstContact


class RemoteCluster(SessionCluster):
    """A JobManager at `host` and `port`; the other methods of a cluster need a Kubernetes.

    `first_contact` limits how long an address is tried that has never answered.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        tls: RestTls | None = None,
        first_contact: FirstContact | None = None,
    ) -> None:
        self._first_contact = first_contact
        self._tls = tls
        shown = f"[{host}]" if ":" in host else host
        self._host, self._port = host, port
        self._url = f"{'http' if tls is None else 'https'}://{shown}:{port}"
        self.name = f"{shown}:{port}"
        self.namespace = ""
        self.uid = None
        self._resources = AsyncExitStack()
        self._flink = None
        self.route = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    async def flink(self) -> FlinkClient:
        """The client of the REST API; it lives until `close`."""
        self._check_open()
        if self._flink is None:
            from kubeflink.rest.transport import FirstContact

            http = endpoint.http_client(self._url, self._tls)
            await self._resources.enter_async_context(http)
            self._flink = FlinkClient(
                http,
                self._url,
                where=f"JobManager {self.name}",
                first_contact=self._first_contact or FirstContact(),
            )
        return self._flink

    def on_this_loop(self) -> Self:
        """The same address, for an event loop in another thread."""
        first_contact = self._first_contact
        return type(self)(self._host, self._port, tls=self._tls, first_contact=first_contact)

    @asynccontextmanager
    async def socket(
        self, notify: Callable[[str], None] = endpoint.logger.info
    ) -> AsyncIterator[tuple[str, int]]:
        """Its own host and port."""
        yield self._host, self._port

    @asynccontextmanager
    async def one_jobmanager(self) -> AsyncIterator[FlinkClient]:
        """The same client as `flink`: what is behind the address cannot be told."""
        yield await self.flink()

    def watch_workers(self, on_trouble: Callable[[Diagnosis], None] | None = None) -> WorkerWatch:
        """Its pods, if it has some, are not to be seen from here."""
        from kubeflink.cluster.workers import WorkerWatch

        return WorkerWatch(None, self.name, self.namespace, on_trouble)

    async def recovers_jobs(self) -> bool:
        """It may."""
        return True

    async def exists(self) -> bool:
        """Nothing but its own answers could prove that it is gone."""
        return True

    async def address(self) -> Address:
        """Where the web interface is."""
        return Address("remote", self._url)
