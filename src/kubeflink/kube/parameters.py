"""What requests carry: classes for lightkube, query parameters, bodies."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import quote

from kubeflink import objects
from kubeflink.errors import UsageError
from kubeflink.objects import JsonObject, Resource

Selector = Mapping[str, str] | str | None


def in_path(name: str | None) -> str | None:
    """A name as it stands in a path: one with a slash in it must not lead to another resource.

    UsageError for names that a path cannot hold: an empty one would make a request about an object
    one about all of them, and dots one about the namespace that it is in.
    """
    if name is None:
        return None
    if not name.strip(" ") or name in (".", ".."):
        raise UsageError(f"{name!r} cannot be a name in Kubernetes", hint="Is a variable empty?")
    return quote(name, safe=":")


@cache
def lightkube_class(resource: Resource) -> Any:
    """lightkube's class for a resource, without its registry of generated models."""
    from lightkube.generic_resource import (
        GenericGlobalResource,
        GenericNamespacedResource,
        create_api_info,
    )

    base: Any = GenericNamespacedResource if resource.namespaced else GenericGlobalResource
    info = create_api_info(resource.group, resource.version, resource.kind, resource.plural)
    return type(resource.kind, (base,), {"_api_info": info})


def with_body(request: Any, body: JsonObject) -> Any:
    """A lightkube request with a body, which it leaves out of deletes."""
    request.data = body
    return request


def dry_run_parameter(wanted: bool) -> dict[str, str]:
    """`dryRun`, which the API takes with the one value `All`."""
    return {"dryRun": "All"} if wanted else {}


def selectors(labels: Selector, fields: Selector) -> dict[str, str]:
    """`labelSelector` and `fieldSelector`, where there are any."""
    chosen = {"labelSelector": labels, "fieldSelector": fields}
    return {
        key: selector if isinstance(selector, str) else objects.label_selector(selector)
        for key, selector in chosen.items()
        if selector
    }


def log_parameters(container: str | None, tail_lines: int | None, previous: bool) -> dict[str, str]:
    """The parameters of `pods/log`."""
    parameters: dict[str, str] = {}
    if container is not None:
        parameters["container"] = container
    if tail_lines is not None:
        parameters["tailLines"] = str(tail_lines)
    if previous:
        parameters["previous"] = "true"
    return parameters
