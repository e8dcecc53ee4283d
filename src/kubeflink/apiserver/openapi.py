"""The least OpenAPI that `kubectl apply` and `kubectl create` are content with.

`kubectl` looks in the v3 document of a group for the PATCH operation of the kind, to learn whether
the server validates fields itself. The schemas are left out on purpose: then `kubectl` trusts the
server, and `kubectl explain` says that there is nothing to explain.

Version 2 is read for kinds that version 3 has not, such as a manifest of `kind: List`, and by
`kubectl` only as protobuf.
"""

from __future__ import annotations

from kubeflink.apiserver.resources import Registry, ServedResource
from kubeflink.objects import JsonObject

_INFO = {"title": "Kubernetes", "version": "unversioned"}
_PARAMETERS = [
    {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
    for name in ("dryRun", "fieldManager", "fieldValidation")
]


V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""The media type; clients also ask for it with an `@` in it, which is invalid."""


def wants_protobuf(accept: str) -> bool:
    """Whether a client of version 2 reads protobuf."""
    return V2_PROTOBUF in accept.replace("@", ".")


def version_2_protobuf() -> bytes:
    """The document of version 2 as protobuf: swagger, info, and empty paths and definitions."""

    def field(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2, len(content)]) + content

    info = field(1, _INFO["title"].encode()) + field(2, _INFO["version"].encode())
    return field(1, b"2.0") + field(2, info) + field(8, b"") + field(9, b"")


def documents(registry: Registry) -> dict[str, JsonObject | str]:
    """The documents by path: the index of version 3, one document for each group, version 2."""
    paths = {
        (group, version): f"apis/{group}/{version}" if group else f"api/{version}"
        for group, version in registry.group_versions()
    }
    found: dict[str, JsonObject | str] = {
        "/openapi/v3": {
            "paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in paths.values()}
        },
        "/openapi/v2": {"swagger": "2.0", "info": _INFO, "paths": {}, "definitions": {}},
    }
    for (group, version), path in paths.items():
        served = [
            each
            for each in registry
            if (each.resource.group, each.resource.version) == (group, version)
        ]
        found[f"/openapi/v3/{path}"] = {
            "openapi": "3.0.0",
            "info": _INFO,
            "paths": {_object_path(each): _operations(each) for each in served},
            "components": {"schemas": {}},
        }
    return found


def _object_path(served: ServedResource) -> str:
    namespace = "{namespace}" if served.resource.namespaced else None
    return served.resource.path("{name}", namespace)


def _operations(served: ServedResource) -> JsonObject:
    resource = served.resource
    return {
        "patch": {
            "operationId": f"patch{resource.kind}",
            "parameters": _PARAMETERS,
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": "patch",
            "x-kubernetes-group-version-kind": {
                "group": resource.group,
                "version": resource.version,
                "kind": resource.kind,
            },
        }
    }
