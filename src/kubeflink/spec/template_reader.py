"""Reading of pod templates.

Flink reads a template with a lenient parser and says nothing: a field that Kubernetes does not know
is passed on, for the API server to drop, and so is a whole block that is indented wrongly. Here the
file is read along Kubernetes' schema. An unknown field is passed on as well (a newer Kubernetes may
know it), and reported with its line and the field that was most likely meant; a value of the wrong
form is an error.

Where Kubernetes has text and the file a plain `1.10`, Flink takes the number that YAML sees and
makes text of that: `1.1`. The pods have to be Flink's, so this is done here, too
(`template_scalars`), and reported where it changes anything.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

from kubeflink.config import FlinkVersion, Notice
from kubeflink.config.values import excerpt, text_of
from kubeflink.config.versions import DEFAULT
from kubeflink.config.yaml_nesting import Nesting
from kubeflink.errors import TemplateError
from kubeflink.objects import JsonObject
from kubeflink.spec import names
from kubeflink.spec.pod_template import PodTemplate
from kubeflink.spec.schema import POD, FieldType, Schema, nearest, pod_schema
from kubeflink.spec.template_scalars import MOST_DIGITS, Scalar, file_mode, resolve_scalar

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_INT = re.compile(r"[-+]?[0-9]+")
_MERGE_KEY = "<<"
_SHOWN = 100
"""Characters of a path that are shown in an error."""


def read_pod_template(text: str, source: str, version: FlinkVersion = DEFAULT) -> PodTemplate:
    """Read a template as this version of Flink does; `source` is its file, for messages.

    Raises `TemplateError` with the line for what is no YAML, no pod, or has a value of the wrong
    form. Everything else that is strange becomes a notice.
    """
    reader = _Reader(source, pod_schema(), version)
    pod = reader.pod(_root(text, source))
    spec = dict(pod.get("spec") or {})
    containers = spec.get("containers", [])
    main = [item for item in containers if item.get("name") == names.MAIN_CONTAINER]
    spec["containers"] = [item for item in containers if item.get("name") != names.MAIN_CONTAINER]
    notices = [*reader.notices, *_remarks(spec, main, source)]
    return PodTemplate(
        source,
        text,
        metadata=pod.get("metadata") or {},
        spec=spec,
        main_container=main[-1] if main else {},
        contents=tuple(_contents(pod)),
        notices=tuple(map(Notice, notices)),
    )


def _root(text: str, source: str) -> yaml.MappingNode:
    try:
        nodes = list(yaml.compose_all(text, Loader=_Loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{source} line {mark.line + 1}" if mark else source
        raise TemplateError(f"pod template {where} is no YAML: {error.problem}") from error
    except RecursionError as error:
        raise TemplateError(f"pod template {source} is nested too deeply") from error
    except yaml.YAMLError as error:
        raise TemplateError(
            f"pod template {source} is no YAML: it has characters that YAML forbids"
        ) from error
    if not nodes:
        raise TemplateError(f"pod template {source} is empty", hint="It must describe a Pod.")
    if len(nodes) > 1:
        raise TemplateError(f"pod template {source} has {len(nodes)} documents; one Pod is needed")
    if not isinstance(nodes[0], yaml.MappingNode):
        raise TemplateError(f"pod template {source} describes no object; a Pod is needed")
    return nodes[0]


# --- reading along the schema ----------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    """Turns YAML nodes into JSON values of the types that the schema asks for."""

    source: str
    schema: Schema
    version: FlinkVersion
    notices: list[str] = field(default_factory=list)
    _nesting: Nesting = field(default_factory=Nesting)

    def pod(self, root: yaml.MappingNode) -> JsonObject:
        pod: JsonObject = self._object(root, POD, "")
        kind = pod.get("kind", POD)
        if kind != POD:
            raise TemplateError(
                f"pod template {self.source} describes a {kind}; a Pod is needed",
                hint="Of a Deployment, what stands below spec.template is a Pod.",
            )
        return pod

    def _object(self, node: yaml.Node, type_name: str, path: str) -> JsonObject:
        if not isinstance(node, yaml.MappingNode):
            raise self._error(node, path, "must be a mapping")
        fields = self.schema.fields(type_name) or {}
        result: JsonObject = {}
        for name, value_node in self._entries(node, path):
            if name in fields:
                value = self._value(value_node, fields[name], f"{path}.{name}".lstrip("."))
                if value is not None:
                    result[name] = value
            elif (value := self._untyped(value_node, path)) is not None:
                result[name] = value
                self._unknown_field(value_node, type_name, path, name)
        self._missing_fields(node, fields, result, path)
        return result

    def _entries(self, node: yaml.MappingNode, path: str) -> Iterator[tuple[str, yaml.Node]]:
        """The entries of a mapping, merge keys expanded; its own entries win over merged ones."""
        with self._inside(node, path):
            yield from self._expanded(node, path).items()

    def _expanded(self, node: yaml.MappingNode, path: str) -> dict[str, yaml.Node]:
        own: dict[str, yaml.Node] = {}
        merged: dict[str, yaml.Node] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, str):
                raise self._error(key_node, path, "has a key that is no text")
            if key == _MERGE_KEY and not key_node.style:
                self._check_merge_key(key_node, path)
                for entry, entry_node in self._merged(value_node, path):
                    merged.setdefault(entry, entry_node)
            elif key in own:
                raise self._error(key_node, f"{path}.{key}".lstrip("."), "is there twice")
            else:
                own[key] = value_node
        return {**merged, **own}

    @contextmanager
    def _inside(self, node: yaml.Node, path: str) -> Iterator[None]:
        """While open, the node is one of those around what is read."""
        try:
            self._nesting.enter(node)
        except ValueError as error:
            raise self._error(node, path[:_SHOWN], f"cannot be read: {error}") from error
        yield
        self._nesting.leave(node)

    def _check_merge_key(self, node: yaml.Node, path: str) -> None:
        """The YAML of newer versions has no merge keys, and a TaskManager's template is theirs."""
        if not self.version.reads_yaml_11_templates:
            raise self._error(
                node, path, f"has a merge key, which Flink {self.version} cannot read"
            )

    def _merged(self, node: yaml.Node, path: str) -> Iterator[tuple[str, yaml.Node]]:
        nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
        for item in nodes:
            if not isinstance(item, yaml.MappingNode):
                raise self._error(item, path, "merges something that is no mapping")
            yield from self._entries(item, path)

    def _value(self, node: yaml.Node, field_type: FieldType, path: str) -> Any:
        """The value of a field; None for one that Flink does not send: null or an empty list."""
        if self._is_null(node, path):
            return None
        if field_type.is_list:
            return self._list(node, field_type.of_items, path) or None
        if field_type.is_map:
            # An empty mapping is not sent either, but for the oldest version.
            values = self._map(node, field_type.of_items, path)
            return values if values or self.version.sends_empty_mappings else None
        if self.schema.fields(field_type.name) is not None:
            return self._object(node, field_type.name, path)
        if field_type.name == "any":
            return self._untyped(node, path)
        return self._scalar(node, field_type.name, path)

    def _list(self, node: yaml.Node, item_type: FieldType, path: str) -> list[Any]:
        if not isinstance(node, yaml.SequenceNode):
            raise self._error(node, path, "must be a list")
        with self._inside(node, path):
            return [self._item(n, item_type, f"{path}[{i}]") for i, n in enumerate(node.value)]

    def _item(self, node: yaml.Node, item_type: FieldType, path: str) -> Any:
        value = self._value(node, item_type, path)
        if value is None and self.schema.fields(item_type.name) is not None:
            raise self._error(node, path, "is empty: there is nothing behind the hyphen")
        return value

    def _map(self, node: yaml.Node, item_type: FieldType, path: str) -> JsonObject:
        if not isinstance(node, yaml.MappingNode):
            raise self._error(node, path, "must be a mapping")
        entries = self._entries(node, path)
        return {key: self._value(n, item_type, f"{path}.{key}") for key, n in entries}

    def _untyped(self, node: yaml.Node, path: str) -> Any:
        """Any value, by what YAML sees in it."""
        if isinstance(node, yaml.MappingNode):
            return {key: self._untyped(n, f"{path}.{key}") for key, n in self._entries(node, path)}
        if isinstance(node, yaml.SequenceNode):
            with self._inside(node, path):
                return [self._untyped(item, path) for item in node.value]
        return self._resolved(node, path) if isinstance(node, yaml.ScalarNode) else None

    def _scalar(self, node: yaml.Node, wanted: str, path: str) -> Scalar:
        if not isinstance(node, yaml.ScalarNode):
            raise self._error(node, path, f"must be {_SCALARS[wanted]}")
        value = self._wanted(node, wanted, path)
        # Python's numbers have no end, and neither JSON nor Kubernetes takes such.
        if value is not None and not (type(value) is int and value.bit_length() > 63):
            return value
        raise self._error(node, path, f"must be {_SCALARS[wanted]}, not {excerpt(node.value)}")

    def _wanted(self, node: yaml.ScalarNode, wanted: str, path: str) -> Scalar:
        """The value as one of the wanted type; None if it is none."""
        if wanted == "int" and (mode := file_mode(path.rpartition(".")[2], node.value)) is not None:
            return mode
        value = self._resolved(node, path)
        match wanted:
            case "str":
                return self._text(node, value, path)
            case "intstr":
                return value if type(value) is int else self._text(node, value, path)
            case "int" if type(value) is int:
                return value
            case "int" if isinstance(value, str) and _INT.fullmatch(value):
                return int(value) if len(value) <= MOST_DIGITS else None
            case "bool" if isinstance(value, bool):
                return value
            case "bool" if isinstance(value, str) and value.lower() in ("true", "false"):
                return value.lower() == "true"
            case "float" if type(value) in (int, float):
                return value
        return None

    def _text(self, node: yaml.ScalarNode, value: Scalar, path: str) -> str:
        text = text_of(value)
        if text != node.value:
            where = f"pod template {self.source} line {node.start_mark.line + 1}"
            problem = f"{path}: {node.value} is no text to YAML and becomes {text}; quote it"
            self.notices.append(f"{where}: {problem}")
        return text

    def _resolved(self, node: yaml.ScalarNode, path: str) -> Scalar:
        try:
            return resolve_scalar(node, yaml_11=self.version.reads_yaml_11_templates)
        except (ValueError, yaml.YAMLError) as error:
            problem = f"has a value that Flink {self.version} cannot read; quote it"
            raise self._error(node, path, problem) from error

    def _is_null(self, node: yaml.Node, path: str) -> bool:
        return isinstance(node, yaml.ScalarNode) and self._resolved(node, path) is None

    def _unknown_field(self, node: yaml.Node, type_name: str, path: str, name: str) -> None:
        where = f"pod template {self.source} line {node.start_mark.line + 1}"
        parent = f" in {path}" if path else ""
        message = f"{where}: Kubernetes {self.schema.kubernetes} knows no field {name!r}{parent}"
        self.notices.append(message + self._advice(type_name, name))

    def _advice(self, type_name: str, name: str) -> str:
        homes = self.schema.homes(name, POD)
        if 0 < len(homes) < 3:
            return f" (it belongs into {' or '.join(homes)}: is the indentation right?)"
        meant = nearest(name, self.schema.texts(type_name))
        return f" (did you mean {meant!r}?)" if meant else ""

    def _missing_fields(
        self, node: yaml.Node, fields: Mapping[str, FieldType], found: JsonObject, path: str
    ) -> None:
        # The containers of a template may all come from Flink.
        missing = [n for n, t in fields.items() if t.required and n not in found]
        for name in missing:
            if (path, name) != ("spec", "containers"):
                where = f"pod template {self.source} line {node.start_mark.line + 1}"
                self.notices.append(f"{where}: {path} has no {name}; Kubernetes will refuse it")

    def _error(self, node: yaml.Node, path: str, problem: str) -> TemplateError:
        where = f"{self.source} line {node.start_mark.line + 1}"
        return TemplateError(f"pod template {where}: {path or 'the pod'} {problem}")


_SCALARS: Mapping[str, str] = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "intstr": "a number or text",
}


# --- what is noticed and named ---------------------------------------------------------------


def _remarks(spec: JsonObject, main: list[JsonObject], source: str) -> Iterator[str]:
    containers = [str(item.get("name")) for item in spec["containers"]]
    if not main:
        yield from _no_main_container(containers, source)
    if len(main) > 1:
        yield f"pod template {source} has {names.MAIN_CONTAINER} {len(main)} times; the last counts"
    if spec.get("hostNetwork"):
        yield (
            f"pod template {source}: hostNetwork has no effect; "
            "set kubernetes.hostnetwork.enabled instead"
        )


def _no_main_container(containers: list[str], source: str) -> Iterator[str]:
    if not containers:
        return
    near = difflib.get_close_matches(names.MAIN_CONTAINER, containers, n=1, cutoff=0.3)
    meant = near[0] if near else containers[0]
    yield (
        f"pod template {source} has no container {names.MAIN_CONTAINER}, so one is added; "
        f"if {meant!r} was meant to run Flink, give it that name"
    )


_NAMED: Mapping[str, str] = {
    "containers": "container",
    "initContainers": "init container",
    "volumes": "volume",
    "imagePullSecrets": "pull secret",
}
_NAMED_IN_CONTAINER: Mapping[str, str] = {
    "env": "environment variable",
    "ports": "port",
    "volumeMounts": "mount of",
}
Named: TypeAlias = Mapping[str, str]


def _contents(pod: JsonObject) -> Iterator[str]:
    """Names of what a template brings along."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    yield from (f"label {key}" for key in metadata.get("labels", ()))
    yield from (f"annotation {key}" for key in metadata.get("annotations", ()))
    yield from _named(spec, _NAMED)
    yield from (name for name in spec if name not in _NAMED)
    for container in spec.get("containers", ()):
        if container.get("name") == names.MAIN_CONTAINER:
            yield from _named(container, _NAMED_IN_CONTAINER)
            yield from (n for n in container if n not in _NAMED_IN_CONTAINER and n != "name")


def _named(parent: JsonObject, words: Named) -> Iterator[str]:
    for name, word in words.items():
        for entry in parent.get(name, ()):
            yield f"{word} {entry.get('name', entry.get('containerPort', ''))}"
