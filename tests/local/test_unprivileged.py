"""A user without any rights can run it: Flink, its JVMs and all."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.embedded import JVM_SECONDS

SCRIPT = textwrap.dedent(
    """
    import asyncio, os

    from kubeflink import SessionCluster
    from kubeflink.local import daemon
    from support.embedded import SMALL_SESSION

    async def use(kubeconfig):
        async with SessionCluster.temporary(
            "plain", options=SMALL_SESSION, kubeconfig=kubeconfig
        ) as session:
            print("serves", (await session.overview()).flink_version)

    assert os.getuid() != 0
    up = daemon.up()
    try:
        asyncio.run(use(up.kubeconfig))
    finally:
        print("ended", daemon.down())
    """
)


@pytest.fixture
def home() -> Iterator[Path]:
    """A directory that everybody can reach; pytest's own are for this user alone."""
    path = Path(tempfile.mkdtemp(prefix="kubeflink-"))
    path.chmod(0o777)
    yield path
    shutil.rmtree(path)


def interpreter(user: str) -> str | None:
    """A Python of our version that this user can run; the tests' own may lie in a private home."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (
        sys.executable,
        *(f"{path}/{name}" for path in ("/usr/bin", "/usr/local/bin")),
    ):
        try:
            answer = subprocess.run(
                [candidate, "-c", "import sys; print(sys.version_info[:2])"],
                user=user,
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            )
        except (OSError, subprocess.CalledProcessError):
            continue
        if answer.stdout.strip() == str(sys.version_info[:2]):
            return candidate
    return None


@pytest.mark.flink
@pytest.mark.timeout(900)
def test_nobody_can_run_a_session(home: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("these tests already run without privileges")
    user = pwd.getpwuid(65534).pw_name
    python = interpreter(user)
    if python is None:
        pytest.skip(f"the user {user} can reach no Python {sys.version_info[:2]}")
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root / "src"), str(root / "tests"), sysconfig.get_path("purelib")])
    done = subprocess.run(
        [python, "-c", SCRIPT],
        user=user,
        group=pwd.getpwnam(user).pw_gid,
        extra_groups=[],
        cwd=home,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=2 * JVM_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "serves " in done.stdout
    assert "ended True" in done.stdout
