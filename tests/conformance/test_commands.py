"""Every recorded scenario of real Flink, run through the command line in this process's forks.

A scenario that real Flink completed must give the same objects here; see `support.agreement`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.agreement import disagreements, pod_disagreements
from support.command_line import ForkingServer
from support.recorder import Request
from support.scenarios import Scenario, call, load_scenarios, prepared

CLIENT = load_scenarios("session", "application")
JOBMANAGER = load_scenarios("jobmanager")


@pytest.fixture(scope="module")
def server() -> Iterator[ForkingServer]:
    with ForkingServer() as running:
        yield running


def name(scenario: Scenario) -> str:
    return scenario.name


@pytest.mark.parametrize("scenario", CLIENT, ids=name)
def test_the_client_does_what_flinks_client_did(scenario: Scenario, server: ForkingServer) -> None:
    prefix = ["kubernetes-session"] if scenario.mode == "session" else []
    with prepared(scenario) as sandbox:
        for prior in scenario.raw.get("prior_runs", ()):
            run = call(server, sandbox, prefix + prior["args"], prior.get("stdin"))
            assert run.exit_code == prior["exit_code"], run.stderr
        run = call(server, sandbox, prefix + scenario.args, scenario.raw.get("stdin"))

    assert disagreements(scenario, run) == []


def pods(scenario: Scenario) -> dict[str, Request]:
    """The TaskManager pods that the JobManager asked for, by name."""
    return {
        request.body["metadata"]["name"]: request
        for request in reversed(scenario.requests)
        if request.method == "POST" and request.path.endswith("/pods")
    }


@pytest.mark.parametrize("scenario", [each for each in JOBMANAGER if pods(each)], ids=name)
def test_the_taskmanager_pods_are_those_that_the_jobmanager_made(
    scenario: Scenario, server: ForkingServer
) -> None:
    args = scenario.args
    if scenario.raw.get("deployed_by") == "application":
        args = ["--application", *args[1:]]
    with prepared(scenario) as sandbox:
        for pod, request in pods(scenario).items():
            attempt, index = pod.rsplit("-", 2)[1:]
            numbers = ["--attempt", attempt, "--index", index, "-o", "json"]
            run = call(server, sandbox, ["manifest", "taskmanager", *args, *numbers])

            assert pod_disagreements(request, run) == [], pod


def test_there_are_scenarios() -> None:
    """An empty directory must not look like agreement."""
    assert len(CLIENT) > 200
    assert len(JOBMANAGER) > 50
