"""What the memory models refuse and say, and the old options; the sizes are judged elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kubeflink.config.configuration import Configuration
from kubeflink.config.memory import (
    cluster_specification,
    jobmanager_memory,
    taskmanager_memory,
    worker_memory,
)
from kubeflink.config.memory.sizes import readable, scaled, single_precision
from kubeflink.config.versions import FlinkVersion
from kubeflink.errors import ConfigurationError

MIB = 1 << 20
BOTH = {"jobmanager.memory.process.size": "1600m", "taskmanager.memory.process.size": "1728m"}


def configuration(values: Mapping[str, Any], version: str = "2.3") -> Configuration:
    return Configuration(version=FlinkVersion.parse(version)).with_values(values)


def test_the_parts_of_a_jobmanager_add_up() -> None:
    memory = jobmanager_memory(configuration({"jobmanager.memory.process.size": "1600m"}))

    assert memory.heap == 1024 * MIB
    assert memory.overhead == 192 * MIB
    assert memory.total_flink == 1152 * MIB
    assert memory.total_process == 1600 * MIB
    assert not any("Direct" in argument for argument in memory.jvm_arguments())


def test_the_limit_of_direct_memory_is_the_off_heap_memory() -> None:
    settings = {
        "jobmanager.memory.heap.size": "1g",
        "jobmanager.memory.off-heap.size": "100m",
        "jobmanager.memory.enable-jvm-direct-memory-limit": "true",
    }

    arguments = jobmanager_memory(configuration(settings)).jvm_arguments()

    assert f"-XX:MaxDirectMemorySize={100 * MIB}" in arguments


def test_the_off_heap_memory_gives_way_to_heap_and_total() -> None:
    settings = {"jobmanager.memory.heap.size": "1g", "jobmanager.memory.flink.size": "1100m"}

    assert jobmanager_memory(configuration(settings)).off_heap == 76 * MIB


def test_the_parts_of_a_taskmanager_add_up() -> None:
    memory = taskmanager_memory(configuration({"taskmanager.memory.process.size": "1728m"}))

    # A tenth as a float is a little more than a tenth.
    assert memory.flink.network == 128 * MIB + 2
    assert memory.flink.direct == memory.flink.network + 128 * MIB
    assert memory.total_flink == 1280 * MIB
    assert memory.total_process == 1728 * MIB


@pytest.mark.parametrize(
    ("settings", "named", "hinted"),
    [
        ({}, "jobmanager.memory.process.size", "jobmanager.memory.flink.size"),
        (
            {"jobmanager.memory.process.size": "400m"},
            "jobmanager.memory.process.size",
            "jvm-metaspace",
        ),
        (
            {"jobmanager.memory.flink.size": "128m"},
            "jobmanager.memory.off-heap.size",
            "jobmanager.memory.flink.size",
        ),
        (
            {"jobmanager.memory.heap.size": "2g", "jobmanager.memory.flink.size": "1g"},
            "jobmanager.memory.flink.size",
            "only one",
        ),
        (
            {"jobmanager.memory.flink.size": "1g", "jobmanager.memory.process.size": "1g"},
            "jobmanager.memory.process.size",
            "jobmanager.memory.flink.size",
        ),
        (
            {"jobmanager.memory.flink.size": "1g", "jobmanager.memory.process.size": "9g"},
            "jobmanager.memory.process.size",
            "overhead.max",
        ),
    ],
)
def test_a_refusal_names_the_option_and_the_way_out(
    settings: dict[str, str], named: str, hinted: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        jobmanager_memory(configuration(settings))

    assert refused.value.option == named
    assert hinted in (refused.value.hint or "")
    assert len(str(refused.value).splitlines()) <= 3


def test_limits_that_contradict_are_refused() -> None:
    settings = BOTH | {
        "taskmanager.memory.network.min": "2g",
        "taskmanager.memory.network.max": "1g",
    }

    with pytest.raises(ConfigurationError, match=r"network\.min .2 GiB. is above .*network\.max"):
        taskmanager_memory(configuration(settings))


def test_more_parts_than_memory_are_listed_with_their_sizes() -> None:
    settings = {
        "taskmanager.memory.flink.size": "1g",
        "taskmanager.memory.managed.size": "900m",
    }

    with pytest.raises(ConfigurationError, match="managed 900 MiB"):
        taskmanager_memory(configuration(settings))


@pytest.mark.parametrize("cores", ["0", "-1", "NaN", "Infinity"])
def test_cores_must_be_positive(cores: str) -> None:
    with pytest.raises(ConfigurationError, match="positive number of CPU cores"):
        worker_memory(configuration(BOTH | {"taskmanager.cpu.cores": cores}))


@pytest.mark.parametrize(
    ("settings", "cores"),
    [
        ({}, 1.0),
        ({"taskmanager.numberOfTaskSlots": 3}, 3.0),
        ({"kubernetes.taskmanager.cpu.amount": 1.5, "taskmanager.numberOfTaskSlots": 3}, 1.5),
        ({"kubernetes.taskmanager.cpu": "0.0015"}, 0.0015),
        (
            {"kubernetes.taskmanager.cpu.amount": 2, "taskmanager.cpu.cores": 0.123456789},
            0.12345678,
        ),
    ],
)
def test_a_worker_has_cores_from_three_places(settings: dict[str, Any], cores: float) -> None:
    assert worker_memory(configuration(BOTH | settings)).cpu_cores == cores


def test_the_old_heap_option_means_the_container_to_a_client_and_the_heap_to_the_script() -> None:
    old = configuration({"jobmanager.heap.size": "1600m", "taskmanager.heap.size": "1728m"}, "1.20")

    assert cluster_specification(old).jobmanager.total_process == 1600 * MIB
    assert cluster_specification(old).taskmanager.total_process == 1728 * MIB
    assert jobmanager_memory(old).heap == 1600 * MIB
    assert taskmanager_memory(old).total_flink == 1728 * MIB
    assert worker_memory(old).total_process == 1728 * MIB


def test_the_old_heap_options_are_gone_in_newer_versions() -> None:
    new = configuration({"jobmanager.heap.size": "1600m", "jobmanager.heap.mb": 1600}, "2.0")

    with pytest.raises(ConfigurationError, match="not configured"):
        jobmanager_memory(new, environ={"FLINK_JM_HEAP": "1600m"})


def test_the_environment_comes_before_the_old_options_and_after_the_new_ones() -> None:
    old = configuration({"jobmanager.heap.size": "1g", "jobmanager.heap.mb": 1}, "1.19")
    environ = {"FLINK_JM_HEAP": "2g"}

    assert jobmanager_memory(old, environ=environ).heap == 2048 * MIB
    assert jobmanager_memory(old).heap == 1024 * MIB
    new = old.with_values({"jobmanager.memory.heap.size": "3g"})
    assert jobmanager_memory(new, environ=environ).heap == 3072 * MIB
    with pytest.raises(ConfigurationError, match="FLINK_JM_HEAP"):
        jobmanager_memory(old, environ={"FLINK_JM_HEAP": "much"})


def test_network_memory_was_once_a_number_of_buffers() -> None:
    settings = {"taskmanager.memory.flink.size": "2g", "taskmanager.network.numberOfBuffers": 1024}

    assert taskmanager_memory(configuration(settings, "1.20")).flink.network == 32 * MIB
    assert taskmanager_memory(configuration(settings, "2.0")).flink.network > 200 * MIB
    newer = settings | {"taskmanager.memory.network.max": "100m"}
    assert taskmanager_memory(configuration(newer, "1.20")).flink.network == 100 * MIB


def test_sizes_beyond_64_bits_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="64 bits"):
        scaled(2**62, 2.5)
    settings = {"jobmanager.memory.heap.size": "8388607t"}
    with pytest.raises(ConfigurationError, match="64 bits"):
        jobmanager_memory(configuration(settings | {"jobmanager.memory.off-heap.size": "8388607t"}))


def test_fractions_have_the_precision_of_a_java_float() -> None:
    assert single_precision(0.1) == 0.10000000149011612
    assert single_precision(1e39) == float("inf")


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (2048, "2 KiB"),
        (1600 * MIB, "1.6 GiB (1677721600 bytes)"),
        (128 * MIB, "128 MiB"),
        (128 * MIB + 2, "128.0 MiB (134217730 bytes)"),
    ],
)
def test_sizes_in_messages_are_exact(size: int, text: str) -> None:
    assert readable(size) == text


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("jobmanager.memory.enable-jvm-direct-memory-limit", "yes"),
        ("taskmanager.numberOfTaskSlots", "0"),
    ],
)
def test_what_would_fail_in_a_pod_is_refused_before_deploying(key: str, value: str) -> None:
    settings = BOTH | {"taskmanager.cpu.cores": "1", key: value}

    with pytest.raises(ConfigurationError, match=key):
        cluster_specification(configuration(settings))
