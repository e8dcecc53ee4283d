"""A cluster that is known by the address of its REST API alone, wherever it runs.

This is Flink's target `remote`: there is no Kubernetes to ask, so what is said about its jobs is
what its JobManager says.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Self

from kubeflink.cluster import endpoint
from kubeflink.cluster.endpoint import Address, is_near
from kubeflink.cluster.session import SessionCluster
from kubeflink.rest import FlinkClient

if TYPE_CHECKING:
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
        scheme: str = "http",
        first_contact: FirstContact | None = None,
    ) -> None:
        self._first_contact = first_contact
        shown = f"[{host}]" if ":" in host else host
        self._host, self._port, self._scheme = host, port, scheme
        self._url = f"{scheme}://{shown}:{port}"
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
            import httpx2

            from kubeflink.rest.transport import FirstContact

            http = httpx2.AsyncClient(trust_env=not is_near(self._url))
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
        return type(self)(self._host, self._port, scheme=self._scheme, first_contact=first_contact)

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

    async def recovers_jobs(self) -> bool:
        """It may."""
        return True

    async def exists(self) -> bool:
        """Nothing but its own answers could prove that it is gone."""
        return True

    async def address(self) -> Address:
        """Where the web interface is."""
        return Address("remote", self._url)
