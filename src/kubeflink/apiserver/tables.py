"""Tables: the columns that `kubectl get` prints, made by the server as Kubernetes does.

Each kind has its columns and a function from an object to cells. A column with a priority above 0
is shown with `-o wide`. Ages are computed here, at the time of the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kubeflink import objects
from kubeflink.objects import JsonObject, Resource

Cells = list[Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `format` is "name" for the one that identifies the row."""

    name: str
    description: str
    type: str = "string"
    format: str = ""
    priority: int = 0

    def definition(self) -> JsonObject:
        """As the Table carries it."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def table(
    resource: Resource, items: Sequence[JsonObject], resource_version: str, include_object: str
) -> JsonObject:
    """A Table with one row for each object."""
    columns, cells = _TABLES.get(resource, (_PLAIN, _plain))
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": resource_version},
        "columnDefinitions": [column.definition() for column in columns],
        "rows": [_row(cells, obj, include_object) for obj in items],
    }


def _row(cells: Callable[[JsonObject], Cells], obj: JsonObject, include_object: str) -> JsonObject:
    row: JsonObject = {"cells": cells(obj)}
    if include_object == "Object":
        row["object"] = obj
    elif include_object != "None":
        row["object"] = {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": obj["metadata"],
        }
    return row


def duration(seconds: float) -> str:
    """An age as kubectl shows it: `5s`, `3m20s`, `2h`, `4d`."""
    total = int(seconds)
    if total < 0:
        return "0s" if total >= -2 else "<invalid>"
    minutes, hours, days = total // 60, total // 3600, total // 86400
    if total < 120:
        return f"{total}s"
    if minutes < 10:
        return _two(minutes, "m", total % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    years = days // 365
    return _two(years, "y", days % 365, "d") if years < 8 else f"{years}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}" + (f"{small}{small_unit}" if small else "")


def _since(stamp: str | None) -> str:
    if not stamp:
        return "<unknown>"
    return duration(time.time() - datetime.fromisoformat(stamp).timestamp())


def _age(obj: JsonObject) -> str:
    return _since(obj["metadata"].get("creationTimestamp"))


_NAME = Column("Name", "Name must be unique within a namespace.", format="name")
_AGE = Column("Age", "Time since the object was created.")
_PLAIN = (_NAME, Column("Created At", "When the object was created.", "date"))


def _plain(obj: JsonObject) -> Cells:
    return [objects.name_of(obj), obj["metadata"].get("creationTimestamp")]


_POD = (
    _NAME,
    Column("Ready", "Containers that are ready, of all containers."),
    Column("Status", "The state of the pod and why it is in it."),
    Column("Restarts", "How often containers were restarted, and when last."),
    _AGE,
    Column("IP", "The address of the pod.", priority=1),
    Column("Node", "The node of the pod.", priority=1),
    Column("Nominated Node", "The node that the pod may get.", priority=1),
    Column("Readiness Gates", "Gates that are passed, of all gates.", priority=1),
)


def _pod(pod: JsonObject) -> Cells:
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    containers = status.get("containerStatuses") or []
    ready = sum(bool(each.get("ready")) for each in containers)
    return [
        objects.name_of(pod),
        f"{ready}/{len(spec.get('containers') or [])}",
        pod_reason(pod),
        _restarts(containers),
        _age(pod),
        status.get("podIP") or "<none>",
        spec.get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        "<none>",
    ]


def pod_reason(pod: JsonObject) -> str:
    """The Status column: the most telling of phase, reasons of containers, and deletion."""
    status = pod.get("status") or {}
    reason = str(status.get("reason") or status.get("phase") or "Unknown")
    initialising = _init_reason(pod)
    if initialising:
        reason = initialising
    else:
        for container in reversed(status.get("containerStatuses") or []):
            reason = _container_reason(container) or reason
    if "deletionTimestamp" in pod["metadata"]:
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return reason


def _init_reason(pod: JsonObject) -> str | None:
    statuses = (pod.get("status") or {}).get("initContainerStatuses") or []
    total = len((pod.get("spec") or {}).get("initContainers") or [])
    for index, container in enumerate(statuses):
        state = container.get("state") or {}
        ended = state.get("terminated")
        if ended is not None and ended.get("exitCode") == 0:
            continue
        reason = _container_reason(container)
        if reason is not None and reason != "PodInitializing":
            return f"Init:{reason}"
        return f"Init:{index}/{total}"
    return None


def _container_reason(container: JsonObject) -> str | None:
    state = container.get("state") or {}
    if (waiting := state.get("waiting")) is not None:
        return waiting.get("reason") or None
    if (ended := state.get("terminated")) is not None:
        if ended.get("reason"):
            return str(ended["reason"])
        if ended.get("signal"):
            return f"Signal:{ended['signal']}"
        return f"ExitCode:{ended.get('exitCode', 0)}"
    return None


def _restarts(containers: list[JsonObject]) -> str:
    total = sum(int(each.get("restartCount", 0)) for each in containers)
    ends = [
        ended["finishedAt"]
        for each in containers
        if (ended := (each.get("lastState") or {}).get("terminated")) and ended.get("finishedAt")
    ]
    return f"{total} ({_since(max(ends))} ago)" if total and ends else str(total)


def _workload_columns(*columns: Column) -> tuple[Column, ...]:
    return (
        _NAME,
        *columns,
        _AGE,
        Column("Containers", "Names of the containers.", priority=1),
        Column("Images", "Images of the containers.", priority=1),
        Column("Selector", "Which pods belong to it.", priority=1),
    )


_DEPLOYMENT = _workload_columns(
    Column("Ready", "Pods that are ready, of those wanted."),
    Column("Up-to-date", "Pods of the current template.", "integer"),
    Column("Available", "Pods that are available.", "integer"),
)
_REPLICA_SET = _workload_columns(
    Column("Desired", "Pods wanted.", "integer"),
    Column("Current", "Pods that exist.", "integer"),
    Column("Ready", "Pods that are ready.", "integer"),
)


def _deployment(deployment: JsonObject) -> Cells:
    status = deployment.get("status") or {}
    wanted = deployment["spec"].get("replicas", 1)
    return [
        objects.name_of(deployment),
        f"{status.get('readyReplicas', 0)}/{wanted}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        _age(deployment),
        *_workload(deployment),
    ]


def _replica_set(replica_set: JsonObject) -> Cells:
    status = replica_set.get("status") or {}
    return [
        objects.name_of(replica_set),
        replica_set["spec"].get("replicas", 1),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        _age(replica_set),
        *_workload(replica_set),
    ]


def _workload(workload: JsonObject) -> Cells:
    spec = workload["spec"]
    containers = ((spec.get("template") or {}).get("spec") or {}).get("containers") or []
    labels = (spec.get("selector") or {}).get("matchLabels") or {}
    return [
        ",".join(each.get("name", "") for each in containers),
        ",".join(each.get("image", "") for each in containers),
        objects.label_selector(labels) or "<none>",
    ]


_SERVICE = (
    _NAME,
    Column("Type", "How the service is reached."),
    Column("Cluster-IP", "Its address inside of the cluster."),
    Column("External-IP", "Its addresses outside of the cluster."),
    Column("Port(s)", "Its ports, with their node ports."),
    _AGE,
    Column("Selector", "Which pods it leads to.", priority=1),
)


def _service(service: JsonObject) -> Cells:
    spec = service["spec"]
    return [
        objects.name_of(service),
        spec.get("type", "ClusterIP"),
        spec.get("clusterIP") or "<none>",
        _external_address(service),
        ",".join(_service_port(port) for port in spec.get("ports") or []) or "<none>",
        _age(service),
        objects.label_selector(spec.get("selector") or {}) or "<none>",
    ]


def _service_port(port: JsonObject) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node_port}/{port.get('protocol', 'TCP')}"


def _external_address(service: JsonObject) -> str:
    spec = service["spec"]
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", "<none>"))
    given = [str(each) for each in spec.get("externalIPs") or []]
    if spec.get("type") != "LoadBalancer":
        return ",".join(given) or "<none>"
    ingress = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    addresses = [each.get("ip") or each.get("hostname") for each in ingress]
    return ",".join([*filter(None, addresses), *given]) or "<pending>"


_DATA = Column("Data", "Number of entries.", "integer")
_CONFIG_MAP = (_NAME, _DATA, _AGE)
_SECRET = (_NAME, Column("Type", "What the secret is for."), _DATA, _AGE)


def _config_map(config_map: JsonObject) -> Cells:
    entries = len(config_map.get("data") or {}) + len(config_map.get("binaryData") or {})
    return [objects.name_of(config_map), entries, _age(config_map)]


def _secret(secret: JsonObject) -> Cells:
    entries = len(secret.get("data") or {})
    return [objects.name_of(secret), secret.get("type", "Opaque"), entries, _age(secret)]


_NAMESPACE = (_NAME, Column("Status", "Active, or Terminating while it is being emptied."), _AGE)


def _namespace(namespace: JsonObject) -> Cells:
    phase = (namespace.get("status") or {}).get("phase", "Active")
    return [objects.name_of(namespace), phase, _age(namespace)]


_NODE = (
    _NAME,
    Column("Status", "Whether the node takes pods."),
    Column("Roles", "The roles of the node."),
    _AGE,
    Column("Version", "The kubelet's version."),
    Column("Internal-IP", "The node's address.", priority=1),
    Column("External-IP", "The node's address outside of the cluster.", priority=1),
    Column("OS-Image", "The operating system.", priority=1),
    Column("Kernel-Version", "The kernel.", priority=1),
    Column("Container-Runtime", "What runs the containers.", priority=1),
)


def _node(node: JsonObject) -> Cells:
    status, prefix = node.get("status") or {}, "node-role.kubernetes.io/"
    info = status.get("nodeInfo") or {}
    ready = [each for each in status.get("conditions") or [] if each.get("type") == "Ready"]
    state = "Ready" if ready and ready[0].get("status") == "True" else "NotReady"
    if node["spec"].get("unschedulable"):
        state += ",SchedulingDisabled"
    roles = [key[len(prefix) :] for key in objects.labels_of(node) if key.startswith(prefix)]
    addresses = {each["type"]: each["address"] for each in status.get("addresses") or []}
    return [
        objects.name_of(node),
        state,
        ",".join(sorted(roles)) or "<none>",
        _age(node),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP", "<none>"),
        addresses.get("ExternalIP", "<none>"),
        info.get("osImage") or "<unknown>",
        info.get("kernelVersion") or "<unknown>",
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


_EVENT = (
    Column("Last Seen", "When it happened last."),
    Column("Type", "Normal or Warning."),
    Column("Reason", "Why it was written, for programs."),
    Column("Object", "What it is about."),
    Column("Subobject", "The part of the object.", priority=1),
    Column("Source", "Who wrote it.", priority=1),
    Column("Message", "Why it was written, for people."),
    Column("First Seen", "When it happened first.", priority=1),
    Column("Count", "How often it happened.", "integer", priority=1),
    Column("Name", "The name of the event.", format="name", priority=1),
)


def _event(event: JsonObject) -> Cells:
    about, source = event.get("involvedObject") or {}, event.get("source") or {}
    origin = [source.get("component") or event.get("reportingComponent"), source.get("host")]
    first = event.get("firstTimestamp") or event.get("eventTime")
    return [
        _since(event.get("lastTimestamp") or first),
        event.get("type", ""),
        event.get("reason", ""),
        f"{about.get('kind', '').lower()}/{about.get('name', '')}",
        about.get("fieldPath", ""),
        ", ".join(part for part in origin if part),
        str(event.get("message", "")).strip(),
        _since(first),
        event.get("count", 1),
        objects.name_of(event),
    ]


_SERVICE_ACCOUNT = (_NAME, Column("Secrets", "Number of secrets.", "integer"), _AGE)


def _service_account(account: JsonObject) -> Cells:
    return [objects.name_of(account), len(account.get("secrets") or []), _age(account)]


_ENDPOINTS = (_NAME, Column("Endpoints", "Addresses and ports behind the service."), _AGE)


def _endpoints(endpoints: JsonObject) -> Cells:
    found = [
        f"{address['ip']}:{port['port']}"
        for subset in endpoints.get("subsets") or []
        for port in subset.get("ports") or []
        for address in subset.get("addresses") or []
    ]
    more = f" + {len(found) - 3} more..." if len(found) > 3 else ""
    return [objects.name_of(endpoints), (",".join(found[:3]) or "<none>") + more, _age(endpoints)]


_ENDPOINT_SLICE = (
    _NAME,
    Column("AddressType", "What the addresses are."),
    Column("Ports", "The ports behind the service."),
    Column("Endpoints", "The addresses behind the service."),
    _AGE,
)


def _endpoint_slice(endpoint_slice: JsonObject) -> Cells:
    ports = [str(port.get("port", "*")) for port in endpoint_slice.get("ports") or []]
    found = [
        address
        for endpoint in endpoint_slice.get("endpoints") or []
        for address in endpoint.get("addresses") or []
    ]
    more = f" + {len(found) - 3} more..." if len(found) > 3 else ""
    return [
        objects.name_of(endpoint_slice),
        endpoint_slice.get("addressType", ""),
        ",".join(ports) or "<unset>",
        (",".join(found[:3]) or "<unset>") + more,
        _age(endpoint_slice),
    ]


_TABLES: dict[Resource, tuple[tuple[Column, ...], Callable[[JsonObject], Cells]]] = {
    objects.PODS: (_POD, _pod),
    objects.DEPLOYMENTS: (_DEPLOYMENT, _deployment),
    objects.REPLICA_SETS: (_REPLICA_SET, _replica_set),
    objects.SERVICES: (_SERVICE, _service),
    objects.CONFIG_MAPS: (_CONFIG_MAP, _config_map),
    objects.SECRETS: (_SECRET, _secret),
    objects.NAMESPACES: (_NAMESPACE, _namespace),
    objects.NODES: (_NODE, _node),
    objects.EVENTS: (_EVENT, _event),
    objects.SERVICE_ACCOUNTS: (_SERVICE_ACCOUNT, _service_account),
    objects.ENDPOINTS: (_ENDPOINTS, _endpoints),
    objects.ENDPOINT_SLICES: (_ENDPOINT_SLICE, _endpoint_slice),
}
