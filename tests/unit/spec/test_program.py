"""SQL scripts as the program of an application."""

from __future__ import annotations

import pytest

from kubeflink.config.yaml import load_core
from kubeflink.errors import UsageError
from kubeflink.spec import Program, sql_file_program, sql_program
from kubeflink.spec.program import SQL_DRIVER
from support.clusters import accompanying, application

SCRIPT = 'CREATE TABLE t (n INT);\nINSERT INTO t -- it\'s 100 % "quoted"\n  VALUES (1);'


def configuration_of(program: Program, version: str = "2.3.0") -> dict[str, object]:
    """The program as the JobManager reads it from its configuration file."""
    maps = accompanying(application(program, version=version), "ConfigMap")
    document = load_core(maps["flink-config-demo"]["data"]["config.yaml"], "config.yaml").value
    assert isinstance(document, dict)
    found = document["$internal"]["application"]
    assert isinstance(found, dict)
    return {**found, "pipeline": document.get("pipeline")}


def test_the_script_goes_along_exactly_as_it_is() -> None:
    found = configuration_of(sql_program(SCRIPT))

    assert found["main"] == SQL_DRIVER
    assert found["program-args"] == ["--script", SCRIPT]
    assert "jars" not in (found["pipeline"] or {})


@pytest.mark.parametrize(
    ("uri", "reached"),
    [
        ("local:///opt/flink/usrlib/a.sql", "file:///opt/flink/usrlib/a.sql"),
        ("https://example.org/a.sql", "https://example.org/a.sql"),
        ("s3://bucket/a.sql", "s3://bucket/a.sql"),
    ],
)
def test_a_script_that_the_jobmanager_reads_itself(uri: str, reached: str) -> None:
    found = configuration_of(sql_file_program(uri), version="2.0.2")

    assert found["program-args"] == ["--scriptUri", reached]


def test_earlier_versions_cannot() -> None:
    with pytest.raises(UsageError, match=r"1\.20\.5 cannot run a SQL script") as caught:
        application(sql_program(SCRIPT), version="1.20.5")

    assert "session cluster" in str(caught.value)
