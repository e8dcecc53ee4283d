"""Strategic merge patch: merge patch that knows which lists are keyed.

`kubectl apply`, `kubectl patch`, `set` and `edit` send these patches for built-in kinds. Lists in
`MERGE_KEYS` are merged by their key, lists of plain values in `_SETS` as sets, all other lists are
replaced. Directives: `$patch: replace|merge|delete`, `$deleteFromPrimitiveList/KEY`,
`$setElementOrder/KEY`, `$retainKeys`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubeflink.apiserver import statuses
from kubeflink.apiserver.metadata import copy_json

MERGE_KEYS: Mapping[str, tuple[str, ...]] = {
    "conditions": ("type",),
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "imagePullSecrets": ("name",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey",),
    "ownerReferences": ("uid",),
    "secrets": ("name",),
    "resourceClaims": ("name",),
    "addresses": ("type",),
    "podIPs": ("ip",),
    "hostIPs": ("ip",),
    "taints": ("key",),
}
"""The key of each keyed list, by the list's name. `ports` differ by place: see `merge_key`."""

_SETS = frozenset({"finalizers"})
_ORDER, _DELETE = "$setElementOrder/", "$deleteFromPrimitiveList/"


def merge_key(field: str, items: list[Any]) -> tuple[str, ...] | None:
    """The merge key of a list, None for one that is replaced as a whole.

    `ports` are keyed by `containerPort` in a container and by `port` in a Service.
    """
    if field == "ports":
        in_container = any(isinstance(each, dict) and "containerPort" in each for each in items)
        return ("containerPort",) if in_container else ("port",)
    if field == "addresses" and any(isinstance(each, dict) and "ip" in each for each in items):
        return None  # the addresses of Endpoints
    return MERGE_KEYS.get(field)


def strategic_merge(target: Any, patch: Mapping[str, Any]) -> Any:
    """The target with the patch merged in."""
    _check_directives(patch)
    directive = patch.get("$patch")
    if directive == "replace":
        return {key: copy_json(value) for key, value in patch.items() if key != "$patch"}
    if directive == "delete":
        return {}
    merged = dict(target) if isinstance(target, dict) else {}
    if retained := patch.get("$retainKeys"):
        merged = {key: value for key, value in merged.items() if key in retained}
    for key, value in patch.items():
        if key.startswith(_DELETE):
            field = key.removeprefix(_DELETE)
            merged[field] = [each for each in merged.get(field) or [] if each not in value]
    for key, value in patch.items():
        if key.startswith(_ORDER):
            field = key.removeprefix(_ORDER)
            if field not in patch and field in merged:
                merged[field] = _ordered(field, merged[field], value, merged[field])
        elif not key.startswith("$"):
            _merge_member(merged, key, value, patch.get(f"{_ORDER}{key}"))
    return merged


def _check_directives(patch: Mapping[str, Any]) -> None:
    for key, value in patch.items():
        if key.startswith(("$retainKeys", _ORDER, _DELETE)) and not isinstance(value, list):
            raise statuses.bad_request(f"the value of {key} in a strategic merge patch is no list")


def _merge_member(merged: dict[str, Any], key: str, value: Any, order: list[Any] | None) -> None:
    if value is None:
        merged.pop(key, None)
    elif isinstance(value, dict):
        before = merged.get(key)
        merged[key] = strategic_merge(before, value)
        if value.get("$patch") == "delete":
            del merged[key]
    elif isinstance(value, list):
        merged[key] = _merge_list(key, merged.get(key) or [], value, order)
    else:
        merged[key] = value


def _merge_list(
    field: str, target: list[Any], patch: list[Any], order: list[Any] | None
) -> list[Any]:
    if field in _SETS:
        union = [*target, *(each for each in patch if each not in target)]
        return _ordered(field, union, patch if order is None else order, target)
    keys = merge_key(field, [*target, *patch])
    if keys is None:
        return [each for each in copy_json(patch) if not _is_directive(each)]
    if any(isinstance(each, dict) and each.get("$patch") == "replace" for each in patch):
        return [copy_json(each) for each in patch if not _is_directive(each)]
    merged = list(target)
    for element in patch:
        if not isinstance(element, dict) or any(key not in element for key in keys):
            raise statuses.bad_request(
                f"unable to find the merge key of {field}: map: {element!r} does not contain "
                f"declared merge key: {', '.join(keys)}"
            )
        _merge_element(merged, keys, element)
    return _ordered(field, merged, patch if order is None else order, target)


def _merge_element(merged: list[Any], keys: tuple[str, ...], element: dict[str, Any]) -> None:
    identity = [element[key] for key in keys]
    for index, existing in enumerate(merged):
        if [existing.get(key) for key in keys] == identity:
            if element.get("$patch") == "delete":
                del merged[index]
            else:
                merged[index] = strategic_merge(existing, element)
            return
    if element.get("$patch") != "delete":
        merged.append(strategic_merge({}, element))


def _is_directive(element: Any) -> bool:
    return isinstance(element, dict) and "$patch" in element


def _ordered(field: str, items: list[Any], order: list[Any], before: list[Any]) -> list[Any]:
    """The items that `order` names in its order, the others merged in as they were before.

    As Kubernetes does it: one of the others comes first only where both are old and it was in
    front. So new elements end up before the old ones, unless the order says otherwise.
    """
    keys = merge_key(field, [*items, *order])

    def identity(item: Any) -> Any:
        return tuple(item.get(key) for key in keys) if keys and isinstance(item, dict) else item

    wanted = [identity(each) for each in order]
    was = [identity(each) for each in before]
    named = [each for each in items if identity(each) in wanted]
    named.sort(key=lambda item: wanted.index(identity(item)))
    others = [each for each in items if identity(each) not in wanted]
    result = []
    while named and others:
        left, right = identity(others[0]), identity(named[0])
        first = left in was and right in was and was.index(left) < was.index(right)
        result.append((others if first else named).pop(0))
    return [*result, *named, *others]
