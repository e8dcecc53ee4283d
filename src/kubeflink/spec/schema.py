"""The fields that Kubernetes knows in a pod, in a compact form of its OpenAPI schema.

Loaded from package data on first use: a cluster without a pod template never needs it.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

POD = "Pod"


@dataclass(frozen=True, slots=True)
class FieldType:
    """The type of a field.

    `name` is one of `str`, `int`, `float`, `bool`, `intstr`, `any`, or the name of an object type.
    """

    name: str
    is_list: bool = False
    is_map: bool = False
    required: bool = False

    @classmethod
    def parse(cls, text: str) -> FieldType:
        """Read the form in which the schema has it: `str`, `int!`, `[Container]`, `{str}`."""
        required = text.endswith("!")
        text = text.removesuffix("!")
        return cls(text.strip("[]{}"), text.startswith("["), text.startswith("{"), required)

    @property
    def of_items(self) -> FieldType:
        """The type of a list's items or a mapping's values."""
        return FieldType(self.name)


class Schema:
    """All object types below a pod."""

    def __init__(self, types: Mapping[str, Mapping[str, str]], kubernetes: str) -> None:
        self._types = types
        self.kubernetes = kubernetes

    def fields(self, type_name: str) -> Mapping[str, FieldType] | None:
        """The fields of an object type; None for a scalar type."""
        return _fields(self, type_name) if type_name in self._types else None

    def texts(self, type_name: str) -> Mapping[str, str]:
        """The fields of an object type as the schema has them."""
        return self._types[type_name]

    def homes(self, field: str, below: str) -> list[str]:
        """The object types, among those that `below` leads to, that have this field."""
        reached, waiting = [below], [below]
        while waiting:
            for field_type in (self.fields(waiting.pop()) or {}).values():
                if field_type.name in self._types and field_type.name not in reached:
                    reached.append(field_type.name)
                    waiting.append(field_type.name)
        return [name for name in reached if field in self._types[name]]


@cache
def _fields(schema: Schema, type_name: str) -> Mapping[str, FieldType]:
    return {name: FieldType.parse(text) for name, text in schema.texts(type_name).items()}


@cache
def pod_schema() -> Schema:
    """The schema of pods; `kubernetes` is the version that it is of."""
    text = (resources.files("kubeflink.spec") / "pod_schema.json").read_text(encoding="utf-8")
    types = json.loads(text)
    return Schema(types, types.pop("kubernetes"))


def nearest(word: str, words: Mapping[str, object]) -> str | None:
    """The field that was most likely meant: case does not count, a few letters may differ."""
    lower = {name.lower(): name for name in words}
    found = difflib.get_close_matches(word.lower(), lower, n=1, cutoff=0.7)
    return lower[found[0]] if found else None
