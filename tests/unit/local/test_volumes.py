"""Volumes as directories and files."""

from __future__ import annotations

import base64
import stat
from pathlib import Path

import pytest

from kubeflink import objects
from kubeflink.local.environment import ContainerConfigError
from kubeflink.local.volumes import MountError, Mounts, VolumeContext, prepare_mounts
from kubeflink.objects import JsonObject, Resource

OBJECTS: dict[tuple[Resource, str], JsonObject] = {
    (objects.CONFIG_MAPS, "cm"): {
        "data": {"a.txt": "A", "b.txt": "B"},
        "binaryData": {"c.bin": base64.b64encode(b"\xff").decode()},
    },
    (objects.SECRETS, "s"): {"data": {"key": base64.b64encode(b"secret").decode()}},
    (objects.SECRETS, "damaged"): {"data": {"key": "a"}},
}


def mount(tmp_path: Path, volumes: list[JsonObject], mounts: list[JsonObject]) -> Mounts:
    pod = {
        "metadata": {"name": "p", "namespace": "n", "labels": {"a": "b"}},
        "spec": {"volumes": volumes},
    }
    context = VolumeContext(
        pod=pod,
        directory=tmp_path / "pod",
        claims=tmp_path / "claims",
        read=lambda kind, name: OBJECTS.get((kind, name)),
    )
    return prepare_mounts(context, {"volumeMounts": mounts}, tmp_path / "pod/own")


def one(tmp_path: Path, volume: JsonObject, **mount_fields: str) -> Path:
    made = mount(
        tmp_path,
        [{"name": "v", **volume}],
        [{"name": "v", "mountPath": "/m", **mount_fields}],
    )
    return made.mounts[0].source


def test_config_map(tmp_path: Path) -> None:
    source = one(tmp_path, {"configMap": {"name": "cm"}})
    content = {file.name: file.read_bytes() for file in source.iterdir()}
    assert content == {"a.txt": b"A", "b.txt": b"B", "c.bin": b"\xff"}


def test_items_choose_and_rename_keys(tmp_path: Path) -> None:
    items = [{"key": "a.txt", "path": "x/y.txt"}]
    source = one(tmp_path, {"configMap": {"name": "cm", "items": items}})
    assert [str(file.relative_to(source)) for file in source.rglob("*.txt")] == ["x/y.txt"]


def test_sub_path_mounts_one_file(tmp_path: Path) -> None:
    assert one(tmp_path, {"configMap": {"name": "cm"}}, subPath="b.txt").read_text() == "B"


def test_secret_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = one(tmp_path, {"secret": {"secretName": "s"}}) / "key"
    assert file.read_bytes() == b"secret"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_only_config_maps_count_as_configuration(tmp_path: Path) -> None:
    made = mount(
        tmp_path,
        [{"name": "c", "configMap": {"name": "cm"}}, {"name": "s", "secret": {"secretName": "s"}}],
        [{"name": "c", "mountPath": "/c"}, {"name": "s", "mountPath": "/s"}],
    )
    assert {file.name for file in made.configuration} == {"a.txt", "b.txt", "c.bin"}


def test_projected_volume_joins_its_sources(tmp_path: Path) -> None:
    sources = [
        {"secret": {"name": "s"}},
        {"configMap": {"name": "cm", "items": [{"key": "a.txt", "path": "a"}]}},
        {
            "downwardAPI": {
                "items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
            }
        },
    ]
    source = one(tmp_path, {"projected": {"sources": sources}})
    assert {file.name: file.read_text() for file in source.iterdir()} == {
        "key": "secret",
        "a": "A",
        "labels": 'a="b"',
    }


def test_empty_dir_is_shared_in_the_pod_and_a_claim_in_the_cluster(tmp_path: Path) -> None:
    assert one(tmp_path, {"emptyDir": {}}).is_relative_to(tmp_path / "pod")
    claim = one(tmp_path, {"persistentVolumeClaim": {"claimName": "c"}})
    assert claim == tmp_path / "claims/n/c"
    assert claim.is_dir()


def test_host_path_is_itself(tmp_path: Path) -> None:
    wanted = tmp_path / "host"
    with pytest.raises(MountError, match="hostPath type check failed"):
        one(tmp_path, {"hostPath": {"path": str(wanted), "type": "Directory"}})
    assert one(tmp_path, {"hostPath": {"path": str(wanted), "type": "DirectoryOrCreate"}}) == wanted
    assert wanted.is_dir()


def test_optional_sources_may_be_missing(tmp_path: Path) -> None:
    assert list(one(tmp_path, {"configMap": {"name": "none", "optional": True}}).iterdir()) == []


@pytest.mark.parametrize(
    ("volume", "named"),
    [
        ({"configMap": {"name": "none"}}, 'configmap "none" not found'),
        ({"secret": {"secretName": "none"}}, 'secret "none" not found'),
        ({"configMap": {"name": "cm", "items": [{"key": "z", "path": "z"}]}}, 'no key "z"'),
        ({"configMap": {"name": "cm", "items": [{"key": "a.txt", "path": "../z"}]}}, "inside"),
        ({"nfs": {"server": "x"}}, "kind nfs"),
    ],
)
def test_what_cannot_be_mounted_is_named(tmp_path: Path, volume: JsonObject, named: str) -> None:
    with pytest.raises(MountError, match=named):
        one(tmp_path, volume)


def test_a_secret_that_is_no_base64_is_named(tmp_path: Path) -> None:
    with pytest.raises(ContainerConfigError, match='key of secret "damaged" is no base64'):
        one(tmp_path, {"secret": {"secretName": "damaged"}})


def test_sub_path_stays_inside(tmp_path: Path) -> None:
    with pytest.raises(MountError):
        one(tmp_path, {"emptyDir": {}}, subPath="../../x")


def test_a_mount_shows_inside_the_mount_around_it(tmp_path: Path) -> None:
    made = mount(
        tmp_path,
        [{"name": "e", "emptyDir": {}}, {"name": "c", "configMap": {"name": "cm"}}],
        [{"name": "e", "mountPath": "/data"}, {"name": "c", "mountPath": "/data/conf"}],
    )
    assert (made.mounts[0].source / "conf/a.txt").read_text() == "A"
