"""The JobManager's memory.

    total Flink memory
    ├── JVM heap      what is left, or the fine-grained option
    └── off-heap      an option with a default: direct and native memory

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
    memory = _FlinkMemory(heap, size_of(settings, options.MEMORY_OFF_HEAP_SIZE))
    if settings.contains(options.MEMORY_FLINK_SIZE):
        total_flink = size_of(settings, options.MEMORY_FLINK_SIZE)
        if memory.total_flink != total_flink:
            raise ConfigurationError(
                f"{options.MEMORY_HEAP_SIZE.key} ({readable(heap)})"
                f" and {options.MEMORY_OFF_HEAP_SIZE.key} ({readable(memory.off_heap)})"
                f" do not add up to {options.MEMORY_FLINK_SIZE.key} ({readable(total_flink)})",
                option=options.MEMORY_FLINK_SIZE.key,
                hint=f"Set only one of {options.MEMORY_HEAP_SIZE.key}"
                f" and {options.MEMORY_FLINK_SIZE.key}.",
            )
    return _checked(settings, memory)


def _from_total(settings: Configuration, total_flink: int) -> _FlinkMemory:
    off_heap = size_of(settings, options.MEMORY_OFF_HEAP_SIZE)
    if total_flink <= off_heap:
        raise ConfigurationError(
            f"the JobManager's Flink memory ({readable(total_flink)}) leaves no heap beside"
            f" {options.MEMORY_OFF_HEAP_SIZE.key} ({readable(off_heap)})",
            option=options.MEMORY_OFF_HEAP_SIZE.key,
            hint=f"Raise {options.MEMORY_PROCESS_SIZE.key} or {options.MEMORY_FLINK_SIZE.key}.",
        )
    return _checked(settings, _FlinkMemory(total_flink - off_heap, off_heap))


def _checked(settings: Configuration, memory: _FlinkMemory) -> _FlinkMemory:
    # Flink compares the heap with the job store's cache, only to log; but a cache size that is no
    # size is refused on the way.
    if settings.get(options.JOBSTORE_CACHE_SIZE) < 0:
        raise ConfigurationError(
            f"{options.JOBSTORE_CACHE_SIZE.key} is negative",
            option=options.JOBSTORE_CACHE_SIZE.key,
        )
    return memory


_MODEL = ProcessModel(OPTIONS, _from_heap, _from_total)
