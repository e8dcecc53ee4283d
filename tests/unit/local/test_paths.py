"""Container paths are replaced where they are paths, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeflink.local.paths import PathMap

PATHS = PathMap(
    [
        ("/opt/flink", Path("/state/flink")),
        ("/opt/flink/conf", Path("/state/conf")),
        ("/data", Path("/host/data")),
    ]
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/opt/flink/conf", "/state/conf"),
        ("/opt/flink/conf/config.yaml", "/state/conf/config.yaml"),
        ("/opt/flink/usrlib/job.jar", "/state/flink/usrlib/job.jar"),
        ("local:///opt/flink/usrlib/job.jar", "local:///state/flink/usrlib/job.jar"),
        ("file:/data/in,file:/data/out", "file:/host/data/in,file:/host/data/out"),
        ("-Dx='/opt/flink/conf'", "-Dx='/state/conf'"),
        ("/opt/flink/configuration", "/state/flink/configuration"),
        ("/opt/flink2/conf", "/opt/flink2/conf"),
        ("/host/opt/flink/conf", "/host/opt/flink/conf"),
        ("/database", "/database"),
        ("/data.d/x", "/data.d/x"),
        ("s3://bucket/data", "s3://bucket/data"),
    ],
)
def test_rewrites_whole_paths_only(text: str, expected: str) -> None:
    assert PATHS.rewrite(text) == expected


def test_a_program_is_named_by_a_uri_and_everything_else_by_its_path() -> None:
    paths = PathMap([("/opt/flink", Path("/state/ü 100%#/flink"))])
    encoded = "local:///state/%C3%BC%20100%25%23/flink/usrlib/job.jar"
    assert paths.rewrite("local:///opt/flink/usrlib/job.jar") == encoded
    assert paths.rewrite("file:///opt/flink/out") == "file:///state/ü 100%#/flink/out"


@given(st.text())
def test_text_without_a_known_path_stays(text: str) -> None:
    assert PathMap([("/opt/flink", Path("/x"))]).rewrite(text.replace("/opt", "")) == text.replace(
        "/opt", ""
    )


def test_the_root_directory_is_never_replaced() -> None:
    assert PathMap([("/", Path("/host"))]).rewrite("/a b/c") == "/a b/c"


def test_place_finds_the_innermost_directory() -> None:
    assert PATHS.place("/opt/flink/conf/a/b") == Path("/state/conf/a/b")
    assert PATHS.place("/opt/flink/lib") == Path("/state/flink/lib")
    assert PATHS.place("/etc/krb5.conf") is None
