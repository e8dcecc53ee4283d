"""The JVM beside a Python process that uses PyFlink: started so that it finds Flink and Java.

PyFlink is a thin layer over Java objects. It starts one JVM for the whole Python process when it is
first used, keeps it until that process ends, and reads from the environment where Flink and Java
are. Left to itself it takes the `java` of the path, which may be none or too new, and the Flink
that `FLINK_HOME` names, which may be another version; and it gives none of the options without
which serialisers fail on Java 17. So for that moment the environment is prepared: the Java that
`find_java` finds, jars of PyFlink's own version, a configuration directory of its own. A JVM that
PyFlink has started before is used as it is.

Files of this machine do not get into jobs unasked, as with Flink's client in `flink_command`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from kubeflink.config.versions import FlinkVersion
from kubeflink.errors import ConfigurationError, LocalError
from kubeflink.jvm.flink_command import NO_LOGGING, client_home
from kubeflink.jvm.java import find_java

logger = logging.getLogger(__name__)

WHY: Final = "PyFlink makes jobs in a JVM on this side"

_starting = threading.Lock()
_directories: list[tempfile.TemporaryDirectory[str]] = []
"""The JVM reads it at any time: it goes with this process, as the JVM does."""


def start(cluster_version: str) -> None:
    """Start PyFlink's JVM unless it runs; blocks for seconds.

    Raises LocalError if PyFlink is not installed or is none for a cluster of this version, and if
    there is no Java or the JVM does not start.
    """
    check_pyflink(cluster_version)
    with _starting:
        home, java = client_home(_version_here(), WHY), find_java()
        args = [os.environ.get("JVM_ARGS", ""), "-XX:TieredStopAtLevel=1"]
        prepared = {
            "FLINK_HOME": str(home.root),
            "FLINK_LIB_DIR": str(home.lib),
            "FLINK_OPT_DIR": str(home.opt),
            "FLINK_PLUGINS_DIR": str(home.plugins),
            "JAVA_HOME": str(java.home),
            "JVM_ARGS": " ".join([*args, *java.version_options(), *home.module_options()]),
        }
        if not _directories:
            _directories.append(tempfile.TemporaryDirectory(prefix="kubeflink-pyflink-"))
        conf = Path(_directories[0].name)
        (conf / "log4j-cli.properties").write_text(NO_LOGGING, encoding="utf-8")
        # Flink insists on a file, and PyFlink on something in it.
        (conf / home.version.configuration_file).write_text("{}\n", encoding="utf-8")
        prepared |= {"FLINK_CONF_DIR": str(conf), "FLINK_LOG_DIR": str(conf)}
        logger.info("%s: Flink %s, Java %d (%s)", WHY, home.version, java.feature, java.home)
        with _environment(prepared):
            _launch()


def check_pyflink(cluster_version: str) -> None:
    """LocalError unless PyFlink is installed in the minor version of a cluster, such as `2.3.0`.

    What goes from the one to the other are serialised Java objects.
    """
    release = cluster_version.partition("-")[0]
    hint = f"Install it: pip install apache-flink=={release}"
    if importlib.util.find_spec("pyflink.java_gateway") is None:  # the jars have a folder as well
        raise LocalError("PyFlink is not installed where this Python runs", hint=hint)
    here = _text_here()
    if here.split(".")[:2] != release.split(".")[:2]:
        raise LocalError(
            f"PyFlink {here} cannot make jobs for a cluster of Flink {cluster_version}", hint=hint
        )


def _text_here() -> str:
    from pyflink.version import __version__

    return str(__version__)


def _version_here() -> FlinkVersion | None:
    try:
        return FlinkVersion.parse(_text_here())
    except ConfigurationError:  # newer than what is known here
        return None


def _launch() -> None:
    from pyflink.java_gateway import get_gateway

    try:
        get_gateway()
    except RuntimeError as error:  # PyFlink's, with all that the JVM has said
        reason = [line for line in str(error).splitlines() if line.strip()][-1]
        raise LocalError(f"PyFlink's JVM did not start: {reason}") from error


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """These variables for a while; PyFlink's launcher has no other parameters."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
