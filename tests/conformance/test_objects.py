"""The objects are Flink's: each recorded one, of all eight versions, built in this process.

`test_commands` puts the same scenarios through the command line, with requests, order and failures.
This is the same comparison of objects, without processes and servers: it takes seconds, and it says
which object is wrong where.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kubeflink.errors import KubeflinkError
from kubeflink.objects import JsonObject, owner_reference
from support.agreement import configured, conflicting_keys, differences, normal_form
from support.objects import Client, bodies
from support.scenarios import Scenario, load_scenarios

CLIENTS = [each for each in load_scenarios("session", "application") if bodies(each)]
TASKMANAGERS = [each for each in load_scenarios("jobmanager") if bodies(each, "Pod")]

CLUSTER_ID = "kubernetes.cluster-id"

REFUSED = {
    "session-cluster-id-invalid": "kubernetes.cluster-id 'My_Cluster' is no name for a cluster",
    "session-key-conflict": "cannot be set together",
    "session-values-types": "cannot be set together",
    "app-local-file": "is a file of this machine",
}
"""What is refused although Flink deployed it, with the reason (docs/deviations.md)."""


def named(scenario: Scenario) -> str:
    return scenario.name


@pytest.mark.parametrize("scenario", CLIENTS, ids=named)
def test_objects_are_those_of_flinks_client(scenario: Scenario, tmp_path: Path) -> None:
    client = Client(tmp_path, scenario)
    if reason := REFUSED.get(scenario.raw["id"]):
        with pytest.raises(KubeflinkError, match=re.escape(reason)):
            client.spec()
        return

    spec = client.spec()

    generated = spec.cluster_id.removeprefix("flink-cluster-")
    recorded = [
        json.loads(re.sub(r"\$\{HEX\d+\}", generated, json.dumps(b))) for b in bodies(scenario)
    ]
    built = [client.recorded(obj) for obj in _owned(spec.deployment, *spec.accompanying)]
    if scenario.exit_code:
        # The recording ends where it failed: what came later was never sent.
        built = built[: len(recorded)]
    free = conflicting_keys(scenario, configured(scenario))
    assert [_kind_and_name(obj) for obj in built] == [_kind_and_name(obj) for obj in recorded]
    assert [
        f"{path} is {seen!r}, expected {expected!r}"
        for left, right in zip(recorded, built, strict=True)
        for path, expected, seen in _differences(left, right, spec.namespace)
        if not any(key in path for key in free)
    ] == []


@pytest.mark.parametrize("scenario", TASKMANAGERS, ids=named)
def test_taskmanager_pods_are_those_of_flinks_driver(scenario: Scenario, tmp_path: Path) -> None:
    client = Client(tmp_path, scenario)

    for recorded in bodies(scenario, "Pod"):
        built = client.pod(recorded["metadata"]["name"])

        host_network = recorded["spec"]["hostNetwork"]
        assert [
            f"{path} is {seen!r}, expected {expected!r}"
            for path, expected, seen in _differences(recorded, built, "default")
            if not _known_only_at_run_time(path, host_network)
        ] == []


def test_all_kinds_of_recordings_are_there() -> None:
    """A corpus that was not found would make everything green."""
    assert len({scenario.version for scenario in CLIENTS}) == 8
    assert len(CLIENTS) > 180
    assert len(TASKMANAGERS) > 50


def _owned(deployment: JsonObject, *accompanying: JsonObject) -> list[JsonObject]:
    """The objects with the owner that they have once the Deployment is created."""
    created = {**deployment, "metadata": {**deployment["metadata"], "uid": "any"}}
    owner = [owner_reference(created)]
    return [
        deployment,
        *({**o, "metadata": {**o["metadata"], "ownerReferences": owner}} for o in accompanying),
    ]


def _kind_and_name(obj: JsonObject) -> tuple[str, str]:
    return obj["kind"], obj["metadata"]["name"]


def _differences(
    recorded: JsonObject, built: JsonObject, namespace: str
) -> list[tuple[str, object, object]]:
    left, right = normal_form(recorded, namespace), normal_form(built, namespace)
    if recorded["kind"] == "Deployment":
        _accept_written_restart_policy(left, right)
    return list(differences(left, right, f"{recorded['kind']} {recorded['metadata']['name']}:"))


def _accept_written_restart_policy(recorded: JsonObject, built: JsonObject) -> None:
    """`Always` may stand where a template has another policy (docs/deviations.md)."""
    if "restartPolicy" in recorded["spec"]["template"]["spec"]:
        recorded["spec"]["template"]["spec"]["restartPolicy"] = "Always"


def _known_only_at_run_time(path: str, host_network: bool) -> bool:
    """The address of a JobManager with HA, and its ports with host network."""
    name = path.rpartition(".properties.")[2]
    addresses = ("jobmanager.rpc.address", "rest.address")
    ports = ("jobmanager.rpc.port", "blob.server.port")
    return name in addresses or (host_network and name in ports)
