"""What some tests need beyond the package's own extras, fetched once into the tests' cache.

Each function gives a path, or raises MissingError with the reason, of which a fixture makes a skip
that says what is left out. The cache is that of `support.cache`.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import kubeflink
from support.cache import MissingError, once
from support.flink_jars import flink_jars

SECONDS = 600.0


def flink_with_sql_gateway(version: str) -> Path:
    """A Flink as in the official image, whose `opt` has the SQL gateway, which PyPI has not."""

    def make(fresh: Path) -> None:
        _keep_jars(flink_jars(version), fresh)
        _fetch(f"org.apache.flink:flink-sql-gateway:{version}", fresh / "opt")

    return once(f"flink-{version}-sql-gateway", make)


def flink_with_s3(version: str) -> Path:
    """The same with a plug-in for S3 in its `opt`, which the official image has too."""

    def make(fresh: Path) -> None:
        _keep_jars(flink_with_sql_gateway(version), fresh)
        _fetch(f"org.apache.flink:flink-s3-fs-hadoop:{version}", fresh / "opt")

    return once(f"flink-{version}-sql-gateway-s3", make)


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
    """An interpreter with Flink's Python API, all that functions in Python need, and kubeflink.

    An environment of its own, since PyFlink wants old versions of much. The jars are those of
    `flink_jars`, and kubeflink is the one under test.
    """

    def make(fresh: Path) -> None:
        _run(sys.executable, "-m", "venv", str(fresh))
        pip = (sys.executable, "-m", "pip", "--python", str(fresh / "bin" / "python"))
        install = (*pip, "install", "--quiet")
        _run(*install, "--no-deps", f"apache-flink=={version}")
        (packages,) = fresh.glob("lib/python*/site-packages")
        (metadata,) = packages.glob("apache_flink-*.dist-info")
        needed = importlib.metadata.PathDistribution(metadata).requires or []
        needed += importlib.metadata.requires("kubeflink") or []
        left_out = re.compile(r"apache-flink-libraries|.*extra ==")
        _run(*install, *(each for each in needed if not left_out.match(each)))
        _keep_jars(flink_jars(version), packages / "pyflink")

    return _with_kubeflink(once(f"pyflink-{version}-with-jars", make))


def object_store_python() -> Path:
    """An interpreter with the libraries for Google's, Azure's and Alibaba's stores, and kubeflink.

    They bring much along that nothing else needs. kubeflink is the one under test.
    """

    def make(fresh: Path) -> None:
        _run(sys.executable, "-m", "venv", str(fresh))
        pip = (sys.executable, "-m", "pip", "--python", str(fresh / "bin" / "python"))
        extras = re.compile(r".*; *extra == '(gs|azure|oss)'")
        needed = importlib.metadata.requires("kubeflink") or []
        wanted = [each for each in needed if "extra ==" not in each or extras.match(each)]
        _run(*pip, "install", "--quiet", *(each.partition(";")[0] for each in wanted))

    return _with_kubeflink(once("object-store-libraries", make))


def _with_kubeflink(home: Path) -> Path:
    """The interpreter of an environment, in which kubeflink is the one under test."""
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "kubeflink.pth").write_text(
        f"{Path(kubeflink.__file__).parents[1]}\n", encoding="utf-8"
    )
    return home / "bin" / "python"


def _keep_jars(home: Path, target: Path) -> None:
    """The jars of a Flink as files of the cache's own, which outlive the environment they are from.

    They are hard links where the file system can, since they are 230 MB.
    """
    for name in ("lib", "opt", "plugins"):
        shutil.copytree(home / name, target / name, copy_function=_keep, dirs_exist_ok=True)


def _keep(source: str, target: str) -> None:
    try:
        os.link(os.path.realpath(source), target)
    except OSError:  # another file system, or one without hard links
        shutil.copy2(source, target)


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
