"""Rules for what a pod template brings along: amounts, images, variables, volumes, tolerations.

They were found by comparison with a real API server (`tests/kubernetes/test_api_server.py`): what
it refuses, the embedded one is not to take, or the mistake is found in production only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubeflink.apiserver import statuses
from kubeflink.apiserver.statuses import Cause
from kubeflink.objects import JsonObject
from kubeflink.quantities import parse_quantity

_STANDARD: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_FIELDS: Final = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    }
)
_KEYED_FIELD: Final = re.compile(r"metadata\.(labels|annotations)\['[^']+'\]")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_VARIABLE: Final = re.compile(r"[ -<>-~]+")


def amounts(field: str, resources: Mapping[str, Any]) -> Iterator[Cause]:
    """What a container asks for; what cannot be shared out must have a limit."""
    limits = resources.get("limits") or {}
    for section in ("limits", "requests"):
        for name, amount in (resources.get(section) or {}).items():
            at = f"{field}.{section}[{name}]"
            value = parse_quantity(amount)
            if value is not None and value < 0:
                yield statuses.invalid_value(at, str(amount), "must be greater than or equal to 0")
            if name not in _STANDARD and "/" not in name and not name.startswith("hugepages-"):
                for detail in ("type or fully qualified", "for containers"):
                    yield statuses.invalid_value(at, name, f"must be a standard resource {detail}")
    if any("/" in name and name not in limits for name in resources.get("requests") or {}):
        detail = "Limit must be set for non overcommitable resources"
        yield statuses.required(f"{field}.limits", detail)


def image(field: str, name: str) -> Iterator[Cause]:
    """The name of a container's image."""
    if name != name.strip():
        yield statuses.invalid_value(field, name, "must not have leading or trailing whitespace")


def variable(field: str, entry: JsonObject) -> Iterator[Cause]:
    """An environment variable: its name, and the field of the pod that it shows."""
    name = entry.get("name") or ""
    if name and not _VARIABLE.fullmatch(name):
        detail = (
            "a valid environment variable name must consist only of printable ASCII characters"
            " other than '='"
        )
        yield statuses.invalid_value(f"{field}.name", name, detail)
    path = ((entry.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath")
    if path and path not in _FIELDS and not _KEYED_FIELD.fullmatch(path):
        detail = f"error converting fieldPath: field label not supported: {path}"
        yield statuses.invalid_value(f"{field}.valueFrom.fieldRef.fieldPath", path, detail)


def placement(field: str, spec: JsonObject) -> Iterator[Cause]:
    """Volumes, tolerations and name resolution of a pod."""
    if (policy := spec.get("dnsPolicy")) not in (None, *_DNS_POLICIES):
        yield statuses.unsupported(f"{field}.dnsPolicy", policy, _DNS_POLICIES)
    for index, volume in enumerate(spec.get("volumes") or ()):
        yield from _volume(f"{field}.volumes[{index}]", volume)
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        if not toleration.get("key") and toleration.get("operator") != "Exists":
            detail = (
                "operator must be Exists when `key` is empty, which means"
                ' "match all values and all keys"'
            )
            operator = toleration.get("operator") or ""
            at = f"{field}.tolerations[{index}].operator"
            yield statuses.invalid_value(at, operator, detail)


def _volume(field: str, volume: JsonObject) -> Iterator[Cause]:
    # In the order in which the real server looks at them: the first is the one that counts.
    sources = [name for name in _VOLUME_ORDER if volume.get(name) is not None]
    for more in sources[1:]:
        yield statuses.forbidden_field(f"{field}.{more}", "may not specify more than 1 volume type")
    for kind, name in (("configMap", "name"), ("secret", "secretName")):
        if sources[:1] == [kind] and not volume[kind].get(name):
            yield statuses.required(f"{field}.{kind}.{name}")


_VOLUME_ORDER: Final = (
    "emptyDir",
    "hostPath",
    "secret",
    "nfs",
    "persistentVolumeClaim",
    "downwardAPI",
    "configMap",
    "projected",
    "csi",
    "ephemeral",
)
