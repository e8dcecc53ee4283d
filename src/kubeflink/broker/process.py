"""One broker, from its start to its end.

    read the blueprint -> follow pods (and ConfigMaps) -> listen

It listens at once; what it has not seen yet it answers with 503, which Flink's client asks again.
An API server that is away is waited for, see `kubeflink.broker.patience`.
When one of its parts fails for good, the whole broker ends with that error: whoever runs it starts
it again, and nothing is lost, because nothing is kept here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from kubeflink import objects
from kubeflink.apiserver.faults import FaultPlan
from kubeflink.apiserver.server import ApiServer
from kubeflink.broker.blueprint import Blueprint, owned_by
from kubeflink.broker.config_maps import HighAvailability, is_ha_name
from kubeflink.broker.driver import Timing, WorkerDriver
from kubeflink.broker.ending import ClusterEnd
from kubeflink.broker.front import front
from kubeflink.broker.limits import limits_of
from kubeflink.broker.mirror import Mirror
from kubeflink.broker.monitor import OUTAGE_SECONDS, Gauges, Monitor
from kubeflink.broker.notes import ServiceNotes
from kubeflink.broker.policy import Policy
from kubeflink.broker.projection import is_over, shown_pod
from kubeflink.broker.report import Report
from kubeflink.broker.services import ServiceUpdates
from kubeflink.broker.store import BrokerStore
from kubeflink.broker.tally import Tally
from kubeflink.errors import ConfigurationError
from kubeflink.kube.client import KubeClient
from kubeflink.kube.exchange import Limits as RequestLimits
from kubeflink.objects import CONFIG_MAPS, PODS, JsonObject
from kubeflink.spec import names
from kubeflink.spec.broker import CERTIFICATE_FILE, KEY_FILE, TOKEN_FILE, BrokerCredentials

log = logging.getLogger(__name__)

ONE_ATTEMPT = RequestLimits(total=0.0, first_contact=0.0, internal=0.0)
"""For the client that a broker is given: what is repeated, and how often, is decided here."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Where the broker listens, and by what its clients are known. Ports may be 0."""

    token: str = field(repr=False)
    tls: ssl.SSLContext | None
    host: str = "127.0.0.1"
    port: int = 0
    metrics_port: int = 0


class Broker:
    """A broker that runs while its context is open. `client` should not repeat requests itself.

    `timing` and `faults` are for tests.
    """

    def __init__(
        self,
        client: KubeClient,
        blueprint: Blueprint,
        listening: Listening,
        *,
        timing: Timing | None = None,
        faults: FaultPlan | None = None,
    ) -> None:
        self.blueprint = blueprint
        self.report = Report()
        self._limits = limits = limits_of(blueprint.running)
        cluster_id, namespace = blueprint.cluster_id, blueprint.namespace
        self.policy = policy = Policy(cluster_id, namespace, blueprint.worker)
        self.pods = Mirror(
            client,
            PODS,
            namespace,
            names.taskmanager_labels(cluster_id),
            is_own=lambda pod: policy.is_own(pod) and owned_by(pod, blueprint.deployment),
            keep=shown_pod,
            lost_names=lambda: self.driver.lost_names(),
        )
        notes = ServiceNotes(client, blueprint)
        self._tally = Tally(notes)
        self.driver = WorkerDriver(
            client, blueprint, policy, self.pods, limits, self._tally, self.report, timing
        )
        self.config_maps = self._config_maps(client) if blueprint.high_availability else None
        ha = None
        if self.config_maps is not None:
            most = limits.config_maps
            ha = HighAvailability(client, blueprint, self.config_maps, most, self.report)
        services = ServiceUpdates(client, blueprint, self.report)
        self._end = ClusterEnd(client, blueprint, notes, self.report)
        store = BrokerStore(client, blueprint, self.pods, self.driver, services, ha, self._end)
        self.server: ApiServer = front(
            store,
            blueprint,
            policy,
            self.report,
            token=listening.token,
            tls=listening.tls,
            host=listening.host,
            port=listening.port,
            faults=faults,
        )
        self.monitor = Monitor(
            self.report,
            self._gauges,
            self.why_unhealthy,
            host=listening.host,
            port=listening.metrics_port,
        )
        self._main: asyncio.Task[None] | None = None

    def _config_maps(self, client: KubeClient) -> Mirror:
        cluster_id = self.blueprint.cluster_id
        return Mirror(
            client,
            CONFIG_MAPS,
            self.blueprint.namespace,
            names.common_labels(cluster_id),
            is_own=lambda found: is_ha_name(objects.name_of(found), cluster_id),
        )

    async def __aenter__(self) -> Self:
        await self.monitor.start()
        try:
            await self.server.start()
        except BaseException:
            await self.monitor.stop()
            raise
        self._main = asyncio.create_task(self._run(), name="broker")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._main is not None
        await self.server.stop()
        await self.monitor.stop()
        self._main.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(self._main, return_exceptions=True)

    async def ready(self) -> None:
        """Return when the broker has seen what is there; raises what ended it before."""
        for mirror in (self.pods, self.config_maps):
            if mirror is not None:
                await self._until(mirror.ready)

    async def wait(self) -> None:
        """Wait for as long as the broker works; raises what ended it."""
        assert self._main is not None
        await asyncio.shield(self._main)

    async def _until(self, event: asyncio.Event) -> None:
        assert self._main is not None
        waiting = asyncio.create_task(event.wait(), name="waiting for the broker")
        try:
            await asyncio.wait({waiting, self._main}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if self._main.done():
            self._main.result()

    async def _run(self) -> None:
        parts = [self.pods.run(), self.driver.run(), self._tally.run(), self._end.run()]
        if self.config_maps is not None:
            parts.append(self.config_maps.run())
        tasks = [asyncio.create_task(part, name="part of the broker") for part in parts]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # What is told

    def why_unhealthy(self) -> str | None:
        """The sentence for why the broker cannot serve now; None while it can."""
        for mirror in (self.pods, self.config_maps):
            if mirror is None:
                continue
            if not mirror.ready.is_set():
                return mirror.why_not_ready
            outage = mirror.outage
            if outage is not None and time.monotonic() - outage.since > OUTAGE_SECONDS:
                return f"the API server is away: {outage.error.message}"
        return None

    def _gauges(self) -> Gauges:
        used = self.driver.used
        running = sum(1 for pod in self.pods.objects.values() if _is_running(pod))
        gauges = {
            "pods": ("TaskManager pods that have not ended", float(used.pods)),
            "pods_running": ("TaskManager pods that run", float(running)),
            "cpu_cores": ("CPU cores that TaskManagers ask for", used.cpu),
            "memory_bytes": ("Memory that TaskManagers ask for", float(used.memory)),
            "api_server_up": ("Whether the API server answers", float(self.pods.outage is None)),
            "limit_pods": ("TaskManager pods that there may be", float(self._limits.pods)),
        }
        if self._limits.cpu is not None:
            told = "CPU cores that TaskManagers may ask for"
            gauges["limit_cpu_cores"] = (told, self._limits.cpu)
        if self._limits.memory is not None:
            told = "Memory that TaskManagers may ask for"
            gauges["limit_memory_bytes"] = (told, float(self._limits.memory))
        return gauges


def _is_running(pod: JsonObject) -> bool:
    return not is_over(pod) and (pod.get("status") or {}).get("phase") == "Running"


# --- credentials -----------------------------------------------------------------------------


def listening_from(directory: Path, **where: str | int) -> Listening:
    """Credentials from the files of the broker's Secret. Raises `ConfigurationError`."""
    token_file = directory / TOKEN_FILE
    try:
        token = token_file.read_text(encoding="ascii").strip()
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(directory / CERTIFICATE_FILE, directory / KEY_FILE)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"the broker's credentials in {directory} cannot be used: {error}",
            hint=f"There have to be {TOKEN_FILE}, {CERTIFICATE_FILE} and {KEY_FILE}.",
        ) from error
    if len(token) < 16:
        raise ConfigurationError(f"the token in {token_file} has fewer than 16 characters")
    return Listening(token, tls, **where)  # type: ignore[arg-type] # the fields of Listening


def write_credentials(credentials: BrokerCredentials, directory: Path) -> None:
    """The files that `listening_from` reads; only the owner may read them."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, text in (
        (TOKEN_FILE, credentials.token),
        (CERTIFICATE_FILE, credentials.certificate),
        (KEY_FILE, credentials.key),
    ):
        path = directory / name
        path.touch(mode=0o600)
        path.write_text(text, encoding="ascii")
