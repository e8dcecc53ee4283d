"""The JobManager's memory.

    total Flink memory
    ├── JVM heap      what is left, or the fine-grained option
    └── off-heap      direct and native memory: an option with a default, which is ignored where
                      both the heap and the total are given

(`JobManagerFlinkMemoryUtils`, `JobManagerProcessUtils`)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubeflink.config.configuration import Configuration
from kubeflink.config.hash_order import hash_order
from kubeflink.config.memory.legacy import JOBMANAGER_HEAP, with_legacy_heap
from kubeflink.config.memory.process import ProcessModel, ProcessOptions, heap_arguments
from kubeflink.config.memory.sizes import readable, size_of, total
from kubeflink.config.options import jobmanager as options
from kubeflink.config.options.option import Option
from kubeflink.errors import ConfigurationError

OPTIONS = ProcessOptions(
    name="JobManager",
    fine_grained=(options.MEMORY_HEAP_SIZE,),
    total_flink=options.MEMORY_FLINK_SIZE,
    total_process=options.MEMORY_PROCESS_SIZE,
    metaspace=options.MEMORY_JVM_METASPACE_SIZE,
    overhead_min=options.MEMORY_JVM_OVERHEAD_MIN,
    overhead_max=options.MEMORY_JVM_OVERHEAD_MAX,
    overhead_fraction=options.MEMORY_JVM_OVERHEAD_FRACTION,
)


@dataclass(frozen=True, slots=True)
class JobManagerMemory:
    """The sizes of a JobManager in bytes.

    `limits_direct_memory` is whether the JVM gets a limit for direct memory, which is all of
    `off_heap` then.
    """

    heap: int
    off_heap: int
    metaspace: int
    overhead: int
    limits_direct_memory: bool

    @property
    def total_flink(self) -> int:
        """What Flink itself uses."""
        return self.heap + self.off_heap

    @property
    def total_process(self) -> int:
        """What the container needs."""
        return self.total_flink + self.metaspace + self.overhead

    def jvm_arguments(self) -> list[str]:
        """The first line of BashJavaUtils."""
        direct = self.off_heap if self.limits_direct_memory else None
        return heap_arguments(self.heap, direct, self.metaspace)

    def dynamic_properties(self) -> list[tuple[str, str]]:
        """The second line of BashJavaUtils, each pair a `-D key=value`, in its order."""
        sizes = {
            options.MEMORY_HEAP_SIZE.key: self.heap,
            options.MEMORY_OFF_HEAP_SIZE.key: self.off_heap,
            options.MEMORY_JVM_METASPACE_SIZE.key: self.metaspace,
            options.MEMORY_JVM_OVERHEAD_MIN.key: self.overhead,
            options.MEMORY_JVM_OVERHEAD_MAX.key: self.overhead,
        }
        return [(key, f"{sizes[key]}b") for key in hash_order(sizes)]


@dataclass(frozen=True, slots=True)
class _FlinkMemory:
    heap: int
    off_heap: int

    @property
    def total_flink(self) -> int:
        return total(self.heap, self.off_heap)


def jobmanager_memory(
    configuration: Configuration, *, environ: Mapping[str, str] | None = None
) -> JobManagerMemory:
    """The memory that the start script in the JobManager's container gives it (BashJavaUtils).

    `environ` is that of the container; only the versions 1.x read it (`FLINK_JM_HEAP`). Raises
    ConfigurationError for what Flink refuses.
    """
    return jobmanager_memory_with(configuration, options.MEMORY_HEAP_SIZE, environ)


def jobmanager_memory_with(
    configuration: Configuration,
    legacy_heap_is: Option[int | None],
    environ: Mapping[str, str] | None,
) -> JobManagerMemory:
    """The same, where the old option `jobmanager.heap.size` stands for the given option."""
    settings = with_legacy_heap(configuration, JOBMANAGER_HEAP, legacy_heap_is, environ or {})
    memory, jvm = _MODEL.derive(settings)
    return JobManagerMemory(
        heap=memory.heap,
        off_heap=memory.off_heap,
        metaspace=jvm.metaspace,
        overhead=jvm.overhead,
        limits_direct_memory=settings.get(options.MEMORY_ENABLE_JVM_DIRECT_MEMORY_LIMIT),
    )


def _from_heap(settings: Configuration) -> _FlinkMemory:
    heap = size_of(settings, options.MEMORY_HEAP_SIZE)
    off_heap = size_of(settings, options.MEMORY_OFF_HEAP_SIZE)
    if settings.contains(options.MEMORY_FLINK_SIZE):
        total_flink = size_of(settings, options.MEMORY_FLINK_SIZE)
        # An off-heap size that was not asked for gives way to the two that were.
        if not settings.contains(options.MEMORY_OFF_HEAP_SIZE):
            off_heap = total_flink - heap
        if off_heap < 0 or total(heap, off_heap) != total_flink:
            raise _no_sum(heap, off_heap, total_flink)
    return _FlinkMemory(heap, off_heap)


def _no_sum(heap: int, off_heap: int, total_flink: int) -> ConfigurationError:
    flink, heap_option = options.MEMORY_FLINK_SIZE, options.MEMORY_HEAP_SIZE
    off_heap_option = options.MEMORY_OFF_HEAP_SIZE
    if off_heap < 0:
        problem = f"{heap_option.key} ({readable(heap)}) exceeds"
    else:
        problem = (
            f"{heap_option.key} ({readable(heap)}) and {off_heap_option.key}"
            f" ({readable(off_heap)}) do not add up to"
        )
    return ConfigurationError(
        f"{problem} {flink.key} ({readable(total_flink)})",
        option=flink.key,
        hint=f"Set only one of {heap_option.key} and {flink.key}.",
    )


def _from_total(settings: Configuration, total_flink: int) -> _FlinkMemory:
    off_heap = size_of(settings, options.MEMORY_OFF_HEAP_SIZE)
    if total_flink <= off_heap:
        raise ConfigurationError(
            f"the JobManager's Flink memory ({readable(total_flink)}) leaves no heap beside"
            f" {options.MEMORY_OFF_HEAP_SIZE.key} ({readable(off_heap)})",
            option=options.MEMORY_OFF_HEAP_SIZE.key,
            hint=f"Raise {options.MEMORY_PROCESS_SIZE.key} or {options.MEMORY_FLINK_SIZE.key}.",
        )
    return _FlinkMemory(total_flink - off_heap, off_heap)


_MODEL = ProcessModel(OPTIONS, _from_heap, _from_total)
