"""What JobManager and TaskManager have in common: the JVM around Flink's own memory.

    total process memory
    ├── total Flink memory        heap, off-heap, ...: the models of the two processes
    ├── JVM metaspace             an option with a default
    └── JVM overhead              a fraction of the total process memory, within limits

Flink wants one of three things: its fine-grained sizes, the total Flink memory or the total process
memory, looks for them in this order, and derives the rest from it. Where two are given they have to
agree. (`ProcessMemoryUtils`, `CommonProcessMemorySpec`)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from kubeflink.config.configuration import Configuration
from kubeflink.config.memory.sizes import (
    Range,
    range_of,
    readable,
    size_of,
    total,
)
from kubeflink.config.options.option import Option
from kubeflink.errors import ConfigurationError


class FlinkMemory(Protocol):
    """The memory that Flink itself uses in a process, in bytes."""

    @property
    def total_flink(self) -> int:
        """All of it together."""


F = TypeVar("F", bound=FlinkMemory)


@dataclass(frozen=True, slots=True)
class JvmMemory:
    """What the JVM needs besides Flink's memory, in bytes."""

    metaspace: int
    overhead: int


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """The options of one kind of process."""

    name: str
    fine_grained: tuple[Option[int | None], ...]
    total_flink: Option[int | None]
    total_process: Option[int | None]
    metaspace: Option[int]
    overhead_min: Option[int]
    overhead_max: Option[int]
    overhead_fraction: Option[float]

    def overhead_range(self, settings: Configuration) -> Range:
        """The limits and the fraction of the JVM overhead."""
        return range_of(settings, self.overhead_min, self.overhead_max, self.overhead_fraction)


@dataclass(frozen=True, slots=True)
class ProcessModel(Generic[F]):
    """How one kind of process divides its memory.

    `from_fine_grained` builds Flink's memory where all fine-grained options are set, and
    `from_total` where only the total Flink memory is known.
    """

    options: ProcessOptions
    from_fine_grained: Callable[[Configuration], F]
    from_total: Callable[[Configuration, int], F]

    def derive(self, settings: Configuration) -> tuple[F, JvmMemory]:
        """All sizes; ConfigurationError where there are too few, or they contradict."""
        options = self.options
        if all(settings.contains(option) for option in options.fine_grained):
            memory = self.from_fine_grained(settings)
            return memory, jvm_memory_beside(options, settings, memory.total_flink)
        if settings.contains(options.total_flink):
            total_flink = size_of(settings, options.total_flink)
            memory = self.from_total(settings, total_flink)
            return memory, jvm_memory_beside(options, settings, total_flink)
        if settings.contains(options.total_process):
            total_process = size_of(settings, options.total_process)
            jvm = _jvm_memory_within(options, settings, total_process)
            return self.from_total(settings, total_process - jvm.metaspace - jvm.overhead), jvm
        raise _nothing_configured(options)


def jvm_memory_beside(
    options: ProcessOptions, settings: Configuration, total_flink: int
) -> JvmMemory:
    """The JVM's memory where Flink's is known.

    With a total process memory the overhead is what is left, and has to be within its limits.
    """
    metaspace = size_of(settings, options.metaspace)
    without_overhead = total(total_flink, metaspace)
    if not settings.contains(options.total_process):
        return JvmMemory(metaspace, options.overhead_range(settings).beside(without_overhead))
    total_process = size_of(settings, options.total_process)
    if total_process < without_overhead:
        raise ConfigurationError(
            f"{options.total_process.key} ({readable(total_process)}) is less than {options.name}'s"
            f" Flink memory ({readable(total_flink)}) and {options.metaspace.key}"
            f" ({readable(metaspace)}) together",
            option=options.total_process.key,
            hint=f"Raise it, or leave it out and let it be derived from {options.total_flink.key}.",
        )
    overhead = total_process - without_overhead
    limits = options.overhead_range(settings)
    if not limits.holds(overhead):
        raise ConfigurationError(
            f"what {options.total_process.key} ({readable(total_process)}) leaves for the JVM"
            f" overhead of the {options.name} ({readable(overhead)}) is not within {limits}",
            option=options.total_process.key,
            hint=f"Set only one of {options.total_process.key} and {options.total_flink.key}, or"
            f" change {options.overhead_min.key} or {options.overhead_max.key}.",
        )
    return JvmMemory(metaspace, overhead)


def _jvm_memory_within(
    options: ProcessOptions, settings: Configuration, total_process: int
) -> JvmMemory:
    metaspace = size_of(settings, options.metaspace)
    overhead = options.overhead_range(settings).of(total_process)
    if total(metaspace, overhead) > total_process:
        raise ConfigurationError(
            f"JVM metaspace ({readable(metaspace)}) and overhead ({readable(overhead)}) of the"
            f" {options.name} exceed {options.total_process.key} ({readable(total_process)})",
            option=options.total_process.key,
            hint=f"Raise it, or lower {options.metaspace.key} or {options.overhead_min.key}.",
        )
    return JvmMemory(metaspace, overhead)


def _nothing_configured(options: ProcessOptions) -> ConfigurationError:
    fine_grained = " and ".join(option.key for option in options.fine_grained)
    return ConfigurationError(
        f"the memory of the {options.name} is not configured",
        option=options.total_process.key,
        hint=f"Set {options.total_process.key}, or {options.total_flink.key}, or {fine_grained}.",
    )


def heap_arguments(heap: int, direct: int | None, metaspace: int) -> list[str]:
    """The JVM arguments for sizes in bytes; without a limit for direct memory where it is None.

    Source: `ProcessMemoryUtils.generateJvmParametersStr`.
    """
    arguments = [f"-Xmx{heap}", f"-Xms{heap}"]
    if direct is not None:
        arguments.append(f"-XX:MaxDirectMemorySize={direct}")
    return [*arguments, f"-XX:MaxMetaspaceSize={metaspace}"]
