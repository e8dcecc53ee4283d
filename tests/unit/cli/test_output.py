"""Lines, tables and values that commands print."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import click
import pytest

from kubeflink.cli import describe, flink_jobs, manifest, tables
from kubeflink.cli.manifest import Request
from kubeflink.cli.parameters import Property, Seconds
from kubeflink.cluster.description import ClusterDescription, ClusterSummary, PodSummary
from kubeflink.cluster.diagnosis import Diagnosis
from kubeflink.cluster.rest_view import JobFailure
from kubeflink.errors import UsageError
from kubeflink.rest.models import JobSummary

from .conftest import SIZES, Call


def job(letter: str, state: str, start: datetime) -> JobSummary:
    return JobSummary(
        id=letter * 32, name=f"job {letter}", state=state, start_time=int(start.timestamp() * 1000)
    )


START = datetime(2026, 1, 31, 12, 0, 5)
JOBS = [
    job("b", "RUNNING", START + timedelta(hours=1)),
    job("a", "RESTARTING", START),
    job("c", "CREATED", START),
    job("d", "FAILED", START),
    job("e", "SUSPENDED", START + timedelta(hours=2)),
]

RUNNING = [
    flink_jobs.RUNNING_TITLE,
    f"31.01.2026 12:00:05 : {'a' * 32} : job a (RESTARTING)",
    f"31.01.2026 13:00:05 : {'b' * 32} : job b (RUNNING)",
    f"31.01.2026 14:00:05 : {'e' * 32} : job e (SUSPENDED)",
    flink_jobs.RULE,
]
SCHEDULED = [
    flink_jobs.SCHEDULED_TITLE,
    f"31.01.2026 12:00:05 : {'c' * 32} : job c (CREATED)",
    flink_jobs.RULE,
]
TERMINATED = [
    flink_jobs.TERMINATED_TITLE,
    f"31.01.2026 12:00:05 : {'d' * 32} : job d (FAILED)",
    flink_jobs.RULE,
]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({"r", "s"}, RUNNING + SCHEDULED),
        ({"r"}, RUNNING),
        ({"s"}, SCHEDULED),
        ({"a"}, RUNNING + SCHEDULED + TERMINATED),
    ],
)
def test_jobs_in_flinks_lines(chosen: set[str], expected: list[str]) -> None:
    assert flink_jobs.listing(JOBS, chosen) == expected


def test_no_jobs_in_flinks_lines() -> None:
    assert flink_jobs.listing([], {"a"}) == ["No running jobs.", "No scheduled jobs."]


def test_a_description_names_the_broker_and_its_trouble() -> None:
    summary = ClusterSummary("demo", "x", "session", "flink:2", None, 1, 1, 0, has_broker=True)
    trouble = Diagnosis("image", "Broker pod b: its image cannot be pulled", "Check it")
    pod = PodSummary("b", "broker", "Pending", "n1", 0, trouble)

    text = "\n".join(describe.lines(ClusterDescription(summary, None, (pod,), (trouble,))))

    assert "\nBroker:     demo-broker\n" in text
    (row,) = (line.split() for line in text.splitlines() if line.startswith("b "))
    assert row == ["b", "broker", "Pending", "0", "n1"]
    assert "\nTrouble: Broker pod b: its image cannot be pulled\n  Check it\n" in text


def test_a_description_tells_why_jobs_failed() -> None:
    summary = ClusterSummary("demo", "x", "session", "flink:2", None, 1, 1, 0)
    failures = (JobFailure("1" * 32, "IOException: no space", "Make some"), JobFailure("2", "no"))
    jobs = (JobSummary("1" * 32, "words", "FAILED"),)

    found = ClusterDescription(summary, None, (), jobs=jobs, failures=failures)
    text = "\n".join(describe.lines(found))

    told = f"\n\nJob {'1' * 32} failed: IOException: no space\n  Make some\n\nJob 2 failed: no"
    assert text.endswith(told)


def test_the_rules_have_flinks_width() -> None:
    titles = (
        flink_jobs.RULE,
        flink_jobs.RUNNING_TITLE,
        flink_jobs.SCHEDULED_TITLE,
        flink_jobs.TERMINATED_TITLE,
    )

    assert {len(title) for title in titles} == {62}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-Dk=v"], Request(("-Dk=v",))),
        (["-o", "json", "-Dk=v"], Request(("-Dk=v",), output="json")),
        (["-Dk=v", "--output=json"], Request(("-Dk=v",), output="json")),
        (
            ["--application", "a.jar", "x", "--attempt", "2", "--index", "3", "-o", "json"],
            Request(("a.jar", "x"), "json", "2", "3", application=True),
        ),
        (["a.jar", "--output", "s3://x"], Request(("a.jar", "--output", "s3://x"))),
        (["a.jar", "-o", "json", "x"], Request(("a.jar", "-o", "json", "x"))),
        (["--flink-version", "1.20", "-Dk=v"], Request(("-Dk=v",), flink_version="1.20")),
        ([], Request()),
    ],
)
def test_our_options_stand_at_the_ends(words: list[str], expected: Request) -> None:
    assert manifest.read(words) == expected


def test_an_index_counts_from_one() -> None:
    with pytest.raises(UsageError, match="--index must be a number from 1, not 0"):
        Request(index="0").number("index")


def test_a_session_as_json(call: Call) -> None:
    found = call(
        "manifest", "session", "-Dkubernetes.cluster-id=demo", "-Dkubernetes.namespace=ns",
        *SIZES, "-o", "json",
    )  # fmt: skip
    document = json.loads(found.out)

    assert document["kind"] == "List"
    assert [item["kind"] for item in document["items"]] == [
        "Deployment",
        "Service",
        "Service",
        "ConfigMap",
    ]
    assert {item["metadata"]["namespace"] for item in document["items"]} == {"ns"}


def test_a_session_as_yaml_has_the_same_objects(call: Call) -> None:
    import yaml

    words = ("manifest", "session", "-Dkubernetes.cluster-id=demo", *SIZES)
    as_json = json.loads(call(*words, "-o", "json").out)["items"]
    as_yaml = list(yaml.safe_load_all(call(*words).out))

    assert as_yaml == as_json


def test_a_taskmanager_has_attempt_and_index_in_its_name(call: Call) -> None:
    found = call(
        "manifest", "taskmanager", "-Dkubernetes.cluster-id=demo", *SIZES,
        "--attempt", "3", "--index", "7", "-o", "json",
    )  # fmt: skip

    assert json.loads(found.out)["metadata"]["name"] == "demo-taskmanager-3-7"


def test_a_taskmanager_stands_for_itself(call: Call) -> None:
    """Its namespace is written, and what is not known yet is named, not left empty."""
    import yaml

    found = call(
        "manifest", "taskmanager", "-Dkubernetes.cluster-id=demo", "-Dkubernetes.namespace=ns",
        *SIZES,
    )  # fmt: skip

    metadata = yaml.safe_load(found.out)["metadata"]
    assert metadata["namespace"] == "ns"
    assert [owner["uid"] for owner in metadata["ownerReferences"]] == ["<uid of deployment/demo>"]


@pytest.mark.parametrize(
    ("words", "size"),
    [
        (("session",), "1600Mi"),
        (("application", "-t", "kubernetes-application", "local:///a.jar"), "1600Mi"),
        (("taskmanager",), "1728Mi"),
    ],
)
def test_without_a_configuration_directory_sizes_and_logging_are_flinks_own(
    call: Call, words: tuple[str, ...], size: str
) -> None:
    kind, *program = words
    found = call("manifest", kind, "-o", "json", "-Dkubernetes.cluster-id=demo", *program)

    assert found.code == 0
    assert f'"memory": "{size}"' in found.out
    assert "log4j-console.properties" in found.out


def test_columns_are_aligned() -> None:
    assert tables.table(("NAME", "N"), [("a", "10"), ("longer", "1")]) == [
        "NAME     N",
        "a        10",
        "longer   1",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (119, "119s"), (120, "2m"), (7199, "119m"), (7200, "2h"), (200000, "2d")],
)
def test_durations_as_kubectl_shows_them(seconds: int, text: str) -> None:
    assert tables.duration(seconds) == text
    assert tables.age(datetime.now(UTC) - timedelta(seconds=seconds + 0.5)) == text


def test_results_become_plain_values() -> None:
    plain = tables.plain([job("a", "RUNNING", START)])

    assert plain[0]["jid"] == "a" * 32
    assert json.dumps(plain)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90.0), ("90s", 90.0), ("1.5", 1.5), ("5m", 300.0), ("1h30m", 5400.0), ("2min", 120.0)],
)
def test_durations_of_the_command_line(text: str, seconds: float) -> None:
    assert Seconds().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "soon", "5x", "m", "-1"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(click.BadParameter):
        Seconds().convert(text, None, None)


def test_properties_of_the_command_line() -> None:
    assert Property().convert("a=b=c", None, None) == ("a", "b=c")
    assert Property().convert("a", None, None) == ("a", "true")
    with pytest.raises(click.BadParameter):
        Property().convert("=b", None, None)


def test_an_option_is_explained(call: Call) -> None:
    found = call("options", "kubernetes.container.image")

    assert found.out.startswith("kubernetes.container.image.ref (String)")
    assert "Older names: kubernetes.container.image." in found.out


def test_options_as_json(call: Call) -> None:
    found = call("options", "rest-service.exposed.type", "-o", "json", "--flink-version", "1.18")
    (option,) = json.loads(found.out)

    assert option["key"] == "kubernetes.rest-service.exposed.type"
    assert "NodePort" in option["choices"]


def test_an_option_that_does_not_exist(call: Call) -> None:
    found = call("options", "kubernetes.taskmanager.cpu.amout")

    assert found.code == 2
    assert "Did you mean kubernetes.taskmanager.cpu.amount?" in found.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(call: Call, shell: str) -> None:
    assert "_KUBEFLINK_COMPLETE" in call("completion", shell).out
