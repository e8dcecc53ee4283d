"""What is kept for the next test run must not need what this run goes away with."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from support import extras
from support.extras import flink_with_s3, flink_with_sql_gateway


@pytest.fixture
def flink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The Flink of an environment, with a jar that is a link, and a cache of the test's own."""
    home = tmp_path / "environment" / "pyflink"
    for name in ("lib", "opt", "plugins/metrics"):
        (home / name).mkdir(parents=True)
        (home / name / "real.jar").write_text(name)
        (home / name / "link.jar").symlink_to(home / name / "real.jar")
    monkeypatch.setenv("KUBEFLINK_TEST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(extras, "flink_jars", lambda version: home)
    monkeypatch.setattr(extras, "_fetch", lambda artifact, directory: None)
    return home


@pytest.mark.parametrize("hard_links", [True, False])
def test_a_kept_flink_outlives_the_environment_it_is_from(
    flink: Path, monkeypatch: pytest.MonkeyPatch, hard_links: bool
) -> None:
    if not hard_links:

        def refuse(source: str, target: str) -> None:
            raise OSError("Invalid cross-device link")

        monkeypatch.setattr(os, "link", refuse)
    kept = [flink_with_sql_gateway("2.3.0"), flink_with_s3("2.3.0")]

    shutil.rmtree(flink.parent)

    for home in kept:
        for name in ("lib", "opt", "plugins/metrics"):
            assert (home / name / "real.jar").read_text() == name
            assert (home / name / "link.jar").read_text() == name
