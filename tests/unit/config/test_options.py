"""The declarations against the option lists of all eight versions, made by reflection."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kubeflink.config.options import Option, all_options, every_option, find, nearest
from kubeflink.config.options.kinds import MILLISECONDS, STRINGS, TEXT_DURATION, Reading
from kubeflink.config.secrets import is_secret
from kubeflink.config.versions import SUPPORTED, FlinkVersion

LISTS = Path(__file__).parents[2] / "conformance" / "data" / "options"

# Options of other classes of Flink, which the lists do not cover.
OF_OTHER_CLASSES = {
    "cleanup-strategy.type",
    "containerized.master.env.<NAME>",
    "containerized.taskmanager.env.<NAME>",
    "execution.buffer-timeout.interval",
    "execution.checkpointing.checkpoints-after-tasks-finish",
    "execution.checkpointing.unaligned.enabled",
    "execution.savepoint-restore-mode",
    "execution.savepoint.ignore-unclaimed-state",
    "execution.savepoint.path",
    "execution.state-recovery.claim-mode",
    "execution.state-recovery.ignore-unclaimed-state",
    "execution.state-recovery.path",
    "restart-strategy.type",
    "state.backend.type",
    "taskmanager.network.numberOfBuffers",
}


def of_the_lists(version: FlinkVersion) -> list[Option[Any]]:
    """What the lists should have: neither other classes of Flink nor options of kubeflink's own."""
    return [
        option
        for option in all_options(version)
        if option.key not in OF_OTHER_CLASSES and not option.key.startswith("kubeflink.")
    ]


def is_flinks(option: Option[Any]) -> bool:
    """Whether the lists should have it: not kubeflink's own family, nor of other classes."""
    return option.key not in OF_OTHER_CLASSES and not option.key.startswith("kubeflink.")


def full_key(owner: str, key: str) -> str:
    """The key as users write it: some are declared by Flink without what stands before them."""
    if owner.endswith("MetricOptions") and not key.startswith("metrics."):
        return f"metrics.reporter.<name>.{key}"
    if owner.endswith("SecurityOptions") and key == "enabled":
        return "security.delegation.token.provider.<name>.enabled"
    return key.replace("<resource_name>", "<name>")


def recorded(version: FlinkVersion) -> dict[str, list[dict[str, Any]]]:
    """What Flink declares, by key; some keys are declared twice, deprecated and not."""
    result: dict[str, list[dict[str, Any]]] = {}
    for owner, options in json.loads((LISTS / f"{version}.json").read_text()).items():
        for option in options:
            result.setdefault(full_key(owner, option["key"]), []).append(option)
    return result


def type_name(option: Option[Any], version: FlinkVersion) -> set[str]:
    if option.choices:
        return {"Enum"}
    if not version.milliseconds_are_durations and option.kind is MILLISECONDS:
        return {"Long", "Integer"}
    if not version.milliseconds_are_durations and option.kind is TEXT_DURATION:
        return {"String"}
    if option.kind is STRINGS:
        return {"List<String>", "List<JobStatusMetrics>"}
    return {option.kind.name}


def typed_default(entry: dict[str, Any], option: Option[Any], version: FlinkVersion) -> Any:
    """The recorded default as the declaration would have it."""
    value = entry["default"]
    if not entry["has_default"] or value is None:
        return None
    if isinstance(value, list):
        return tuple(value)
    if entry["type"] == "Duration":
        parts = re.fullmatch(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?", value)
        assert parts is not None, value
        hours, minutes, seconds = (float(group or 0) for group in parts.groups())
        return timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if isinstance(value, dict):
        return value
    return option.read(value, Reading(version, standard_yaml=False))


@pytest.mark.parametrize("version", SUPPORTED, ids=str)
def test_every_version_has_the_declared_options_and_no_others(version: FlinkVersion) -> None:
    assert {option.key for option in of_the_lists(version)} == recorded(version).keys()


@pytest.mark.parametrize("version", SUPPORTED, ids=str)
def test_declarations_agree_with_what_flink_declares(version: FlinkVersion) -> None:
    lists = recorded(version)
    for option in of_the_lists(version):
        entry = next(
            (e for e in lists[option.key] if e["type"] == "Duration"), lists[option.key][-1]
        )
        where = f"{option.key} in {version}"
        is_enum = "enum" in entry and not entry["type"].startswith("List")

        assert ("Enum" if is_enum else entry["type"]) in type_name(option, version), where
        assert option.choices == (tuple(entry["enum"]) if is_enum else ()), where
        assert option.default == typed_default(entry, option, version), where
        assert option.fallback_keys == keys(entry, deprecated=False), where
        assert option.deprecated_keys == keys(entry, deprecated=True), where


def keys(entry: dict[str, Any], *, deprecated: bool) -> tuple[str, ...]:
    return tuple(k["key"] for k in entry["fallback_keys"] if k["deprecated"] is deprecated)


@pytest.mark.parametrize("version", SUPPORTED, ids=str)
def test_deprecated_options_are_known_as_such(version: FlinkVersion) -> None:
    lists = recorded(version)
    for option in of_the_lists(version):
        expected = all(entry["deprecated_field"] for entry in lists[option.key])

        assert option.is_deprecated_in(version) == expected, option.key


def test_every_option_is_described_in_words() -> None:
    for option in every_option():
        assert option.about.endswith("."), option.key
        assert len(option.about.split()) >= 3, option.key


def test_keys_and_constants_are_declared_once() -> None:
    counted = Counter(option.key for option in every_option())

    assert [key for key, number in counted.items() if number > 1] == []


def test_find_knows_older_keys_and_placeholders() -> None:
    newest = FlinkVersion.parse("2.3")

    def key_of(key: str, version: FlinkVersion = newest) -> str | None:
        option = find(key, version)
        return None if option is None else option.key

    assert key_of("kubernetes.container.image") == "kubernetes.container.image.ref"
    assert key_of("external-resource.gpu.amount") == "external-resource.<name>.amount"
    assert key_of("external-resource.gpu.param.a.b") == "external-resource.<name>.param.<param>"
    assert key_of("external-resource.gpu.amount.x") is None
    assert key_of("metrics.reporter.p.factory.class") == "metrics.reporter.<name>.factory.class"
    assert key_of("metrics.reporter.p.port") == "metrics.reporter.<name>.<parameter>"
    assert key_of("containerized.master.env.TZ") == "containerized.master.env.<NAME>"
    assert key_of("cluster.evenly-spread-out-slots") is None
    assert key_of("cluster.evenly-spread-out-slots", FlinkVersion.parse("1.20")) is not None
    assert key_of("kubernetes.persistent-volume-claims", FlinkVersion.parse("2.2")) is None


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("kubernetes.taskmangr.cpu", "kubernetes.taskmanager.cpu.amount"),
        ("kubernetes.clusterid", "kubernetes.cluster-id"),
        ("taskmanager.numberOfTaskSlot", "taskmanager.numberOfTaskSlots"),
        ("execution.checkpointing.intervall", "execution.checkpointing.interval"),
        ("my.connector.option", None),
    ],
)
def test_nearest_name(wrong: str, right: str | None) -> None:
    assert nearest(wrong, FlinkVersion.parse("2.3")) == right


def test_a_default_that_follows_the_version() -> None:
    images = {
        option.default
        for option in all_options(FlinkVersion(2, 3, 1))
        if option.key == "kubernetes.container.image.ref"
    }

    assert images == {"apache/flink:2.3.1-scala_2.12"}


def test_secret_options_are_those_whose_values_flink_hides() -> None:
    declared = {option.key for option in every_option() if option.secret}

    assert declared
    assert all(is_secret(key) for key in declared)
    assert is_secret("fs.s3a.secret.key")
    assert is_secret("s3.access-key") is False  # the key's name, not the secret itself
    assert not is_secret("kubernetes.env.secretKeyRef")
    assert not is_secret("kubernetes.secrets")
