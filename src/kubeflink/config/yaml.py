"""Reading and writing YAML by the rules of whoever is on the other side.

`load_core` reads as Flink does (YAML 1.2 core schema; duplicate keys and several documents are
errors, `<<` is a key like others), `load_kubernetes` as tools in Go do (`yes` is true, merge keys
work). Only PyYAML's parser is used, because its constructors follow YAML 1.1; a walk over the nodes
gives the values and keeps the line of each, so that an error in a configuration file or a pod
template can say where. `dump_flink` and `dump_kubernetes` quote what either side could misread.

PyYAML costs some 20 ms of CPU to import, so it is imported when something is read.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from kubeflink.config.yaml_flow import flow_text
from kubeflink.config.yaml_nesting import Nesting
from kubeflink.config.yaml_schema import Scalar, resolve_core, resolve_go
from kubeflink.config.yaml_writer import dump_flink, dump_kubernetes
from kubeflink.errors import ConfigurationError

if TYPE_CHECKING:
    import yaml

    Node: TypeAlias = Any
    """A node of PyYAML: `id`, `tag`, `value`, `start_mark` (its stubs know only some of them)."""

__all__ = [
    "Document",
    "Path",
    "YamlError",
    "dump_flink",
    "dump_kubernetes",
    "load_core",
    "load_kubernetes",
]

Path: TypeAlias = tuple[str | int, ...]
"""The way to a value: keys of mappings and positions in lists."""


class YamlError(ConfigurationError):
    """A text is no YAML, or has a key twice. Never shows the text itself: it may hold secrets."""

    def __init__(self, message: str, *, source: str, line: int | None) -> None:
        where = source if line is None else f"{source} line {line}"
        super().__init__(message, origin=where)
        self.source = source
        self.line = line


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document: its value, and the line (from 1) of every key and list item."""

    value: Any
    source: str
    lines: Mapping[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int | None:
        """The line of a value, or of the nearest thing around it that is there."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)

    def where(self, path: Path) -> str:
        """The place of a value for a message: `pod.yaml line 12`."""
        line = self.line(path)
        return self.source if line is None else f"{self.source} line {line}"


def load_core(text: str, source: str) -> Document:
    """Read one document as Flink reads `config.yaml`; an empty one has the value None.

    Raises `YamlError`. `source` is the name of the file for messages.
    """
    return _load(text, source, resolve_core, kubernetes=False)


def load_kubernetes(text: str, source: str) -> Document:
    """Read one document as `kubectl` reads a manifest; an empty one has the value None.

    Raises `YamlError`; other than `kubectl` also for a key that stands there twice.
    """
    return _load(text, source, resolve_go, kubernetes=True)


def _load(
    text: str, source: str, resolve: Callable[[str], Scalar], *, kubernetes: bool
) -> Document:
    import yaml

    try:
        node = yaml.compose(text, Loader=_node_loader())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(filter(None, (error.context, error.problem)))
        raise YamlError(
            f"no valid YAML: {problem}", source=source, line=None if mark is None else mark.line + 1
        ) from error
    except RecursionError as error:
        raise YamlError("it is nested too deeply", source=source, line=None) from error
    except yaml.YAMLError as error:  # characters that YAML forbids; the text shows some of them
        raise YamlError(
            "no valid YAML: it has characters that YAML forbids", source=source, line=None
        ) from error
    if node is None:
        return Document(None, source)
    builder = _Builder(source, resolve, kubernetes)
    return Document(builder.value(node, ()), source, builder.lines)


_TAGS = "tag:yaml.org,2002:"
_MOST_BITS = 4096
"""Of a whole number: Python writes none as decimal digits that has more than some 14000."""
_PLAIN = "plain"
"""The tag that our loader gives to a plain scalar without a tag; its meaning is decided later."""


@cache
def _node_loader() -> Any:
    """PyYAML's parser (libyaml's where it is there) without its idea of what scalars mean."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class NodeLoader(base):  # type: ignore[misc]
        def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
            if kind is yaml.ScalarNode and implicit[0]:
                return _PLAIN
            return f"{_TAGS}{'str' if kind is yaml.ScalarNode else 'collection'}"

    return NodeLoader


class _Builder:
    """Turns nodes into values and notes their lines."""

    def __init__(self, source: str, resolve: Callable[[str], Scalar], kubernetes: bool) -> None:
        self.source = source
        self.lines: dict[Path, int] = {}
        self._resolve = resolve
        self._kubernetes = kubernetes
        self._nesting = Nesting()

    def value(self, node: Node, path: Path) -> Any:
        self.lines[path] = node.start_mark.line + 1
        if node.id == "scalar":
            return self._scalar(node)
        with self._inside(node):
            if node.id == "mapping":
                return self._mapping(node, path)
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]

    @contextmanager
    def _inside(self, node: Node) -> Iterator[None]:
        """While open, the node is one of those around what is read."""
        try:
            self._nesting.enter(node)
        except ValueError as error:
            raise self._error(str(error), node) from error
        yield
        self._nesting.leave(node)

    def _mapping(self, node: Node, path: Path) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        merged: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            if self._kubernetes and _is_merge(key_node):
                merged = {**self._merged(value_node, path), **merged}
                continue
            key = self._key(key_node)
            if key in result:
                raise self._error(f"the key {key!r} stands there twice", key_node)
            # The line of a key counts, not that of its value, which may be a block further down.
            result[key] = self.value(value_node, (*path, key))
            self.lines[*path, key] = key_node.start_mark.line + 1
        return {**merged, **result} if merged else result

    def _merged(self, node: Node, path: Path) -> dict[Any, Any]:
        if node.id not in ("sequence", "mapping"):
            raise self._error("only mappings can be merged with <<", node)
        with self._inside(node):
            if node.id == "mapping":
                return self._mapping(node, path)
            result: dict[Any, Any] = {}
            for item in node.value:
                result = {**self._merged(item, path), **result}
            return result

    def _key(self, node: Node) -> Any:
        if node.id != "scalar":
            raise self._error("a key must be text, not a list or a mapping", node)
        key = self._scalar(node)
        if self._kubernetes and key is None:
            raise self._error("a key must be text, not null", node)
        # JSON, to which tools in Go turn everything, has no other keys than text.
        return key if not self._kubernetes or isinstance(key, str) else flow_text(key)

    def _scalar(self, node: Node) -> Any:
        text: str = node.value
        if node.tag == _PLAIN:
            return self._resolved(node, text)
        if node.tag == f"{_TAGS}str":
            return text
        return self._tagged(node, text)

    def _resolved(self, node: Node, text: str) -> Scalar:
        try:
            value = self._resolve(text)
        except ValueError as error:  # Python reads no more than some 4300 decimal digits
            raise self._error("a number has too many digits", node) from error
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise self._error("a number has too many digits", node)
        return value

    def _tagged(self, node: yaml.Node, text: str) -> Any:
        tag = node.tag.removeprefix(_TAGS)
        resolved = self._resolved(node, text)
        if tag == "null":
            return None
        if tag == "binary":
            try:
                return base64.b64decode("".join(text.split()), validate=True)
            except ValueError as error:
                raise self._error("no valid base64 after !!binary", node) from error
        if tag == "int" and isinstance(resolved, int) and not isinstance(resolved, bool):
            return resolved
        if tag == "float" and isinstance(resolved, int | float) and not isinstance(resolved, bool):
            return float(resolved)
        if tag == "bool" and isinstance(resolved, bool):
            return resolved
        raise self._error(f"the tag {node.tag!r} is not understood here", node)

    def _error(self, message: str, node: Node) -> YamlError:
        return YamlError(message, source=self.source, line=node.start_mark.line + 1)


def _is_merge(node: Node) -> bool:
    return bool(node.tag == _PLAIN and node.value == "<<")
