"""Label and field selectors: from the text of a query to a predicate on objects.

Labels: equality (`a=b`, `a==b`, `a!=b`), sets (`a in (x,y)`, `a notin (x)`), existence (`a`, `!a`),
joined by commas. Fields: equality and inequality on the few fields that Kubernetes indexes for
the kind; another field is an error, as it is there, because an ignored selector would silently
answer with everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubeflink import objects
from kubeflink.apiserver import statuses
from kubeflink.objects import Resource

_KEY = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_REQUIREMENT = re.compile(
    rf"""\s*(?:
        (?P<absent>!)\s*(?P<absent_key>{_KEY})
      | (?P<key>{_KEY})\s*(?:
            (?P<operator>==?|!=)\s*(?P<value>{_VALUE})
          | (?P<set_operator>\bin|\bnotin)\s*\((?P<values>[^()]*)\)
        )?
    )\s*(?:,|$)""",
    re.VERBOSE,
)
_VALUE_ONLY = re.compile(_VALUE)

Requirement = Callable[[Mapping[str, str]], bool]


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A conjunction of requirements on labels; the empty one selects everything."""

    text: str = ""
    requirements: tuple[Requirement, ...] = field(default=(), compare=False, repr=False)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether all requirements hold."""
        return all(requirement(labels) for requirement in self.requirements)

    @classmethod
    def parse(cls, text: str) -> LabelSelector:
        """From a `labelSelector` query; a 400 error where it cannot be read."""
        requirements = []
        position = 0
        while position < len(text.rstrip()):
            found = _REQUIREMENT.match(text, position)
            if found is None:
                raise statuses.bad_request(
                    f"unable to parse requirement: found {text[position:]!r} in label selector "
                    f"{text!r}"
                )
            requirements.append(_label_requirement(found, text))
            position = found.end()
        return cls(text, tuple(requirements))

    @classmethod
    def of(cls, selector: Mapping[str, Any]) -> LabelSelector:
        """From the `selector` of a Deployment or ReplicaSet: matchLabels and matchExpressions."""
        terms = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
        for expression in selector.get("matchExpressions") or ():
            terms.append(_expression_text(expression))
        return cls.parse(",".join(terms))


def _expression_text(expression: Mapping[str, Any]) -> str:
    key, values = expression["key"], ",".join(expression.get("values") or ())
    texts: dict[str, str] = {
        "In": f"{key} in ({values})",
        "NotIn": f"{key} notin ({values})",
        "Exists": key,
        "DoesNotExist": f"!{key}",
    }
    operator = expression["operator"]
    if operator not in texts:
        raise statuses.bad_request(f'"{operator}" is not a valid label selector operator')
    return texts[operator]


def _label_requirement(found: re.Match[str], text: str) -> Requirement:
    if found["absent"]:
        key = found["absent_key"]
        return lambda labels: key not in labels
    key = found["key"]
    if found["set_operator"]:
        values = frozenset(value.strip() for value in found["values"].split(","))
        if not all(_VALUE_ONLY.fullmatch(value) for value in values):
            raise statuses.bad_request(f"unable to parse the values of {key} in {text!r}")
        if found["set_operator"] == "in":
            return lambda labels: key in labels and labels[key] in values
        return lambda labels: labels.get(key) not in values
    if not found["operator"]:
        return lambda labels: key in labels
    value = found["value"]
    if found["operator"] == "!=":
        return lambda labels: labels.get(key) != value
    return lambda labels: labels.get(key) == value


_METADATA_FIELDS = ("metadata.name", "metadata.namespace")
_FIELDS: dict[Resource, tuple[str, ...]] = {
    objects.PODS: (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    objects.EVENTS: (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    objects.SECRETS: ("type",),
    objects.NAMESPACES: ("status.phase",),
    objects.NODES: ("spec.unschedulable",),
    objects.REPLICA_SETS: ("status.replicas",),
    objects.SERVICES: ("spec.clusterIP", "spec.type"),
}


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """A conjunction of (path, value, equal) terms; the empty one selects everything."""

    terms: tuple[tuple[str, str, bool], ...] = ()

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Whether all terms hold."""
        return all((field_value(obj, path) == value) is equal for path, value, equal in self.terms)

    @property
    def name(self) -> str | None:
        """The one name that can match, where the selector names one."""
        for path, value, equal in self.terms:
            if path == "metadata.name" and equal:
                return value
        return None

    @classmethod
    def parse(cls, text: str, resource: Resource) -> FieldSelector:
        """From a `fieldSelector` query; a 400 error for a field that the kind does not index."""
        terms = []
        for part in re.split(r"(?<!\\),", text):
            if not part.strip():
                continue
            found = re.fullmatch(r"\s*([^=!\s]+)\s*(==?|!=)(.*)", part, re.DOTALL)
            if found is None:
                raise statuses.bad_request(f"invalid selector: '{part}'; can't understand '{part}'")
            path, operator, value = found.groups()
            if path not in _METADATA_FIELDS and path not in _FIELDS.get(resource, ()):
                raise statuses.bad_request(f'field label not supported: "{path}"')
            terms.append((path, re.sub(r"\\(.)", r"\1", value.strip()), operator != "!="))
        return cls(tuple(terms))


def field_value(obj: Mapping[str, Any], path: str) -> str:
    """The field as a selector sees it: text, and empty where it is not set."""
    if path == "source":
        return str((obj.get("source") or {}).get("component", ""))
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if value is None:
        return "false" if path in ("spec.hostNetwork", "spec.unschedulable") else ""
    return str(value).lower() if isinstance(value, bool) else str(value)


EVERYTHING = LabelSelector()
EVERY_FIELD = FieldSelector()


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a collection are meant: those for which both selectors hold."""

    labels: LabelSelector = EVERYTHING
    fields: FieldSelector = EVERY_FIELD

    def holds(self, obj: Mapping[str, Any], namespace: str | None) -> bool:
        """Whether an object is among them, and in the namespace (None: in any)."""
        return (
            (namespace is None or objects.namespace_of(obj) == namespace)
            and self.labels.matches(objects.labels_of(obj))
            and self.fields.matches(obj)
        )

    @classmethod
    def parse(cls, query: Mapping[str, str], resource: Resource, name: str = "") -> Selection:
        """From a request's query; with a name the one object that has it. A 400 error."""
        fields = f"metadata.name={name}" if name else query.get("fieldSelector", "")
        return cls(
            LabelSelector.parse(query.get("labelSelector", "")),
            FieldSelector.parse(fields, resource),
        )


ALL = Selection()
