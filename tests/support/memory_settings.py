"""Generated memory configurations, about half of which Flink accepts.

Independent random sizes would nearly all be refused. So the sizes of a whole process are drawn
first, from the smallest part to the total, and then only some of them are written down: enough, too
few, or too many. Some get a small error, which makes the total disagree; some are no sizes at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from support.judge import Process

MIB = 1 << 20
UNITS = {1: ("b", "bytes", ""), 1 << 10: ("k", "kb"), MIB: ("m", "mb"), 1 << 30: ("g", "gb")}

SettingValue = str | int | float
Settings = dict[str, SettingValue]


@dataclass(frozen=True, slots=True)
class Case:
    """Options in the file, with the types of YAML, and options from `-D`, which are text."""

    file: Settings = field(default_factory=dict)
    dynamic: dict[str, str] = field(default_factory=dict)


@cache
def sizes(least: int, most: int) -> SearchStrategy[int]:
    """Bytes between two numbers of MiB: mostly whole MiB, sometimes odd."""
    whole = st.integers(least, most).map(lambda mebibytes: mebibytes * MIB)
    odd = st.integers(least * MIB, most * MIB)
    return st.one_of(whole, whole, odd)


@cache
def maybe(chance: float) -> SearchStrategy[bool]:
    """True with this chance, in hundredths."""
    return st.integers(0, 99).map(lambda number: number < chance * 100)


BAD_SIZES = ("", "1.5g", "-1m", "12 xb", "m", "99999999999999999999", "9000000t")
FRACTIONS: SearchStrategy[SettingValue] = st.one_of(
    st.sampled_from([0.0, 0.1, 0.25, 0.4, "0.1", "0.05", "0.3f", " 0.2 ", "1e-3", 0.9, "0.999999"]),
    st.floats(0.001, 0.95),
    st.floats(0.001, 0.95).map(str),
)
BAD_FRACTIONS = (1.0, "1", "-0.1", "a", "", "NaN", "1.5", "0,1")


def notation(draw: DrawFn, size: int) -> SettingValue:
    """One of the ways to write a size; a number of bytes may be a number of YAML."""
    factor = draw(st.sampled_from([unit for unit in UNITS if size % unit == 0]))
    unit = draw(st.sampled_from(UNITS[factor]))
    if not unit and draw(maybe(0.5)):
        return size
    return f"{size // factor}{draw(st.sampled_from(['', ' ']))}{unit}"


def written(draw: DrawFn, size: int, wrong: float = 0.03) -> SettingValue:
    """A size written down, seldom one that is a little off, very seldom one that is none."""
    chance = draw(st.integers(0, 999))
    if chance < wrong * 1000:
        size = max(0, size + draw(st.sampled_from([-MIB, -1, 1, MIB, 512 * MIB])))
    elif chance < wrong * 1000 + 8:
        return draw(st.sampled_from(BAD_SIZES))
    return notation(draw, size)


def fraction(draw: DrawFn) -> SettingValue:
    """A fraction, seldom one that is none."""
    return draw(st.sampled_from(BAD_FRACTIONS) if draw(maybe(0.04)) else FRACTIONS)


def jvm_settings(draw: DrawFn, prefix: str, flink: int, totals: set[str]) -> Settings:
    """Metaspace, overhead and the total process memory around a total Flink memory."""
    settings: Settings = {}
    metaspace = 256 * MIB
    if draw(maybe(0.4)):
        metaspace = draw(sizes(0, 400))
        settings[f"{prefix}.jvm-metaspace.size"] = written(draw, metaspace)
    least, most = 192 * MIB, 1024 * MIB
    if draw(maybe(0.3)):
        least = draw(sizes(0, 300))
        settings[f"{prefix}.jvm-overhead.min"] = written(draw, least)
    if draw(maybe(0.3)):
        most = max(least, draw(sizes(100, 1500)))
        settings[f"{prefix}.jvm-overhead.max"] = written(draw, most)
    if draw(maybe(0.3)):
        settings[f"{prefix}.jvm-overhead.fraction"] = fraction(draw)
    if "process" in totals:
        overhead = draw(st.one_of(st.integers(least, max(least, most)), st.just(least)))
        settings[f"{prefix}.process.size"] = written(draw, flink + metaspace + overhead)
    return settings


TOTALS = st.sampled_from(
    [{"process"}] * 3
    + [{"flink"}] * 3
    + [{"fine"}] * 3
    + [{"process", "flink"}, {"flink", "fine"}, {"process", "fine"}]
    + [{"process", "flink", "fine"}, set()]
)


def jobmanager(draw: DrawFn, version: str) -> Settings:
    """Options of a JobManager."""
    totals = draw(TOTALS)
    heap, off_heap = draw(sizes(0, 4000)), 128 * MIB
    settings: Settings = {}
    prefix = "jobmanager.memory"
    if draw(maybe(0.4)):
        off_heap = draw(sizes(0, 600))
        settings[f"{prefix}.off-heap.size"] = written(draw, off_heap)
    if "fine" in totals:
        settings[f"{prefix}.heap.size"] = written(draw, heap)
    if "flink" in totals:
        settings[f"{prefix}.flink.size"] = written(draw, heap + off_heap)
    settings |= jvm_settings(draw, prefix, heap + off_heap, totals)
    if draw(maybe(0.2)):
        limits = st.sampled_from([True, False, "true", "TRUE", "false", "yes", 1])
        settings[f"{prefix}.enable-jvm-direct-memory-limit"] = draw(limits)
    return settings | legacy_heap(draw, "jobmanager.heap", version)


def legacy_heap(draw: DrawFn, prefix: str, version: str) -> Settings:
    """The options of Flink 1.9, which mean something up to 1.20."""
    settings: Settings = {}
    chance = 0.3 if version.startswith("1.") else 0.05
    if draw(maybe(chance)):
        settings[f"{prefix}.size"] = written(draw, draw(sizes(500, 4000)))
    if draw(maybe(chance / 2)):
        settings[f"{prefix}.mb"] = draw(st.sampled_from([-1, 0, 1024, "2048", "1g"]))
    return settings


def taskmanager(draw: DrawFn, version: str) -> Settings:
    """Options of a TaskManager."""
    totals = draw(TOTALS)
    prefix = "taskmanager.memory"
    settings: Settings = {}
    parts = {"framework.heap": 128 * MIB, "framework.off-heap": 128 * MIB, "task.off-heap": 0}
    for name in parts:
        if draw(maybe(0.3)):
            parts[name] = draw(sizes(0, 300))
            settings[f"{prefix}.{name}.size"] = written(draw, parts[name])
    heap, managed, network = draw(sizes(0, 2000)), draw(sizes(0, 2000)), draw(sizes(64, 500))
    flink = sum(parts.values()) + heap + managed + network
    if "fine" in totals or draw(maybe(0.1)):
        settings[f"{prefix}.task.heap.size"] = written(draw, heap)
    if "fine" in totals or draw(maybe(0.2)):
        key = draw(st.sampled_from([f"{prefix}.managed.size"] * 4 + [f"{prefix}.size"]))
        settings[key] = written(draw, managed)
    if "flink" in totals:
        settings[f"{prefix}.flink.size"] = written(draw, flink)
    if draw(maybe(0.2)):
        settings[f"{prefix}.managed.fraction"] = fraction(draw)
    settings |= jvm_settings(draw, prefix, flink, totals)
    settings |= network_settings(draw, network, version)
    settings |= legacy_heap(draw, "taskmanager.heap", version)
    return settings | resources(draw)


def network_settings(draw: DrawFn, network: int, version: str) -> Settings:
    """Limits around a size of network memory, under new and old keys, or a number of buffers."""
    settings: Settings = {}
    prefix = draw(
        st.sampled_from(["taskmanager.memory.network"] * 4 + ["taskmanager.network.memory"])
    )
    if draw(maybe(0.2)):
        settings[f"{prefix}.min"] = written(draw, draw(st.sampled_from([0, network // 2, network])))
    if draw(maybe(0.2)):
        settings[f"{prefix}.max"] = written(draw, draw(st.sampled_from([network, 2 * network])))
    if draw(maybe(0.2)):
        settings[f"{prefix}.fraction"] = fraction(draw)
    if draw(maybe(0.25 if version.startswith("1.") else 0.05)):
        buffers = st.one_of(st.integers(0, 20_000), st.sampled_from(["2048", -1, "many"]))
        settings["taskmanager.network.numberOfBuffers"] = draw(buffers)
        if draw(maybe(0.3)):
            segments = ["32kb", 4096, "64 kb", "1mb", "2k", 5000, "2g", "4g"]
            settings["taskmanager.memory.segment-size"] = draw(st.sampled_from(segments))
    return settings


def resources(draw: DrawFn) -> Settings:
    """Slots, CPU cores and external resources."""
    settings: Settings = {}
    if draw(maybe(0.4)):
        slots: list[SettingValue] = [1, 2, 4, "3", 7, "two", "2.0"]
        settings["taskmanager.numberOfTaskSlots"] = draw(st.sampled_from(slots[:5] * 6 + slots[5:]))
    cores: SearchStrategy[SettingValue] = st.one_of(
        st.sampled_from([1, 0.5, "1.5", "2", " 3 ", 1e-9, "1e10", "0.0015", 0.1, 1234567.891]),
        st.floats(1e-4, 1e8),
        st.sampled_from([0, -1.0, "x", "NaN", "Infinity", "-0.0"]),
    )
    if draw(maybe(0.2)):
        settings["taskmanager.cpu.cores"] = draw(cores)
    if draw(maybe(0.2)):
        key = draw(
            st.sampled_from(
                ["kubernetes.taskmanager.cpu.amount"] * 3 + ["kubernetes.taskmanager.cpu"]
            )
        )
        settings[key] = draw(cores)
    if draw(maybe(0.2)):
        names = draw(st.lists(st.sampled_from(["gpu", "fpga", "tpu", "none", "nic-1"]), max_size=4))
        settings["external-resources"] = ";".join(names)
        for name in set(names):
            amounts = st.sampled_from([1, 2, "8", "100000", 0, -1, None, None, "x"])
            amount = draw(amounts)
            if amount is not None:
                settings[f"external-resource.{name}.amount"] = amount
    return settings


@st.composite
def cases(draw: DrawFn, process: Process, version: str) -> Case:
    """Options of one process, some in the file and some on the command line."""
    settings = (jobmanager if process == "jobmanager" else taskmanager)(draw, version)
    case = Case()
    everything_from = draw(st.sampled_from(["file", "-D", "both"]))
    for key, value in settings.items():
        if everything_from == "-D" or (everything_from == "both" and draw(maybe(0.5))):
            case.dynamic[key] = str(value).lower() if isinstance(value, bool) else str(value)
        else:
            case.file[key] = value
    return case
