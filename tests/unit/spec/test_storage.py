"""What is kept for recovery has to outlive its pod."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflink.errors import ConfigurationError
from support.clusters import messages, session

HA = {"high-availability.type": "kubernetes"}
STORAGE = "high-availability.storageDir"
CHECKPOINTS = "execution.checkpointing.dir"

TEMPLATE = """
spec:
  containers:
    - name: flink-main-container
      volumeMounts:
        - {{name: shared, mountPath: /data}}
  volumes:
    - name: shared
      {volume}
"""


@pytest.mark.parametrize("kind", ["kubernetes", "KUBERNETES", "zookeeper"])
@pytest.mark.parametrize("storage", [None, "", " "])
def test_high_availability_without_a_place_for_its_data_is_refused(
    kind: str, storage: str | None
) -> None:
    with pytest.raises(ConfigurationError, match=STORAGE) as caught:
        session({"high-availability.type": kind, STORAGE: storage})

    assert caught.value.hint is not None


def test_a_factory_of_ones_own_may_need_none() -> None:
    session({"high-availability.type": "com.example.MyFactory"})


@pytest.mark.parametrize("place", ["file:///home/me/ha", "/home/me/ha", "file:/ha"])
def test_a_directory_that_only_the_client_can_see_is_told(place: str) -> None:
    told = messages(session({**HA, STORAGE: place, CHECKPOINTS: place}))

    assert f"{STORAGE}={place} is a directory of the JobManager's pod" in told
    assert f"{CHECKPOINTS}={place} is a directory of each pod" in told


@pytest.mark.parametrize("place", ["s3://bucket/ha", "hdfs:///ha", "abfs://c@a/ha"])
def test_a_file_system_of_all_is_right(place: str) -> None:
    assert "is a directory of" not in messages(session({**HA, STORAGE: place}))


def test_a_claim_that_is_mounted_there_is_right() -> None:
    claim = {"kubernetes.persistent-volume-claims": "ha-claim:/data"}

    inside = messages(session({**HA, **claim, STORAGE: "file:///data/ha"}))
    beside = messages(session({**HA, **claim, STORAGE: "file:///database"}))

    assert STORAGE not in inside
    assert STORAGE in beside


@pytest.mark.parametrize(
    ("volume", "lasts"),
    [("nfs: {server: s, path: /p}", True), ("emptyDir: {}", False), ("hostPath: {path: /p}", True)],
)
def test_volumes_of_a_pod_template_count_if_they_last(
    tmp_path: Path, volume: str, lasts: bool
) -> None:
    template = tmp_path / "pod.yaml"
    template.write_text(TEMPLATE.format(volume=volume))
    values = {"kubernetes.pod-template-file.default": str(template), STORAGE: "/data/ha"}

    told = messages(session({**HA, **values}))

    assert (STORAGE not in told) is lasts


def test_entries_of_a_template_that_kubernetes_will_refuse_hide_nothing(tmp_path: Path) -> None:
    template = tmp_path / "pod.yaml"
    mounts = "[{name: a}, {mountPath: /x}]"
    main = f"{{name: flink-main-container, volumeMounts: {mounts}}}"
    template.write_text(f"spec: {{containers: [{main}], volumes: [{{emptyDir: {{}}}}]}}")
    values = {"kubernetes.pod-template-file.default": str(template), STORAGE: "/data/ha"}

    told = messages(session({**HA, **values}))

    assert STORAGE in told
    assert "spec.volumes[0] has no name" in told
    assert "spec.containers[0].volumeMounts[0] has no mountPath" in told


@pytest.mark.parametrize("place", ["s3://[bucket", "s3://a]b/c"])
def test_a_place_that_is_no_url_is_left_to_flink(place: str) -> None:
    assert "is a directory of" not in messages(session({**HA, STORAGE: place, CHECKPOINTS: place}))
