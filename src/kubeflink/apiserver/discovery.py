"""Discovery: what is served, as `kubectl` and client libraries ask for it before anything else."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from kubeflink.apiserver import openapi
from kubeflink.apiserver.resources import Registry, ServedResource
from kubeflink.apiserver.watch import encode_json
from kubeflink.objects import JsonObject

VERSION = (1, 36)
"""The version of Kubernetes whose API this server follows."""

_JSON = "application/json"
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_REVIEW_GROUP = ("authorization.k8s.io", "v1")
_VERBS_OF_SUBRESOURCES = {
    "status": ("get", "patch", "update"),
    "scale": ("get", "patch", "update"),
    "log": ("get",),
    "portforward": ("create", "get"),
    "proxy": ("create", "delete", "get", "patch", "update"),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """A document with its media type."""

    body: bytes
    content_type: str = _JSON


class Discovery:
    """All documents that do not depend on the objects in the store."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._groups = [
            *(each for each in registry.group_versions() if each[0]),
            _REVIEW_GROUP,
        ]
        self._documents = self._plain_documents()

    def serves(self, path: str) -> bool:
        """Whether this path is a document of discovery."""
        return path.rstrip("/") in self._documents

    def answer(self, path: str, accept: str) -> Answer | None:
        """The document at a path; None where there is none."""
        path = path.rstrip("/")
        if path in ("/api", "/apis") and _wants_aggregated(accept):
            groups = [("", "v1")] if path == "/api" else self._groups
            return Answer(encode_json(self._aggregated(groups)), _AGGREGATED)
        if path == "/openapi/v2" and openapi.wants_protobuf(accept):
            return Answer(openapi.version_2_protobuf(), openapi.V2_PROTOBUF)
        document = self._documents.get(path)
        if document is None:
            return None
        if isinstance(document, str):
            return Answer(document.encode(), "text/plain; charset=utf-8")
        return Answer(encode_json(document))

    def _plain_documents(self) -> dict[str, JsonObject | str]:
        documents: dict[str, JsonObject | str] = {
            "/healthz": "ok",
            "/livez": "ok",
            "/readyz": "ok",
            "/version": _version(),
            "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
            "/api/v1": self._resource_list("", "v1"),
            "/apis": {
                "kind": "APIGroupList",
                "apiVersion": "v1",
                "groups": [_group(*each) for each in self._groups],
            },
        }
        for group, version in self._groups:
            documents[f"/apis/{group}"] = {
                "kind": "APIGroup",
                "apiVersion": "v1",
                **_group(group, version),
            }
            documents[f"/apis/{group}/{version}"] = self._resource_list(group, version)
        documents.update(openapi.documents(self._registry))
        return documents

    def _served(self, group: str, version: str) -> list[ServedResource]:
        return [
            each
            for each in self._registry
            if (each.resource.group, each.resource.version) == (group, version)
        ]

    def _resource_list(self, group: str, version: str) -> JsonObject:
        resources = [entry for each in self._served(group, version) for entry in _entries(each)]
        if (group, version) == _REVIEW_GROUP:
            resources.append(
                {
                    "name": "selfsubjectaccessreviews",
                    "singularName": "selfsubjectaccessreview",
                    "namespaced": False,
                    "kind": "SelfSubjectAccessReview",
                    "verbs": ["create"],
                }
            )
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{group}/{version}" if group else version,
            "resources": resources,
        }

    def _aggregated(self, groups: list[tuple[str, str]]) -> JsonObject:
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": [self._aggregated_group(*each) for each in groups],
        }

    def _aggregated_group(self, group: str, version: str) -> JsonObject:
        resources = [_aggregated_resource(each) for each in self._served(group, version)]
        if (group, version) == _REVIEW_GROUP:
            resources.append(
                {
                    "resource": "selfsubjectaccessreviews",
                    "responseKind": {
                        "group": group,
                        "version": version,
                        "kind": "SelfSubjectAccessReview",
                    },
                    "scope": "Cluster",
                    "singularResource": "selfsubjectaccessreview",
                    "verbs": ["create"],
                }
            )
        return {
            "metadata": {"name": group, "creationTimestamp": None},
            "versions": [{"version": version, "resources": resources, "freshness": "Current"}],
        }


def _wants_aggregated(accept: str) -> bool:
    return any(
        "as=APIGroupDiscoveryList" in media
        and "v=v2" in media.replace(" ", "").split(";")
        and media.strip().startswith(_JSON)
        for media in accept.split(",")
    )


def _version() -> JsonObject:
    major, minor = VERSION
    return {
        "major": str(major),
        "minor": str(minor),
        "gitVersion": f"v{major}.{minor}.0+kubeflink",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": platform.python_implementation(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }


def _group(group: str, version: str) -> JsonObject:
    entry = {"groupVersion": f"{group}/{version}", "version": version}
    return {"name": group, "versions": [entry], "preferredVersion": entry}


def _subresources(served: ServedResource) -> list[str]:
    return [*(["status"] if served.status else []), *served.subresources]


def _subresource_kind(served: ServedResource, subresource: str) -> JsonObject:
    if subresource == "scale":
        return {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    if subresource == "portforward":
        return {"group": "", "version": "v1", "kind": "PodPortForwardOptions"}
    if subresource == "proxy":
        return {"group": "", "version": "v1", "kind": "ServiceProxyOptions"}
    return _kind(served)


def _kind(served: ServedResource) -> JsonObject:
    resource = served.resource
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _entries(served: ServedResource) -> list[JsonObject]:
    """The entries of a resource and its subresources in an APIResourceList."""
    resource = served.resource
    entry: JsonObject = {
        "name": resource.plural,
        "singularName": served.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": sorted(served.verbs),
    }
    if served.short_names:
        entry["shortNames"] = list(served.short_names)
    if served.categories:
        entry["categories"] = list(served.categories)
    below = []
    for subresource in _subresources(served):
        kind = _subresource_kind(served, subresource)
        below.append(
            {
                "name": f"{resource.plural}/{subresource}",
                "singularName": "",
                "namespaced": resource.namespaced,
                **({} if kind == _kind(served) else kind),
                "kind": kind["kind"],
                "verbs": list(_VERBS_OF_SUBRESOURCES[subresource]),
            }
        )
    return [entry, *below]


def _aggregated_resource(served: ServedResource) -> JsonObject:
    return {
        "resource": served.resource.plural,
        "responseKind": _kind(served),
        "scope": "Namespaced" if served.resource.namespaced else "Cluster",
        "singularResource": served.singular,
        "verbs": sorted(served.verbs),
        "shortNames": list(served.short_names),
        "categories": list(served.categories),
        "subresources": [
            {
                "subresource": each,
                "responseKind": _subresource_kind(served, each),
                "verbs": list(_VERBS_OF_SUBRESOURCES[each]),
            }
            for each in _subresources(served)
        ],
    }
