"""Which clusters there are, and all about one of them.

Clusters are found by the labels that Flink puts on its Deployments, so those that Flink's own
client or its Kubernetes operator made are there too. The operator's own resources are not read;
that it rules a cluster is seen by the Deployment's owner.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from kubeflink import objects
from kubeflink.cluster import (
    brokers,
    diagnosis,
    endpoint,
    observation,
    ownership,
    registration,
    rest_view,
)
from kubeflink.cluster.addresses import Address, address_of
from kubeflink.cluster.diagnosis import Diagnosis
from kubeflink.cluster.observation import ClusterView
from kubeflink.cluster.rest_view import JobFailure
from kubeflink.errors import (
    ClusterNotFoundError,
    ForbiddenError,
    KubernetesError,
    NotFoundError,
)
from kubeflink.kube.client import KubeClient
from kubeflink.objects import DEPLOYMENTS, PODS, SERVICES, JsonObject
from kubeflink.spec import names

if TYPE_CHECKING:
    from kubeflink.rest.models import JobSummary, Overview

ClusterKind: TypeAlias = Literal["session", "application", "unknown"]

_NATIVE: Final = {names.LABEL_TYPE: names.NATIVE_TYPE}


@dataclass(frozen=True, slots=True)
class ClusterSummary:
    """One cluster as its Deployment tells it. `ruled_by` is an operator's FlinkDeployment.

    `has_broker` says whether its JobManager gets its workers from a broker.
    """

    name: str
    namespace: str
    kind: ClusterKind
    image: str
    created: datetime | None
    replicas: int
    ready_replicas: int
    taskmanagers: int
    ruled_by: str | None = None
    has_broker: bool = False

    @property
    def status(self) -> str:
        """`Ready`, or `NotReady` while a JobManager is missing."""
        return "Ready" if 0 < self.replicas <= self.ready_replicas else "NotReady"

    def _repr_html_(self) -> str:
        from kubeflink.cluster import display

        facts = {
            "namespace": self.namespace,
            "kind": self.kind,
            "status": self.status,
            "image": self.image,
            "TaskManagers": str(self.taskmanagers),
            "ruled by": self.ruled_by,
            "broker": names.broker_name(self.name) if self.has_broker else None,
        }
        return display.card(f"Cluster {self.name}", facts)


@dataclass(frozen=True, slots=True)
class PodSummary:
    """One pod of a cluster. `trouble` is what keeps it from running."""

    name: str
    component: str
    phase: str
    node: str | None
    restarts: int
    trouble: Diagnosis | None = None


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """A cluster with its pods, troubles and, where the REST API answers, its slots and jobs.

    `failures` says of the last jobs that failed why they did.
    """

    summary: ClusterSummary
    address: Address | None
    pods: tuple[PodSummary, ...]
    troubles: tuple[Diagnosis, ...] = ()
    overview: Overview | None = None
    jobs: tuple[JobSummary, ...] = field(default=())
    rest_error: str | None = None
    failures: tuple[JobFailure, ...] = field(default=())

    def _repr_html_(self) -> str:
        from kubeflink.cluster import display

        pods = [(pod.name, pod.component, pod.phase, pod.restarts) for pod in self.pods]
        jobs = [(job.id, job.name, job.state) for job in self.jobs]
        failures = [(each.job_id, each.cause, each.hint) for each in self.failures]
        troubles = [(trouble.sentence, trouble.hint) for trouble in self.troubles]
        return (
            self.summary._repr_html_()
            + display.listing(("pod", "component", "phase", "restarts"), pods)
            + display.listing(("job", "name", "state"), jobs)
            + display.listing(("job", "why it failed", "what to do"), failures)
            + display.listing(("trouble", "what to do"), troubles)
        )


async def clusters(
    client: KubeClient, namespace: str | None = None, *, all_namespaces: bool = False
) -> tuple[ClusterSummary, ...]:
    """All Flink clusters in a namespace or in all, by namespace and name."""
    deployments = await client.list(
        DEPLOYMENTS, namespace, all_namespaces=all_namespaces, labels=_NATIVE
    )
    workers = {**_NATIVE, names.LABEL_COMPONENT: names.TASKMANAGER}
    try:
        pods = await client.list(PODS, namespace, all_namespaces=all_namespaces, labels=workers)
        counted = list(pods.items)
    except ForbiddenError:  # the clusters are the answer, the workers a decoration
        counted = []
    found = [summary_of(deployment, counted) for deployment in deployments.items]
    return tuple(sorted(found, key=lambda summary: (summary.namespace, summary.name)))


async def describe(
    client: KubeClient, cluster_id: str, namespace: str | None = None
) -> ClusterDescription:
    """All about one cluster. ClusterNotFoundError if it is not there."""
    where = namespace or client.namespace
    try:
        seen = await observation.observe_cluster(client, cluster_id, where)
    except NotFoundError as error:
        raise await endpoint.not_found(client, cluster_id, where) from error
    labels = names.taskmanager_labels(cluster_id)
    workers = (await client.list(PODS, where, labels=labels)).items
    deployment = seen.jobmanager.deployment
    assert deployment is not None
    flink = await rest_view.look(client, cluster_id, where)
    explained: dict[str, Diagnosis] = {}
    if flink.taskmanagers is not None:
        internal = await _internal_service(client, cluster_id, where)
        explained |= registration.explain_unregistered(
            workers, seen.jobmanager.pods, flink.taskmanagers, internal
        )
    told: tuple[Diagnosis, ...] = ()
    if seen.broker is not None:
        told, unready = await brokers.troubles(client, cluster_id, where, seen.broker)
        explained |= unready
    pods = _pods(seen, workers, explained)
    troubles = _distinct([seen.cause(), *(pod.trouble for pod in pods), *told])
    if flink.overview is None:
        log = await observation.explain_running(client, cluster_id, where)
        # One that keeps ending has told it as the cause of its end.
        if log is not None and not any(log.sentence in each.sentence for each in troubles):
            troubles += (Diagnosis("log", f"Its log says: {log.sentence}", log.hint),)
    return ClusterDescription(
        summary_of(deployment, workers),
        await _address(client, cluster_id, where),
        pods,
        troubles,
        flink.overview,
        flink.jobs,
        flink.error,
        flink.failures,
    )


def _distinct(troubles: Iterable[Diagnosis | None]) -> tuple[Diagnosis, ...]:
    """Each once, as it comes first: the cause of all is the trouble of a pod as well."""
    found: dict[str, Diagnosis] = {}
    for trouble in troubles:
        if trouble is not None:
            found.setdefault(trouble.sentence, trouble)
    return tuple(found.values())


def summary_of(deployment: JsonObject, workers: Sequence[JsonObject] = ()) -> ClusterSummary:
    """What a Deployment tells; `workers` may hold pods of other clusters too."""
    labels, status = objects.labels_of(deployment), deployment.get("status") or {}
    name, namespace = objects.name_of(deployment), objects.namespace_of(deployment) or ""
    cluster_id = labels.get(names.LABEL_APP, name)
    own = [pod for pod in workers if _is_worker_of(pod, cluster_id, namespace)]
    created = objects.metadata(deployment).get("creationTimestamp")
    return ClusterSummary(
        name=name,
        namespace=namespace,
        kind=_kind(deployment),
        image=str(_main_container(deployment).get("image") or ""),
        created=datetime.fromisoformat(str(created)) if created else None,
        replicas=int((deployment.get("spec") or {}).get("replicas", 1)),
        ready_replicas=int(status.get("readyReplicas") or 0),
        taskmanagers=len(own),
        ruled_by=ownership.flink_deployment_of(deployment),
        has_broker=brokers.has_broker(deployment),
    )


def _is_worker_of(pod: JsonObject, cluster_id: str, namespace: str) -> bool:
    is_alive = (pod.get("status") or {}).get("phase") in ("Pending", "Running", None)
    is_own = objects.labels_of(pod).get(names.LABEL_APP) == cluster_id
    return is_alive and is_own and objects.namespace_of(pod) == namespace


def _kind(deployment: JsonObject) -> ClusterKind:
    """By the word after the start script in the main container's command (CmdJobManager)."""
    container = _main_container(deployment)
    words = " ".join([*(container.get("command") or ()), *(container.get("args") or ())])
    if "kubernetes-application" in words:
        return "application"
    return "session" if "kubernetes-session" in words else "unknown"


def _main_container(deployment: JsonObject) -> JsonObject:
    template = (deployment.get("spec") or {}).get("template") or {}
    containers: list[JsonObject] = (template.get("spec") or {}).get("containers") or []
    main = [entry for entry in containers if entry.get("name") == names.MAIN_CONTAINER]
    return (main or containers or [{}])[0]


def _pods(
    seen: ClusterView, workers: Sequence[JsonObject], explained: Mapping[str, Diagnosis]
) -> tuple[PodSummary, ...]:
    """All of them; `explained` are troubles by pod that the pod itself does not show."""
    found = []
    for pod in (*seen.pods, *workers):
        name, status = objects.name_of(pod), pod.get("status") or {}
        trouble = seen.explain(pod) or explained.get(name)
        statuses = status.get("containerStatuses") or ()
        is_ending = objects.metadata(pod).get("deletionTimestamp") is not None
        found.append(
            PodSummary(
                name,
                diagnosis.component_of(pod),
                "Terminating" if is_ending else str(status.get("phase") or "Pending"),
                (pod.get("spec") or {}).get("nodeName"),
                sum(int(entry.get("restartCount") or 0) for entry in statuses),
                trouble,
            )
        )
    return tuple(found)


async def _address(client: KubeClient, cluster_id: str, namespace: str) -> Address | None:
    try:
        service = await endpoint.rest_service(client, cluster_id, namespace)
        return await address_of(client, service)
    except (KubernetesError, ClusterNotFoundError):
        return None


async def _internal_service(
    client: KubeClient, cluster_id: str, namespace: str
) -> JsonObject | None:
    """The Service by which TaskManagers find the JobManager; None with high availability."""
    try:
        return await client.get(SERVICES, names.internal_service_name(cluster_id), namespace)
    except (NotFoundError, ForbiddenError):
        return None
