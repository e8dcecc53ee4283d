"""The status that a pod's containers add up to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubeflink.local.pod_status import (
    ContainerView,
    phase,
    pod_status,
    terminated,
    unschedulable,
    view_of_status,
)
from kubeflink.objects import JsonObject

NEW = ContainerView("c", "image")
RUNNING = NEW.runs("2026-01-01T00:00:00Z", "process://1")
READY = replace(RUNNING, ready=True)
CRASHING = replace(NEW, restarts=2).waits("CrashLoopBackOff", "back-off")


def ended(code: int, log: str = "") -> ContainerView:
    return RUNNING.ended(terminated(code, "t0", "t1", "process://1", log))


@pytest.mark.parametrize(
    ("policy", "views", "expected"),
    [
        ("Always", [NEW], "Pending"),
        ("Always", [NEW.waits("ErrImagePull")], "Pending"),
        ("Always", [RUNNING], "Running"),
        ("Always", [RUNNING, NEW], "Running"),
        ("Always", [CRASHING], "Running"),
        ("Always", [ended(0)], "Running"),
        ("Never", [ended(0)], "Succeeded"),
        ("Never", [ended(1)], "Failed"),
        ("Never", [ended(0), ended(137)], "Failed"),
        ("Never", [ended(1), RUNNING], "Running"),
        ("OnFailure", [ended(0), ended(0)], "Succeeded"),
        ("OnFailure", [ended(1)], "Running"),
    ],
)
def test_phase(policy: str, views: list[ContainerView], expected: str) -> None:
    assert phase(policy, True, views) == expected


def test_a_pod_whose_init_containers_run_is_pending() -> None:
    assert phase("Always", False, [RUNNING]) == "Pending"


@pytest.mark.parametrize(
    ("code", "log", "reason", "signal"),
    [
        (0, "", "Completed", None),
        (1, "boom", "Error", None),
        (137, "", "Error", 9),
        (143, "", "Error", 15),
        (3, "java.lang.OutOfMemoryError: Metaspace", "OOMKilled", None),
        (0, "java.lang.OutOfMemoryError that was handled", "Completed", None),
    ],
)
def test_reasons_of_an_end(code: int, log: str, reason: str, signal: int | None) -> None:
    state = terminated(code, "t0", "t1", "process://1", log)
    assert (state["reason"], state.get("signal")) == (reason, signal)
    assert state.get("message") == (log if code and log else None)


def conditions(status: JsonObject) -> dict[str, str]:
    return {each["type"]: each["status"] for each in status["conditions"]}


def make_status(pod: JsonObject, views: list[ContainerView], now: str = "now") -> JsonObject:
    return pod_status(pod, now=now, initialized=True, init_views=[], views=views)


POD: JsonObject = {"metadata": {"name": "p"}, "spec": {"restartPolicy": "Always"}}


def test_flink_recognises_its_pods_by_the_condition_pod_scheduled() -> None:
    assert conditions(make_status(POD, [NEW]))["PodScheduled"] == "True"


def test_a_pod_is_ready_when_all_its_containers_are() -> None:
    assert conditions(make_status(POD, [READY, RUNNING]))["Ready"] == "False"
    assert conditions(make_status(POD, [READY, READY]))["Ready"] == "True"


def test_a_condition_keeps_the_time_of_its_last_change() -> None:
    first = make_status(POD, [RUNNING], "t1")
    second = make_status({**POD, "status": first}, [READY], "t2")
    times = {each["type"]: each["lastTransitionTime"] for each in second["conditions"]}
    assert (times["PodScheduled"], times["Ready"]) == ("t1", "t2")
    assert second["startTime"] == "t1"


def test_a_pod_that_fits_nowhere_says_why() -> None:
    (condition,) = unschedulable(POD, "now", "0/1 nodes")["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "False")
    assert (condition["reason"], condition["message"]) == ("Unschedulable", "0/1 nodes")


def test_a_status_that_was_written_is_read_back() -> None:
    view = replace(READY, restarts=3, last_state={"terminated": {"exitCode": 1}})
    assert view_of_status({"name": "c", "image": "image"}, [view.as_status()]) == view


def test_a_container_that_was_never_told_of_is_new() -> None:
    assert view_of_status({"name": "c", "image": "image"}, []) == NEW
