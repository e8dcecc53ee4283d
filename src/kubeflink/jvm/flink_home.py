"""Real Flink on this machine: where its jars are, and which version a container image means.

The jars come from the package `apache-flink-libraries` of PyPI, which unpacks to the folder
`pyflink` (`lib`, `opt`, `plugins`; no scripts and no `conf`), or from a distribution that
`FLINK_HOME` names. More versions can be registered (`KUBEFLINK_FLINK_HOMES`, a list of directories
like `PATH`, or the homes given to an embedded cluster): a container then gets the one that its
image's tag names. An image cannot be unpacked here, so its name only says two things: that it holds
Flink (the word `flink` in the last part of its repository), and which version.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kubeflink.config.versions import FlinkVersion
from kubeflink.errors import LocalError

INSTALL_HINT = (
    "Install it with: pip install 'kubeflink[local]'"
    " (or set FLINK_HOME to an unpacked Flink distribution)"
)

_DIST_JAR = re.compile(r"flink-dist(?:_[\d.]+)?-(\d+)\.(\d+)\.(\d+)[^/]*\.jar$")
_TAG_VERSION = re.compile(r"^v?(\d+)\.(\d+)(?:\.(\d+))?(?![\d.])")

# Since 1.18 the stock configuration opens these packages of the JDK (`env.java.opts.all`): without
# them serialisers, the class loader checks and Kerberos fail on Java 17 and newer. The Docker image
# hides that file behind the mounted ConfigMap; here they are always given.
_MODULE_EXPORTS = (
    "java.rmi/sun.rmi.registry",
    "jdk.compiler/com.sun.tools.javac.api",
    "jdk.compiler/com.sun.tools.javac.file",
    "jdk.compiler/com.sun.tools.javac.parser",
    "jdk.compiler/com.sun.tools.javac.tree",
    "jdk.compiler/com.sun.tools.javac.util",
    "java.security.jgss/sun.security.krb5",
)
_MODULE_OPENS = (
    "java.lang",
    "java.net",
    "java.io",
    "java.nio",
    "sun.nio.ch",
    "java.lang.reflect",
    "java.text",
    "java.time",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "java.util.concurrent.locks",
)


@dataclass(frozen=True, slots=True)
class FlinkHome:
    """One Flink: `root` holds `lib` (with the flink-dist jar), `opt` and `plugins`."""

    root: Path
    version: FlinkVersion
    dist_jar: Path

    @property
    def lib(self) -> Path:
        """The jars of the class path; a real directory, since Flink does not follow a link here."""
        return self.root / "lib"

    @property
    def opt(self) -> Path:
        """Optional jars, flink-python among them."""
        return self.root / "opt"

    @property
    def plugins(self) -> Path:
        """One folder for each plug-in."""
        return self.root / "plugins"

    def class_path(self) -> str:
        """The jars of `lib` in the order of Flink's scripts: sorted, flink-dist last."""
        jars = sorted(jar for jar in self.lib.rglob("*.jar") if jar != self.dist_jar)
        return os.pathsep.join(str(jar) for jar in (*jars, self.dist_jar))

    def module_options(self) -> list[str]:
        """The JVM's `--add-exports` and `--add-opens`, as in this version's stock configuration."""
        exports = list(_MODULE_EXPORTS)
        if self.version < FlinkVersion(2, 1, 0):
            exports.insert(0, "java.base/sun.net.util")
        return [
            *(f"--add-exports={package}=ALL-UNNAMED" for package in exports),
            *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _MODULE_OPENS),
        ]


def open_home(root: Path) -> FlinkHome:
    """The Flink in this directory; `LocalError` where there is none."""
    lib = root / "lib"
    for jar in sorted(lib.glob("flink-dist*.jar")):
        match = _DIST_JAR.search(jar.name)
        if match is not None:
            major, minor, patch = (int(part) for part in match.groups())
            return FlinkHome(root, FlinkVersion(major, minor, patch), jar)
    raise LocalError(
        f"No Flink in {root}: there is no lib/flink-dist-<version>.jar", hint=INSTALL_HINT
    )


@dataclass(frozen=True, slots=True)
class FlinkHomes:
    """The Flinks of this machine, the preferred one first; never empty."""

    homes: tuple[FlinkHome, ...]

    @property
    def default(self) -> FlinkHome:
        """What runs where an image says nothing about its version."""
        return self.homes[0]

    def of_image(self, image: str) -> FlinkHome | None:
        """The Flink that a container image stands for; None when there is none like it here.

        The version is taken from the tag; a home of the same minor version will do. A tag without a
        version, a digest or no tag at all means the default.
        """
        repository, tag = split_image(image)
        if "flink" not in repository.rsplit("/", 1)[-1]:
            return None
        match = _TAG_VERSION.match(tag)
        if match is None:
            return self.default
        minor = (int(match[1]), int(match[2]))
        alike = [home for home in self.homes if (home.version.major, home.version.minor) == minor]
        exact = [home for home in alike if str(home.version.patch) == match[3]]
        return next(iter(exact + alike), None)

    def describe(self) -> str:
        """For messages: `Flink 2.3.0 and 1.20.5`."""
        return "Flink " + " and ".join(str(home.version) for home in self.homes)


def split_image(image: str) -> tuple[str, str]:
    """Repository and tag of an image reference; a digest counts as no tag.

    >>> split_image("registry:5000/apache/flink:2.3.0-scala_2.12")
    ('registry:5000/apache/flink', '2.3.0-scala_2.12')
    """
    name = image.partition("@")[0]
    head, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        return name, ""
    return head, tag


def find_homes(
    roots: Iterable[Path] = (), *, environ: Mapping[str, str] = os.environ
) -> FlinkHomes:
    """All Flinks: the given ones, `FLINK_HOME`, `KUBEFLINK_FLINK_HOMES`, then the PyPI package.

    What is named must hold Flink, or it is a `LocalError`; none at all is one too.
    """
    named = [
        *roots,
        *_paths(environ.get("FLINK_HOME", "")),
        *_paths(environ.get("KUBEFLINK_FLINK_HOMES", "")),
    ]
    homes = [open_home(root) for root in dict.fromkeys(named)]
    package = _package_root()
    if package is not None and package not in named:
        homes.append(open_home(package))
    if not homes:
        raise LocalError("Flink's jars are not installed", hint=INSTALL_HINT)
    return FlinkHomes(tuple(homes))


def _paths(text: str) -> Sequence[Path]:
    return [Path(part).absolute() for part in text.split(os.pathsep) if part]


def _package_root() -> Path | None:
    """Where `apache-flink-libraries` unpacked its jars; found without importing anything of it."""
    spec = importlib.util.find_spec("pyflink")
    for location in (spec.submodule_search_locations or ()) if spec is not None else ():
        if any(Path(location, "lib").glob("flink-dist*.jar")):
            return Path(location)
    return None
