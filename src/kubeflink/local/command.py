"""What the scripts of the Flink image would do, as one java command line.

A pod of the native integration runs `/docker-entrypoint.sh bash -c "kubernetes-jobmanager.sh
kubernetes-session ARGS"` (or `kubernetes-application`, or `kubernetes-taskmanager.sh ARGS`). Those
scripts compute the JobManager's memory from its configuration, build the class path and start a
JVM; a TaskManager's memory comes ready in its arguments and environment. Running them would cost
seconds and need a distribution that PyPI does not have.

All pods share 127.0.0.1, so options are appended that put each process on ports of its own; where a
key is given twice, Flink takes the last one. Options that the JobManager gets as arguments travel
on into its TaskManagers' arguments, which here is how they learn where it is. A pod on the host
network gets no port options: Flink draws random ports for it, and on this one host they really are
distinct.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kubeflink import config
from kubeflink.config.configuration import Configuration
from kubeflink.config.memory import jobmanager_memory
from kubeflink.jvm.java import JavaRuntime
from kubeflink.local.environment import ContainerConfigError
from kubeflink.local.flink_image import FlinkImage, class_path, logging_options
from kubeflink.objects import JsonObject

HOST = "127.0.0.1"

PORT_NAMES = ("rest", "jobmanager-rpc", "blobserver")
"""The JobManager's ports, by the names that Flink gives them in pods and Services."""

_ENTRY_POINTS = {
    "kubernetes-session": "KubernetesSessionClusterEntrypoint",
    "kubernetes-application": "KubernetesApplicationClusterEntrypoint",
}
_TASKMANAGER = "org.apache.flink.kubernetes.taskmanager.KubernetesTaskExecutorRunner"
_SCRIPT = re.compile(r"(?:^|/)kubernetes-(jobmanager|taskmanager)\.sh$")
_COLLECTOR = re.compile(r"-XX:\+Use\w+GC$")
_JVM_DEFAULTS_ALLOW_ANY = "-XX:+IgnoreUnrecognizedVMOptions"


@dataclass(frozen=True, slots=True)
class FlinkScript:
    """One call of a Flink script. `entry` is the JobManager's mode, empty for a TaskManager."""

    component: Literal["jobmanager", "taskmanager"]
    entry: str
    arguments: tuple[str, ...]


def find_script(words: Sequence[str]) -> FlinkScript | None:
    """The Flink script that a container's command and arguments call; None if they call none.

    The text of `bash -c` is split as a shell would, but nothing in it is expanded. Raises
    `ContainerConfigError` for a script that is called in a way Flink's image would refuse.
    """
    for text in words:
        if "kubernetes-" not in text or ".sh" not in text:
            continue
        try:
            parts = shlex.split(text)
        except ValueError as error:
            raise ContainerConfigError(f"the container's command cannot be read: {error}") from None
        for position, part in enumerate(parts):
            match = _SCRIPT.search(part)
            if match is not None:
                return _script(match[1], parts[position + 1 :])
    return None


def _script(component: str, arguments: list[str]) -> FlinkScript:
    if component == "taskmanager":
        return FlinkScript("taskmanager", "", tuple(arguments))
    if not arguments or arguments[0] not in _ENTRY_POINTS:
        given = arguments[0] if arguments else "nothing"
        raise ContainerConfigError(
            f"kubernetes-jobmanager.sh takes {' or '.join(_ENTRY_POINTS)}, not {given}"
        )
    return FlinkScript("jobmanager", arguments[0], tuple(arguments[1:]))


@dataclass(frozen=True, slots=True)
class FlinkLaunch:
    """What a command line is made of besides the script.

    `ports` are the JobManager's real ports by name; empty on the host network and for TaskManagers.
    `jvm_options` are the embedded cluster's own, before those of the configuration.
    """

    image: FlinkImage
    java: JavaRuntime
    environment: Mapping[str, str]
    temporary: Path
    log_file: Path
    ports: Mapping[str, int]
    host_network: bool
    jvm_options: tuple[str, ...] = ()


def java_command(script: FlinkScript, launch: FlinkLaunch) -> list[str]:
    """The command line. Raises `ConfigurationError` for what Flink's scripts would refuse."""
    arguments = [launch.image.paths.rewrite(argument) for argument in script.arguments]
    configuration = config.load(
        conf_dir=launch.image.conf,
        dynamic=dynamic_properties(arguments),
        version=launch.image.home.version,
        environ={},
    )
    if script.component == "jobmanager":
        memory = jobmanager_memory(configuration)
        sizes = memory.jvm_arguments()
        program = [
            f"org.apache.flink.kubernetes.entrypoint.{_ENTRY_POINTS[script.entry]}",
            *_as_options(memory.dynamic_properties()),
            *arguments,
            *_as_options(_jobmanager_place(launch)),
        ]
    else:
        sizes = launch.environment.get("FLINK_TM_JVM_MEM_OPTS", "").split()
        program = [
            _TASKMANAGER,
            "--configDir",
            str(launch.image.conf),
            *arguments,
            *_as_options(_taskmanager_place(launch)),
        ]
    return [
        str(launch.java.executable),
        *launch.environment.get("JVM_ARGS", "").split(),
        *sizes,
        *_jvm_options(script, launch, configuration),
        *logging_options(launch.image, launch.log_file),
        *_kerberos(launch.image),
        f"-Djava.io.tmpdir={launch.temporary}",
        "-classpath",
        class_path(launch.image, dict(launch.environment)),
        *program,
    ]


def environment_of_image(image: FlinkImage, java: JavaRuntime, level: str) -> dict[str, str]:
    """The variables that Flink's scripts set. `level` is the root logger's."""
    return {
        "FLINK_HOME": str(image.root),
        "FLINK_CONF_DIR": str(image.conf),
        "FLINK_LIB_DIR": str(image.root / "lib"),
        "FLINK_OPT_DIR": str(image.root / "opt"),
        "FLINK_PLUGINS_DIR": str(image.root / "plugins"),
        "FLINK_LOG_DIR": str(image.logs),
        "JAVA_HOME": str(java.home),
        "ROOT_LOG_LEVEL": level,
        "MAX_LOG_FILE_NUMBER": "10",
    }


def dynamic_properties(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """The `-D key=value` and `-Dkey=value` among arguments; one without a value is `true`."""
    found = []
    remaining = iter(arguments)
    for argument in remaining:
        if argument == "-D":
            argument = "-D" + next(remaining, "")
        if argument.startswith("-D") and len(argument) > 2:
            key, equals, value = argument[2:].partition("=")
            found.append((key, value if equals else "true"))
    return found


def _as_options(properties: Sequence[tuple[str, str]]) -> list[str]:
    return [word for key, value in properties for word in ("-D", f"{key}={value}")]


def _jobmanager_place(launch: FlinkLaunch) -> list[tuple[str, str]]:
    place = [
        ("jobmanager.rpc.address", HOST),
        ("jobmanager.bind-host", HOST),
        ("rest.bind-address", HOST),
        ("io.tmp.dirs", str(launch.temporary)),
        # Without it the JobManager looks for logging files in the image's directory, and mounts
        # none of them into TaskManagers.
        ("$internal.deployment.config-dir", str(launch.image.conf)),
    ]
    if launch.ports and not launch.host_network:
        rpc = str(launch.ports["jobmanager-rpc"])
        place += [
            ("jobmanager.rpc.port", rpc),
            ("high-availability.jobmanager.port", rpc),
            ("blob.server.port", str(launch.ports["blobserver"])),
            ("rest.bind-port", str(launch.ports["rest"])),
        ]
    return place


def _taskmanager_place(launch: FlinkLaunch) -> list[tuple[str, str]]:
    place = [
        ("taskmanager.host", HOST),
        ("taskmanager.bind-host", HOST),
        ("io.tmp.dirs", str(launch.temporary)),
    ]
    if not launch.host_network:
        place.append(("taskmanager.rpc.port", "0"))
    return place


def _jvm_options(
    script: FlinkScript, launch: FlinkLaunch, configuration: Configuration
) -> list[str]:
    """In the order of Flink's scripts; the embedded cluster's own options give way to a user's."""
    users = [
        word
        for key in (
            "env.java.default-opts.all",
            "env.java.opts.all" if _has(configuration, "env.java.opts.all") else "env.java.opts",
            f"env.java.default-opts.{script.component}",
            f"env.java.opts.{script.component}",
        )
        for word in _words(configuration, key)
    ]
    own = list(launch.jvm_options)
    if any(_COLLECTOR.match(word) for word in users):
        # Two collectors at once are an error of the JVM.
        own = [word for word in own if not _COLLECTOR.match(word)]
    return [
        _JVM_DEFAULTS_ALLOW_ANY,
        *launch.image.home.module_options(),
        *launch.java.version_options(),
        *own,
        *users,
    ]


def _kerberos(image: FlinkImage) -> list[str]:
    """The JVM reads `/etc/krb5.conf` of this machine unless it is told of the mounted one."""
    place = image.paths.place("/etc/krb5.conf")
    return [f"-Djava.security.krb5.conf={place}"] if place is not None else []


def _has(configuration: Configuration, key: str) -> bool:
    return configuration.raw(key) is not None


def _words(configuration: Configuration, key: str) -> list[str]:
    value = configuration.raw(key)
    return str(value).strip().strip('"').split() if value is not None else []


def container_words(container: JsonObject) -> list[str]:
    """The container's command line as it is described: `command`, then `args`."""
    return [*(container.get("command") or ()), *(container.get("args") or ())]
