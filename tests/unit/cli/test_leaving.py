"""A signal that comes when all is deployed leaves the cluster, and its name is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.recorder import RecordingServer

from .conftest import SIZES, Call

TIMEOUT = 60.0
NAMED = ("-Dkubernetes.cluster-id=demo", *SIZES)
WITHOUT_ADDRESS = "-Dkubernetes.rest-service.exposed.type=LoadBalancer"
APPLICATION = ("run", "-t", "kubernetes-application", *NAMED, WITHOUT_ADDRESS, "local:///a.jar")


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer() as running:
        yield running


def start(server: RecordingServer, home: Path, *words: str) -> subprocess.Popen[str]:
    """A command on this API server, whose standard input stays open."""
    kubeconfig = home / "kubeconfig"
    kubeconfig.write_text(server.kubeconfig(), encoding="utf-8")
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(home)}
    environment.pop("FLINK_CONF_DIR", None)
    return subprocess.Popen(
        [sys.executable, "-m", "kubeflink", *words],
        env=environment,
        cwd=home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until_deployed(server: RecordingServer, process: subprocess.Popen[str]) -> None:
    """Waits until the address is asked for, which is after the last object was made."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        methods = [each.method for each in server.requests if "SelfSubject" not in each.path]
        if "POST" in methods and methods[-1] == "GET":
            return
        assert process.poll() is None
        time.sleep(0.02)
    raise AssertionError("it was not deployed")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    ("words", "stop"),
    [
        (("kubernetes-session", *NAMED, WITHOUT_ADDRESS), "session stop demo\n"),
        (APPLICATION, "app stop demo\n"),
    ],
    ids=["session", "application"],
)
def test_while_the_address_is_waited_for(
    server: RecordingServer,
    tmp_path: Path,
    number: signal.Signals,
    words: tuple[str, ...],
    stop: str,
) -> None:
    process = start(server, tmp_path, *words)
    until_deployed(server, process)

    process.send_signal(number)

    _, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 128 + number
    assert f"the cluster demo is there and goes on; stop it: kubeflink {stop}" in err
    assert "Deployment" in {obj["kind"] for obj in server.objects.snapshot().values()}


def test_the_cluster_that_goes_on_is_named_with_its_namespace(
    server: RecordingServer, tmp_path: Path
) -> None:
    process = start(
        server, tmp_path, *APPLICATION[:-1], "-Dkubernetes.namespace=other", "local:///a"
    )
    until_deployed(server, process)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=TIMEOUT)
    assert "stop it: kubeflink app stop demo --namespace other\n" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_while_commands_are_read(
    server: RecordingServer, tmp_path: Path, number: signal.Signals
) -> None:
    process = start(server, tmp_path, "kubernetes-session", *NAMED, "-Dexecution.attached=true")
    assert process.stdout is not None
    assert "successfully" in process.stdout.readline()

    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write("help\n")
    process.stdin.flush()
    while "quit" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(number)

    err = process.stderr.read()
    process.communicate(timeout=TIMEOUT)
    assert process.returncode == 128 + number
    assert "stop it: kubeflink session stop demo" in err


OWN = ("session", "start", "demo", "--no-preflight")


def test_a_cluster_that_does_not_become_ready_is_left_with_a_word(
    call: Call, server: RecordingServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(server.kubeconfig(), encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    found = call(*OWN, "--timeout", "0.5s")

    assert found.code == 3
    assert "is left to be looked at; end it: kubeflink session stop demo\n" in found.err
    assert server.objects.by_target != {}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (("-n", "other"), "--namespace other"),
        (("-Dkubernetes.namespace=other",), "--namespace other"),
        (("--kubeconfig", "a file"), "--kubeconfig 'a file'"),
        (("--context", "test", "-n", "default"), "--namespace default --context test"),
    ],
    ids=" ".join,
)
def test_a_command_to_copy_goes_to_the_same_cluster(
    call: Call,
    server: RecordingServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    given: tuple[str, ...],
    shown: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a file").write_text(server.kubeconfig(), encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", "a file")

    found = call(*OWN, *given, "--no-wait")

    assert found.code == 0, found.err
    assert f"run a job: kubeflink run --session demo JAR {shown}\n" in found.err
    assert f"end it: kubeflink session stop demo {shown}\n" in found.err


def test_an_interrupted_start_says_that_it_takes_the_cluster_back(
    server: RecordingServer, tmp_path: Path
) -> None:
    process = start(server, tmp_path, *OWN)
    until_deployed(server, process)

    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=TIMEOUT)

    assert process.returncode == 130
    assert told.endswith("kubeflink: interrupted: the cluster demo is removed again\n")
    assert server.objects.by_target == {}
