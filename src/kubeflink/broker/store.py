"""The broker's `Store`: what an API server for one JobManager has in it.

Nothing lives here. Each kind is answered by the part that knows it, and a verb that no part has is
refused. Errors of the real API server go to the JobManager as they came, but for those that are
about the broker's own account, which are no business of its.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Literal, TypeVar

from kubeflink import objects
from kubeflink.apiserver import statuses
from kubeflink.apiserver.deletion import DeleteOptions, Deletion
from kubeflink.apiserver.selectors import ALL, Selection
from kubeflink.apiserver.store import ObjectList
from kubeflink.apiserver.watch import Watch
from kubeflink.broker.blueprint import Blueprint
from kubeflink.broker.config_maps import HighAvailability
from kubeflink.broker.driver import WorkerDriver
from kubeflink.broker.ending import ClusterEnd
from kubeflink.broker.mirror import Mirror
from kubeflink.broker.projection import shown_deployment
from kubeflink.broker.services import ServiceUpdates
from kubeflink.errors import (
    ApiUnreachableError,
    KubeconfigError,
    NotFoundError,
    UnauthorizedError,
)
from kubeflink.kube.client import KubeClient
from kubeflink.objects import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    PODS,
    SERVICES,
    JsonObject,
    Resource,
)

T = TypeVar("T")


class BrokerStore:
    """The objects of one cluster, as its JobManager may see and change them."""

    def __init__(
        self,
        client: KubeClient,
        blueprint: Blueprint,
        pods: Mirror,
        driver: WorkerDriver,
        services: ServiceUpdates,
        high_availability: HighAvailability | None,
        end: ClusterEnd,
    ) -> None:
        self._end = end
        self._client = client
        self._blueprint = blueprint
        self._pods = pods
        self._driver = driver
        self._services = services
        self._ha = high_availability

    async def create(
        self, resource: Resource, namespace: str | None, obj: JsonObject, *, dry_run: bool = False
    ) -> JsonObject:
        """Ask for a worker, or make a ConfigMap of high availability."""
        self._check(dry_run=dry_run)
        if resource == PODS:
            return await _upstream(self._driver.request(obj))
        ha = self._high_availability(resource)
        self._check_name(resource, objects.name_of(obj))
        return await _upstream(ha.create(obj))

    async def get(self, resource: Resource, namespace: str | None, name: str) -> JsonObject:
        """The Deployment, a Service, or a ConfigMap of high availability, as they are now."""
        if resource == DEPLOYMENTS:
            return shown_deployment(await self._deployment())
        if resource == SERVICES:
            return await _upstream(self._services.get(name))
        if resource == PODS:
            found = self._pods.objects.get(name)
            if found is None:
                raise statuses.not_found(PODS, name)
            return dict(found)
        self._check_name(resource, name)
        return await _upstream(self._high_availability(resource).get(name))

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        selection: Selection = ALL,
        limit: int = 0,
        after: tuple[str, str] | None = None,
    ) -> ObjectList:
        """All workers, or ConfigMaps of high availability; always complete."""
        mirror = self._mirror(resource)
        if resource == PODS:
            self._driver.listed()
        return mirror.list(selection)

    async def replace(
        self,
        resource: Resource,
        namespace: str | None,
        obj: JsonObject,
        *,
        subresource: Literal["", "status"] = "",
        dry_run: bool = False,
    ) -> JsonObject:
        """Set target ports of a Service, or write a ConfigMap of high availability."""
        self._check(dry_run=dry_run)
        if resource == SERVICES:
            return await _upstream(self._services.replace(obj))
        self._check_name(resource, objects.name_of(obj))
        return await _upstream(self._high_availability(resource).replace(obj))

    async def delete(
        self, resource: Resource, namespace: str | None, name: str, options: DeleteOptions
    ) -> Deletion:
        """Release a worker, delete a ConfigMap of high availability, or end the whole cluster."""
        self._check(dry_run=options.dry_run)
        if resource == PODS:
            return await _upstream(self._driver.release(name))
        if resource == DEPLOYMENTS:
            return Deletion(shown_deployment(await _upstream(self._end.begin())), gone=True)
        self._check_name(resource, name)
        return await _upstream(self._high_availability(resource).delete(name, options))

    def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        selection: Selection = ALL,
        resource_version: str = "",
        initial_events: bool = False,
    ) -> Watch:
        """Changes of workers, or of ConfigMaps of high availability, from any version on."""
        if initial_events or (resource_version and not resource_version.isdecimal()):
            raise statuses.bad_request("such a watch is not served here")
        return self._mirror(resource).watch(selection, resource_version)

    # Parts

    def _mirror(self, resource: Resource) -> Mirror:
        mirror = self._pods if resource == PODS else self._high_availability(resource).mirror
        if not mirror.ready.is_set():
            raise statuses.unavailable("the broker has not seen the API server yet")
        return mirror

    def _high_availability(self, resource: Resource) -> HighAvailability:
        if resource != CONFIG_MAPS or self._ha is None:
            raise statuses.method_not_allowed()
        return self._ha

    def _check_name(self, resource: Resource, name: str) -> None:
        """An object that is written must be called as the one in the path is, which was checked."""
        if not self._high_availability(resource).is_own(name):
            why = "no ConfigMap of this cluster's high availability has this name"
            raise statuses.forbidden(resource, name, f"{why} (kubeflink broker)")

    @staticmethod
    def _check(*, dry_run: bool) -> None:
        if dry_run:
            raise statuses.bad_request("the broker has no dry runs")

    async def _deployment(self) -> JsonObject:
        name = objects.name_of(self._blueprint.deployment)
        found = await _upstream(self._client.get(DEPLOYMENTS, name, self._blueprint.namespace))
        if objects.uid_of(found) != objects.uid_of(self._blueprint.deployment):
            # Another cluster of the same name: ours is gone, and with it its broker soon.
            raise statuses.not_found(DEPLOYMENTS, name)
        return found


async def _upstream(call: Awaitable[T]) -> T:
    """What a call to the API server gives; what fails on the broker's side is the broker's."""
    try:
        return await call
    except NotFoundError:
        raise
    except (UnauthorizedError, KubeconfigError, ApiUnreachableError) as error:
        raise statuses.unavailable(f"the broker cannot ask the API server: {error}") from error
