"""What the server fills in where a manifest is silent, as far as clients read it back.

The values are those of the Kubernetes API reference. Only creations and full updates pass here, and
a field that is set is never touched; so applying the same manifest twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from kubeflink import objects
from kubeflink.objects import JsonObject, Resource
from kubeflink.quantities import with_plain_quantities

_WITH_QUANTITIES = (objects.PODS, objects.DEPLOYMENTS, objects.REPLICA_SETS)


def fill_in(resource: Resource, obj: JsonObject) -> None:
    """Put the defaults of its kind into `obj`."""
    kind = _BY_RESOURCE.get(resource)
    if kind is not None:
        kind(obj)
    if resource in _WITH_QUANTITIES and isinstance(obj.get("spec"), dict):
        obj["spec"] = with_plain_quantities(obj["spec"])


def initial_status(resource: Resource) -> JsonObject | None:
    """The status of a new object; None for kinds whose creator writes it, or that have none."""
    initial = _INITIAL_STATUS.get(resource)
    return None if initial is None else {**initial}


_INITIAL_STATUS: dict[Resource, JsonObject] = {
    objects.PODS: {"phase": "Pending"},
    objects.SERVICES: {"loadBalancer": {}},
    objects.NAMESPACES: {"phase": "Active"},
    objects.DEPLOYMENTS: {},
    objects.REPLICA_SETS: {"replicas": 0},
}


def _pod(pod: JsonObject) -> None:
    spec = pod.get("spec")
    if isinstance(spec, dict):
        _pod_spec(spec)
        pod_spec_only = {"enableServiceLinks": True, "preemptionPolicy": "PreemptLowerPriority"}
        for key, value in {**pod_spec_only, "priority": 0}.items():
            spec.setdefault(key, value)
        if not spec.get("serviceAccountName"):
            spec["serviceAccountName"] = "default"
        spec.setdefault("serviceAccount", spec["serviceAccountName"])


def _pod_spec(spec: JsonObject) -> None:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    if spec.get("serviceAccountName"):
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
    elif spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"]
    for container in [*_dicts(spec.get("initContainers")), *_dicts(spec.get("containers"))]:
        _container(container, host_network=spec.get("hostNetwork") is True)
    for volume in _dicts(spec.get("volumes")):
        _volume(volume)


def _container(container: JsonObject, *, host_network: bool) -> None:
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    if "imagePullPolicy" not in container:
        image = str(container.get("image", ""))
        untagged = ":" not in image.rsplit("/", 1)[-1] or image.endswith(":latest")
        container["imagePullPolicy"] = "Always" if untagged and "@" not in image else "IfNotPresent"
    for port in _dicts(container.get("ports")):
        port.setdefault("protocol", "TCP")
        if host_network and "containerPort" in port:
            port.setdefault("hostPort", port["containerPort"])
    for variable in _dicts(container.get("env")):
        reference = (variable.get("valueFrom") or {}).get("fieldRef")
        if isinstance(reference, dict):
            reference.setdefault("apiVersion", "v1")
    resources = container["resources"]
    if isinstance(resources, dict) and isinstance(resources.get("limits"), dict):
        requests = resources.setdefault("requests", {})
        for name, quantity in resources["limits"].items():
            requests.setdefault(name, quantity)


def _volume(volume: JsonObject) -> None:
    for kind in ("configMap", "secret", "downwardAPI", "projected"):
        source = volume.get(kind)
        if isinstance(source, dict):
            source.setdefault("defaultMode", 0o644)
    host_path = volume.get("hostPath")
    if isinstance(host_path, dict):
        host_path.setdefault("type", "")
    if set(volume) == {"name"}:
        volume["emptyDir"] = {}


def _deployment(deployment: JsonObject) -> None:
    spec = deployment.get("spec")
    if not isinstance(spec, dict):
        return
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    _template(spec)


def _replica_set(replica_set: JsonObject) -> None:
    spec = replica_set.get("spec")
    if isinstance(spec, dict):
        spec.setdefault("replicas", 1)
        _template(spec)


def _template(spec: JsonObject) -> None:
    template = spec.get("template")
    if isinstance(template, dict) and isinstance(template.get("spec"), dict):
        _pod_spec(template["spec"])


def _service(service: JsonObject) -> None:
    spec = service.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    if spec["type"] != "ExternalName":
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec["type"] in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    for port in _dicts(spec.get("ports")):
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, "") and "port" in port:
            port["targetPort"] = port["port"]


def _secret(secret: JsonObject) -> None:
    secret.setdefault("type", "Opaque")
    texts = secret.pop("stringData", None)
    if isinstance(texts, dict):
        from base64 import b64encode

        data = secret.setdefault("data", {})
        data.update({key: b64encode(str(text).encode()).decode() for key, text in texts.items()})


def _namespace(namespace: JsonObject) -> None:
    namespace.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
    labels = namespace["metadata"].setdefault("labels", {})
    labels["kubernetes.io/metadata.name"] = objects.name_of(namespace)


def _node(node: JsonObject) -> None:
    node.setdefault("spec", {})


def _dicts(items: object) -> list[JsonObject]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


_BY_RESOURCE: dict[Resource, Callable[[JsonObject], None]] = {
    objects.PODS: _pod,
    objects.DEPLOYMENTS: _deployment,
    objects.REPLICA_SETS: _replica_set,
    objects.SERVICES: _service,
    objects.SECRETS: _secret,
    objects.NAMESPACES: _namespace,
    objects.NODES: _node,
}
