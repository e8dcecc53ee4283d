"""Taking a cluster away, and staying until it is gone.

Deleting the Deployment is enough for Kubernetes: it owns all else, and the garbage collector
follows. But the caller wants to know when the names are free and the pods have ended. So: delete by
uid, then wait for the Deployment, the pods, the Services and the ConfigMaps, in that order of
telling what is still there.

Background deletion, not foreground: foreground would take the TaskManagers first, and a JobManager
that is still alive would ask for new ones.

ConfigMaps of high availability have no owner and outlive the cluster on purpose: the next cluster
of the same name recovers its jobs from them. They are removed only on demand, after all pods have
ended, since a living JobManager writes them again. Up to Flink 1.20 a label of their own tells them
from others; 2.3 makes them without it, so there it is their names, and that nothing owns them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from kubeflink import objects
from kubeflink.cluster import endpoint, ownership
from kubeflink.cluster.clock import Deadline
from kubeflink.errors import (
    ClusterError,
    ClusterNotFoundError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    WaitTimeoutError,
)
from kubeflink.kube import next_step
from kubeflink.kube.client import KubeClient
from kubeflink.objects import CONFIG_MAPS, DEPLOYMENTS, PODS, SERVICES, JsonObject, Resource
from kubeflink.spec import names

HaData: TypeAlias = Literal["keep", "delete"]

GONE_SECONDS = 120.0
"""The limit of a wait for the end: pods have 30 s, and TaskManagers follow the JobManager."""

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 1.0

# In the order in which their remains are told.
_PARTS: Final = (PODS, SERVICES, CONFIG_MAPS)


async def delete(
    client: KubeClient,
    cluster_id: str,
    namespace: str | None = None,
    *,
    ha_data: HaData = "keep",
    wait: bool = True,
    timeout: float | None = GONE_SECONDS,
    force: bool = False,
    on_remaining: Callable[[str], None] | None = None,
) -> None:
    """Deletes a cluster and waits until nothing of it is left, within `timeout` seconds.

    A cluster that a Flink operator rules is refused, because the operator would make it again,
    unless `force` is set. `on_remaining` is told what is still there whenever that changes. Raises
    ClusterNotFoundError, WaitTimeoutError; a Deployment that is not Flink's counts as no cluster.
    `ha_data="delete"` always waits. After cancellation Kubernetes goes on deleting.
    """
    where = namespace or client.namespace
    names.validate_sought_name(cluster_id)
    deployment = await _deployment(client, cluster_id, where)
    if deployment is not None:
        _check(deployment, cluster_id, where, force=force)
        await delete_deployment(client, deployment)
    elif not (ha_data == "delete" and await ha_config_maps(client, cluster_id, where)):
        raise await endpoint.not_found(client, cluster_id, where)
    if wait or ha_data == "delete":
        uid = objects.uid_of(deployment) if deployment is not None else None
        await wait_gone(client, cluster_id, where, uid=uid, timeout=timeout, tell=on_remaining)
    if ha_data == "delete":
        await delete_ha_data(client, cluster_id, where)


async def delete_deployment(client: KubeClient, deployment: JsonObject) -> None:
    """Deletes this very Deployment, in the background; one that is gone already is no error."""
    name, namespace = objects.name_of(deployment), objects.namespace_of(deployment)
    try:
        await client.delete(DEPLOYMENTS, name, namespace, uid=objects.uid_of(deployment))
    except (NotFoundError, ConflictError):
        return


async def wait_gone(
    client: KubeClient,
    cluster_id: str,
    namespace: str,
    *,
    uid: str | None = None,
    timeout: float | None = GONE_SECONDS,
    tell: Callable[[str], None] | None = None,
) -> None:
    """Waits until a cluster's Deployment, pods, Services and ConfigMaps are gone.

    With the Deployment's `uid`, objects of a cluster that has been made anew are not waited for.
    """
    deadline = Deadline.after(timeout)
    pause, told = _FIRST_PAUSE, ""
    while True:
        left = await _remaining(client, cluster_id, namespace, uid)
        if left is None:
            return
        if left != told and tell is not None:
            tell(left)
        told = left
        if not await deadline.pause(pause):
            how = next_step.kubectl(f"get all -l app={cluster_id}", namespace)
            raise WaitTimeoutError(
                f"The Flink cluster {cluster_id} is not gone after {timeout:g} s: {left}",
                hint=f"Kubernetes goes on; look at it: {how}",
            )
        pause = min(pause * 1.5, _LONGEST_PAUSE)


async def ha_config_maps(
    client: KubeClient, cluster_id: str, namespace: str | None = None
) -> tuple[JsonObject, ...]:
    """The ConfigMaps of high availability under this name, of a living or of a former cluster."""
    labels = names.common_labels(cluster_id)
    found = (await client.list(CONFIG_MAPS, namespace, labels=labels)).items
    return tuple(each for each in found if is_ha_config_map(each, cluster_id))


def is_ha_config_map(config_map: JsonObject, cluster_id: str) -> bool:
    """Whether a ConfigMap with the cluster's labels is one of high availability."""
    kind = objects.labels_of(config_map).get(names.LABEL_CONFIG_MAP_TYPE)
    if kind is not None:
        return kind == names.HIGH_AVAILABILITY
    return not objects.owner_uids(config_map) and (
        objects.name_of(config_map) == names.high_availability_config_map_name(cluster_id)
        or _job_of(config_map, cluster_id) is not None
    )


async def delete_ha_data(
    client: KubeClient, cluster_id: str, namespace: str | None = None
) -> tuple[str, ...]:
    """Deletes these ConfigMaps, each by its uid; returns their names. The cluster must be gone."""
    deleted: list[str] = []
    for config_map in await ha_config_maps(client, cluster_id, namespace):
        name, where = objects.name_of(config_map), objects.namespace_of(config_map)
        try:
            await client.delete(CONFIG_MAPS, name, where, uid=objects.uid_of(config_map))
        except (NotFoundError, ConflictError):
            continue
        deleted.append(name)
    return tuple(deleted)


def recoverable_jobs(config_maps: tuple[JsonObject, ...], cluster_id: str) -> tuple[str, ...]:
    """The ids of the jobs that a new cluster of this name would recover from such ConfigMaps.

    A session keeps what it has to start again in the ConfigMap of the cluster; an application's
    program submits its job anew, and only the checkpoints are kept, in a ConfigMap of the job.
    """
    jobs: dict[str, None] = {}
    for config_map in config_maps:
        for key in config_map.get("data") or ():
            if match := _STORED_JOB.fullmatch(key):
                jobs[match[1]] = None
        if job := _job_of(config_map, cluster_id):
            jobs[job] = None
    return tuple(jobs)


_STORED_JOB: Final = re.compile(r"(?:executionPlan|jobGraph)-([0-9a-f]{32})")
_JOB_ID: Final = re.compile(r"[0-9a-f]{32}")


def _job_of(config_map: JsonObject, cluster_id: str) -> str | None:
    """The job whose ConfigMap this is, by its name."""
    before, after = names.job_config_map_name(cluster_id, " ").split(" ")
    name = objects.name_of(config_map)
    middle = name.removeprefix(before).removesuffix(after)
    is_job = _JOB_ID.fullmatch(middle) and name == names.job_config_map_name(cluster_id, middle)
    return middle if is_job else None


async def _deployment(client: KubeClient, cluster_id: str, namespace: str) -> JsonObject | None:
    try:
        return await client.get(DEPLOYMENTS, names.deployment_name(cluster_id), namespace)
    except NotFoundError:
        return None


def _check(deployment: JsonObject, cluster_id: str, namespace: str, *, force: bool) -> None:
    if not ownership.is_of_cluster(deployment, cluster_id):
        raise ClusterNotFoundError(
            f"Deployment {cluster_id} in namespace {namespace} is not that of a Flink cluster:"
            f" {ownership.owner_of(deployment)}",
            hint="It was left as it is",
        )
    ruler = ownership.flink_deployment_of(deployment)
    if ruler is not None and not force:
        how = next_step.kubectl(f"delete flinkdeployment {ruler}", namespace)
        raise ClusterError(
            f"The Flink cluster {cluster_id} is ruled by FlinkDeployment {ruler}: its operator"
            " would make it again",
            hint=f"Delete that: {how}",
        )


async def _remaining(
    client: KubeClient, cluster_id: str, namespace: str, uid: str | None
) -> str | None:
    """What is still there, for a message; None if nothing is."""
    deployment = await _deployment(client, cluster_id, namespace)
    if deployment is not None and uid in (None, objects.uid_of(deployment)):
        return f"Deployment {cluster_id} is being deleted"
    is_renewed = deployment is not None
    for resource in _PARTS:
        left = await _names_of(client, resource, cluster_id, namespace, uid if is_renewed else None)
        if left:
            return f"{resource.plural} are still there: {', '.join(left)}"
    owner, labels = uid if is_renewed else None, names.broker_labels(cluster_id)
    left = await _names_of(client, PODS, cluster_id, namespace, owner, labels)
    return f"its broker is still there: {', '.join(left)}" if left else None


async def _names_of(
    client: KubeClient,
    resource: Resource,
    cluster_id: str,
    namespace: str,
    owner: str | None,
    labels: Mapping[str, str] | None = None,
) -> list[str]:
    """The cluster's own objects of a kind; with `owner` only those that this uid owns.

    The ConfigMaps of high availability are no part of it. Without the right to list a kind, its
    objects are left to the garbage collector.
    """
    labels = names.common_labels(cluster_id) if labels is None else labels
    try:
        found = (await client.list(resource, namespace, labels=labels)).items
    except ForbiddenError:
        return []
    return [
        objects.name_of(obj)
        for obj in found
        if not (resource == CONFIG_MAPS and is_ha_config_map(obj, cluster_id))
        and (owner is None or owner in objects.owner_uids(obj))
    ]
