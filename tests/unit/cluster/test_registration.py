"""TaskManagers of the host network that hold on to a port of the past."""

from __future__ import annotations

import pytest

from kubeflink.cluster.registration import explain_unregistered
from kubeflink.objects import JsonObject

NAME = "demo-taskmanager-1-1"


def pod(name: str, started: str | None, *, args: str = "", host_network: bool = True) -> JsonObject:
    state = {"waiting": {}} if started is None else {"running": {"startedAt": started}}
    return {
        "metadata": {"name": name},
        "spec": {
            "hostNetwork": host_network,
            "containers": [{"name": "flink-main-container", "args": ["bash", "-c", args]}],
        },
        "status": {"containerStatuses": [{"name": "flink-main-container", "state": state}]},
    }


def service(port: int) -> JsonObject:
    return {"spec": {"ports": [{"name": "jobmanager-rpc", "port": 6123, "targetPort": port}]}}


JOBMANAGER = pod("demo-0", "2030-01-01T00:00:10Z")
ARGUMENTS = "kubernetes-taskmanager.sh -Drest.bind-port='0' -Djobmanager.rpc.port='35345' "


def test_the_port_that_is_no_more_is_named_with_the_one_of_today() -> None:
    worker = pod(NAME, "2030-01-01T00:00:00Z", args=ARGUMENTS)

    found = explain_unregistered([worker], [JOBMANAGER], (), service(44831))

    assert list(found) == [NAME]
    assert "on port 35345" in found[NAME].sentence
    assert "now it is on 44831" in found[NAME].sentence
    assert "taskmanager-registration.timeout" in str(found[NAME].hint)


@pytest.mark.parametrize(
    ("host_network", "port"), [(False, 44831), (True, 35345)], ids=["pod network", "same port"]
)
def test_where_the_port_is_still_right_it_only_takes_time(host_network: bool, port: int) -> None:
    worker = pod(NAME, "2030-01-01T00:00:00Z", args=ARGUMENTS, host_network=host_network)

    found = explain_unregistered([worker], [JOBMANAGER], (), service(port))

    assert "heartbeat.timeout" in str(found[NAME].hint)


@pytest.mark.parametrize("started", ["2030-01-01T00:00:11Z", None], ids=["younger", "not yet"])
def test_a_worker_of_todays_jobmanager_is_on_its_way(started: str | None) -> None:
    assert explain_unregistered([pod(NAME, started)], [JOBMANAGER], (), service(1)) == {}


def test_who_has_registered_needs_no_explanation() -> None:
    worker = pod(NAME, "2030-01-01T00:00:00Z")

    assert explain_unregistered([worker], [JOBMANAGER], {NAME}, service(1)) == {}
    assert explain_unregistered([worker], [JOBMANAGER], (), None) == {}
    assert explain_unregistered([worker], [pod("demo-0", None)], (), service(1)) == {}
