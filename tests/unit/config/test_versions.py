"""Flink versions: what is supported, and what an image's tag says."""

from __future__ import annotations

import pytest

from kubeflink.config.versions import DEFAULT, SUPPORTED, FlinkVersion, version_of_image
from kubeflink.errors import ConfigurationError


def test_a_minor_version_means_the_recorded_patch_level() -> None:
    assert str(FlinkVersion.parse("1.20")) == "1.20.5"
    assert str(FlinkVersion.parse("2.3")) == "2.3.0"


def test_other_patch_levels_behave_like_the_recorded_one() -> None:
    version = FlinkVersion.parse("1.20.1")

    assert str(version) == "1.20.1"
    assert version.release == (1, 20)
    assert version.default_image == "apache/flink:1.20.1-scala_2.12"


@pytest.mark.parametrize("text", ["1.16", "2.4.0", "3", "two", "", "2.3.0-SNAPSHOT", "2.3.0.1"])
def test_what_is_not_supported_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"Supported are 1\.17, 1\.18"):
        FlinkVersion.parse(text)


def test_versions_are_ordered_and_the_newest_is_the_default() -> None:
    assert list(SUPPORTED) == sorted(SUPPORTED)
    assert FlinkVersion.parse("1.20") < FlinkVersion.parse("2.0")
    assert SUPPORTED[-1] == DEFAULT


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("flink:1.17.2", "1.17.2"),
        ("apache/flink:2.3.0-scala_2.12", "2.3.0"),
        ("flink:1.20", "1.20.5"),
        ("flink:scala_2.12-1.20.1-java17", "1.20.1"),
        ("registry:5000/team/flink:v1.18.1-3", "1.18.1"),
        ("registry:5000/team/flink", None),
        ("flink:latest", None),
        ("flink:1.16.0", None),
        ("my/job:2024.12", None),
        ("my/job:12.18.3", None),
        ("flink@sha256:0123456789abcdef", None),
        ("flink:2.1.3@sha256:0123456789abcdef", "2.1.3"),
    ],
)
def test_the_version_in_the_tag_of_an_image(image: str, version: str | None) -> None:
    found = version_of_image(image)

    assert (None if found is None else str(found)) == version


def test_iso_durations_came_with_2_1() -> None:
    assert not FlinkVersion.parse("2.0").reads_iso_durations
    assert FlinkVersion.parse("2.1").reads_iso_durations
