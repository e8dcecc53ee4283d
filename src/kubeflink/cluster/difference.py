"""What a deployment would change: the objects of a spec against those that are there.

Only what the spec says is compared. An API server completes what it stores (defaults, addresses,
status), so what is there and was not asked for is no difference; a value that was asked for and is
another or missing is one, and so is an entry of a list that is there and not asked for, because
containers, arguments and environment variables cannot be completed by anybody but the user.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kubeflink import objects
from kubeflink.errors import NotFoundError
from kubeflink.kube.client import KubeClient
from kubeflink.objects import JsonObject
from kubeflink.spec import JobManagerSpec

_MISSING = "(nothing)"


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
            Difference(obj["kind"], name, path, _shown(seen), _shown(wanted))
            for path, seen, wanted in compare(_comparable(there), _comparable(obj), "")
        ]
    return found


def compare(there: Any, wanted: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Path, present and wanted value of everything that differs. Pure."""
    if isinstance(wanted, dict) and isinstance(there, dict):
        for key, value in wanted.items():
            yield from compare(there.get(key, _MISSING), value, f"{path}.{key}".lstrip("."))
    elif isinstance(wanted, list) and isinstance(there, list):
        for index in range(max(len(wanted), len(there))):
            left = there[index] if index < len(there) else _MISSING
            right = wanted[index] if index < len(wanted) else _MISSING
            yield from compare(left, right, f"{path}[{_label(right, left, index)}]")
    elif there != wanted and not _is_empty(there, wanted):
        yield path, there, wanted


def _label(wanted: Any, there: Any, index: int) -> str:
    for item in (wanted, there):
        if isinstance(item, dict) and isinstance(item.get("name"), str):
            return str(item["name"])
    return str(index)


def _is_empty(there: Any, wanted: Any) -> bool:
    """An empty mapping or list is not stored."""
    return there == _MISSING and wanted in ({}, [], None)


def _comparable(obj: JsonObject) -> JsonObject:
    """The object without its owners, which the spec does not know, and with plain quantities."""
    metadata = {k: v for k, v in objects.metadata(obj).items() if k != "ownerReferences"}
    plain: JsonObject = _with_plain_quantities({**obj, "metadata": metadata})
    return plain


def _with_plain_quantities(value: Any) -> Any:
    """CPU amounts as an API server writes them: `1.0` is stored as `1`, `0.5` as `500m`."""
    if isinstance(value, list):
        return [_with_plain_quantities(item) for item in value]
    if not isinstance(value, dict):
        return value
    result = {key: _with_plain_quantities(item) for key, item in value.items()}
    for name in ("requests", "limits"):
        if isinstance(result.get(name), dict):
            result[name] = {key: _plain(str(amount)) for key, amount in result[name].items()}
    return result


def _plain(amount: str) -> str:
    try:
        thousandths = float(amount) * 1000
    except ValueError:
        return amount
    whole = thousandths / 1000
    return f"{whole:g}" if whole == int(whole) else f"{thousandths:g}m"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
