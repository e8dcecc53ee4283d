"""What a recorded JobManager writes into Services that this client makes: its ports, no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflink.objects import JsonObject, name_of
from kubeflink.spec import names
from support.objects import Client
from support.recorder import Request
from support.scenarios import Scenario, load_scenarios

_SERVICE = "/services/"
RECORDED = [
    scenario
    for scenario in load_scenarios("jobmanager")
    if any(_SERVICE in request.path and request.method == "PUT" for request in scenario.requests)
]


def written(scenario: Scenario) -> list[Request]:
    """The requests that change Services."""
    return [
        request
        for request in scenario.requests
        if _SERVICE in request.path and request.method not in ("GET", "POST")
    ]


@pytest.mark.parametrize("scenario", RECORDED, ids=lambda scenario: scenario.name)
def test_only_target_ports_are_written(scenario: Scenario, tmp_path: Path) -> None:
    spec = Client(tmp_path, scenario).spec()
    made = {name_of(obj): obj for obj in spec.accompanying if obj["kind"] == "Service"}

    last: dict[str, JsonObject] = {}
    for request in written(scenario):
        assert request.method == "PUT"
        assert request.body is not None
        service = last[name_of(request.body)] = request.body
        assert service["metadata"]["resourceVersion"]
        assert _labels_and_annotations(service) == _labels_and_annotations(made[name_of(service)])
        assert _essence(service) == _essence(made[name_of(service)])

    rest = names.rest_service_name(spec.cluster_id)
    internal = names.internal_service_name(spec.cluster_id)
    assert last.keys() == made.keys() == ({rest, internal} if internal in made else {rest})
    for name, service in last.items():
        before = {port["name"]: port.get("targetPort") for port in made[name]["spec"]["ports"]}
        after = {port["name"]: port["targetPort"] for port in service["spec"]["ports"]}
        assert before.keys() == after.keys()
        assert not any(after[port] in (before[port], 6123, 6124, 8081) for port in after)


def test_recordings_are_there() -> None:
    assert {scenario.version for scenario in RECORDED} >= {"1.18.1", "1.20.5", "2.3.0"}


def _labels_and_annotations(service: JsonObject) -> tuple[JsonObject, JsonObject]:
    metadata = service["metadata"]
    return metadata.get("labels") or {}, metadata.get("annotations") or {}


def _essence(service: JsonObject) -> JsonObject:
    """The spec without target ports, and without what a server fills in."""
    spec = {
        key: value for key, value in service["spec"].items() if key in ("selector", "type", "ports")
    }
    spec["type"] = spec.get("type", "ClusterIP")
    spec["headless"] = service["spec"].get("clusterIP") == "None"
    spec["ports"] = [(port["name"], port["port"]) for port in spec["ports"]]
    return spec
