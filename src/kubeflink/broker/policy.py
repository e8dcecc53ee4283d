"""What a JobManager may have: what is taken from its requests, and what is not.

User code runs in a JobManager, so a request is what anybody wants to have who can submit a job. Not
the request becomes a pod: the pod is built from the cluster's own configuration, and of the request
there is in it

- the name, if it is that of a TaskManager of this cluster: `<id>-taskmanager-<attempt>-<index>`;
- the options in its arguments: `-Dkey=value` by which its configuration differs from the mounted
  file, and `-D key=value` with its sizes. The text is split as a shell would do it, and written
  anew with each value in quotes, so nothing in it is ever a command;
- from those sizes, memory, CPU and JVM arguments, no more than the configuration gives to a worker.

What else is asked for is left out, and told. A request that cannot be meant for a TaskManager of
this cluster is refused: another name, namespace or label, another command, more than is allowed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflink import objects
from kubeflink.apiserver import statuses
from kubeflink.config.memory import TaskManagerFlinkMemory, TaskManagerMemory
from kubeflink.config.options import cluster, taskmanager
from kubeflink.errors import ApiStatusError
from kubeflink.objects import PODS, JsonObject
from kubeflink.spec import names
from kubeflink.spec.decorators.cmd_taskmanager import SCRIPT
from kubeflink.spec.taskmanager import RequestedTaskManager

MAXIMUM_ARGUMENTS = 100_000
"""Characters of a command line; Linux takes 128 KiB in one argument."""

MAXIMUM_OPTIONS = 1000

_KEY = re.compile(r"[\w.$<>/-]{1,256}", re.ASCII)
_BYTES = re.compile(r"([0-9]{1,18})b", re.ASCII)
_CORES = re.compile(r"[0-9]{1,9}(\.[0-9]{1,17})?(E-?[0-9]{1,2})?", re.ASCII)
_INDEX = r"[1-9][0-9]{0,8}"
_NUMBER = re.compile(_INDEX, re.ASCII)
_PLAIN_WORD = re.compile(r"(?:[^ \t\r\n']++|'[^']*+')++")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

_MEMORY = (
    taskmanager.MEMORY_FRAMEWORK_HEAP_SIZE,
    taskmanager.MEMORY_FRAMEWORK_OFF_HEAP_SIZE,
    taskmanager.MEMORY_TASK_HEAP_SIZE,
    taskmanager.MEMORY_TASK_OFF_HEAP_SIZE,
    taskmanager.MEMORY_NETWORK_MAX,
    taskmanager.MEMORY_MANAGED_SIZE,
)


@dataclass(frozen=True, slots=True)
class WorkerName:
    """The two numbers in the name of a TaskManager pod."""

    attempt: int
    index: int


@dataclass(frozen=True, slots=True)
class WorkerRequest:
    """What was taken from a request, and what was left out of it, as paths of its fields."""

    requested: RequestedTaskManager
    left_out: tuple[str, ...] = ()


class Policy:
    """Reads the requests of one cluster's JobManager.

    `worker` is what the configuration gives to a TaskManager: no request gets more.
    """

    def __init__(self, cluster_id: str, namespace: str, worker: TaskManagerMemory) -> None:
        self._cluster_id = cluster_id
        self._namespace = namespace
        self._worker = worker
        self._labels = names.taskmanager_labels(cluster_id)
        self._name = re.compile(
            re.escape(f"{cluster_id}-taskmanager-") + f"({_INDEX})-({_INDEX})", re.ASCII
        )

    def parse_name(self, name: str) -> WorkerName | None:
        """The numbers in a name; None if it is not that of a TaskManager of this cluster."""
        match = self._name.fullmatch(name)
        return None if match is None else WorkerName(int(match[1]), int(match[2]))

    def is_own(self, pod: JsonObject) -> bool:
        """Whether a pod of the real cluster is a TaskManager of this one."""
        labels = objects.labels_of(pod)
        return self.parse_name(objects.name_of(pod)) is not None and all(
            labels.get(key) == value for key, value in self._labels.items()
        )

    def worker(self, pod: JsonObject) -> WorkerRequest:
        """What is taken from the pod that a JobManager wants to create. `ForbiddenError`."""
        name = self._checked_name(pod)
        self._check_labels(name, pod)
        command = self._command(name, pod)
        properties, sizes = self._options(name, command)
        told = properties.get(taskmanager.RESOURCE_ID.key)
        if told != name:
            raise refusal(name, f"its {taskmanager.RESOURCE_ID.key} is {_shown(told)}")
        memory = self._memory(name, sizes)
        return WorkerRequest(RequestedTaskManager(name, properties, memory))

    def _checked_name(self, pod: JsonObject) -> str:
        if (pod.get("apiVersion"), pod.get("kind")) != ("v1", "Pod"):
            raise statuses.bad_request("the object is no Pod of the API version v1")
        metadata = pod.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        if not isinstance(name, str) or self.parse_name(name) is None:
            raise refusal(
                _shown(name),
                f"TaskManagers of {self._cluster_id} are called "
                f"{self._cluster_id}-taskmanager-<attempt>-<index>",
            )
        namespace = objects.namespace_of(pod)
        if namespace not in (None, self._namespace):
            raise refusal(name, f"this cluster is in the namespace {self._namespace}")
        return name

    def _check_labels(self, name: str, pod: JsonObject) -> None:
        labels = pod["metadata"].get("labels")
        if not isinstance(labels, dict):
            raise refusal(name, "it has no labels")
        for key, value in self._labels.items():
            if labels.get(key) != value:
                raise refusal(name, f"its label {key} must be {value}")

    def _command(self, name: str, pod: JsonObject) -> list[str]:
        """The words after the script in the main container's command line."""
        spec = pod.get("spec")
        containers = spec.get("containers") if isinstance(spec, dict) else None
        main = [
            each
            for each in (containers if isinstance(containers, list) else ())
            if isinstance(each, dict) and each.get("name") == names.MAIN_CONTAINER
        ]
        if len(main) != 1:
            raise refusal(name, f"it has no container {names.MAIN_CONTAINER}")
        arguments = main[0].get("args")
        line = arguments[2] if isinstance(arguments, list) and len(arguments) == 3 else None
        if not isinstance(line, str) or list(arguments or ())[:2] != ["bash", "-c"]:
            raise refusal(name, "its arguments are not those of a TaskManager")
        if len(line) > MAXIMUM_ARGUMENTS:
            raise refusal(name, f"its arguments are longer than {MAXIMUM_ARGUMENTS} characters")
        words = split_line(line)
        if not words or words[0] != SCRIPT:
            raise refusal(name, f"its arguments do not begin with {SCRIPT}")
        return words[1:]

    def _options(self, name: str, words: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
        """Properties and sizes. What follows them (the entry point's arguments) is not looked at:
        those of the cluster's configuration are used.
        """
        properties, sizes = read_options(words)
        if len(properties) + len(sizes) > MAXIMUM_OPTIONS:
            raise refusal(name, f"it has more than {MAXIMUM_OPTIONS} options")
        for key, value in (*properties.items(), *sizes.items()):
            if not _KEY.fullmatch(key):
                raise refusal(name, f"it has an option with the name {_shown(key)}")
            if not value.isprintable() and _UNPRINTABLE.search(value):
                raise refusal(name, f"its option {key} has a control character in it")
        return properties, sizes

    def _memory(self, name: str, sizes: Mapping[str, str]) -> TaskManagerMemory:
        framework_heap, framework_off, task_heap, task_off, network, managed = (
            _bytes(name, sizes, option.key) for option in _MEMORY
        )
        memory = TaskManagerMemory(
            TaskManagerFlinkMemory(
                framework_heap=framework_heap,
                framework_off_heap=framework_off,
                task_heap=task_heap,
                task_off_heap=task_off,
                network=network,
                managed=managed,
            ),
            metaspace=_bytes(name, sizes, taskmanager.MEMORY_JVM_METASPACE_SIZE.key),
            overhead=_bytes(name, sizes, taskmanager.MEMORY_JVM_OVERHEAD_MAX.key),
            cpu_cores=_cores(name, sizes.get(taskmanager.CPU_CORES.key, "")),
            slots=_count(name, sizes, taskmanager.NUMBER_OF_TASK_SLOTS.key),
            external_resources=tuple(self._external(name, sizes)),
        )
        self._check_sizes(name, memory)
        return memory

    def _external(self, name: str, sizes: Mapping[str, str]) -> Iterator[tuple[str, int]]:
        allowed = dict(self._worker.external_resources)
        for each in sizes.get(cluster.EXTERNAL_RESOURCES.key, "none").split(";"):
            if each == "none":
                continue
            amount = _count(name, sizes, f"external-resource.{each}.amount")
            if amount > allowed.get(each, 0):
                most = allowed.get(each, 0)
                raise refusal(name, f"{amount} of {_shown(each)} are wanted, {most} are the most")
            yield each, amount

    def _check_sizes(self, name: str, memory: TaskManagerMemory) -> None:
        most = self._worker
        if memory.total_process > most.total_process:
            raise refusal(
                name,
                f"{memory.total_process >> 20} MiB are wanted, a TaskManager of this cluster has "
                f"{most.total_process >> 20} MiB",
            )
        if memory.cpu_cores > most.cpu_cores:
            raise refusal(
                name,
                f"{memory.cpu_cores} CPU cores are wanted, a TaskManager of this cluster has "
                f"{most.cpu_cores}",
            )
        if memory.slots > most.slots:
            raise refusal(name, f"{memory.slots} slots are wanted, {most.slots} are the most")


def split_line(line: str) -> list[str]:
    """The words of a line as a POSIX shell splits it; none of a line with an open quote.

    Nothing is expanded. What Flink writes has single quotes at most, and is split by a pattern,
    which takes a tenth of the time that `shlex` needs.
    """
    if '"' not in line and "\\" not in line and "#" not in line:
        if line.count("'") % 2:
            return []
        return [word.replace("'", "") for word in _PLAIN_WORD.findall(line)]
    try:
        return shlex.split(line)
    except ValueError:
        return []


def read_options(words: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """`-Dkey=value` words, then pairs of words `-D` `key=value`, as Flink's driver writes them."""
    properties: dict[str, str] = {}
    sizes: dict[str, str] = {}
    position = 0
    while position < len(words) and words[position].startswith("-D") and words[position] != "-D":
        key, _, value = words[position][2:].partition("=")
        properties[key] = value
        position += 1
    while position + 1 < len(words) and words[position] == "-D":
        key, _, value = words[position + 1].partition("=")
        sizes[key] = value
        position += 2
    return properties, sizes


def left_out(asked: Any, built: Any, path: str = "") -> Iterator[str]:
    """The fields of a request that the pod does not have as it was asked for.

    The command line is left aside: it is written anew.
    """
    if asked == built or path.endswith(".args"):
        return
    if isinstance(asked, dict) and isinstance(built, dict):
        for key, value in asked.items():
            yield from left_out(value, built.get(key), f"{path}.{key}" if path else key)
    elif isinstance(asked, list) and isinstance(built, list):
        theirs = {_identity(each, number): each for number, each in enumerate(built)}
        for number, each in enumerate(asked):
            identity = _identity(each, number)
            yield from left_out(each, theirs.get(identity), f"{path}[{identity}]")
    elif asked not in (None, "", [], {}):
        yield path


def _identity(item: Any, number: int) -> str:
    if isinstance(item, dict):
        for key in ("name", "mountPath", "key", "uid"):
            if isinstance(item.get(key), str):
                return str(item[key])
    return str(number)


def refusal(name: str, why: str) -> ApiStatusError:
    """The 403 for a TaskManager that there will not be."""
    return statuses.forbidden(PODS, name, f"{why} (kubeflink broker)")


def _bytes(name: str, sizes: Mapping[str, str], key: str) -> int:
    match = _BYTES.fullmatch(sizes.get(key, ""))
    if match is None:
        raise refusal(name, f"its {key} is {_shown(sizes.get(key))}, not a number of bytes")
    return int(match[1])


def _count(name: str, sizes: Mapping[str, str], key: str) -> int:
    text = sizes.get(key, "")
    if not _NUMBER.fullmatch(text):
        raise refusal(name, f"its {key} is {_shown(sizes.get(key))}, not a number")
    return int(text)


def _cores(name: str, text: str) -> float:
    if not _CORES.fullmatch(text):
        raise refusal(name, f"its {taskmanager.CPU_CORES.key} is {_shown(text)}, not a number")
    cores = float(text)
    if cores < 0:
        raise refusal(name, "it wants less than no CPU")
    return cores


def _shown(value: object) -> str:
    """A value of a request for a message: short, and on one line."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
