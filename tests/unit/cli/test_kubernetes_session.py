"""`kubernetes-session` against an API server that records."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeflink.cli import kubernetes_session
from support.recorder import Fault, RecordingServer, Target

from .conftest import SIZES, Call

ID = "-Dkubernetes.cluster-id=demo"
ATTACHED = "-Dexecution.attached=true"

DEPLOYMENT = Target("deployments", "default", "demo")


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A file that is standard input; what a test writes to it is typed."""
    path = tmp_path / "typed"
    path.touch()
    with path.open(encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        yield path


def mutations(server: RecordingServer) -> list[tuple[str, str]]:
    return [(each.method, each.path) for each in server.requests if each.mutating]


def test_it_returns_when_everything_is_deployed(call: Call, server: RecordingServer) -> None:
    found = call("kubernetes-session", ID, *SIZES)

    assert found.code == 0
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO  "
        r"org\.apache\.flink\.kubernetes\.KubernetesClusterDescriptor +\[\] - "
        r"Create flink session cluster demo successfully, "
        r"JobManager Web Interface: http://demo-rest\.default:8081\n",
        found.out,
    )


def test_a_cluster_that_is_there_is_retrieved(call: Call, server: RecordingServer) -> None:
    call("kubernetes-session", ID, *SIZES)
    before = len(mutations(server))
    found = call("kubernetes-session", ID, *SIZES)

    assert found.code == 0
    assert "Retrieve flink cluster demo successfully" in found.out
    assert len(mutations(server)) == before


def test_without_a_configuration_directory_it_is_as_with_flinks_own(
    call: Call, server: RecordingServer
) -> None:
    found = call("kubernetes-session", ID)

    assert found.code == 0
    assert "FLINK_CONF_DIR is not set" in found.err
    assert "will log nothing" not in found.err
    deployment = server.objects.by_target[DEPLOYMENT]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["memory"] == "1600Mi"
    files = server.objects.by_target[Target("configmaps", "default", "flink-config-demo")]["data"]
    assert set(files) == {"config.yaml", "log4j-console.properties"}
    assert "1728m" in files["config.yaml"]


def test_a_configuration_directory_without_sizes_is_refused_as_by_flink(
    call: Call, server: RecordingServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config.yaml").write_text("parallelism.default: 2\n", encoding="utf-8")
    monkeypatch.setenv("FLINK_CONF_DIR", str(tmp_path))
    found = call("kubernetes-session", ID)

    assert found.code == 2
    assert "the memory of the JobManager is not configured" in found.err
    assert server.requests == []


def test_the_namespace_is_flinks_and_the_difference_is_said(
    call: Call, server: RecordingServer
) -> None:
    found = call("kubernetes-session", ID, "-Dkubernetes.context=other", *SIZES)

    assert found.code == 0
    assert DEPLOYMENT in server.objects.by_target
    assert "-Dkubernetes.namespace=ctx-ns chooses that one" in found.err


def test_what_the_api_server_warns_of_is_shown_once(call: Call, server: RecordingServer) -> None:
    text = f"would violate PodSecurity {uuid.uuid4()}"
    server.warnings = [f'299 - "{text}", 299 - "{text}"', "nonsense"]

    found = call("kubernetes-session", ID, *SIZES)

    assert found.code == 0
    assert [line for line in found.err.splitlines() if text in line] == [
        f"kubeflink: Warning: {text}"
    ]


def test_help_then_stop(call: Call, server: RecordingServer, typed: Path) -> None:
    typed.write_text("help\nnonsense\nstop\nquit\n", encoding="utf-8")
    found = call("kubernetes-session", ID, ATTACHED, *SIZES)

    assert found.code == 0
    assert found.err.count(kubernetes_session.HELP) == 2
    assert "Unknown command 'nonsense'. Showing help:" in found.err
    assert server.objects.by_target == {}


@pytest.mark.parametrize("text", ["help\nquit\n", "help\n", ""])
def test_the_cluster_outlives_the_attachment(
    call: Call, server: RecordingServer, typed: Path, text: str
) -> None:
    typed.write_text(text, encoding="utf-8")
    found = call("kubernetes-session", ID, ATTACHED, *SIZES)

    assert found.code == 0
    assert "Unknown command" not in found.err
    assert DEPLOYMENT in server.objects.by_target


@pytest.mark.parametrize("word", ["stop", "quit"])
def test_a_pipe_that_begins_with_the_end_deploys_nothing(
    call: Call, server: RecordingServer, typed: Path, word: str
) -> None:
    typed.write_text(f"{word}\n", encoding="utf-8")
    found = call("kubernetes-session", ID, ATTACHED, *SIZES)

    assert found.code == 4
    assert found.err.splitlines()[-1] == "kubeflink: No Flink cluster demo in namespace default"
    assert mutations(server) == []


def test_such_a_pipe_stops_a_cluster_that_is_there(
    call: Call,
    server: RecordingServer,
    typed: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Without what it takes to deploy one: sizes, files, words about them."""
    call("kubernetes-session", ID, *SIZES)
    (tmp_path / "config.yaml").write_text("parallelism.default: 2\n", encoding="utf-8")
    monkeypatch.setenv("FLINK_CONF_DIR", str(tmp_path))
    typed.write_text("stop\n", encoding="utf-8")
    found = call(
        "kubernetes-session", ID, ATTACHED, "-Dkubernetes.pod-template-file.default=/gone.yaml"
    )

    assert found.code == 0
    assert server.objects.by_target == {}
    assert "will log nothing" not in found.err


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_reader_that_has_found_its_line_ends_nothing(
    call: Call,
    server: RecordingServer,
    typed: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    """`kubernetes-session ... | grep -q successfully`, with `set -o pipefail`."""
    typed.write_text("help\nstop\n", encoding="utf-8")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as unread:
        monkeypatch.setattr(sys, name, unread)
        found = call("kubernetes-session", ID, ATTACHED, *SIZES)

    assert found.code == 0
    assert ("DELETE", "/apis/apps/v1/namespaces/default/deployments/demo") in mutations(server)


def test_without_standard_input(
    call: Call, server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stdin", closed)
    found = call("kubernetes-session", ID, ATTACHED, *SIZES)

    assert found.code == 0
    assert DEPLOYMENT in server.objects.by_target


def test_help_deploys_nothing(call: Call, server: RecordingServer) -> None:
    found = call("kubernetes-session", ID, "-h")

    assert found.code == 0
    assert found.out.startswith("Usage:")
    assert server.requests == []


def test_an_address_that_cannot_be_read_is_no_failure(call: Call, server: RecordingServer) -> None:
    found_missing = Fault("GET", "/services/demo-rest$", 404, "NotFound", times=1)
    refused = Fault("GET", "/services/demo-rest$", 403, "Forbidden", "not you", times=9)
    server.faults += [found_missing, refused]
    found = call("kubernetes-session", ID, *SIZES)

    assert found.code == 0
    assert "but its address cannot be found out" in found.err
    assert DEPLOYMENT in server.objects.by_target


def test_a_retry_after_lost_creations_makes_one_cluster(
    call: Call, server: RecordingServer
) -> None:
    server.faults.append(Fault("POST", "/deployments$", 503, times=2))
    found = call("kubernetes-session", ID, *SIZES)

    assert found.code == 0
    made = [each for each in server.requests if each.created_uid and "deployments" in each.path]
    assert len(made) == 1


def test_an_application_that_exists(call: Call, server: RecordingServer) -> None:
    words = ("run", "-t", "kubernetes-application", ID, *SIZES, "local:///a.jar", "x")
    assert call(*words).code == 0
    before = server.objects.snapshot()
    found = call(*words)

    assert found.code == 1
    assert "demo exists already in namespace default" in found.err
    assert server.objects.by_target == before


@pytest.mark.parametrize("words", [("kubernetes-session", ID), ("session", "start", "demo")])
@pytest.mark.parametrize("embedded", [True, False], ids=["embedded", "containers"])
def test_what_is_true_of_containers_is_said_where_pods_are_containers(
    call: Call,
    server: RecordingServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: tuple[str, ...],
    embedded: bool,
) -> None:
    """Pods of the embedded Kubernetes share this machine's files, and log to the console."""
    monkeypatch.setenv("FLINK_CONF_DIR", str(tmp_path))
    (tmp_path / "config.yaml").write_text("state.savepoints.dir: file:///s\n", encoding="utf-8")
    if embedded:
        kubeconfig = json.loads(server.kubeconfig())
        extension = {"name": "kubeflink.io/embedded", "extension": {"pods": "processes"}}
        kubeconfig["clusters"][0]["cluster"]["extensions"] = [extension]
        (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig), encoding="utf-8")
    own = (
        ("--no-preflight", "--no-wait", "--conf-dir", str(tmp_path))
        if words[0] == "session"
        else ()
    )

    found = call(*words, *own, *SIZES)

    assert found.code == 0, found.err
    assert ("is a directory of each pod without a volume" in found.err) is not embedded
    if not own:
        assert ("the pods will log nothing" in found.err) is not embedded
