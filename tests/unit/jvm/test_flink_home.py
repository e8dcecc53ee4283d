"""Where Flink and Java come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflink.config.versions import FlinkVersion
from kubeflink.errors import LocalError
from kubeflink.jvm.flink_home import FlinkHomes, find_homes, open_home, split_image
from kubeflink.jvm.java import find_java


def flink(root: Path, version: str) -> Path:
    (root / "lib").mkdir(parents=True)
    (root / "lib" / f"flink-dist-{version}.jar").touch()
    return root


def java(root: Path, version: str) -> Path:
    (root / "bin").mkdir(parents=True)
    (root / "bin/java").touch(mode=0o755)
    (root / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return root


@pytest.fixture
def homes(tmp_path: Path) -> FlinkHomes:
    versions = ("2.3.0", "1.20.5", "2.3.1")
    return FlinkHomes(tuple(open_home(flink(tmp_path / each, each)) for each in versions))


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("apache/flink:2.3.0-scala_2.12", "2.3.0"),
        ("apache/flink:2.3.1-scala_2.12-java17", "2.3.1"),
        ("flink:1.20", "1.20.5"),
        ("flink:1.20.1", "1.20.5"),
        ("localhost:5000/team/my-flink-job", "2.3.0"),
        ("flink:latest", "2.3.0"),
        ("flink@sha256:abc", "2.3.0"),
        ("flink:1.18.1", None),
        ("flink:1.2", None),
        ("busybox:1.20.5", None),
        ("flink/tool:2.3.0", None),
    ],
)
def test_an_image_stands_for_a_version(homes: FlinkHomes, image: str, expected: str | None) -> None:
    found = homes.of_image(image)
    assert (None if found is None else str(found.version)) == expected


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("flink", ("flink", "")),
        ("host:5000/flink", ("host:5000/flink", "")),
        ("host:5000/flink:1", ("host:5000/flink", "1")),
        ("flink:1@sha256:ab", ("flink", "1")),
    ],
)
def test_an_image_is_split_as_docker_does(image: str, expected: tuple[str, str]) -> None:
    assert split_image(image) == expected


def test_given_homes_come_before_those_of_the_environment(tmp_path: Path) -> None:
    one, two, three = (
        flink(tmp_path / version, version) for version in ("1.18.1", "1.19.3", "1.20.5")
    )
    environ = {"FLINK_HOME": str(two), "KUBEFLINK_FLINK_HOMES": f"{three}:{one}"}
    found = find_homes([one], environ=environ)
    assert [str(home.version) for home in found.homes[:3]] == ["1.18.1", "1.19.3", "1.20.5"]


def test_a_directory_without_flink_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="No Flink in") as failure:
        open_home(tmp_path)
    assert "pip install 'kubeflink[local]'" in str(failure.value)


def test_older_versions_export_one_package_more(homes: FlinkHomes) -> None:
    new, old = homes.homes[:2]
    assert new.version == FlinkVersion(2, 3, 0)
    assert set(old.module_options()) - set(new.module_options()) == {
        "--add-exports=java.base/sun.net.util=ALL-UNNAMED"
    }


@pytest.mark.parametrize(
    ("version", "feature"), [("11.0.2", 11), ("17.0.15", 17), ("21", 21), ("21.0.8", 21)]
)
def test_java_home_is_taken_when_flink_runs_on_it(
    tmp_path: Path, version: str, feature: int
) -> None:
    home = java(tmp_path / "jdk", version)
    found = find_java({"JAVA_HOME": str(home)})
    assert (found.home, found.feature) == (home, feature)
    assert found.executable == home / "bin/java"


def test_a_java_that_flink_does_not_run_on_is_passed_over(tmp_path: Path) -> None:
    old = java(tmp_path / "old", "1.8.0_402")
    good = java(tmp_path / "good", "17.0.1")
    found = find_java({"JAVA_HOME": str(old), "PATH": str(good / "bin")})
    assert found.home == good
