"""Containers that run kubeflink itself, and addresses of Services in their clients' variables."""

from __future__ import annotations

import sys

import pytest

from kubeflink.local.brokers import is_broker, own_command, reachable, service_addresses
from kubeflink.local.environment import ContainerConfigError
from kubeflink.objects import JsonObject

WORDS = ["kubeflink", "--flink-version", "2.3.0", "broker", "demo", "--port", "8443"]


def service(annotation: str) -> JsonObject:
    return {
        "metadata": {
            "name": "demo-broker",
            "namespace": "flink",
            "annotations": {"kubeflink.io/addresses": annotation},
        },
        "spec": {"ports": [{"name": "api", "port": 8443}, {"name": "metrics", "port": 8080}]},
    }


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({"command": WORDS[:1], "args": WORDS[1:]}, True),
        ({"args": WORDS}, True),
        ({"command": ["kubeflink"], "args": ["demo"]}, False),
        ({"command": ["sh"], "args": ["-c", "kubeflink broker demo"]}, False),
        ({}, False),
    ],
)
def test_which_containers_are_brokers(container: JsonObject, expected: bool) -> None:
    assert is_broker(container) is expected


def test_the_command_is_this_program_on_its_own_ports() -> None:
    command = own_command(WORDS, {"api": 20001, "metrics": 20002})

    assert command[:3] == [sys.executable, "-m", "kubeflink"]
    assert command[-6:] == ["--host", "127.0.0.1", "--port", "20001", "--metrics-port", "20002"]


def test_addresses_of_services() -> None:
    found = service_addresses([service("api=127.0.0.1:30123,metrics=127.0.0.1:30124"), service("")])

    assert found == {
        "demo-broker.flink:8443": "127.0.0.1:30123",
        "demo-broker.flink:8080": "127.0.0.1:30124",
    }


def test_variables_lead_to_this_machine() -> None:
    services = {"demo-broker.flink:8443": "127.0.0.1:30123"}
    variables = {
        "KUBERNETES_MASTER": "https://demo-broker.flink:8443",
        "OTHER": "https://example.org:443 and http://x.y:1/path",
        "PLAIN": "demo-broker.flink:8443",
    }

    assert reachable(variables, services) == {
        **variables,
        "KUBERNETES_MASTER": "https://127.0.0.1:30123",
    }


def test_an_api_server_that_has_no_address_yet_is_waited_for() -> None:
    with pytest.raises(ContainerConfigError, match=r"demo-broker\.flink:8443"):
        reachable({"KUBERNETES_MASTER": "https://demo-broker.flink:8443"}, {})


def test_an_api_server_on_this_machine_is_left_alone() -> None:
    variables = {"KUBERNETES_MASTER": "https://127.0.0.1:20001"}

    assert reachable(variables, {}) == variables
