"""What a deployment would change: the objects of a spec against those that are there.

Only what the spec says is compared. An API server completes what it stores (defaults, addresses,
status), so what is there and was not asked for is no difference; a value that was asked for and is
another or missing is one, and so is an entry of a list that is there and not asked for, because
containers, arguments and environment variables cannot be completed by anybody but the user.

The entries of a list are matched by what names them, as Kubernetes does when it merges lists: a
container by its name, a mount by its path, a port by its name or number. So one more at the front
is one difference, and an order that means nothing is none; only init containers run in theirs.
Lists whose entries have no names, such as arguments, are compared position by position.

Flink's configuration is one text in a ConfigMap. It is compared option by option, in both
directions, and the values of options that may be secrets are not shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubeflink import objects
from kubeflink.config.secrets import is_secret
from kubeflink.config.values import text_of
from kubeflink.config.yaml import load_core
from kubeflink.errors import ConfigurationError, NotFoundError
from kubeflink.kube.client import KubeClient
from kubeflink.objects import JsonObject
from kubeflink.quantities import with_plain_quantities
from kubeflink.spec import JobManagerSpec

_NAMING_FIELDS = ("mountPath", "devicePath", "name", "ip", "containerPort", "port")
"""What may name the entries of a list; the first that tells all of them apart does."""

_ORDERED = "initContainers"

_MISSING = "(nothing)"
_HIDDEN = "(hidden)"


class _Options(dict[str, str]):
    """Options by key; one that is there and not wanted is a difference, too."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One value. `there` is None for an object that does not exist, and then `path` is empty."""

    kind: str
    name: str
    path: str
    there: str | None
    wanted: str

    def __str__(self) -> str:
        if self.there is None:
            return f"{self.kind}/{self.name}: would be created"
        return f"{self.kind}/{self.name} {self.path}: {self.there} -> {self.wanted}"


async def differences(client: KubeClient, spec: JobManagerSpec) -> list[Difference]:
    """All differences, object by object in the order of creation. Reads only."""
    found: list[Difference] = []
    for obj in spec.objects:
        name = objects.name_of(obj)
        try:
            there = await client.get(objects.resource_of(obj), name, spec.namespace)
        except NotFoundError:
            found.append(Difference(obj["kind"], name, "", None, ""))
            continue
        found += [
            Difference(obj["kind"], name, path, _shown(path, seen), _shown(path, wanted))
            for path, seen, wanted in compare(_comparable(there), _comparable(obj), "")
        ]
    return found


def compare(there: Any, wanted: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Path, present and wanted value of everything that differs. Pure."""
    if isinstance(wanted, dict) and isinstance(there, dict):
        also = [key for key in there if key not in wanted] if isinstance(there, _Options) else []
        for key in (*wanted, *also):
            left, right = there.get(key, _MISSING), wanted.get(key, _MISSING)
            yield from compare(left, right, f"{path}.{key}".lstrip("."))
    elif isinstance(wanted, list) and isinstance(there, list):
        yield from _compare_lists(there, wanted, path)
    elif there != wanted and not _is_empty(there, wanted):
        yield path, there, wanted


def _compare_lists(
    there: list[Any], wanted: list[Any], path: str
) -> Iterator[tuple[str, Any, Any]]:
    field = _naming_field(there, wanted)
    before, after = _by_name(there, field), _by_name(wanted, field)
    for name in (*after, *(name for name in before if name not in after)):
        left, right = before.get(name, _MISSING), after.get(name, _MISSING)
        yield from compare(left, right, f"{path}[{name}]")
    if path.rpartition(".")[2] == _ORDERED:
        order = [name for name in before if name in after]
        wanted_order = [name for name in after if name in before]
        if order != wanted_order:
            yield f"{path} in order", ", ".join(order), ", ".join(wanted_order)


def _naming_field(*lists: list[Any]) -> str | None:
    """The field by which the entries of these lists are told apart; None if there is none."""
    for field in _NAMING_FIELDS:
        if all(_is_named_by(field, entries) for entries in lists):
            return field
    return None


def _is_named_by(field: str, entries: list[Any]) -> bool:
    names = [entry.get(field) for entry in entries if isinstance(entry, dict)]
    return len(set(map(str, names))) == len(entries) and None not in names


def _by_name(entries: list[Any], field: str | None) -> dict[str, Any]:
    """The entries by their names, or by their positions."""
    return {
        str(position if field is None else entry[field]): entry
        for position, entry in enumerate(entries)
    }


def _is_empty(there: Any, wanted: Any) -> bool:
    """What is empty, or false, is not stored."""
    return there == _MISSING and wanted in ({}, [], None, False, "")


def _comparable(obj: JsonObject) -> JsonObject:
    """The object without its owners, which the spec does not know, and with plain quantities."""
    metadata = {k: v for k, v in objects.metadata(obj).items() if k != "ownerReferences"}
    plain: JsonObject = with_plain_quantities({**obj, "metadata": metadata})
    if plain.get("kind") == "ConfigMap":
        data = plain.get("data") or {}
        plain["data"] = {name: _options(name, text) for name, text in data.items()}
    return plain


def _options(name: str, text: str) -> str | _Options:
    """The options in a file of Flink's; any other text as it is, and what cannot be read too."""
    if name == "flink-conf.yaml":
        lines = (line.partition(": ") for line in text.splitlines())
        return _Options({key: value for key, separator, value in lines if separator})
    if name != "config.yaml":
        return text
    try:
        nested = load_core(text, name).value
    except ConfigurationError:
        return text
    return _Options(_leaves(nested, "")) if isinstance(nested, dict) else text


def _leaves(nested: Mapping[Any, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in nested.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", "null" if value is None else text_of(value)


def _shown(path: str, value: Any) -> str:
    option = path.removeprefix("data.config.yaml.").removeprefix("data.flink-conf.yaml.")
    if option != path and is_secret(option) and value != _MISSING:
        return _HIDDEN
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
