"""The TaskManager's memory.

    total Flink memory
    ├── framework heap        an option with a default
    ├── task heap             what is left, or the fine-grained option
    ├── managed               a fraction of the total Flink memory, or the fine-grained option
    └── direct memory
        ├── framework off-heap    an option with a default
        ├── task off-heap         an option with a default
        └── network               a fraction of the total Flink memory, within limits

With a task heap the network memory is what is left, and has to be within its limits. Up to 1.20 it
can also be a number of buffers (`taskmanager.network.numberOfBuffers`), as long as none of the
newer network options is set. (`TaskExecutorFlinkMemoryUtils`, `TaskExecutorProcessUtils`)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubeflink.config.configuration import Configuration
from kubeflink.config.hash_order import hash_order
from kubeflink.config.java_text import java_double
from kubeflink.config.memory.legacy import (
    TASKMANAGER_HEAP,
    network_buffers,
    with_legacy_heap,
)
from kubeflink.config.memory.process import (
    JvmMemory,
    ProcessModel,
    ProcessOptions,
    heap_arguments,
)
from kubeflink.config.memory.resources import amount_key, cpu_cores, external_resources
from kubeflink.config.memory.sizes import (
    Range,
    fraction_of,
    range_of,
    readable,
    size_of,
    total,
)
from kubeflink.config.options import cluster
from kubeflink.config.options import taskmanager as options
from kubeflink.config.options.option import Option
from kubeflink.config.units import MAX_LONG
from kubeflink.errors import ConfigurationError

OPTIONS = ProcessOptions(
    name="TaskManager",
    fine_grained=(options.MEMORY_TASK_HEAP_SIZE, options.MEMORY_MANAGED_SIZE),
    total_flink=options.MEMORY_FLINK_SIZE,
    total_process=options.MEMORY_PROCESS_SIZE,
    metaspace=options.MEMORY_JVM_METASPACE_SIZE,
    overhead_min=options.MEMORY_JVM_OVERHEAD_MIN,
    overhead_max=options.MEMORY_JVM_OVERHEAD_MAX,
    overhead_fraction=options.MEMORY_JVM_OVERHEAD_FRACTION,
)


@dataclass(frozen=True, slots=True)
class TaskManagerFlinkMemory:
    """The memory that Flink itself uses in a TaskManager, in bytes."""

    framework_heap: int
    framework_off_heap: int
    task_heap: int
    task_off_heap: int
    network: int
    managed: int

    @property
    def heap(self) -> int:
        """The JVM's heap."""
        return total(self.framework_heap, self.task_heap)

    @property
    def direct(self) -> int:
        """The JVM's direct memory."""
        return total(self.framework_off_heap, self.task_off_heap, self.network)

    @property
    def total_flink(self) -> int:
        """All of it together."""
        return total(self.heap, self.direct, self.managed)


@dataclass(frozen=True, slots=True)
class TaskManagerMemory:
    """All that a TaskManager gets: memory in bytes, CPU cores, slots, external resources.

    `external_resources` are names with their amounts, in Flink's order.
    """

    flink: TaskManagerFlinkMemory
    metaspace: int
    overhead: int
    cpu_cores: float
    slots: int
    external_resources: tuple[tuple[str, int], ...]

    @property
    def total_flink(self) -> int:
        """What Flink itself uses."""
        return self.flink.total_flink

    @property
    def total_process(self) -> int:
        """What the container needs."""
        return self.total_flink + self.metaspace + self.overhead

    def jvm_arguments(self) -> list[str]:
        """The first line of BashJavaUtils, and what a pod has as `FLINK_TM_JVM_MEM_OPTS`."""
        return heap_arguments(self.flink.heap, self.flink.direct, self.metaspace)

    def dynamic_properties(self) -> list[tuple[str, str]]:
        """The second line of BashJavaUtils, each pair a `-D key=value`, in its order.

        As there, the names of external resources stand in double quotes, because the line ends up
        in a shell.
        """
        memory = self.flink
        sizes: dict[Option[int] | Option[int | None], int] = {
            options.MEMORY_FRAMEWORK_HEAP_SIZE: memory.framework_heap,
            options.MEMORY_FRAMEWORK_OFF_HEAP_SIZE: memory.framework_off_heap,
            options.MEMORY_TASK_HEAP_SIZE: memory.task_heap,
            options.MEMORY_TASK_OFF_HEAP_SIZE: memory.task_off_heap,
            options.MEMORY_NETWORK_MIN: memory.network,
            options.MEMORY_NETWORK_MAX: memory.network,
            options.MEMORY_MANAGED_SIZE: memory.managed,
            options.MEMORY_JVM_METASPACE_SIZE: self.metaspace,
            options.MEMORY_JVM_OVERHEAD_MIN: self.overhead,
            options.MEMORY_JVM_OVERHEAD_MAX: self.overhead,
        }
        properties = {options.CPU_CORES.key: java_double(self.cpu_cores)}
        properties |= {option.key: f"{size}b" for option, size in sizes.items()}
        properties[options.NUMBER_OF_TASK_SLOTS.key] = str(self.slots)
        properties[cluster.EXTERNAL_RESOURCES.key] = "none"
        if self.external_resources:
            names = ";".join(name for name, _ in self.external_resources)
            properties[cluster.EXTERNAL_RESOURCES.key] = f'"{names}"'
        properties |= {amount_key(name): str(amount) for name, amount in self.external_resources}
        return [(key, properties[key]) for key in hash_order(properties)]


def taskmanager_memory(
    configuration: Configuration, *, environ: Mapping[str, str] | None = None
) -> TaskManagerMemory:
    """The memory that the start script of a TaskManager gives it (BashJavaUtils).

    In native mode nobody calls that script's computation: see `worker_memory`. `environ` is that
    of the container; only the versions 1.x read it (`FLINK_TM_HEAP`). Raises ConfigurationError
    for what Flink refuses.
    """
    return taskmanager_memory_with(configuration, options.MEMORY_FLINK_SIZE, environ)


def taskmanager_memory_with(
    configuration: Configuration,
    legacy_heap_is: Option[int | None],
    environ: Mapping[str, str] | None,
) -> TaskManagerMemory:
    """The same, where the old option `taskmanager.heap.size` stands for the given option."""
    settings = with_legacy_heap(configuration, TASKMANAGER_HEAP, legacy_heap_is, environ or {})
    flink, jvm = _MODEL.derive(settings)
    return with_resources(settings, flink, jvm)


def with_resources(
    settings: Configuration, flink: TaskManagerFlinkMemory, jvm: JvmMemory
) -> TaskManagerMemory:
    """The memory together with what else the configuration gives a TaskManager."""
    return TaskManagerMemory(
        flink=flink,
        metaspace=jvm.metaspace,
        overhead=jvm.overhead,
        cpu_cores=cpu_cores(settings),
        slots=settings.get(options.NUMBER_OF_TASK_SLOTS),
        external_resources=external_resources(settings),
    )


def _from_fine_grained(settings: Configuration) -> TaskManagerFlinkMemory:
    task_heap = size_of(settings, options.MEMORY_TASK_HEAP_SIZE)
    managed = size_of(settings, options.MEMORY_MANAGED_SIZE)
    if settings.contains(options.MEMORY_FLINK_SIZE):
        total_flink = size_of(settings, options.MEMORY_FLINK_SIZE)
        return _with_network_left(settings, total_flink, task_heap, managed)
    without_network = _fixed(settings, task_heap=task_heap, managed=managed)
    network = network_buffers(settings)
    if network is None:
        network = _network_range(settings).beside(without_network.total_flink)
    return _fixed(settings, task_heap=task_heap, managed=managed, network=network)


def _from_total(settings: Configuration, total_flink: int) -> TaskManagerFlinkMemory:
    managed = _managed(settings, total_flink)
    if settings.contains(options.MEMORY_TASK_HEAP_SIZE):
        task_heap = size_of(settings, options.MEMORY_TASK_HEAP_SIZE)
        return _with_network_left(settings, total_flink, task_heap, managed)
    network = network_buffers(settings)
    if network is None:
        network = _network_range(settings).of(total_flink)
    without_heap = _fixed(settings, managed=managed, network=network)
    if without_heap.total_flink > total_flink:
        raise _too_much(without_heap, total_flink)
    task_heap = total_flink - without_heap.total_flink
    return _fixed(settings, task_heap=task_heap, managed=managed, network=network)


def _fixed(
    settings: Configuration, *, task_heap: int = 0, managed: int = 0, network: int = 0
) -> TaskManagerFlinkMemory:
    return TaskManagerFlinkMemory(
        framework_heap=size_of(settings, options.MEMORY_FRAMEWORK_HEAP_SIZE),
        framework_off_heap=size_of(settings, options.MEMORY_FRAMEWORK_OFF_HEAP_SIZE),
        task_heap=task_heap,
        task_off_heap=size_of(settings, options.MEMORY_TASK_OFF_HEAP_SIZE),
        network=network,
        managed=managed,
    )


def _with_network_left(
    settings: Configuration, total_flink: int, task_heap: int, managed: int
) -> TaskManagerFlinkMemory:
    """The network memory is what all others leave of the total."""
    without_network = _fixed(settings, task_heap=task_heap, managed=managed)
    if without_network.total_flink > total_flink:
        raise _too_much(without_network, total_flink)
    network = total_flink - without_network.total_flink
    _check_network(settings, network)
    return _fixed(settings, task_heap=task_heap, managed=managed, network=network)


def _managed(settings: Configuration, total_flink: int) -> int:
    if settings.contains(options.MEMORY_MANAGED_SIZE):
        return size_of(settings, options.MEMORY_MANAGED_SIZE)
    fraction = fraction_of(settings, options.MEMORY_MANAGED_FRACTION)
    return Range(0, MAX_LONG, fraction).of(total_flink)


def _network_range(settings: Configuration) -> Range:
    return range_of(
        settings,
        options.MEMORY_NETWORK_MIN,
        options.MEMORY_NETWORK_MAX,
        options.MEMORY_NETWORK_FRACTION,
    )


def _check_network(settings: Configuration, network: int) -> None:
    buffers = network_buffers(settings)
    if buffers is not None:
        allowed, wanted = network == buffers, f"the configured {readable(buffers)}"
    else:
        limits = _network_range(settings)
        allowed, wanted = limits.holds(network), f"within {limits}"
    if not allowed:
        raise ConfigurationError(
            f"what the other sizes leave for the TaskManager's network memory"
            f" ({readable(network)}) is not {wanted}",
            option=options.MEMORY_NETWORK_MIN.key,
            hint=f"Leave {options.MEMORY_TASK_HEAP_SIZE.key} out, or change"
            f" {options.MEMORY_NETWORK_MIN.key} or {options.MEMORY_NETWORK_MAX.key}.",
        )


def _too_much(memory: TaskManagerFlinkMemory, total_flink: int) -> ConfigurationError:
    parts = {
        "framework heap": memory.framework_heap,
        "framework off-heap": memory.framework_off_heap,
        "task heap": memory.task_heap,
        "task off-heap": memory.task_off_heap,
        "managed": memory.managed,
        "network": memory.network,
    }
    listed = ", ".join(f"{name} {readable(size)}" for name, size in parts.items() if size)
    return ConfigurationError(
        f"the parts of the TaskManager's memory exceed its Flink memory"
        f" ({readable(total_flink)}): {listed}",
        option=options.MEMORY_FLINK_SIZE.key,
        hint=f"Raise {options.MEMORY_PROCESS_SIZE.key} or {options.MEMORY_FLINK_SIZE.key},"
        f" or lower a part.",
    )


_MODEL = ProcessModel(OPTIONS, _from_fine_grained, _from_total)
