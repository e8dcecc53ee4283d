"""Clusters as text: the same objects, for Git and for `kubectl apply`."""

from __future__ import annotations

import json
import subprocess
import sys

import yaml

from kubeflink.spec.manifest import JSON, cluster_manifest, manifest
from support.clusters import session

VALUES = {"kubernetes.namespace": "apps", "user.text": "yes\n#: 'x'\t", "user.number": "012"}


def test_yaml_and_json_say_the_same() -> None:
    spec = session(VALUES)

    documents = list(yaml.safe_load_all(cluster_manifest(spec)))
    listed = json.loads(cluster_manifest(spec, JSON))

    assert documents == listed["items"]
    assert len(documents) == len(spec.objects)
    for document, obj in zip(documents, spec.objects, strict=True):
        assert document["metadata"].pop("namespace") == "apps"
        assert document == obj


def test_the_deployment_comes_first_and_nothing_has_an_owner_of_an_unknown_uid() -> None:
    documents = list(yaml.safe_load_all(cluster_manifest(session())))

    assert documents[0]["kind"] == "Deployment"
    assert not any("ownerReferences" in document["metadata"] for document in documents)


def test_one_object_ends_with_a_line_break() -> None:
    obj = session().deployment

    assert yaml.safe_load(manifest(obj)) == json.loads(manifest(obj, JSON)) == obj
    assert manifest(obj).endswith("\n")
    assert manifest(obj, JSON).endswith("}\n")


def test_building_objects_loads_nothing_heavy() -> None:
    """A drop-in command has no time for models, servers and terminals."""
    script = (
        "import sys, kubeflink.spec;"
        "print(sorted({'lightkube', 'aiohttp', 'rich', 'httpx2', 'asyncio'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
