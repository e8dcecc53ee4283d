"""A container's environment: literal values, references to fields, ConfigMaps and Secrets.

`$(NAME)` in values, commands and arguments stands for a variable that was defined before, `$$` for
a dollar sign, as in Kubernetes. Nothing else is expanded: there is no shell that would.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping

from kubeflink import objects
from kubeflink.errors import LocalError
from kubeflink.objects import JsonObject, Resource
from kubeflink.quantities import parse_quantity

_REFERENCE = re.compile(r"\$(?:\$|\(([^)\s]+)\))")
_KEYED_FIELD = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")

ObjectReader = Callable[[Resource, str], JsonObject | None]
"""Gives the object of this name in the pod's namespace, or None."""


class ContainerConfigError(LocalError):
    """A container cannot be started as it is described (yet): a reference leads nowhere."""


def referenced_objects(pod: JsonObject) -> set[tuple[Resource, str]]:
    """The ConfigMaps and Secrets that the pod names anywhere, so that they can be read at once."""
    found: set[tuple[Resource, str]] = set()
    _collect(pod["spec"], found)
    return found


_REFERENCE_KEYS = {
    "configMapRef": (objects.CONFIG_MAPS, "name"),
    "configMapKeyRef": (objects.CONFIG_MAPS, "name"),
    "configMap": (objects.CONFIG_MAPS, "name"),
    "secretRef": (objects.SECRETS, "name"),
    "secretKeyRef": (objects.SECRETS, "name"),
}


def _collect(node: object, found: set[tuple[Resource, str]]) -> None:
    if isinstance(node, list):
        for item in node:
            _collect(item, found)
    elif isinstance(node, dict):
        for key, value in node.items():
            resource, name_key = _REFERENCE_KEYS.get(key, (None, ""))
            if resource is not None and isinstance(value, dict) and value.get(name_key):
                found.add((resource, value[name_key]))
            elif key == "secret" and isinstance(value, dict):
                # A Secret volume calls it `secretName`, a projected source `name`.
                found.add((objects.SECRETS, value.get("secretName") or value.get("name") or ""))
            else:
                _collect(value, found)


def resolve_environment(
    pod: JsonObject,
    container: JsonObject,
    read: ObjectReader,
    base: Mapping[str, str],
) -> dict[str, str]:
    """All variables of the container, later definitions winning; `base` is there before the first.

    `read` gives an object of the pod's namespace or None. Raises `ContainerConfigError`.
    """
    variables = dict(base)
    for source in container.get("envFrom") or ():
        prefix = source.get("prefix") or ""
        for resource, key in (
            (objects.CONFIG_MAPS, "configMapRef"),
            (objects.SECRETS, "secretRef"),
        ):
            if key in source:
                data = _data(read, resource, source[key])
                variables |= {prefix + name: text for name, text in data.items()}
    for variable in container.get("env") or ():
        value = _value(pod, container, variable, read)
        if value is not None:
            variables[variable["name"]] = expand(value, variables)
    return variables


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by the variable's value; an unknown one stays as it is.

    >>> expand("$(A)/$(B)/$$(A)", {"A": "x"})
    'x/$(B)/$(A)'
    """

    def replacement(match: re.Match[str]) -> str:
        return "$" if match[1] is None else variables.get(match[1], match[0])

    return _REFERENCE.sub(replacement, text)


def field_value(pod: JsonObject, path: str) -> str:
    """The value of a field of the pod, as `fieldRef` names it."""
    keyed = _KEYED_FIELD.fullmatch(path)
    metadata = pod["metadata"]
    if keyed is not None:
        return str((metadata.get(keyed[1]) or {}).get(keyed[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        values = metadata.get(path.partition(".")[2]) or {}
        return "\n".join(f'{key}="{value}"' for key, value in sorted(values.items()))
    node: object = pod
    for part in path.split("."):
        node = node.get(part) if isinstance(node, dict) else None
    if path == "status.podIPs" and isinstance(node, list):
        return ",".join(entry["ip"] for entry in node)
    if node is None or isinstance(node, dict | list):
        raise ContainerConfigError(f"unsupported fieldPath: {path}")
    return str(node)


def _value(
    pod: JsonObject,
    container: JsonObject,
    variable: JsonObject,
    read: ObjectReader,
) -> str | None:
    source = variable.get("valueFrom")
    if not source:
        return str(variable.get("value") or "")
    if "fieldRef" in source:
        return field_value(pod, source["fieldRef"]["fieldPath"])
    if "resourceFieldRef" in source:
        return _resource_field(container, source["resourceFieldRef"])
    for resource, key in (
        (objects.CONFIG_MAPS, "configMapKeyRef"),
        (objects.SECRETS, "secretKeyRef"),
    ):
        if key in source:
            reference = source[key]
            data = _data(read, resource, reference)
            if reference["key"] in data:
                return data[reference["key"]]
            if reference.get("optional"):
                return None
            raise ContainerConfigError(
                f"couldn't find key {reference['key']} in {resource.kind} {reference.get('name')}"
            )
    raise ContainerConfigError(f"variable {variable['name']}: unknown source {', '.join(source)}")


def _data(read: ObjectReader, resource: Resource, reference: JsonObject) -> dict[str, str]:
    name = reference.get("name") or ""
    found = read(resource, name)
    if found is None:
        if reference.get("optional"):
            return {}
        raise ContainerConfigError(f'{resource.kind.lower()} "{name}" not found')
    data = found.get("data") or {}
    if resource is objects.SECRETS:
        return {
            key: content.decode("utf-8", "surrogateescape")
            for key, content in decoded(data, f'secret "{name}"').items()
        }
    return dict(data)


def decoded(data: Mapping[str, str] | None, owner: str) -> dict[str, bytes]:
    """Values that are written in base64. Raises `ContainerConfigError` that names their owner."""
    found = {}
    for key, text in (data or {}).items():
        try:
            found[key] = base64.b64decode(text)
        except ValueError as error:
            raise ContainerConfigError(f"{key} of {owner} is no base64: {error}") from error
    return found


def _resource_field(container: JsonObject, reference: JsonObject) -> str:
    kind, _, name = str(reference["resource"]).partition(".")
    text = ((container.get("resources") or {}).get(kind) or {}).get(name, 0)
    quantity = parse_quantity(text)
    divisor = parse_quantity(reference.get("divisor") or 1)
    if quantity is None or not divisor:
        raise ContainerConfigError(f"{text!r} is no quantity")
    return str(math.ceil(quantity / divisor))
