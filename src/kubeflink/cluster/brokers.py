"""What is wrong with a cluster's broker: what its Deployment and pod show, and what it says.

Its own words (limits, quotas, refused requests, why it is not ready) are asked for through the API
server. Where that is not allowed there is no more to say than what its pod shows.
"""

from __future__ import annotations

from typing import Any

from kubeflink import objects
from kubeflink.cluster import diagnosis
from kubeflink.cluster.diagnosis import Diagnosis, Observed
from kubeflink.kube import next_step
from kubeflink.kube.client import KubeClient
from kubeflink.objects import JsonObject
from kubeflink.spec import names

METRICS_PORT = "metrics"
_SECONDS = 5.0


def has_broker(deployment: JsonObject) -> bool:
    """Whether the JobManager of this Deployment gets its workers from a broker."""
    name = objects.labels_of(deployment).get(names.LABEL_APP, objects.name_of(deployment))
    template = (deployment.get("spec") or {}).get("template") or {}
    volumes = (template.get("spec") or {}).get("volumes") or ()
    secret = names.broker_client_secret_name(name)
    return any((each.get("secret") or {}).get("secretName") == secret for each in volumes)


def why_absent(cluster_id: str, broker: Observed) -> Diagnosis | None:
    """Why a cluster has no broker that works; None for one that does, or that is being started."""
    name = names.broker_name(cluster_id)
    if broker.deployment is None:
        return Diagnosis(
            "broker",
            f"the Deployment {name} is gone, and the JobManager gets no TaskManagers without it",
            "End the cluster and start it again: nothing else makes it anew",
            patience=diagnosis.SECONDS_FOR_REFERENCES,
        )
    if (broker.deployment.get("spec") or {}).get("replicas") == 0:
        where = objects.namespace_of(broker.deployment)
        scale = next_step.kubectl(f"scale deployment {name} --replicas=1", where)
        return Diagnosis(
            "broker",
            f"the Deployment {name} is scaled to none, and the JobManager gets no TaskManagers"
            " without it",
            f"Scale it: {scale}",
            patience=diagnosis.SECONDS_FOR_REFERENCES,
        )
    if ready_since(broker) is not None:
        return None
    return diagnosis.diagnose(broker)


def reach_hint(cluster_id: str) -> str:
    """For a JobManager whose requests fail although its broker is there."""
    return (
        "Its requests go to its broker: see the broker's log, and whether network policies let the"
        f" JobManager reach port 8443 of {names.broker_name(cluster_id)}"
    )


def ready_since(broker: Observed) -> str | None:
    """Since when it can be reached, as the API server writes times; None while it cannot."""
    since = (_ready_since(pod) for pod in broker.pods)
    return min((each for each in since if each is not None), default=None)


def _ready_since(pod: JsonObject) -> str | None:
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if (condition.get("type"), condition.get("status")) == ("Ready", "True"):
            return str(condition.get("lastTransitionTime") or "")
    return None


async def troubles(
    client: KubeClient, cluster_id: str, namespace: str, broker: Observed
) -> tuple[tuple[Diagnosis, ...], dict[str, Diagnosis]]:
    """What keeps it from working, or else its own sentences; and by name which pod is not ready."""
    absent = why_absent(cluster_id, broker)
    if absent is not None:
        return (absent,), {}
    code, status = await _status(client, cluster_id, namespace)
    hint = f"See its log: {next_step.command(f'logs {cluster_id} --broker', namespace)}"
    is_ready = ready_since(broker) is not None
    if is_ready and code > 500:
        return (_silent(code, hint),), {}
    unready = {}
    if not is_ready:
        why = status.get("unhealthy") or "it does not say why"
        for name in (objects.name_of(pod) for pod in broker.pods if _is_running(pod)):
            text = f"Broker pod {name} runs and is not ready: {why}"
            unready[name] = Diagnosis("readiness", text, hint)
    return tuple(map(_told, status.get("troubles") or ())), unready


async def hindrances(
    client: KubeClient, cluster_id: str, namespace: str, broker: Observed
) -> tuple[Diagnosis, ...]:
    """Why workers that are asked for now do not come, as far as that is the broker's doing."""
    absent = why_absent(cluster_id, broker)
    if absent is not None:
        return (absent,)
    _, status = await _status(client, cluster_id, namespace)
    # What befell a single request is over, and may have been somebody else's.
    return tuple(_told(each) for each in status.get("troubles") or () if each.get("lasting"))


def _told(trouble: JsonObject) -> Diagnosis:
    return Diagnosis("broker", f"the broker says: {trouble['text']}")


async def _status(
    client: KubeClient, cluster_id: str, namespace: str
) -> tuple[int, dict[str, Any]]:
    """The code of the answer, 0 for none, and what the broker says of itself."""
    import httpx2

    path = client.service_proxy_path(names.broker_name(cluster_id), METRICS_PORT, namespace)
    try:
        response = await client.http.get(f"{path}/status", timeout=_SECONDS)
    except httpx2.RequestError:
        return 0, {}
    return response.status_code, response.json() if response.status_code == 200 else {}


def _silent(code: int, hint: str) -> Diagnosis:
    text = f"the broker does not answer ({code}), so the cluster gets no new TaskManagers"
    return Diagnosis("broker", text, hint)


def _is_running(pod: JsonObject) -> bool:
    return (pod.get("status") or {}).get("phase") == "Running"
