"""Is an object what a Kubernetes API server takes: whole, without a warning, without a change?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from kubeflink import objects
from kubeflink.objects import JsonObject, Resource
from kubeflink.quantities import parse_quantity
from support.real_cluster import Namespace

_CLAIMS = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")


async def complaints(namespace: Namespace, obj: JsonObject) -> list[str]:
    """What the API server has against an object, by a strict dry run; and what it loses of it."""
    resource = objects.resource_of(obj)
    answer = await namespace.client.http.post(
        resource.collection_path(namespace.name),
        params={"dryRun": "All", "fieldValidation": "Strict"},
        json=in_namespace(obj, namespace.name),
    )
    what = f"{obj['kind']} {objects.name_of(obj)}"
    if answer.status_code != 201:
        return [f"{what}: {answer.status_code} {answer.json().get('message')}"]
    found = [f"{what}: warning {each}" for each in answer.headers.get_list("Warning")]
    lost = losses(in_namespace(obj, namespace.name), _as_without_admission(answer.json()))
    return found + [f"{what}: {each}" for each in lost]


def _as_without_admission(value: Any) -> Any:
    """What was stored, without what admission adds to the lists of every pod."""
    if isinstance(value, list):
        return [_as_without_admission(each) for each in value if not _is_added(each)]
    if isinstance(value, Mapping):
        return {key: _as_without_admission(each) for key, each in value.items()}
    return value


def _is_added(item: Any) -> bool:
    if not isinstance(item, Mapping):
        return False
    if str(item.get("key", "")).startswith("node.kubernetes.io/"):
        return item.get("tolerationSeconds") == 300
    return str(item.get("name", "")).startswith("kube-api-access-")


def in_namespace(obj: JsonObject, namespace: str) -> JsonObject:
    """The object in another namespace, as far as its own metadata says where it is."""
    metadata = obj["metadata"]
    if "namespace" in metadata:
        metadata = {**metadata, "namespace": namespace}
    return {**obj, "metadata": metadata}


def losses(sent: Any, stored: Any, path: str = "") -> Iterator[str]:
    """What was sent and is not in what was stored. What is empty may be left out."""
    if isinstance(sent, Mapping) and isinstance(stored, Mapping):
        for key, value in sent.items():
            if key not in stored:
                if not _is_empty(value):
                    yield f"{path}.{key} is lost"
            else:
                yield from losses(value, stored[key], f"{path}.{key}")
    elif isinstance(sent, list) and isinstance(stored, list):
        if len(sent) != len(stored):
            yield f"{path} has {len(stored)} items instead of {len(sent)}"
        for index, (one, other) in enumerate(zip(sent, stored, strict=False)):
            yield from losses(one, other, f"{path}[{index}]")
    elif not _is_same(sent, stored, path):
        yield f"{path} is {stored!r} instead of {sent!r}"


def _is_empty(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_empty, value.values()))
    return value in (None, "", 0, False, [])


def _is_same(sent: Any, stored: Any, path: str) -> bool:
    if ".resources." in path:
        return _amount(sent) == _amount(stored)
    return bool(sent == stored) or (_is_empty(sent) and _is_empty(stored))


def _amount(value: Any) -> Decimal:
    return Decimal(parse_quantity(str(value)))
