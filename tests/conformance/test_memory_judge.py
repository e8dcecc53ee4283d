"""The memory models against Flink's own, on generated configurations: each size, each refusal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import Phase, given, settings

from kubeflink.config.configuration import Configuration, Entry
from kubeflink.config.memory import (
    JobManagerMemory,
    TaskManagerMemory,
    cluster_specification,
    jobmanager_memory,
    taskmanager_memory,
    worker_memory,
)
from kubeflink.config.versions import FlinkVersion
from kubeflink.errors import ConfigurationError
from support.judge import FlinkJudge, Process, Refusal, ResourceParameters
from support.memory_settings import Case, cases

T = TypeVar("T")

# Together 1,000 configurations and more for each version, two thirds of them with the process that
# has more to go wrong.
START_SCRIPTS: dict[Process, int] = {"jobmanager": 400, "taskmanager": 700}
WORKERS = 200
CLUSTERS = 200

# The first example that differs is shown as it is: making it smaller takes minutes of a JVM.
PHASES = (Phase.explicit, Phase.generate)

LIMIT = "jobmanager.memory.enable-jvm-direct-memory-limit"

MODELS: dict[Process, Callable[[Configuration], JobManagerMemory | TaskManagerMemory]] = {
    "jobmanager": jobmanager_memory,
    "taskmanager": taskmanager_memory,
}


def ours(case: Case, judge: FlinkJudge) -> Configuration:
    entries = {key: Entry(value, "config.yaml") for key, value in case.file.items()}
    entries |= {key: Entry(value, "-D") for key, value in case.dynamic.items()}
    return Configuration(entries, version=FlinkVersion.parse(judge.version))


def theirs(case: Case, judge: FlinkJudge) -> Path:
    # JSON scalars are YAML scalars, so that this file depends on no writer of ours.
    lines = [f"{json.dumps(key)}: {json.dumps(value)}\n" for key, value in case.file.items()]
    return judge.directory({"config.yaml": "".join(lines)})


def parameters(memory: JobManagerMemory | TaskManagerMemory) -> ResourceParameters:
    return ResourceParameters(memory.jvm_arguments(), memory.dynamic_properties())


class Agreement:
    """Compares answers where a refusal is an answer, and counts both kinds."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()

    def check(self, flinks: Callable[[], T], ours: Callable[[], T]) -> None:
        expected, refusal = _answer(flinks, Refusal)
        found, refused = _answer(ours, ConfigurationError)
        assert found == expected, f"{refusal or expected} became {refused or found}"
        self.outcomes["accepted" if refusal is None else "refused"] += 1

    def reached_both(self, least: float) -> bool:
        """Whether each outcome has at least this share; or the examples would prove little."""
        return min(self.outcomes["accepted"], self.outcomes["refused"]) >= (
            least * self.outcomes.total()
        )


def _answer(
    question: Callable[[], T], refusal: type[Exception]
) -> tuple[T | None, Exception | None]:
    try:
        return question(), None
    except refusal as error:
        return None, error


@pytest.mark.parametrize("process", ["jobmanager", "taskmanager"])
def test_the_start_scripts_compute_the_same(flink_judge: FlinkJudge, process: Process) -> None:
    agreement = Agreement()

    @settings(max_examples=START_SCRIPTS[process], phases=PHASES)
    @given(cases(process, flink_judge.version))
    def agree(case: Case) -> None:
        agreement.check(
            lambda: flink_judge.bash_java_utils(process, theirs(case, flink_judge), case.dynamic),
            lambda: parameters(MODELS[process](ours(case, flink_judge))),
        )

    agree()

    assert agreement.reached_both(0.25), agreement.outcomes


def test_the_resource_manager_computes_the_same_worker(flink_judge: FlinkJudge) -> None:
    agreement = Agreement()

    def worker(configuration: Configuration) -> tuple[ResourceParameters, int]:
        memory = worker_memory(configuration)
        return parameters(memory), memory.total_process >> 20

    @settings(max_examples=WORKERS, phases=PHASES)
    @given(cases("taskmanager", flink_judge.version))
    def agree(case: Case) -> None:
        agreement.check(
            lambda: flink_judge.worker(theirs(case, flink_judge), case.dynamic),
            lambda: worker(ours(case, flink_judge)),
        )

    agree()

    assert agreement.reached_both(0.25), agreement.outcomes


def test_the_client_deploys_the_same_totals(flink_judge: FlinkJudge) -> None:
    agreement = Agreement()

    def totals(configuration: Configuration) -> tuple[int, int, int]:
        found = cluster_specification(configuration)
        mebibytes = found.jobmanager.total_process >> 20, found.taskmanager.total_process >> 20
        return *mebibytes, found.taskmanager.slots

    @settings(max_examples=CLUSTERS, phases=PHASES)
    @given(cases("jobmanager", flink_judge.version), cases("taskmanager", flink_judge.version))
    def agree(jobmanager: Case, taskmanager: Case) -> None:
        case = Case(jobmanager.file | taskmanager.file, jobmanager.dynamic | taskmanager.dynamic)
        # Flink's client does not look at this one, so that a wrong value fails in the pod.
        case.file.pop(LIMIT, None)
        case.dynamic.pop(LIMIT, None)
        agreement.check(
            lambda: flink_judge.cluster_specification(theirs(case, flink_judge), case.dynamic),
            lambda: totals(ours(case, flink_judge)),
        )

    agree()

    assert agreement.reached_both(0.2), agreement.outcomes
