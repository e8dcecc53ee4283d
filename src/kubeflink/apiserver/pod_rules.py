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
    source = entry.get("valueFrom") or {}
    at = f"{field}.valueFrom"
    for kind, key in _NEEDED_BY_VARIABLES:
        yield from _needed(f"{at}.{kind}", source.get(kind), key)
    path = (source.get("fieldRef") or {}).get("fieldPath")
    if path and path not in _FIELDS and not _KEYED_FIELD.fullmatch(path):
        detail = f"error converting fieldPath: field label not supported: {path}"
        yield statuses.invalid_value(f"{at}.fieldRef.fieldPath", path, detail)


def _needed(field: str, source: JsonObject | None, *keys: str) -> Iterator[Cause]:
    """What a source that is there must say."""
    for key in keys:
        if source is not None and not source.get(key):
            yield statuses.required(f"{field}.{key}")


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
    for kind, name in _NEEDED_BY_VOLUMES:
        if sources[:1] == [kind]:
            yield from _needed(f"{field}.{kind}", volume[kind], name)
    for kind in ("configMap", "secret", "downwardAPI"):
        if sources[:1] == [kind]:
            yield from _items(f"{field}.{kind}", kind, volume[kind])
    if sources[:1] == ["projected"]:
        for index, source in enumerate(volume["projected"].get("sources") or ()):
            yield from _projection(f"{field}.projected.sources[{index}]", source)


def _projection(field: str, source: JsonObject) -> Iterator[Cause]:
    for kind in ("configMap", "secret", "downwardAPI"):
        if (files := source.get(kind)) is not None:
            if kind != "downwardAPI":
                yield from _needed(f"{field}.{kind}", files, "name")
            yield from _items(f"{field}.{kind}", kind, files)


def _items(field: str, kind: str, files: JsonObject) -> Iterator[Cause]:
    """The files that a volume chooses of its source."""
    for index, item in enumerate(files.get("items") or ()):
        at = f"{field}.items[{index}]"
        yield from _needed(at, item, *(("path",) if kind == "downwardAPI" else ("key", "path")))
        yield from _needed(f"{at}.fieldRef", item.get("fieldRef"), "fieldPath")
        yield from _mode(f"{at}.mode", item.get("mode"))
    yield from _mode(f"{field}.defaultMode", files.get("defaultMode"))


def _mode(field: str, mode: int | None) -> Iterator[Cause]:
    if mode is not None and not 0 <= mode <= 0o777:
        detail = "must be a number between 0 and 0777 (octal), both inclusive"
        yield statuses.invalid_value(field, mode, detail)


_NEEDED_BY_VARIABLES: Final = (
    ("fieldRef", "fieldPath"),
    ("resourceFieldRef", "resource"),
    ("configMapKeyRef", "key"),
    ("secretKeyRef", "key"),
)
_NEEDED_BY_VOLUMES: Final = (
    ("configMap", "name"),
    ("secret", "secretName"),
    ("hostPath", "path"),
    ("persistentVolumeClaim", "claimName"),
)
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
