"""Where the tests find the jars of the Flink versions that act as judges.

The newest version comes with the extra `local`. An older one is installed once into a cache: by
`pip install --no-deps --target`, because it is a source archive of which only pip knows how to
unpack it, and because two versions cannot live in one environment. The cache is
`$KUBEFLINK_TEST_CACHE`, by default `~/.cache/kubeflink-tests`; several test runs at once wait for
the one that installs. A half-made installation is never seen: it is renamed into place at its end.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from support.cache import cache_directory, exclusively

JUDGES = ("2.3.0", "1.20.5")
"""The Flink versions that are asked themselves: the newest of each major version."""

INSTALL_TIMEOUT = 1200.0
"""Seconds for pip to fetch and unpack some 230 MB."""


class JarsMissingError(Exception):
    """The jars of this version are not here and cannot be fetched."""


def flink_jars(version: str) -> Path:
    """The directory that holds `lib`, `opt` and `bin` of this exact Flink version.

    Raises JarsMissingError, with pip's last words, where they cannot be had.
    """
    bundled = _bundled()
    if bundled is not None and _holds(bundled, version):
        return bundled
    return _cached(version)


def _bundled() -> Path | None:
    found = importlib.util.find_spec("pyflink")
    places = found.submodule_search_locations if found is not None else None
    return next(map(Path, places or ()), None)  # without its Python part it has no __init__


def _holds(directory: Path, version: str) -> bool:
    return (directory / "lib" / f"flink-dist-{version}.jar").is_file()


def _cached(version: str) -> Path:
    cache = cache_directory()
    target = cache / f"flink-{version}"
    if not _holds(target / "pyflink", version):
        cache.mkdir(parents=True, exist_ok=True)
        with exclusively(cache / f"flink-{version}.lock"):
            if not _holds(target / "pyflink", version):
                _install(version, target)
    return target / "pyflink"


def _install(version: str, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="installing-") as scratch:
        fresh = Path(scratch) / "flink"
        result = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"),
                *("--no-cache-dir", "--disable-pip-version-check", "--target", str(fresh)),
                f"apache-flink-libraries=={version}",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=INSTALL_TIMEOUT,
            check=False,
        )
        if result.returncode != 0 or not _holds(fresh / "pyflink", version):
            raise JarsMissingError(
                f"cannot install apache-flink-libraries {version}: {result.stdout[-500:]}"
            )
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)
