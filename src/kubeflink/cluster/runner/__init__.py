"""The jar that runs SQL scripts inside a JobManager, kept as data beside its Java sources.

A JVM image without a compiler cannot build it, so the built jar (3 KB) is part of the package;
`scripts/build-jars` builds it anew wherever a JDK is. Its manifest carries a digest of the
sources, by which a test sees a jar that is older than they are.
"""

from __future__ import annotations

from pathlib import Path

MAIN_CLASS = "kubeflink.runner.SqlRunner"
"""Takes one statement an argument, without its semicolon."""


def jar() -> Path:
    """The jar's path on this machine."""
    return Path(__file__).with_name("kubeflink-runner.jar")
