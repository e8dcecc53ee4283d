"""Calls of the command line in this process, without any cluster or with a recording server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubeflink.cli import main
from support.recorder import RecordingServer


@dataclass(frozen=True, slots=True)
class Result:
    code: int
    out: str
    err: str


Call = Callable[..., Result]

SIZES = ("-Djobmanager.memory.process.size=1600m", "-Dtaskmanager.memory.process.size=1728m")


@pytest.fixture
def call(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Call:
    """Calls `kubeflink` in an empty home without any kubeconfig."""
    for name in ("KUBECONFIG", "FLINK_CONF_DIR", "KUBEFLINK_FLINK_VERSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "")
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Result:
        code = main(list(words))
        printed = capsys.readouterr()
        return Result(code, printed.out, printed.err)

    return run


@pytest.fixture
def server(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[RecordingServer]:
    """An API server that the kubeconfig of the environment leads to.

    Depends on `call`, which takes the kubeconfig of the environment away first.
    """
    with RecordingServer() as running:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(running.kubeconfig(), encoding="utf-8")
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
        yield running
