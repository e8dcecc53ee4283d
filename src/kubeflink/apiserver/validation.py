"""The rules of the API that people run into, told in Kubernetes' words with all causes at once.

Not complete: the rules here are those that protect the embedded cluster from objects that it
could not act on, and those that a real cluster would answer to a Flink deployment (names, ports
that occur twice, mounts without volume, limits below requests, selectors that miss their template).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from kubeflink import objects
from kubeflink.apiserver import pod_rules, statuses
from kubeflink.apiserver.selectors import LabelSelector
from kubeflink.apiserver.statuses import Cause
from kubeflink.objects import JsonObject, Resource
from kubeflink.quantities import parse_quantity

_LABEL_1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_1123 = rf"{_LABEL_1123}(\.{_LABEL_1123})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_DATA_KEY = "[-._a-zA-Z0-9]+"
_PORT_NAME = "[a-z0-9]([a-z0-9-]*[a-z0-9])?"

_SAYS_LABEL_1123 = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    f"for validation is '{_LABEL_1123}')"
)
_SAYS_SUBDOMAIN_1123 = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    rf"for validation is '{_SUBDOMAIN_1123}')"
)
_SAYS_LABEL_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    f"regex used for validation is '{_LABEL_1035}')"
)
_SAYS_QUALIFIED = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    f"validation is '{_QUALIFIED}')"
)
_SAYS_LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    f"'12345', regex used for validation is '{_LABEL_VALUE}')"
)
_SAYS_DATA_KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    f"'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '{_DATA_KEY}')"
)
_SAYS_PORT_NAME = (
    "must consist of lower case alphanumeric characters or '-', and must contain at least one "
    "letter and no two '-' in a row"
)

MAXIMUM_DATA = 1024 * 1024
"""Bytes that the values of one ConfigMap or Secret may have together."""

Causes = Iterator[Cause]


@lru_cache(maxsize=4096)
def _matches(pattern: str, text: str) -> bool:
    # Of most objects everything but their own name was seen before.
    return re.fullmatch(pattern, text) is not None


def validate(resource: Resource, obj: JsonObject, previous: JsonObject | None = None) -> None:
    """Raise 422 with every broken rule; with `previous`, also rules on what may not change."""
    causes = list(_metadata(resource, obj))
    if rule := _RULES.get(resource):
        causes += rule(obj)
    if previous is not None and (rule_of_change := _RULES_OF_CHANGE.get(resource)):
        causes += rule_of_change(obj, previous)
    if causes:
        raise statuses.invalid(resource, objects.name_of(obj), causes)


def _metadata(resource: Resource, obj: JsonObject) -> Causes:
    metadata = obj["metadata"]
    name = metadata.get("name", "")
    if not name:
        yield statuses.required("metadata.name", "name or generateName is required")
    elif resource == objects.SERVICES:
        yield from _name("metadata.name", name, _LABEL_1035, _SAYS_LABEL_1035, 63)
    elif resource == objects.NAMESPACES:
        yield from _name("metadata.name", name, _LABEL_1123, _SAYS_LABEL_1123, 63)
    else:
        yield from _name("metadata.name", name, _SUBDOMAIN_1123, _SAYS_SUBDOMAIN_1123, 253)
    yield from _labels("metadata.labels", metadata.get("labels", {}))
    for key in metadata.get("annotations", {}):
        yield from _qualified("metadata.annotations", key.lower())


def _name(field: str, name: str, pattern: str, says: str, limit: int) -> Causes:
    if len(name) > limit:
        yield statuses.invalid_value(field, name, f"must be no more than {limit} characters")
    if not _matches(pattern, name):
        yield statuses.invalid_value(field, name, says)


def _labels(field: str, labels: dict[str, str]) -> Causes:
    for key, value in labels.items():
        yield from _qualified(field, key)
        if len(value) > 63:
            yield statuses.invalid_value(field, value, "must be no more than 63 characters")
        if not _matches(_LABEL_VALUE, value):
            yield statuses.invalid_value(field, value, _SAYS_LABEL_VALUE)


def _qualified(field: str, key: str) -> Causes:
    prefix, slash, name = key.rpartition("/")
    if slash and not _matches(_SUBDOMAIN_1123, prefix):
        yield statuses.invalid_value(field, key, f"prefix part {_SAYS_SUBDOMAIN_1123}")
    if len(name) > 63:
        yield statuses.invalid_value(field, key, "name part must be no more than 63 characters")
    if not _matches(_QUALIFIED, name):
        yield statuses.invalid_value(field, key, _SAYS_QUALIFIED)


def _pod(pod: JsonObject) -> Causes:
    yield from _pod_spec("spec", pod.get("spec") or {})


def _pod_spec(field: str, spec: JsonObject) -> Causes:
    volumes = spec.get("volumes") or []
    yield from _unique_names(f"{field}.volumes", volumes, _LABEL_1123, _SAYS_LABEL_1123)
    containers = spec.get("containers") or []
    if not containers:
        yield statuses.required(f"{field}.containers")
    names = {volume.get("name") for volume in volumes}
    for key in ("containers", "initContainers"):
        items = spec.get(key) or []
        yield from _unique_names(f"{field}.{key}", items, _LABEL_1123, _SAYS_LABEL_1123)
        for index, container in enumerate(items):
            yield from _container(f"{field}.{key}[{index}]", container, names)
    yield from pod_rules.placement(field, spec)
    policies = ("Always", "OnFailure", "Never")
    if spec.get("restartPolicy") not in policies:
        yield statuses.unsupported(f"{field}.restartPolicy", spec.get("restartPolicy"), policies)


def _unique_names(field: str, items: list[JsonObject], pattern: str, says: str) -> Causes:
    seen = set()
    for index, item in enumerate(items):
        name = item.get("name", "")
        if not name:
            yield statuses.required(f"{field}[{index}].name")
            continue
        yield from _name(f"{field}[{index}].name", name, pattern, says, 63)
        if name in seen:
            yield statuses.duplicate(f"{field}[{index}].name", name)
        seen.add(name)


def _container(field: str, container: JsonObject, volumes: set[Any]) -> Causes:
    if not container.get("image"):
        yield statuses.required(f"{field}.image")
    else:
        yield from pod_rules.image(f"{field}.image", container["image"])
    policies = ("Always", "IfNotPresent", "Never")
    if container.get("imagePullPolicy") not in policies:
        value = container.get("imagePullPolicy")
        yield statuses.unsupported(f"{field}.imagePullPolicy", value, policies)
    yield from _container_ports(f"{field}.ports", container.get("ports") or [])
    for index, variable in enumerate(container.get("env") or []):
        if not variable.get("name"):
            yield statuses.required(f"{field}.env[{index}].name")
        if variable.get("value") and variable.get("valueFrom"):
            detail = "may not be specified when `value` is not empty"
            yield statuses.invalid_value(f"{field}.env[{index}].valueFrom", "", detail)
        yield from pod_rules.variable(f"{field}.env[{index}]", variable)
    paths = set()
    for index, mount in enumerate(container.get("volumeMounts") or []):
        at = f"{field}.volumeMounts[{index}]"
        if not mount.get("name"):
            yield statuses.required(f"{at}.name")
        elif mount["name"] not in volumes:
            yield statuses.missing_reference(f"{at}.name", mount["name"])
        if not mount.get("mountPath"):
            yield statuses.required(f"{at}.mountPath")
        elif mount["mountPath"] in paths:
            yield statuses.invalid_value(f"{at}.mountPath", mount["mountPath"], "must be unique")
        paths.add(mount.get("mountPath"))
    yield from _resources(f"{field}.resources", container.get("resources") or {})


def _container_ports(field: str, ports: list[JsonObject]) -> Causes:
    names = set()
    for index, port in enumerate(ports):
        at = f"{field}[{index}]"
        name = port.get("name")
        if name:
            if len(name) > 15:
                yield statuses.invalid_value(
                    f"{at}.name", name, "must be no more than 15 characters"
                )
            if not _matches(_PORT_NAME, name) or name.isdigit() or "--" in name:
                yield statuses.invalid_value(f"{at}.name", name, _SAYS_PORT_NAME)
            if name in names:
                yield statuses.duplicate(f"{at}.name", name)
            names.add(name)
        if not port.get("containerPort"):
            yield statuses.required(f"{at}.containerPort")
        else:
            yield from _port_number(f"{at}.containerPort", port["containerPort"])


def _port_number(field: str, number: int) -> Causes:
    if not 1 <= number <= 65535:
        yield statuses.invalid_value(field, number, "must be between 1 and 65535, inclusive")


def _resources(field: str, resources: JsonObject) -> Causes:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for section, quantities in (("limits", limits), ("requests", requests)):
        for name, quantity in quantities.items():
            if parse_quantity(quantity) is None:
                yield statuses.invalid_value(
                    f"{field}.{section}.{name}",
                    quantity,
                    "quantities must match the regular expression "
                    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
                )
    yield from pod_rules.amounts(field, resources)
    for name, quantity in requests.items():
        asked, limit = parse_quantity(quantity), parse_quantity(limits.get(name, ""))
        if asked is not None and limit is not None and asked > limit:
            detail = f"must be less than or equal to {name} limit of {limits[name]}"
            yield statuses.invalid_value(f"{field}.requests", str(quantity), detail)


def _workload(workload: JsonObject) -> Causes:
    spec = workload.get("spec") or {}
    if spec.get("replicas", 1) < 0:
        detail = "must be greater than or equal to 0"
        yield statuses.invalid_value("spec.replicas", spec["replicas"], detail)
    selector = spec.get("selector") or {}
    if not selector:
        yield statuses.required("spec.selector")
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    yield from _labels("spec.template.metadata.labels", labels)
    if selector and not LabelSelector.of(selector).matches(labels):
        detail = "`selector` does not match template `labels`"
        yield statuses.invalid_value("spec.template.metadata.labels", labels, detail)
    strategy = spec.get("strategy") or {}
    if strategy.get("type") == "Recreate" and strategy.get("rollingUpdate"):
        detail = "may not be specified when strategy `type` is 'Recreate'"
        yield statuses.forbidden_field("spec.strategy.rollingUpdate", detail)
    pod = template.get("spec") or {}
    yield from _pod_spec("spec.template.spec", pod if pod else {"restartPolicy": "Always"})
    if pod.get("restartPolicy") in ("Never", "OnFailure"):
        field = "spec.template.spec.restartPolicy"
        yield statuses.unsupported(field, pod["restartPolicy"], ("Always",))


def _service(service: JsonObject) -> Causes:
    spec = service.get("spec") or {}
    types = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
    if spec.get("type") not in types:
        yield statuses.unsupported("spec.type", spec.get("type"), types)
    ports = spec.get("ports") or []
    if not ports and spec.get("type") != "ExternalName" and spec.get("clusterIP") != "None":
        yield statuses.required("spec.ports")
    names, numbers = set(), set()
    for index, port in enumerate(ports):
        field, name = f"spec.ports[{index}]", port.get("name", "")
        if not name and len(ports) > 1:
            yield statuses.required(f"{field}.name")
        elif name:
            yield from _name(f"{field}.name", name, _LABEL_1123, _SAYS_LABEL_1123, 63)
            if name in names:
                yield statuses.duplicate(f"{field}.name", name)
        names.add(name)
        yield from _port_number(f"{field}.port", port.get("port", 0))
        target = port.get("targetPort")
        if isinstance(target, int):
            yield from _port_number(f"{field}.targetPort", target)
        key = (port.get("protocol"), port.get("port"))
        if key in numbers:
            yield statuses.duplicate(field, {"port": key[1], "protocol": key[0]})
        numbers.add(key)
    yield from _labels("spec.selector", spec.get("selector") or {})


def _data(obj: JsonObject) -> Causes:
    size = 0
    for section in ("data", "binaryData"):
        for key, value in (obj.get(section) or {}).items():
            size += len(value.encode())
            field = f"{section}[{key}]"
            yield from _name(field, key, _DATA_KEY, _SAYS_DATA_KEY, 253)
    if size > MAXIMUM_DATA:
        message = f"Too long: may not be more than {MAXIMUM_DATA} bytes"
        yield Cause("", "FieldValueTooLong", message)


_POD_FORBIDDEN = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)"
)


def _pod_change(pod: JsonObject, previous: JsonObject) -> Causes:
    if _fixed_part(pod["spec"], previous["spec"]) != _fixed_part(previous["spec"], pod["spec"]):
        yield statuses.forbidden_field("spec", _POD_FORBIDDEN)


def _fixed_part(spec: JsonObject, other: JsonObject) -> JsonObject:
    """What of a pod's spec may not change. A node may be assigned to a pod that has none."""
    fixed = {
        key: value
        for key, value in spec.items()
        if key not in ("activeDeadlineSeconds", "tolerations")
    }
    if not spec.get("nodeName") or not other.get("nodeName"):
        fixed.pop("nodeName", None)
    for key in ("containers", "initContainers"):
        if key in fixed:
            fixed[key] = [{**container, "image": ""} for container in fixed[key]]
    return fixed


def _workload_change(workload: JsonObject, previous: JsonObject) -> Causes:
    if workload["spec"].get("selector") != previous["spec"].get("selector"):
        value = workload["spec"].get("selector")
        yield statuses.invalid_value("spec.selector", value, "field is immutable")


def _data_change(obj: JsonObject, previous: JsonObject) -> Causes:
    if previous.get("immutable") is True and (
        obj.get("immutable") is not True
        or any(obj.get(key) != previous.get(key) for key in ("data", "binaryData"))
    ):
        yield statuses.forbidden_field("data", "field is immutable when `immutable` is set")


def _service_change(service: JsonObject, previous: JsonObject) -> Causes:
    old, new = previous["spec"].get("clusterIP"), service["spec"].get("clusterIP")
    if (
        old
        and new != old
        and "ExternalName"
        not in (
            previous["spec"].get("type"),
            service["spec"].get("type"),
        )
    ):
        yield statuses.invalid_value("spec.clusterIPs[0]", [new], "may not change once set")


_RULES: dict[Resource, Callable[[JsonObject], Causes]] = {
    objects.PODS: _pod,
    objects.DEPLOYMENTS: _workload,
    objects.REPLICA_SETS: _workload,
    objects.SERVICES: _service,
    objects.CONFIG_MAPS: _data,
    objects.SECRETS: _data,
}
_RULES_OF_CHANGE: dict[Resource, Callable[[JsonObject, JsonObject], Causes]] = {
    objects.PODS: _pod_change,
    objects.DEPLOYMENTS: _workload_change,
    objects.REPLICA_SETS: _workload_change,
    objects.SERVICES: _service_change,
    objects.CONFIG_MAPS: _data_change,
    objects.SECRETS: _data_change,
}
