"""What `kubectl wait` and `kubectl rollout status` read of a Deployment."""

from __future__ import annotations

import pytest

from kubeflink.local.deployment_status import Counts, deployment_status
from kubeflink.local.deployments import template_hash
from kubeflink.objects import JsonObject

T0 = "2026-01-01T00:00:00Z"
T1 = "2026-01-01T00:05:00Z"
LATE = "2026-01-01T01:00:00Z"
DONE = Counts(wanted=2, existing=2, updated=2, ready=2)
HALF = Counts(wanted=2, existing=2, updated=2, ready=1)


def deployment(status: JsonObject | None = None) -> JsonObject:
    return {
        "metadata": {"name": "d", "generation": 4},
        "spec": {"replicas": 2, "progressDeadlineSeconds": 600},
        "status": status or {},
    }


def condition(status: JsonObject, kind: str) -> JsonObject:
    (found,) = (each for each in status["conditions"] if each["type"] == kind)
    return dict(found)


@pytest.mark.parametrize(("counts", "expected"), [(DONE, "True"), (HALF, "False")])
def test_available(counts: Counts, expected: str) -> None:
    status = deployment_status(deployment(), counts, None, T0)
    assert condition(status, "Available")["status"] == expected


def test_numbers_that_are_zero_are_left_out() -> None:
    status = deployment_status(deployment(), Counts(1, 0, 0, 0), None, T0)
    assert status.keys() == {"observedGeneration", "unavailableReplicas", "conditions"}
    assert status["observedGeneration"] == 4


def test_a_complete_rollout_says_so() -> None:
    status = deployment_status(deployment(), DONE, None, T0)
    assert condition(status, "Progressing")["reason"] == "NewReplicaSetAvailable"


def test_a_rollout_that_does_not_move_misses_its_deadline() -> None:
    first = deployment_status(deployment(), HALF, None, T0)
    soon = deployment_status(deployment(first), HALF, None, T1)
    late = deployment_status(deployment(soon), HALF, None, LATE)
    assert condition(soon, "Progressing")["status"] == "True"
    assert condition(late, "Progressing")["reason"] == "ProgressDeadlineExceeded"
    still = deployment_status(deployment(late), HALF, None, LATE)
    assert condition(still, "Progressing") == condition(late, "Progressing")


def test_a_pod_that_is_lost_after_the_rollout_is_no_late_rollout() -> None:
    done = deployment_status(deployment(), DONE, None, T0)
    lost = deployment_status(deployment(done), HALF, None, LATE)
    assert condition(lost, "Progressing")["reason"] == "ReplicaSetUpdated"


def test_why_no_pod_could_be_created_is_told() -> None:
    status = deployment_status(deployment(), Counts(1, 0, 0, 0), "quota", T0)
    assert condition(status, "ReplicaFailure")["message"] == "quota"


def test_nothing_changes_where_nothing_happens() -> None:
    first = deployment_status(deployment(), DONE, None, T0)
    assert deployment_status(deployment(first), DONE, None, LATE) == first


def test_the_hash_follows_the_template_and_nothing_else() -> None:
    template: JsonObject = {"spec": {"containers": [{"name": "a", "image": "b"}]}}
    one = {"spec": {"replicas": 1, "template": template}}
    same = {
        "spec": {"replicas": 9, "template": {"spec": {"containers": [{"image": "b", "name": "a"}]}}}
    }
    other = {"spec": {"replicas": 1, "template": {"spec": {"containers": []}}}}
    assert template_hash(one) == template_hash(same) != template_hash(other)
