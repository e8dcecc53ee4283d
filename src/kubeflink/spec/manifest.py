"""A cluster as text: for Git, for review, and for `kubectl apply`.

Some things are not as they are when kubeflink deploys. Every object names its namespace, since the
text has to stand for itself. And the accompanying objects have no owner: an owner reference needs
the uid of the Deployment, which is not known before there is one. So deleting the Deployment leaves
them; the label `app=<cluster id>` finds all but the two for Kerberos, which have no labels.
The pod of a TaskManager, which a JobManager makes with its owner, has a placeholder for that uid.
"""

from __future__ import annotations

import json

from kubeflink.config.yaml import dump_kubernetes
from kubeflink.objects import JsonObject
from kubeflink.spec.jobmanager import JobManagerSpec

YAML = "yaml"
JSON = "json"


def cluster_manifest(spec: JobManagerSpec, output: str = YAML) -> str:
    """All objects: YAML documents in the order of their creation, or one JSON list of them."""
    objects = [with_namespace(obj, spec.namespace) for obj in spec.objects]
    if output == JSON:
        return manifest({"apiVersion": "v1", "kind": "List", "items": objects}, JSON)
    return "---\n".join(manifest(obj) for obj in objects)


def manifest(obj: JsonObject, output: str = YAML) -> str:
    """One object as YAML or JSON, with a line break at its end."""
    if output == JSON:
        return json.dumps(obj, indent=2, ensure_ascii=False) + "\n"
    return dump_kubernetes(obj)


def with_namespace(obj: JsonObject, namespace: str) -> JsonObject:
    """The object with its namespace in its metadata."""
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}
