"""A pod while the decorators work on it.

The main container is held apart from the others, as Flink does it (`FlinkPod`): a decorator need
not look for it, and in the finished pod it stands after the containers of the template.

Everything here is a value: each method returns another pod and leaves this one and the mappings
in it as they are, so that a decorator cannot disturb what others have seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from kubeflink.config import Notice
from kubeflink.objects import JsonObject
from kubeflink.spec.merge import (
    Same,
    merge,
    same_mount_path,
    same_name,
    same_port,
    same_value,
)


@dataclass(frozen=True, slots=True)
class FlinkPod:
    """Metadata, spec without the main container, and the main container.

    `source` is the file of the pod template that it began with, None without one. `notices` are
    what the user should know of the way that it was made.
    """

    metadata: JsonObject = field(default_factory=dict)
    spec: JsonObject = field(default_factory=dict)
    main_container: JsonObject = field(default_factory=dict)
    source: str | None = None
    notices: tuple[Notice, ...] = ()

    def with_metadata(self, **fields: object) -> FlinkPod:
        """Set fields of the metadata."""
        return replace(self, metadata=self.metadata | fields)

    def with_spec(self, **fields: object) -> FlinkPod:
        """Set fields of the pod's spec, by their names in Kubernetes."""
        return replace(self, spec=self.spec | fields)

    def with_main_container(self, **fields: object) -> FlinkPod:
        """Set fields of the main container, by their names in Kubernetes."""
        return replace(self, main_container=self.main_container | fields)

    def note(self, *messages: str) -> FlinkPod:
        """Tell the user something."""
        return replace(self, notices=(*self.notices, *map(Notice, messages)))

    def add_labels(self, labels: Mapping[str, str]) -> FlinkPod:
        """Add labels, which win over those that are there."""
        return self.with_metadata(labels={**self.metadata.get("labels", {}), **labels})

    def add_annotations(self, annotations: Mapping[str, str], *, keep_empty: bool) -> FlinkPod:
        """Add annotations, which win over those that are there.

        An empty mapping is left out unless `keep_empty`.
        """
        merged = {**self.metadata.get("annotations", {}), **annotations}
        return self.with_metadata(annotations=merged) if merged or keep_empty else self

    def add_node_selector(self, selector: Mapping[str, str], *, keep_empty: bool) -> FlinkPod:
        """Add entries of the node selector, which win over those that are there."""
        merged = {**self.spec.get("nodeSelector", {}), **selector}
        return self.with_spec(nodeSelector=merged) if merged or keep_empty else self

    def add_pull_secrets(self, names: Iterable[str]) -> FlinkPod:
        """Append Secrets by which the images are pulled; a name may be there twice."""
        secrets = [*self.spec.get("imagePullSecrets", ()), *({"name": name} for name in names)]
        return self.with_spec(imagePullSecrets=secrets) if secrets else self

    def add_tolerations(self, tolerations: Iterable[JsonObject]) -> FlinkPod:
        """Add tolerations that are not there yet."""
        return self._add_to_spec("tolerations", tolerations, same_value)

    def add_volumes(self, *volumes: JsonObject) -> FlinkPod:
        """Add volumes, which win over those of the same name."""
        return self._add_to_spec("volumes", volumes, same_name)

    def add_env(self, *variables: JsonObject) -> FlinkPod:
        """Add variables of the main container, which win over those of the same name."""
        return self._add_to_container("env", variables, same_name)

    def add_ports(self, *ports: JsonObject) -> FlinkPod:
        """Add ports of the main container, which win over those of the same name or number."""
        return self._add_to_container("ports", ports, same_port)

    def add_mounts(self, *mounts: JsonObject) -> FlinkPod:
        """Add mounts of the main container, which win over those of the same path."""
        return self._add_to_container("volumeMounts", mounts, same_mount_path)

    def _add_to_spec(self, name: str, entries: Iterable[JsonObject], same: Same) -> FlinkPod:
        merged, replaced = merge(self.spec.get(name, ()), entries, same)
        pod = self.with_spec(**{name: merged}) if merged else self
        return pod._note_replaced(name, replaced)

    def _add_to_container(self, name: str, entries: Iterable[JsonObject], same: Same) -> FlinkPod:
        merged, replaced = merge(self.main_container.get(name, ()), entries, same)
        pod = self.with_main_container(**{name: merged}) if merged else self
        return pod._note_replaced(name, replaced)

    def _note_replaced(self, name: str, replaced: list[JsonObject]) -> FlinkPod:
        origin = f"pod template {self.source}" if self.source else "configuration"
        words = [f"{_WORDS[name]} {_key_of(name, entry)!r}" for entry in replaced]
        return self.note(*(f"{origin}: {word} is replaced by Flink's own" for word in words))

    def assemble(self) -> JsonObject:
        """Metadata and spec of the finished pod, the main container after the others."""
        containers = [*self.spec.get("containers", ()), self.main_container]
        return {"metadata": self.metadata, "spec": {**self.spec, "containers": containers}}


_WORDS = {
    "env": "environment variable",
    "ports": "port",
    "tolerations": "toleration",
    "volumeMounts": "the mount at",
    "volumes": "volume",
}


def _key_of(name: str, entry: JsonObject) -> object:
    if name == "volumeMounts":
        return entry.get("mountPath")
    if name == "ports":
        return entry.get("name", entry.get("containerPort"))
    return entry.get("name")


# --- entries ---------------------------------------------------------------------------------


def variable(name: str, value: str) -> JsonObject:
    """An environment variable with a value."""
    return {"name": name, "value": value}


def variable_from_field(name: str, path: str) -> JsonObject:
    """An environment variable with the value of a field of the pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def variable_from_secret(name: str | None, secret: str | None, key: str | None) -> JsonObject:
    """An environment variable with the value of an entry of a Secret."""
    reference = {"key": key, "name": secret}
    return {"name": name, "valueFrom": {"secretKeyRef": _present(reference)}}


def config_map_volume(
    name: str, config_map: str, items: Mapping[str, str] | None = None
) -> JsonObject:
    """A volume with the entries of a ConfigMap; `items` maps the wanted keys to paths."""
    source: JsonObject = {"name": config_map}
    if items is not None:
        source["items"] = [{"key": key, "path": path} for key, path in items.items()]
    return {"name": name, "configMap": source}


def mount(volume: str, path: str, **fields: object) -> JsonObject:
    """A mount of a volume."""
    return {"name": volume, "mountPath": path, **fields}


def config_map(name: str, data: Mapping[str, str], labels: Mapping[str, str] | None) -> JsonObject:
    """A ConfigMap; without labels where they are None."""
    metadata: JsonObject = {"name": name}
    if labels is not None:
        metadata["labels"] = dict(labels)
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}


def _present(fields: Mapping[str, object]) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}
