"""What a cluster's broker says is wrong: limits, quotas, refused requests.

It is asked through the API server. Where that is not allowed, or the broker does not answer, there
is no more to say than what its pod shows.
"""

from __future__ import annotations

from typing import Any

from kubeflink import objects
from kubeflink.cluster.diagnosis import Diagnosis
from kubeflink.kube.client import KubeClient
from kubeflink.objects import JsonObject
from kubeflink.spec import names

METRICS_PORT = "metrics"
_SECONDS = 5.0


def has_broker(deployment: JsonObject) -> bool:
    """Whether the JobManager of this Deployment gets its workers from a broker."""
    name = objects.labels_of(deployment).get(names.LABEL_APP, objects.name_of(deployment))
    volumes = deployment["spec"]["template"]["spec"].get("volumes") or ()
    secret = names.broker_client_secret_name(name)
    return any((each.get("secret") or {}).get("secretName") == secret for each in volumes)


async def broker_troubles(
    client: KubeClient, cluster_id: str, namespace: str
) -> tuple[Diagnosis, ...]:
    """The broker's own sentences."""
    import httpx2

    path = client.service_proxy_path(names.broker_name(cluster_id), METRICS_PORT, namespace)
    try:
        response = await client.http.get(f"{path}/status", timeout=_SECONDS)
    except httpx2.RequestError:
        return ()
    if response.status_code != 200:
        return (_silent(cluster_id, response.status_code),) if response.status_code > 500 else ()
    status: Any = response.json()
    told = [str(each["text"]) for each in status.get("troubles") or ()]
    if status.get("unhealthy"):
        told.append(str(status["unhealthy"]))
    return tuple(Diagnosis("broker", f"the broker says: {text}") for text in told)


def _silent(cluster_id: str, code: int) -> Diagnosis:
    return Diagnosis(
        "broker",
        f"the broker does not answer ({code}), so the cluster gets no new TaskManagers",
        f"See what it says: kubectl logs deployment/{names.broker_name(cluster_id)}",
    )
