"""From a container's description to the command line, environment and files of a process.

Containers that call Flink's scripts run the Flink of this machine that their image names; all
others (init containers, sidecars) run the command that they name, if this machine has it. An image
cannot be unpacked here: what it would have brought is missing, and said so in the words of a failed
pull.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kubeflink import objects
from kubeflink.errors import LocalError
from kubeflink.jvm.flink_home import FlinkHome
from kubeflink.local.brokers import is_broker, own_command, reachable
from kubeflink.local.command import (
    FlinkLaunch,
    FlinkScript,
    container_words,
    environment_of_image,
    find_script,
    java_command,
)
from kubeflink.local.environment import expand, resolve_environment
from kubeflink.local.flink_image import IMAGE_ROOT, PLUGINS_VARIABLE, build_image, enable_plugins
from kubeflink.local.node import Node
from kubeflink.local.paths import PathMap
from kubeflink.local.state import remove_tree
from kubeflink.local.volumes import Mounts, VolumeContext, prepare_mounts
from kubeflink.objects import JsonObject, Resource

FLINK_CONFIG_VOLUME = "flink-config-volume"

_INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME")


class ImageError(LocalError):
    """This machine has not what the container's image would have brought."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A process to be. `description` says what stands for the container's image."""

    command: list[str]
    environment: dict[str, str]
    directory: Path
    description: str


@dataclass(frozen=True, slots=True)
class ContainerPlace:
    """Where a container of a pod lives, and the API objects that it refers to."""

    pod: JsonObject
    container: JsonObject
    pod_directory: Path
    objects: Mapping[tuple[Resource, str], JsonObject]
    ports: Mapping[str, int]
    services: Mapping[str, str] = field(default_factory=dict)
    """Where Services are on this machine, see `brokers.service_addresses`."""

    @property
    def directory(self) -> Path:
        """The container's own directory."""
        return self.pod_directory / "containers" / str(self.container["name"])

    def read(self, resource: Resource, name: str) -> JsonObject | None:
        """One of the objects it refers to."""
        return self.objects.get((resource, name))


def prepare_launch(node: Node, place: ContainerPlace) -> Launch:
    """Make the container's files and its command line.

    Raises `ImageError`, `MountError` and `ContainerConfigError`, after which it may be tried again,
    and `ConfigurationError` for a Flink configuration with which no JVM can be started.
    """
    container = place.container
    image = str(container.get("image", ""))
    words = container_words(container)
    script = find_script(words)
    home = _flink_home(node, image) if script is not None else None
    context = VolumeContext(place.pod, place.pod_directory, node.state.claims, place.read)
    mounts = prepare_mounts(context, container, place.directory / "mounts")
    # What an earlier start has left there would pile up; a container's own files end with it.
    remove_tree(place.directory / "tmp")
    for name in ("tmp", "work", "home"):
        (place.directory / name).mkdir(parents=True, exist_ok=True)
    if script is not None and home is not None:
        return _flink_launch(node, place, script, home, mounts)
    return _plain_launch(node, place, words, mounts)


def _flink_home(node: Node, image: str) -> FlinkHome:
    home = node.homes.of_image(image)
    if home is None:
        raise ImageError(
            f'failed to pull image "{image}": the embedded Kubernetes runs {node.homes.describe()} '
            "of this machine, for images that are named flink and tagged with such a version"
        )
    return home


def _flink_launch(
    node: Node, place: ContainerPlace, script: FlinkScript, home: FlinkHome, mounts: Mounts
) -> Launch:
    image = build_image(home, mounts, place.directory, _configuration_path(place.container))
    base = {
        **_base_environment(node, place),
        **environment_of_image(image, node.java, "INFO"),
    }
    environment = _environment(place, base, image.paths)
    missing = enable_plugins(image, environment.get(PLUGINS_VARIABLE, ""))
    if missing is not None:
        return _refusal(place, environment, f"Plugin {missing} does not exist. Exiting.")
    expanded = FlinkScript(
        script.component,
        script.entry,
        tuple(expand(argument, environment) for argument in script.arguments),
    )
    pod_name = objects.name_of(place.pod)
    logs = Path(environment["FLINK_LOG_DIR"])
    launch = FlinkLaunch(
        image=image,
        java=node.java,
        environment=environment,
        temporary=place.directory / "tmp",
        log_file=logs / f"flink-{script.component}-{pod_name}.log",
        ports=place.ports,
        host_network=place.pod["spec"].get("hostNetwork") is True,
        jvm_options=node.jvm_options,
    )
    description = (
        f'Image "{place.container.get("image", "")}" stands for Flink {home.version} '
        f"on Java {node.java.feature} of this machine"
    )
    command = java_command(expanded, launch)
    return Launch(command, environment, place.directory / "work", description)


def _refusal(place: ContainerPlace, environment: Mapping[str, str], words: str) -> Launch:
    """A process that says why the image's entry point does not start Flink, and ends."""
    command = ["/bin/sh", "-c", 'echo "$0"; exit 1', words]
    return Launch(command, dict(environment), place.directory / "work", words)


def _configuration_path(container: JsonObject) -> str:
    """The container path of Flink's configuration directory.

    `kubernetes.flink.conf.dir` moves the mount; an image of that kind sets the variable itself.
    """
    for variable in container.get("env") or ():
        if variable["name"] == "FLINK_CONF_DIR" and variable.get("value"):
            return str(variable["value"])
    for mount in container.get("volumeMounts") or ():
        if mount["name"] == FLINK_CONFIG_VOLUME:
            return str(mount["mountPath"])
    return f"{IMAGE_ROOT}/conf"


def _plain_launch(node: Node, place: ContainerPlace, words: list[str], mounts: Mounts) -> Launch:
    paths = PathMap((mount.path, mount.source) for mount in mounts.mounts)
    environment = _environment(place, _base_environment(node, place), paths)
    command = [paths.rewrite(expand(word, environment)) for word in words]
    if is_broker(place.container):
        command = own_command(command, place.ports)
    executable = shutil.which(command[0], path=environment.get("PATH")) if command else None
    if executable is None:
        image = place.container.get("image", "")
        wanted = (
            f'no command "{command[0]}"' if command else "no such image and no command is given"
        )
        raise ImageError(
            f'failed to pull image "{image}": the embedded Kubernetes runs containers as processes '
            f"of this machine, which has {wanted}"
        )
    return Launch(
        [executable, *command[1:]],
        environment,
        _working_directory(place, paths),
        f'Image "{place.container.get("image", "")}" stands for {executable} of this machine',
    )


def _working_directory(place: ContainerPlace, paths: PathMap) -> Path:
    wanted = place.container.get("workingDir")
    found = paths.place(wanted) if wanted else None
    return found if found is not None and found.is_dir() else place.directory / "work"


def _base_environment(node: Node, place: ContainerPlace) -> dict[str, str]:
    """What every process has: no more of the server's own environment than it needs."""
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {
        **inherited,
        "HOME": str(place.directory / "home"),
        "TMPDIR": str(place.directory / "tmp"),
        "HOSTNAME": objects.name_of(place.pod),
        "KUBECONFIG": str(node.state.kubeconfig),
    }


def _environment(place: ContainerPlace, base: Mapping[str, str], paths: PathMap) -> dict[str, str]:
    resolved = resolve_environment(place.pod, place.container, place.read, base)
    rewritten = {
        name: value if base.get(name) == value else paths.rewrite(value)
        for name, value in resolved.items()
    }
    return reachable(rewritten, place.services)
