"""A container's environment."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from kubeflink import objects
from kubeflink.local.environment import (
    ContainerConfigError,
    expand,
    field_value,
    referenced_objects,
    resolve_environment,
)
from kubeflink.objects import JsonObject, Resource

POD: JsonObject = {
    "metadata": {
        "name": "p",
        "namespace": "n",
        "uid": "u",
        "labels": {"app": "demo", "b": "c"},
        "annotations": {"note/x": "y"},
    },
    "spec": {"nodeName": "localhost", "serviceAccountName": "default"},
    "status": {"podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]},
}
OBJECTS: dict[tuple[Resource, str], JsonObject] = {
    (objects.CONFIG_MAPS, "cm"): {"data": {"k": "v", "n": "1"}},
    (objects.SECRETS, "s"): {"data": {"password": base64.b64encode(b"p\xc3\xa4ss").decode()}},
    (objects.SECRETS, "damaged"): {"data": {"k": "a"}},
}


def resolve(env: list[JsonObject], **container: Any) -> dict[str, str]:
    return resolve_environment(
        POD, {"env": env, **container}, lambda kind, name: OBJECTS.get((kind, name)), {"BASE": "b"}
    )


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "p"),
        ("metadata.labels['app']", "demo"),
        ("metadata.annotations['note/x']", "y"),
        ("metadata.labels['missing']", ""),
        ("metadata.labels", 'app="demo"\nb="c"'),
        ("spec.nodeName", "localhost"),
        ("status.podIP", "127.0.0.1"),
        ("status.podIPs", "127.0.0.1"),
    ],
)
def test_fields_of_the_pod(path: str, expected: str) -> None:
    assert field_value(POD, path) == expected


def test_a_field_that_is_no_text_is_refused() -> None:
    with pytest.raises(ContainerConfigError):
        field_value(POD, "spec")


def test_values_come_from_all_sources() -> None:
    env = resolve(
        [
            {"name": "A", "value": "1"},
            {"name": "B", "value": "$(A)-$(BASE)-$(C)-$$(A)"},
            {"name": "F", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "K", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "k"}}},
            {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "password"}}},
            {
                "name": "M",
                "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}},
            },
            {
                "name": "O",
                "valueFrom": {"secretKeyRef": {"name": "none", "key": "k", "optional": True}},
            },
            {"name": "E"},
        ],
        envFrom=[{"configMapRef": {"name": "cm"}, "prefix": "P_"}, {"secretRef": {"name": "s"}}],
        resources={"limits": {"memory": "1.5Gi"}},
    )
    assert env == {
        "BASE": "b",
        "P_k": "v",
        "P_n": "1",
        "password": "päss",
        "A": "1",
        "B": "1-b-$(C)-$(A)",
        "F": "127.0.0.1",
        "K": "v",
        "S": "päss",
        "M": "1536",
        "E": "",
    }


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ({"configMapKeyRef": {"name": "none", "key": "k"}}, 'configmap "none" not found'),
        ({"configMapKeyRef": {"name": "cm", "key": "none"}}, "couldn't find key none"),
        ({"secretKeyRef": {"name": "none", "key": "k"}}, 'secret "none" not found'),
        ({"secretKeyRef": {"name": "damaged", "key": "k"}}, 'k of secret "damaged" is no base64'),
        ({"exoticRef": {}}, "exoticRef"),
    ],
)
def test_a_reference_that_leads_nowhere_is_named(source: JsonObject, named: str) -> None:
    with pytest.raises(ContainerConfigError, match=named):
        resolve([{"name": "X", "valueFrom": source}])


def test_all_objects_that_a_pod_refers_to_are_found() -> None:
    pod = {
        "spec": {
            "volumes": [
                {"name": "a", "configMap": {"name": "cm1"}},
                {"name": "b", "secret": {"secretName": "s1"}},
                {
                    "name": "c",
                    "projected": {
                        "sources": [{"secret": {"name": "s2"}}, {"configMap": {"name": "cm2"}}]
                    },
                },
            ],
            "containers": [
                {
                    "envFrom": [{"configMapRef": {"name": "cm3"}}, {"secretRef": {"name": "s3"}}],
                    "env": [{"valueFrom": {"secretKeyRef": {"name": "s4", "key": "k"}}}],
                }
            ],
        }
    }
    found = referenced_objects(pod)
    assert {name for kind, name in found if kind is objects.CONFIG_MAPS} == {"cm1", "cm2", "cm3"}
    assert {name for kind, name in found if kind is objects.SECRETS} == {"s1", "s2", "s3", "s4"}


def test_expansion_leaves_shell_variables_alone() -> None:
    assert expand("$HOME ${HOME} $(HOME)", {"HOME": "/h"}) == "$HOME ${HOME} /h"
