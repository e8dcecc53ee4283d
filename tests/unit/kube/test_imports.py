"""What it costs to have the package: nothing heavy before a connection is made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.api_stub import ApiStub

HEAVY = ("lightkube", "httpx2", "httpcore2", "anyio", "aiohttp", "rich", "msgspec", "yaml")


def loaded(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter has after running `code`."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_the_package_imports_nothing_heavy() -> None:
    code = "import kubeflink.kube, kubeflink.kube.reflector, kubeflink.kube.portforward"

    assert loaded(code) & set(HEAVY) == set()


@pytest.mark.parametrize("module", ["aiohttp", "rich", "wsproto"])
async def test_a_connection_does_without_what_it_does_not_use(
    stub: ApiStub, tmp_path: Path, module: str
) -> None:
    code = (
        "from kubeflink.kube import KubeClient\n"
        f"KubeClient.connect(kubeconfig={str(stub.kubeconfig(tmp_path))!r}, environ={{}})"
    )

    assert module not in loaded(code)
