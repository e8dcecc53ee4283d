"""Who may do what: the authorizer, and the reviews by which clients ask beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from kubeflink.apiserver import statuses
from kubeflink.objects import JsonObject

SELF_SUBJECT_ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a request wants to do. For a path that is no resource only `verb` and `path` are set."""

    user: str
    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class Authorizer(Protocol):
    """Decides on requests and on access reviews alike."""

    def allows(self, attributes: Attributes) -> bool:
        """Whether the user may do this."""


class AllowAll:
    """Everybody who is let in may do everything."""

    def allows(self, attributes: Attributes) -> bool:
        """Yes."""
        return True


def forbidden(attributes: Attributes) -> Exception:
    """The 403 that tells who may not do what and where."""
    if not attributes.resource:
        message = (
            f'forbidden: User "{attributes.user}" cannot {attributes.verb} path "{attributes.path}"'
        )
        return statuses.failure(403, message)
    resource = attributes.resource
    full = f"{resource}/{attributes.subresource}" if attributes.subresource else resource
    qualified = f"{resource}.{attributes.group}" if attributes.group else resource
    subject = f'{qualified} "{attributes.name}"' if attributes.name else qualified
    where = (
        f'in the namespace "{attributes.namespace}"'
        if attributes.namespace
        else "at the cluster scope"
    )
    details: JsonObject = {"kind": resource}
    if attributes.name:
        details["name"] = attributes.name
    if attributes.group:
        details["group"] = attributes.group
    return statuses.failure(
        403,
        f'{subject} is forbidden: User "{attributes.user}" cannot {attributes.verb} resource '
        f'"{full}" in API group "{attributes.group}" {where}',
        details=details,
    )


def self_subject_access_review(review: JsonObject, user: str, authorizer: Authorizer) -> JsonObject:
    """The review with its answer."""
    spec: Any = review.get("spec")
    if not isinstance(spec, dict):
        raise statuses.bad_request("spec of a SelfSubjectAccessReview is missing")
    wanted = spec.get("resourceAttributes") or {}
    path = spec.get("nonResourceAttributes") or {}
    if not isinstance(wanted, dict) or not isinstance(path, dict):
        raise statuses.bad_request("spec of a SelfSubjectAccessReview cannot be read")
    fields = ("group", "resource", "subresource", "namespace", "name")
    attributes = Attributes(
        user,
        str(wanted.get("verb") or path.get("verb") or ""),
        **{each: str(wanted.get(each) or "") for each in fields},
        path=str(path.get("path") or ""),
    )
    return {
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {"creationTimestamp": None},
        "spec": spec,
        "status": {"allowed": authorizer.allows(attributes)},
    }
