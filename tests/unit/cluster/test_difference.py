"""Comparing what would be deployed with what is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubeflink.cluster.difference import compare, differences
from kubeflink.kube import KubeClient
from kubeflink.objects import JsonObject
from support.clusters import session
from support.recorder import RecordingServer, Target


@pytest.mark.parametrize(
    ("there", "wanted", "expected"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("a", 1, 2)]),
        ({}, {"a": 1}, [("a", "(nothing)", 1)]),
        ({}, {"a": {}, "b": [], "c": None}, []),
        ({"a": [1, 2]}, {"a": [1]}, [("a[1]", 2, "(nothing)")]),
        (
            {"env": [{"name": "X", "value": "1", "more": True}]},
            {"env": [{"name": "X", "value": "2"}]},
            [("env[X].value", "1", "2")],
        ),
        (
            {"args": ["a", "b"]},
            {"args": ["b", "a"]},
            [("args[0]", "a", "b"), ("args[1]", "b", "a")],
        ),
    ],
)
def test_only_what_was_asked_for_counts(
    there: Any, wanted: Any, expected: list[tuple[str, Any, Any]]
) -> None:
    assert list(compare(there, wanted, "")) == expected


@pytest.mark.parametrize(
    ("of", "field", "one", "two"),
    [
        ("containers", "name", "main", "sidecar"),
        ("env", "name", "A", "B"),
        ("volumes", "name", "data", "logs"),
        ("volumeMounts", "mountPath", "/a", "/b"),
        ("ports", "containerPort", 6123, 8081),
        ("hostAliases", "ip", "10.0.0.1", "10.0.0.2"),
    ],
)
def test_named_entries_are_compared_by_name(of: str, field: str, one: Any, two: Any) -> None:
    first, second = {field: one, "value": "x"}, {field: two, "value": "y"}

    def found(there: list[JsonObject], wanted: list[JsonObject]) -> list[tuple[str, Any, Any]]:
        return list(compare({of: there}, {of: wanted}, ""))

    assert found([first, second], [second, first]) == []
    assert found([second], [first, second]) == [(f"{of}[{one}]", "(nothing)", first)]
    assert found([first, second], [second]) == [(f"{of}[{one}]", first, "(nothing)")]
    assert found([first, second], [{**second, "value": "z"}, first]) == [
        (f"{of}[{two}].value", "y", "z")
    ]


def test_names_that_do_not_tell_entries_apart_are_none() -> None:
    """One volume may be mounted twice, and a port may have no name."""
    data = [{"name": "data", "mountPath": path} for path in ("/a", "/b")]
    ports = [{"containerPort": 1, "name": "rest"}, {"containerPort": 2}]
    doubled = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]

    assert list(compare({"volumeMounts": data[1:]}, {"volumeMounts": data}, "")) == [
        ("volumeMounts[/a]", "(nothing)", data[0])
    ]
    assert list(compare({"ports": ports[1:]}, {"ports": ports}, "")) == [
        ("ports[1]", "(nothing)", ports[0])
    ]
    assert list(compare({"env": doubled}, {"env": doubled[::-1]}, "")) == [
        ("env[0].value", "1", "2"),
        ("env[1].value", "2", "1"),
    ]


def test_init_containers_have_an_order() -> None:
    a, b, c = ({"name": name} for name in "abc")

    assert list(compare({"initContainers": [a, b]}, {"initContainers": [c, b, a]}, "spec")) == [
        ("spec.initContainers[c]", "(nothing)", c),
        ("spec.initContainers in order", "a, b", "b, a"),
    ]


async def test_objects_that_are_there_as_wanted_and_otherwise(tmp_path: Path) -> None:
    wanted = session()
    kubeconfig = tmp_path / "kubeconfig"
    with RecordingServer() as server:
        kubeconfig.write_text(server.kubeconfig(), encoding="utf-8")
        async with KubeClient.connect(kubeconfig=kubeconfig, environ={}) as client:
            before = await differences(client, wanted)
            for obj in wanted.objects:
                await client.create(obj)
            _as_stored(server.objects.by_target[Target("deployments", "default", "demo")])
            same = await differences(client, wanted)
            other = session({"kubernetes.jobmanager.labels": "team:a", "parallelism.default": 2})
            changed = await differences(client, other)

    assert {str(each) for each in before} == {
        "Deployment/demo: would be created",
        "Service/demo: would be created",
        "Service/demo-rest: would be created",
        "ConfigMap/flink-config-demo: would be created",
    }
    assert same == []
    told = [str(each) for each in changed]
    assert "Deployment/demo metadata.labels.team: (nothing) -> a" in told
    assert (
        "ConfigMap/flink-config-demo data.config.yaml.parallelism.default: (nothing) -> 2" in told
    )


@pytest.mark.parametrize("version", ["1.18", "2.3"])
async def test_configurations_are_compared_option_by_option(tmp_path: Path, version: str) -> None:
    """Whatever was set, changed or removed is told by its key, and secrets are not shown."""
    kubeconfig = tmp_path / "kubeconfig"
    common = {"s3.secret-key": "first", "rest.port": 8081, "taskmanager.numberOfTaskSlots": 1}
    file = "config.yaml" if version == "2.3" else "flink-conf.yaml"
    with RecordingServer() as server:
        kubeconfig.write_text(server.kubeconfig(), encoding="utf-8")
        async with KubeClient.connect(kubeconfig=kubeconfig, environ={}) as client:
            for obj in session({**common, "web.title": "old"}, version=version).objects:
                await client.create(obj)
            _as_stored(server.objects.by_target[Target("deployments", "default", "demo")])
            wanted = {**common, "s3.secret-key": "second", "taskmanager.numberOfTaskSlots": 4}
            found = await differences(client, session(wanted, version=version))

    assert {str(each) for each in found} == {
        f"ConfigMap/flink-config-demo data.{file}.s3.secret-key: (hidden) -> (hidden)",
        f"ConfigMap/flink-config-demo data.{file}.taskmanager.numberOfTaskSlots: 1 -> 4",
        f"ConfigMap/flink-config-demo data.{file}.web.title: old -> (nothing)",
    }


def _as_stored(deployment: JsonObject) -> None:
    """What a real API server makes of what was sent."""
    pod = deployment["spec"]["template"]["spec"]
    pod["restartPolicy"] = "Always"
    resources = pod["containers"][0]["resources"]
    for part in ("requests", "limits"):
        resources[part]["cpu"] = "1"
    deployment["spec"]["strategy"] = {"type": "RollingUpdate"}
