"""Calls of the command line in this process, without any cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubeflink.cli import main


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
