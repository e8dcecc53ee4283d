"""The memory options of Flink 1.9 and before, which the versions up to 1.20 still honour.

One number, the heap (`jobmanager.heap.size`, `taskmanager.heap.size`, the older ones in megabytes,
or an environment variable), stands for a newer option where that one is not set. Which one depends
on who asks: for a client and a ResourceManager that deploy containers it is the total process
memory, for the start scripts the JobManager's heap and the TaskManager's total Flink memory.
(`MemoryBackwardsCompatibilityUtils`)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubeflink.config.configuration import Configuration
from kubeflink.config.memory.sizes import readable, size_of
from kubeflink.config.options import jobmanager, taskmanager
from kubeflink.config.options.option import Option
from kubeflink.config.units import parse_memory
from kubeflink.errors import ConfigurationError

_SMALLEST_SEGMENT = 4096
_LARGEST_SEGMENT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class LegacyHeap:
    """Where the heap of one kind of process used to be configured, in the order of precedence."""

    environment_variable: str
    size: Option[int | None]
    megabytes: Option[int | None]


JOBMANAGER_HEAP = LegacyHeap("FLINK_JM_HEAP", jobmanager.HEAP_SIZE, jobmanager.HEAP_MB)
TASKMANAGER_HEAP = LegacyHeap("FLINK_TM_HEAP", taskmanager.HEAP_SIZE, taskmanager.HEAP_MB)


def with_legacy_heap(
    configuration: Configuration,
    legacy: LegacyHeap,
    stands_for: Option[int | None],
    environ: Mapping[str, str],
) -> Configuration:
    """The configuration, with the newer option set where only an old one is."""
    if not legacy.size.exists_in(configuration.version) or configuration.contains(stands_for):
        return configuration
    size = _legacy_size(configuration, legacy, environ)
    if size is None:
        return configuration
    return configuration.with_values({stands_for.key: f"{size} bytes"}, origin=legacy.size.key)


def _legacy_size(
    configuration: Configuration, legacy: LegacyHeap, environ: Mapping[str, str]
) -> int | None:
    from_environment = environ.get(legacy.environment_variable)
    if from_environment is not None:
        try:
            return parse_memory(from_environment)
        except ValueError as error:
            raise ConfigurationError(
                f"{legacy.environment_variable} is no memory size: {error}",
                origin="the environment",
            ) from error
    if configuration.contains(legacy.size):
        return size_of(configuration, legacy.size)
    megabytes = configuration.get(legacy.megabytes)
    if megabytes is not None and megabytes < 0:
        raise ConfigurationError(f"{legacy.megabytes.key} is negative", option=legacy.megabytes.key)
    return None if megabytes is None else megabytes << 20


def network_buffers(settings: Configuration) -> int | None:
    """The bytes of the network memory, where it is still given as a number of buffers.

    Any of the newer network options switches this off.
    """
    buffers = taskmanager.NETWORK_NUMBER_OF_BUFFERS
    newer = (
        taskmanager.MEMORY_NETWORK_MIN,
        taskmanager.MEMORY_NETWORK_MAX,
        taskmanager.MEMORY_NETWORK_FRACTION,
    )
    if (
        not buffers.exists_in(settings.version)
        or not settings.contains(buffers)
        or any(settings.contains(each) for each in newer)
    ):
        return None
    number = settings.get(buffers)
    if number < 0:
        raise ConfigurationError(f"{buffers.key} is negative", option=buffers.key)
    return number * _segment_size(settings)


def _segment_size(settings: Configuration) -> int:
    segment = taskmanager.MEMORY_SEGMENT_SIZE
    size = size_of(settings, segment)
    if not _SMALLEST_SEGMENT <= size <= _LARGEST_SEGMENT or size & (size - 1):
        raise ConfigurationError(
            f"{segment.key} ({readable(size)}) must be a power of 2 from 4 KiB to 1 GiB",
            option=segment.key,
        )
    return size
