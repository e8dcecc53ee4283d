"""Server-side apply: an object becomes what its appliers say, field by field.

`metadata.managedFields` remembers, for each manager that applies, the set of fields that it
applied last (in Kubernetes' `FieldsV1` notation). An apply merges the new configuration in, removes
what the manager had applied before and does no longer (unless another one has it too), and refuses
to change a field that another manager applied, unless it is forced.

Only managers that *apply* own fields here. What was written by create, update or patch belongs to
nobody, so the first apply to such an object takes its fields over without a conflict, where the
real server would report one against the writer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from kubeflink.apiserver import statuses
from kubeflink.apiserver.metadata import copy_json, timestamp, without_nulls
from kubeflink.apiserver.strategic import merge_key
from kubeflink.objects import JsonObject, Resource

FieldSet = dict[str, Any]
"""FieldsV1: `f:NAME` a member, `k:{...}` an element of a keyed list, `v:...` of a set, `.` it."""

_ATOMIC = frozenset({"selector", "nodeSelector", "matchLabels", "resources", "valueFrom"})
_SETS = frozenset({"finalizers"})
_IDENTITY = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation")


def apply_patch(
    resource: Resource,
    current: JsonObject | None,
    applied: Mapping[str, Any],
    *,
    manager: str,
    force: bool = False,
    subresource: str = "",
) -> JsonObject:
    """The object after `manager` applied a configuration to it; 409 on a conflict of managers."""
    configuration: JsonObject = without_nulls(applied)
    base = current or {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": configuration["metadata"]["name"]},
    }
    entries = list(base["metadata"].get("managedFields") or ())
    mine = next((each for each in entries if _is_mine(each, manager, subresource)), None)
    others = {each["manager"]: each.get("fieldsV1", {}) for each in entries if each is not mine}
    wanted = _fields(_owned_part(configuration))
    if not force:
        _refuse_conflicts(resource, base, configuration, wanted, others)
    result: JsonObject = _merge("", base, configuration)
    if mine is not None:
        gone = _difference(mine.get("fieldsV1", {}), wanted)
        for fields in others.values():
            gone = _unheld(gone, fields)
        result = _without(result, gone)
    if mine is None or mine.get("fieldsV1") != wanted:
        fresh = _entry(resource, manager, subresource, wanted)
        entries = [each for each in entries if each is not mine] + [fresh]
    if force:
        entries = [
            each
            if _is_mine(each, manager, subresource)
            else {**each, "fieldsV1": _difference(each.get("fieldsV1", {}), wanted)}
            for each in entries
        ]
    result["metadata"]["managedFields"] = [each for each in entries if each.get("fieldsV1")]
    return result


def _is_mine(entry: Mapping[str, Any], manager: str, subresource: str) -> bool:
    return (entry.get("manager"), entry.get("operation"), entry.get("subresource", "")) == (
        manager,
        "Apply",
        subresource,
    )


def _entry(resource: Resource, manager: str, subresource: str, fields: FieldSet) -> JsonObject:
    entry: JsonObject = {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": resource.api_version,
        "time": timestamp(time.time()),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    if subresource:
        entry["subresource"] = subresource
    return entry


def _owned_part(configuration: JsonObject) -> JsonObject:
    """What of a configuration can be owned: not its type and not its identity."""
    metadata = configuration.get("metadata") or {}
    owned = {
        key: value
        for key, value in configuration.items()
        if key not in ("apiVersion", "kind", "metadata")
    }
    rest = {key: value for key, value in metadata.items() if key not in _IDENTITY}
    return {**owned, "metadata": rest} if rest else owned


def _list_keys(field: str, items: list[Any]) -> tuple[str, ...] | None:
    keys = merge_key(field, items)
    if keys is None or not all(isinstance(each, dict) for each in items):
        return None
    return (*keys, "protocol") if field == "ports" else keys


def _identity(item: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    defaults = {"protocol": "TCP"}
    return {key: item.get(key, defaults.get(key)) for key in keys}


def _element(identity: Mapping[str, Any]) -> str:
    return "k:" + msgspec.json.encode(dict(sorted(identity.items()))).decode()


def _fields(value: JsonObject) -> FieldSet:
    """The set of fields that a configuration names."""
    return {f"f:{key}": _field(key, member) for key, member in value.items()}


def _field(key: str, value: Any) -> FieldSet:
    if key in _ATOMIC:
        return {}
    if isinstance(value, dict):
        return _fields(value)
    if not isinstance(value, list):
        return {}
    if key in _SETS:
        return {"v:" + msgspec.json.encode(each).decode(): {} for each in value}
    keys = _list_keys(key, value) or ()
    return {_element(_identity(each, keys)): {".": {}, **_fields(each)} for each in value if keys}


def _difference(fields: FieldSet, other: Mapping[str, Any]) -> FieldSet:
    """The fields that the other set has not. A member with members stands for these only."""
    left: FieldSet = {}
    for key, members in fields.items():
        if key not in other or bool(members) != bool(other[key]):
            left[key] = members
        elif deeper := _difference(members, other[key]):
            left[key] = deeper
    return left


def _unheld(gone: FieldSet, other: Mapping[str, Any]) -> FieldSet:
    """What of the given-up fields another manager neither has nor has anything in."""
    left: FieldSet = {}
    for key, members in gone.items():
        if key not in other:
            left[key] = members
        elif members and other[key] and (deeper := _unheld(members, other[key])):
            left[key] = deeper
    return left


def _merge(field: str, base: Any, configuration: Any) -> Any:
    if field not in _ATOMIC and isinstance(configuration, dict):
        merged = dict(base) if isinstance(base, dict) else {}
        for key, value in configuration.items():
            merged[key] = _merge(key, merged.get(key), value)
        return merged
    if isinstance(configuration, list) and isinstance(base, list):
        if field in _SETS:
            return [*base, *(each for each in configuration if each not in base)]
        if keys := _list_keys(field, [*base, *configuration]):
            return _merge_elements(base, configuration, keys)
    return copy_json(configuration)


def _merge_elements(base: list[Any], configuration: list[Any], keys: tuple[str, ...]) -> list[Any]:
    """In the order of the configuration; elements of others stay where they were among them."""
    merged = list(base)
    for element in configuration:
        identity = _identity(element, keys)
        for index, existing in enumerate(merged):
            if _identity(existing, keys) == identity:
                merged[index] = _merge("", existing, element)
                break
        else:
            merged.append(copy_json(element))
    return merged


def _without(value: JsonObject, gone: Mapping[str, Any]) -> JsonObject:
    """The object without these fields; an emptied mapping stays, an emptied list element goes."""
    left = dict(value)
    for key, members in gone.items():
        name = key.removeprefix("f:")
        if not key.startswith("f:") or name not in left:
            continue
        member = left[name]
        if members and isinstance(member, dict):
            left[name] = _without(member, members)
            if not left[name]:
                del left[name]
        elif members and isinstance(member, list):
            left[name] = _without_elements(name, member, members)
            if not left[name]:
                del left[name]
        else:
            del left[name]
    return left


def _without_elements(field: str, items: list[Any], gone: Mapping[str, Any]) -> list[Any]:
    keys, left = _list_keys(field, items), []
    for item in items:
        if keys is None:
            if "v:" + msgspec.json.encode(item).decode() not in gone:
                left.append(item)
            continue
        members = gone.get(_element(_identity(item, keys)))
        if members is None:
            left.append(item)
        elif "." not in members:
            left.append(_without(item, members))
    return left


def _refuse_conflicts(
    resource: Resource,
    base: JsonObject,
    configuration: JsonObject,
    wanted: FieldSet,
    others: Mapping[str, FieldSet],
) -> None:
    causes = []
    for manager, fields in others.items():
        for path in _shared_leaves(wanted, fields):
            if _value_at(base, path) != _value_at(configuration, path):
                causes.append((manager, _readable(path)))
    if not causes:
        return
    told = ", ".join(f'conflict with "{manager}": {field}' for manager, field in causes)
    plural = "conflict" if len(causes) == 1 else "conflicts"
    raise statuses.failure(
        409,
        f"Apply failed with {len(causes)} {plural}: {told}",
        details={
            "name": base["metadata"].get("name", ""),
            "kind": resource.plural,
            "causes": [
                {
                    "reason": "FieldManagerConflict",
                    "message": f'conflict with "{manager}"',
                    "field": field,
                }
                for manager, field in causes
            ],
        },
    )


def _shared_leaves(
    left: FieldSet, right: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    for key, members in left.items():
        if key == "." or key not in right:
            continue
        if members and right[key]:
            yield from _shared_leaves(members, right[key], (*path, key))
        elif not members and not right[key]:
            yield (*path, key)


def _value_at(value: Any, path: tuple[str, ...]) -> Any:
    field = ""
    for key in path:
        kind, _, name = key.partition(":")
        if kind == "f":
            value, field = (value.get(name) if isinstance(value, dict) else None), name
        elif isinstance(value, list):
            keys = _list_keys(field, value)
            found = (
                each
                for each in value
                if (keys and _element(_identity(each, keys)) == key)
                or (not keys and "v:" + msgspec.json.encode(each).decode() == key)
            )
            value = next(found, None)
    return value


def _readable(path: tuple[str, ...]) -> str:
    told = ""
    for key in path:
        kind, _, name = key.partition(":")
        if kind == "f":
            told += f".{name}"
        else:
            told += "[" + name.strip("{}").replace('":', '"=').replace('"', "", 2) + "]"
    return told
