"""The memory models against what real JobManagers of all versions were recorded to do."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeflink.config.configuration import Configuration
from kubeflink.config.hash_order import hash_order
from kubeflink.config.memory import cluster_specification, jobmanager_memory, worker_memory
from kubeflink.config.versions import FlinkVersion
from kubeflink.errors import ConfigurationError
from support.scenarios import Scenario, load_scenarios

SCENARIOS = [
    scenario
    for scenario in load_scenarios("jobmanager")
    if scenario.raw["conf_file"] and scenario.raw.get("jobmanager", {}).get("jvm_memory_args")
]


COMPUTED = 10
"""The words of the five memory properties with which the start script begins."""


def configuration(scenario: Scenario) -> Configuration:
    """What client and JobManager had: the file, `-D`, and the container's own arguments."""
    computed = scenario.raw.get("jobmanager", {}).get("program_args", [])
    arguments = [*scenario.args, *computed[COMPUTED:]]
    dynamic = dict(
        word.removeprefix("-D").split("=", 1)
        for word in arguments
        if word.startswith("-D") and "=" in word
    )
    values = flat(scenario.raw["conf_file"]) | dynamic
    return Configuration(version=FlinkVersion.parse(scenario.version)).with_values(values)


def flat(mapping: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in mapping.items():
        if isinstance(value, dict):
            result |= flat(value, f"{prefix}{key}.")
        else:
            result[f"{prefix}{key}"] = value
    return result


def dashed(properties: list[tuple[str, str]]) -> list[str]:
    return [word for key, value in properties for word in ("-D", f"{key}={value}")]


def taskmanager_containers(scenario: Scenario) -> list[dict[str, Any]]:
    return [
        container
        for request in scenario.requests
        if request.method == "POST" and request.path.endswith("/pods") and request.body
        for container in request.body["spec"]["containers"]
        if container["name"] == "flink-main-container"
    ]


def jobmanager_container(scenario: Scenario) -> dict[str, Any] | None:
    for request in scenario.requests:
        if request.method == "POST" and request.path.endswith("/deployments") and request.body:
            containers = request.body["spec"]["template"]["spec"]["containers"]
            (main,) = [each for each in containers if each["name"] == "flink-main-container"]
            return dict(main)
    return None


CLIENTS = [
    scenario
    for scenario in load_scenarios("session", "application")
    if scenario.raw.get("conf_file") and jobmanager_container(scenario)
]


def test_there_are_recordings_of_old_and_new_versions() -> None:
    assert {scenario.version for scenario in SCENARIOS} >= {"1.18.1", "1.20.5", "2.3.0"}
    assert sum(len(taskmanager_containers(scenario)) for scenario in SCENARIOS) > 40


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_jobmanager_gets_what_its_start_script_gave_it(scenario: Scenario) -> None:
    memory = jobmanager_memory(configuration(scenario))

    recorded = scenario.raw["jobmanager"]
    assert " ".join(memory.jvm_arguments()) == recorded["jvm_memory_args"]
    arguments = dashed(memory.dynamic_properties())
    assert recorded["program_args"][: len(arguments)] == arguments


@pytest.mark.parametrize(
    "scenario",
    [scenario for scenario in SCENARIOS if taskmanager_containers(scenario)],
    ids=lambda scenario: scenario.name,
)
def test_the_taskmanagers_get_what_the_resource_manager_gave_them(scenario: Scenario) -> None:
    memory = worker_memory(configuration(scenario))

    for container in taskmanager_containers(scenario):
        environment = {each["name"]: each.get("value") for each in container["env"]}
        assert " ".join(memory.jvm_arguments()) == environment["FLINK_TM_JVM_MEM_OPTS"]
        # The start command stands in one argument of a shell, for which the properties are quoted.
        properties = [f"-D {key}={value}" for key, value in memory.dynamic_properties()]
        assert f" {' '.join(properties)} " in container["args"][-1]
        memory_request = container["resources"]["requests"]["memory"]
        assert memory_request == f"{memory.total_process >> 20}Mi"
        assert float(container["resources"]["requests"]["cpu"]) == memory.cpu_cores


@pytest.mark.parametrize("scenario", CLIENTS, ids=lambda scenario: scenario.name)
def test_the_jobmanagers_container_gets_what_the_client_asked_for(scenario: Scenario) -> None:
    memory = cluster_specification(configuration(scenario)).jobmanager
    container = jobmanager_container(scenario)

    assert container is not None
    requested = container["resources"]["requests"]["memory"]
    assert requested == f"{memory.total_process >> 20}Mi"


@pytest.mark.parametrize(
    "name", ["session-fail-memory-conflict", "session-fail-memory-unit", "session-fail-no-memory"]
)
def test_what_the_client_refused_is_refused(name: str) -> None:
    (scenario,) = [each for each in load_scenarios("session") if each.raw["id"] == name]

    with pytest.raises(ConfigurationError):
        cluster_specification(configuration(scenario))


def test_external_resources_keep_their_quotes_from_the_shell() -> None:
    settings = {
        "taskmanager.memory.process.size": "1728m",
        "external-resources": "gpu;fpga",
        "external-resource.gpu.amount": 2,
        "external-resource.fpga.amount": 1,
    }
    properties = dict(worker_memory(Configuration().with_values(settings)).dynamic_properties())

    assert shlex.split(properties["external-resources"]) == [";".join(hash_order(["gpu", "fpga"]))]


@given(st.lists(st.text(), max_size=40, unique=True))
def test_the_order_of_a_hash_map_loses_nothing(keys: list[str]) -> None:
    assert sorted(hash_order(keys)) == sorted(keys)
