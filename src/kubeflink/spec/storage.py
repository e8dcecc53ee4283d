"""Whether what is kept for recovery outlives the pod that wrote it.

A directory without a scheme, or with `file:`, is one of the container. It ends with the pod, and no
other pod sees it, unless a volume is mounted there; that the directory exists on the machine of the
client, where it was typed, helps nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from kubeflink.config import Configuration, Notice
from kubeflink.config.options import high_availability
from kubeflink.errors import ConfigurationError
from kubeflink.objects import JsonObject
from kubeflink.spec.pod import FlinkPod

_NEED_STORAGE = frozenset(
    {
        "KUBERNETES",
        "ZOOKEEPER",
        "ORG.APACHE.FLINK.KUBERNETES.HIGHAVAILABILITY.KUBERNETESHASERVICESFACTORY",
    }
)
_OF_ALL_PODS = (
    "execution.checkpointing.dir",
    "execution.checkpointing.savepoint-dir",
    "state.checkpoints.dir",
    "state.savepoints.dir",
)
_PASSING = ("emptyDir", "configMap", "secret", "downwardAPI", "projected")


def check_high_availability(configuration: Configuration) -> None:
    """Refuse high availability that has no place for its data: the JobManager would end at once."""
    kind = configuration.get(high_availability.TYPE).upper()
    option = high_availability.STORAGE_DIR
    if kind in _NEED_STORAGE and not (configuration.get(option) or "").strip():
        raise ConfigurationError(
            f"high availability needs {option.key}, a directory that all JobManagers reach",
            option=option.key,
            hint="Such as s3://bucket/flink/ha, or file:/// with a volume that is mounted there",
        )


def remarks(configuration: Configuration, pod: FlinkPod) -> Iterator[Notice]:
    """What will be looked for in vain after a failure. `pod` is the JobManager's."""
    lasting = list(_lasting_mounts(pod))
    storage = high_availability.STORAGE_DIR.key
    if kept := _in_the_container(configuration.text(storage), lasting):
        yield Notice(
            f"{storage}={kept} is a directory of the JobManager's pod without a volume: "
            "a pod that takes its place finds nothing there",
            of_containers=True,
        )
    for key in _OF_ALL_PODS:
        if kept := _in_the_container(configuration.text(key), lasting):
            yield Notice(
                f"{key}={kept} is a directory of each pod without a volume: "
                "JobManager and TaskManagers do not see the same files there",
                of_containers=True,
            )


def _in_the_container(value: str | None, lasting: list[PurePosixPath]) -> str | None:
    """The directory, if it is one of the container's own file system."""
    if not value:
        return None
    scheme, path = _split(value)
    if scheme not in ("", "file"):
        return None
    return None if any(path.is_relative_to(mount) for mount in lasting) else value


def _split(value: str) -> tuple[str, PurePosixPath]:
    """Scheme and path. A value that is no URL is told of by Flink, whose options they are."""
    try:
        parts = urlsplit(value)
    except ValueError:
        return value.partition(":")[0], PurePosixPath("/")
    return parts.scheme, PurePosixPath(parts.path or "/")


def _lasting_mounts(pod: FlinkPod) -> Iterator[PurePosixPath]:
    """Where the main container has volumes that are not made for the pod alone."""
    volumes: list[JsonObject] = pod.spec.get("volumes") or []
    passing = {each.get("name") for each in volumes if any(kind in each for kind in _PASSING)}
    for mount in pod.main_container.get("volumeMounts") or ():
        path = mount.get("mountPath")  # without one it is refused, and that has been told
        if path and mount.get("name") not in passing:
            yield PurePosixPath(path)
