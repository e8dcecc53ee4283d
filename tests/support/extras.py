"""What some tests need beyond the package's own extras, fetched once into the tests' cache.

Each function gives a path, or raises MissingError with the reason, of which a fixture makes a skip
that says what is left out. The cache is that of `flink_jars`.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from support.flink_jars import flink_jars

SECONDS = 600.0

# All that a PyFlink program without functions of its own imports; the rest is half a gigabyte.
_FOR_PYFLINK = ("ruamel.yaml", "cloudpickle", "python-dateutil", "pytz", "six")


class MissingError(Exception):
    """It cannot be had on this machine."""


def flink_with_sql_gateway(version: str) -> Path:
    """A Flink as in the official image, whose `opt` has the SQL gateway, which PyPI has not."""

    def make(fresh: Path) -> None:
        home = flink_jars(version)
        for name in ("lib", "opt", "plugins", "bin"):
            (fresh / name).mkdir(parents=True)
            for entry in (home / name).iterdir():
                (fresh / name / entry.name).symlink_to(entry)
        _fetch(f"org.apache.flink:flink-sql-gateway:{version}", fresh / "opt")

    return _once(f"flink-{version}-with-sql-gateway", make)


def flink_with_s3(version: str) -> Path:
    """The same with a plug-in for S3 in its `opt`, which the official image has too."""

    def make(fresh: Path) -> None:
        shutil.copytree(flink_with_sql_gateway(version), fresh, symlinks=True, dirs_exist_ok=True)
        _fetch(f"org.apache.flink:flink-s3-fs-hadoop:{version}", fresh / "opt")

    return _once(f"flink-{version}-with-s3", make)


def s3_plugin(version: str) -> str:
    """The name of its jar."""
    return f"flink-s3-fs-hadoop-{version}.jar"


def _fetch(artifact: str, directory: Path) -> None:
    """One jar of Maven Central, without what it needs."""
    if shutil.which("mvn") is None:
        raise MissingError(f"{artifact} is fetched by mvn, which is not here")
    plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
    _run("mvn", "-q", "-B", f"{plugin}:get", f"-Dartifact={artifact}", "-Dtransitive=false")
    _run(
        *("mvn", "-q", "-B", "-o", f"{plugin}:copy", f"-Dartifact={artifact}"),
        f"-DoutputDirectory={directory}",
    )


def pyflink_python(version: str) -> Path:
    """An interpreter that has Flink's Python API, for programs without functions of their own."""

    def make(fresh: Path) -> None:
        packages = fresh / "packages"
        install = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target")
        _run(*install, str(packages), f"apache-flink=={version}", *_FOR_PYFLINK)
        python = fresh / "python"
        python.write_text(
            f'#!/bin/sh\nPYTHONPATH="$(dirname "$0")/packages" exec {sys.executable} "$@"\n',
            encoding="utf-8",
        )
        python.chmod(0o755)

    return _once(f"pyflink-{version}", make) / "python"


def _run(*command: str) -> None:
    try:
        result = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise MissingError(f"{command[0]} took more than {SECONDS:.0f} s") from error
    if result.returncode != 0:
        raise MissingError(f"{' '.join(command[:4])} failed: {result.stdout[-500:]}")


def _once(name: str, make: Callable[[Path], None]) -> Path:
    """The directory of that name in the cache, made now if it is not there."""
    cache = Path(
        os.environ.get("KUBEFLINK_TEST_CACHE") or Path.home() / ".cache" / "kubeflink-tests"
    )
    target = cache / name
    cache.mkdir(parents=True, exist_ok=True)
    with _exclusively(cache / f"{name}.lock"):
        if not target.is_dir():
            with tempfile.TemporaryDirectory(dir=cache, prefix="installing-") as scratch:
                fresh = Path(scratch) / name
                fresh.mkdir()
                make(fresh)
                fresh.rename(target)
    return target


@contextmanager
def _exclusively(lock: Path) -> Iterator[None]:
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
