"""The pods that a broker makes are those of Flink's own driver, for every recorded request.

Each pod that a real JobManager posted goes through the broker's policy and comes out of its
blueprint, which knows only what a broker knows: the cluster's ConfigMaps and its Deployment.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubeflink import objects
from kubeflink.broker.blueprint import Blueprint
from kubeflink.broker.policy import Policy, left_out
from kubeflink.config.versions import FlinkVersion
from kubeflink.objects import JsonObject
from kubeflink.spec.broker import ENV_KUBECONFIG, ENV_MASTER
from support.agreement import differences, normal_form
from support.broker import blueprint_of
from support.objects import Client, bodies
from support.scenarios import Scenario, load_scenarios

SCENARIOS = [each for each in load_scenarios("jobmanager") if bodies(each, "Pod")]
UID = "the-uid-of-the-deployment"

OWN_DIFFERENCES = (
    ".spec.automountServiceAccountToken",
    f".env.{ENV_KUBECONFIG}",
    f".env.{ENV_MASTER}",
    ".volumeMounts./opt/kubeflink/broker",
    ".volumes.kubeflink-broker-volume",
)
"""No token; and with high availability the way to the broker (docs/deviations.md)."""


def blueprint(scenario: Scenario, directory: Path) -> tuple[Client, Blueprint]:
    """What a broker reads of the scenario's cluster, when its client has deployed it."""
    client = Client(directory, scenario)
    spec = client.spec()
    metadata = {**spec.deployment["metadata"], "uid": UID}
    deployment = {**spec.deployment, "metadata": metadata}
    version = FlinkVersion.parse(scenario.version)
    return client, blueprint_of(spec, deployment, directory, version)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_pods_are_those_of_flinks_driver(scenario: Scenario, tmp_path: Path) -> None:
    client, known = blueprint(scenario, tmp_path)
    policy = Policy(known.cluster_id, known.namespace, known.worker)

    for recorded in bodies(scenario, "Pod"):
        request = json.loads(json.dumps(recorded))
        request["metadata"]["ownerReferences"][0]["uid"] = UID

        pod = known.pod(policy.worker(request).requested)

        assert list(left_out(request, client.recorded(pod))) == []
        assert [
            f"{path} is {seen!r}, expected {expected!r}"
            for path, expected, seen in _differences(recorded, client.recorded(pod), known)
            if not path.endswith(OWN_DIFFERENCES)
        ] == []
        assert objects.owner_uids(pod) == {UID}


def test_recordings_are_there() -> None:
    """Of the oldest and the newest interface of the Kubernetes client in Flink, and between."""
    versions = {scenario.version for scenario in SCENARIOS}

    assert {"1.18.1", "1.20.5", "2.3.0"} <= versions
    assert sum(len(bodies(scenario, "Pod")) for scenario in SCENARIOS) > 100


def _differences(
    recorded: JsonObject, built: JsonObject, known: Blueprint
) -> list[tuple[str, object, object]]:
    left, right = normal_form(recorded, known.namespace), normal_form(built, known.namespace)
    return list(differences(left, right, f"Pod {recorded['metadata']['name']}:"))
