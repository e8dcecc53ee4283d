"""Creating a cluster's objects in Flink's order, all of them or none.

Flink's KubernetesClusterDescriptor and Fabric8FlinkKubeClient do it like this: the Deployment
first, since everything else names its uid as owner; then what accompanies it. The kubelet keeps
the JobManager waiting until what it mounts is there.

A failure on the way, a Ctrl-C among them, takes back what this call made: the Deployment is deleted
by its uid, and the garbage collector removes what it owns. Nothing else is deleted, whatever its
name is. A request that was under way when the caller was cancelled is waited for, so that its
object is known and can be taken back too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kubeflink import objects
from kubeflink.cluster import ownership
from kubeflink.errors import (
    ClusterExistsError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    KubeflinkError,
    KubernetesError,
    NotFoundError,
)
from kubeflink.kube import next_step
from kubeflink.kube.client import KubeClient
from kubeflink.objects import DEPLOYMENTS, SERVICES, JsonObject
from kubeflink.spec import names

if TYPE_CHECKING:
    from kubeflink.spec import JobManagerSpec

logger = logging.getLogger(__name__)

IN_FLIGHT_SECONDS = 15.0
"""How long a request that was cancelled under way is waited for, to learn what it did."""


@dataclass(frozen=True, slots=True)
class Deployed:
    """What a deployment made: the Deployment as the server has it, and what accompanies it."""

    cluster_id: str
    namespace: str
    deployment: JsonObject
    accompanying: tuple[JsonObject, ...]

    @property
    def uid(self) -> str:
        """The Deployment's uid: the identity of this cluster, as opposed to its name."""
        return objects.uid_of(self.deployment)


async def find_rest_service(
    client: KubeClient, cluster_id: str, namespace: str | None = None
) -> JsonObject | None:
    """The Service whose existence makes the cluster exist for Flink; None if there is none.

    Raises ClusterExistsError for a Service of that name that is not Flink's.
    """
    name = names.rest_service_name(cluster_id)
    try:
        service = await client.get(SERVICES, name, namespace)
    except NotFoundError:
        return None
    if not ownership.is_of_cluster(service, cluster_id):
        raise ClusterExistsError(
            f"Service {name} in namespace {objects.namespace_of(service)} is not that of a Flink"
            f" cluster: {ownership.owner_of(service)}",
            hint="Choose another cluster id; what is not Flink's is neither used nor changed",
        )
    return service


async def deploy(client: KubeClient, spec: JobManagerSpec) -> Deployed:
    """Creates the objects of `spec`; takes back what it made if that fails.

    The caller has looked before whether the cluster exists. Raises ClusterExistsError where a
    Deployment, or an accompanying object that is not this cluster's own, has the name already;
    otherwise the error of the request that failed. After cancellation nothing is left either, as
    far as the API server can still be reached.
    """
    attempt = _Attempt(client, spec.cluster_id, spec.namespace)
    try:
        deployment = await attempt.create_deployment(spec.deployment)
        made = [await attempt.create_accompanying(obj) for obj in spec.accompanying]
    except BaseException as error:
        left = await attempt.take_back()
        if left is not None and isinstance(error, KubeflinkError):
            error.hint = left if error.hint is None else f"{error.hint}\n{left}"
        elif left is not None:
            logger.warning("%s", left)
        raise
    return Deployed(attempt.cluster_id, attempt.namespace, deployment, tuple(made))


@dataclass(slots=True)
class _Attempt:
    """One deployment under way, and the Deployment that it made."""

    client: KubeClient
    cluster_id: str
    namespace: str
    deployment: JsonObject | None = field(default=None, init=False)

    async def create_deployment(self, obj: JsonObject) -> JsonObject:
        task = asyncio.create_task(
            self.client.create(obj, self.namespace), name=f"create deployment {self.cluster_id}"
        )
        try:
            self.deployment = await asyncio.shield(task)
        except asyncio.CancelledError:
            self.deployment = await _outcome(task)
            raise
        except ConflictError as error:
            raise await self._exists_already(error) from error
        return self.deployment

    async def create_accompanying(self, obj: JsonObject) -> JsonObject:
        assert self.deployment is not None
        owned = _with_owner(obj, self.deployment)
        try:
            return await self.client.create(owned, self.namespace)
        except ConflictError:
            return await self._replace(owned)
        except (ForbiddenError, InvalidError) as error:
            if _is_node_port(obj) and error.hint is None:
                error.hint = (
                    "Where NodePort Services are not allowed, leave"
                    " kubernetes.rest-service.exposed.type at ClusterIP: kubeflink reaches the"
                    " cluster through the API server"
                )
            raise

    async def take_back(self) -> str | None:
        """Deletes the Deployment that this attempt made; says what is left if that fails."""
        if self.deployment is None:
            return None
        uid = objects.uid_of(self.deployment)
        return await take_back(self.client, self.cluster_id, self.namespace, uid)

    async def _replace(self, obj: JsonObject) -> JsonObject:
        """Puts our object in the place of an older one of this cluster; refuses anybody else's."""
        resource, name = objects.resource_of(obj), objects.name_of(obj)
        try:
            existing = await self.client.get(resource, name, self.namespace)
        except NotFoundError:  # it went away in between
            return await self.client.create(obj, self.namespace)
        if not ownership.is_of_cluster(existing, self.cluster_id):
            raise ClusterExistsError(
                f"{resource.kind} {name} in namespace {self.namespace} exists and is not this"
                f" cluster's: {ownership.owner_of(existing)}",
                hint="It was left as it is. Choose another cluster id, or remove it yourself",
            )
        version = objects.metadata(existing).get("resourceVersion")
        metadata = {**objects.metadata(obj), "resourceVersion": version}
        replacement = {**obj, "metadata": metadata}
        if resource == SERVICES:
            replacement["spec"] = _with_addresses_of(existing, obj)
        return await self.client.replace(replacement)

    async def _exists_already(self, error: ConflictError) -> KubeflinkError:
        where = f"Deployment {self.cluster_id} in namespace {self.namespace}"
        try:
            existing = await self.client.get(DEPLOYMENTS, self.cluster_id, self.namespace)
        except KubernetesError:  # not allowed to look, or gone: the conflict itself is the news
            return ClusterExistsError(f"{where} exists already: {error.server_message}")
        if ownership.is_of_cluster(existing, self.cluster_id):
            return ClusterExistsError(
                f"The Flink cluster {self.cluster_id} exists already in namespace {self.namespace}",
                hint="Use it, stop it first, or choose another cluster id",
            )
        return ClusterExistsError(
            f"{where} exists already and is not Flink's: {ownership.owner_of(existing)}",
            hint="It was left as it is. Choose another cluster id",
        )


async def take_back(client: KubeClient, cluster_id: str, namespace: str, uid: str) -> str | None:
    """Deletes the Deployment with this uid, and all it owns; says what is left if that fails."""
    try:
        await client.delete(DEPLOYMENTS, cluster_id, namespace, uid=uid)
    except (NotFoundError, ConflictError):  # gone, or another one by now
        return None
    except KubernetesError as error:
        logger.debug("clean-up failed", exc_info=error)
        how = next_step.kubectl(f"delete deployment {cluster_id}", namespace)
        return (
            f"Deployment {cluster_id} could not be taken back ({error.message}); remove"
            f" it by: {how}"
        )
    return None


@asynccontextmanager
async def taken_back_if_cancelled(
    client: KubeClient, cluster_id: str, namespace: str, uid: str
) -> AsyncIterator[None]:
    """For the wait after `deploy`: deletes the cluster again if the block is cancelled.

    What then cannot be deleted is logged as a warning.
    """
    try:
        yield
    except asyncio.CancelledError:
        left = await take_back(client, cluster_id, namespace, uid)
        if left is not None:
            logger.warning("%s", left)
        raise


async def _outcome(task: asyncio.Task[JsonObject]) -> JsonObject | None:
    """What a creation that the caller no longer waits for has made."""
    done, _ = await asyncio.wait({task}, timeout=IN_FLIGHT_SECONDS)
    if not done:
        task.cancel()
        return None
    if task.cancelled() or task.exception() is not None:
        return None
    return task.result()


def _with_owner(obj: JsonObject, deployment: JsonObject) -> JsonObject:
    owners: Sequence[JsonObject] = [objects.owner_reference(deployment)]
    return {**obj, "metadata": {**objects.metadata(obj), "ownerReferences": owners}}


def _is_node_port(obj: JsonObject) -> bool:
    return obj["kind"] == "Service" and (obj.get("spec") or {}).get("type") == "NodePort"


def _with_addresses_of(existing: JsonObject, obj: JsonObject) -> JsonObject:
    """The new Service's spec with the cluster IP of the old, which the API does not let change."""
    spec, old = obj.get("spec") or {}, existing.get("spec") or {}
    if "clusterIP" in spec or old.get("clusterIP") in (None, "", "None"):
        return spec
    return {**spec, **{key: old[key] for key in ("clusterIP", "clusterIPs") if key in old}}
