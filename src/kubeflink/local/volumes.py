"""The volumes of a pod as directories and files of this machine.

    configMap, secret,     written for each container at each of its starts, so that a restart sees
    downwardAPI, projected the newest state, as a kubelet's refresh would give it
    emptyDir, ephemeral    a directory of the pod
    hostPath               the path itself
    persistentVolumeClaim  a directory of the embedded cluster, made at first use; outlives the pod

ConfigMaps are the only ones whose files are rewritten (see `paths`): they hold configuration, which
names container paths. A file that means something to its reader byte by byte belongs in a Secret.

What a volume needs may not exist yet (Flink creates the Deployment before its ConfigMap) or never:
`MountError` says what is missing, and the kubelet tries again.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from kubeflink import objects
from kubeflink.errors import LocalError
from kubeflink.local.environment import ObjectReader, decoded, field_value
from kubeflink.local.state import disk_errors
from kubeflink.objects import JsonObject, Resource

_SECRET_MODE = 0o600


class MountError(LocalError):
    """A volume cannot be made (yet)."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A container's mount: what it sees at `path` is `source`."""

    path: str
    source: Path

    def is_inside(self, other: Mount) -> bool:
        """Whether the other mount surrounds this one."""
        return self.path != other.path and PurePosixPath(self.path).is_relative_to(other.path)


@dataclass(frozen=True, slots=True)
class Mounts:
    """All mounts of a container; `configuration` are the files that came from ConfigMaps."""

    mounts: tuple[Mount, ...] = ()
    configuration: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class VolumeContext:
    """What volumes are made from. `claims` and `directory` are of the cluster and of the pod."""

    pod: JsonObject
    directory: Path
    claims: Path
    read: ObjectReader


def prepare_mounts(context: VolumeContext, container: JsonObject, own: Path) -> Mounts:
    """Make all that the container mounts; files that are its alone go below `own`.

    Raises `MountError`, and `ContainerConfigError` for a Secret that cannot be read.
    """
    volumes = {volume["name"]: volume for volume in context.pod["spec"].get("volumes") or ()}
    shutil.rmtree(own, ignore_errors=True)
    mounts: list[Mount] = []
    configuration: list[Path] = []
    with disk_errors(own.parent):
        for number, mount in enumerate(container.get("volumeMounts") or ()):
            volume = volumes.get(mount["name"])
            if volume is None:
                raise MountError(f'references non-existent volume "{mount["name"]}"')
            source = _make(context, volume, own / str(number), configuration)
            mounts.append(Mount(mount["mountPath"], source / _sub_path(mount)))
        for each in mounts:
            _link_nested(each, mounts)
    return Mounts(tuple(mounts), tuple(configuration))


def _sub_path(mount: JsonObject) -> str:
    sub_path = str(mount.get("subPath") or "")
    if ".." in PurePosixPath(sub_path).parts or sub_path.startswith("/"):
        raise MountError(f"subPath {sub_path!r} must stay inside its volume")
    return sub_path


def _link_nested(mount: Mount, mounts: list[Mount]) -> None:
    """Show a mount inside the mount that surrounds it, where nothing is in its place."""
    for outer in mounts:
        if mount.is_inside(outer) and outer.source.is_dir():
            inside = outer.source / PurePosixPath(mount.path).relative_to(outer.path)
            inside.parent.mkdir(parents=True, exist_ok=True)
            if inside.is_symlink():
                inside.unlink()
            if not inside.exists():
                inside.symlink_to(mount.source)


def _make(context: VolumeContext, volume: JsonObject, own: Path, configuration: list[Path]) -> Path:
    """Make the volume and return its directory (or file, for some host paths)."""
    name = volume["name"]
    files = _file_source(context, volume)
    if files is not None:
        _write_files(own, files)
        configuration += [own / path for path, file in files.items() if file.is_configuration]
        return own
    if "emptyDir" in volume or "ephemeral" in volume:
        return _directory(context.directory / "volumes" / name)
    if "hostPath" in volume:
        return _host_path(name, volume["hostPath"])
    if "persistentVolumeClaim" in volume:
        namespace = objects.namespace_of(context.pod) or "default"
        return _directory(context.claims / namespace / volume["persistentVolumeClaim"]["claimName"])
    kind = next((key for key in volume if key != "name"), "nothing")
    raise MountError(f'volume "{name}": the embedded Kubernetes has no volumes of kind {kind}')


def _directory(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def _host_path(name: str, source: JsonObject) -> Path:
    path = Path(source["path"])
    kind = source.get("type") or ""
    if kind == "DirectoryOrCreate":
        return _directory(path)
    if kind == "FileOrCreate":
        path.touch(exist_ok=True)
    if not path.exists() or (kind == "Directory" and not path.is_dir()):
        wanted = "a directory" if kind == "Directory" else "there"
        raise MountError(f'volume "{name}": hostPath type check failed: {path} is not {wanted}')
    return path


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    mode: int
    is_configuration: bool


def _file_source(context: VolumeContext, volume: JsonObject) -> dict[str, _File] | None:
    """The files of a volume that is made of API objects; None for the other kinds."""
    if "configMap" in volume:
        return _config_map(context, volume["configMap"], volume["configMap"].get("name", ""))
    if "secret" in volume:
        return _secret(context, volume["secret"], volume["secret"].get("secretName", ""))
    if "downwardAPI" in volume:
        return _downward(context, volume["downwardAPI"])
    if "projected" not in volume:
        return None
    files: dict[str, _File] = {}
    for source in volume["projected"].get("sources") or ():
        if "configMap" in source:
            files |= _config_map(context, source["configMap"], source["configMap"]["name"])
        elif "secret" in source:
            files |= _secret(context, source["secret"], source["secret"]["name"])
        elif "downwardAPI" in source:
            files |= _downward(context, source["downwardAPI"])
        else:
            kind = next(iter(source), "nothing")
            raise MountError(f"the embedded Kubernetes projects no {kind}")
    return files


def _config_map(context: VolumeContext, source: JsonObject, name: str) -> dict[str, _File]:
    config_map = _object(context, objects.CONFIG_MAPS, name, source)
    data = {key: text.encode() for key, text in (config_map.get("data") or {}).items()}
    data |= decoded(config_map.get("binaryData"), f'configmap "{name}"')
    return {
        path: _File(content, _mode(source, item), is_configuration=True)
        for path, content, item in _selected(data, source, f'configmap "{name}"')
    }


def _secret(context: VolumeContext, source: JsonObject, name: str) -> dict[str, _File]:
    owner = f'secret "{name}"'
    data = decoded(_object(context, objects.SECRETS, name, source).get("data"), owner)
    return {
        path: _File(content, _SECRET_MODE, is_configuration=False)
        for path, content, _ in _selected(data, source, owner)
    }


def _downward(context: VolumeContext, source: JsonObject) -> dict[str, _File]:
    return {
        item["path"]: _File(
            field_value(context.pod, item["fieldRef"]["fieldPath"]).encode(), 0o644, False
        )
        for item in source.get("items") or ()
        if "fieldRef" in item
    }


def _object(
    context: VolumeContext, resource: Resource, name: str, source: JsonObject
) -> Mapping[str, Any]:
    found = context.read(resource, name)
    if found is None and not source.get("optional"):
        raise MountError(f'{resource.kind.lower()} "{name}" not found')
    return found or {}


def _selected(
    data: Mapping[str, bytes], source: JsonObject, owner: str
) -> Iterator[tuple[str, bytes, JsonObject]]:
    """Path, content and item: all keys, or those that `items` names."""
    items = source.get("items")
    if not items:
        yield from ((key, content, {}) for key, content in data.items())
        return
    for item in items:
        if item["key"] in data:
            yield item["path"], data[item["key"]], item
        elif not source.get("optional"):
            raise MountError(f'{owner} has no key "{item["key"]}"')


def _mode(source: JsonObject, item: JsonObject) -> int:
    return int(item.get("mode") or source.get("defaultMode") or 0o644) | 0o600


def _write_files(directory: Path, files: Mapping[str, _File]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, file in files.items():
        if ".." in PurePosixPath(name).parts or name.startswith("/") or "\0" in name:
            raise MountError(f"the path {name!r} of a file must stay inside its volume")
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=_SECRET_MODE)
        path.write_bytes(file.content)
        path.chmod(file.mode)
