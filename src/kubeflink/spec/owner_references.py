"""Owner references of the Deployment, from Flink's notation (KubernetesOwnerReference)."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflink.config.options import kubernetes
from kubeflink.errors import ConfigurationError
from kubeflink.objects import JsonObject

_TEXTS = ("apiVersion", "kind", "name", "uid")
_FLAGS = ("blockOwnerDeletion", "controller")


def owner_reference_from(fields: Mapping[str, str]) -> JsonObject:
    """An owner reference; fields that Kubernetes does not know are left out.

    Raises `ConfigurationError` where Kubernetes would refuse it: a field that says who the owner
    is cannot be missing.
    """
    missing = [name for name in _TEXTS if not fields.get(name)]
    if missing:
        key = kubernetes.JOBMANAGER_OWNER_REFERENCE.key
        raise ConfigurationError(f"{key}: an owner has no {' and no '.join(missing)}", option=key)
    reference: JsonObject = {name: fields[name] for name in _TEXTS}
    for name in _FLAGS:
        if name in fields:
            reference[name] = fields[name].strip().lower() == "true"
    return reference
