"""Requests for lightkube to send, and what is in their answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kubeflink import errors, objects
from kubeflink.kube import status
from kubeflink.kube.access import ClusterAccess
from kubeflink.kube.parameters import in_path, lightkube_class
from kubeflink.kube.status import Call
from kubeflink.objects import JsonObject, Resource

if TYPE_CHECKING:
    import httpx2


@dataclass(frozen=True, slots=True)
class Requests:
    """Makes them for one account; `client` is lightkube's."""

    client: Any
    access: ClusterAccess
    namespace: str

    def call(
        self,
        verb: str,
        resource: Resource,
        namespace: str | None,
        name: str | None = None,
        *,
        all_namespaces: bool = False,
        subresource: str | None = None,
    ) -> Call:
        """What is asked for, where: in a namespace or, if the resource has none, everywhere."""
        within = (namespace or self.namespace) if resource.namespaced else None
        return Call(verb, resource, None if all_namespaces else within, name, subresource)

    def call_for(self, verb: str, obj: JsonObject, namespace: str | None) -> Call:
        """The same about an object, whose own namespace must not be another one."""
        own = objects.namespace_of(obj)
        if own and namespace and own != namespace:
            raise errors.UsageError(
                f'{obj["kind"]} {objects.name_of(obj)} belongs to namespace "{own}",'
                f' not to "{namespace}"'
            )
        resource = objects.resource_of(obj)
        return self.call(verb, resource, own or namespace, objects.name_of(obj) or None)

    def prepare(
        self,
        method: str,
        call: Call,
        parameters: Mapping[str, Any] | None = None,
        obj: Any = None,
        headers: dict[str, str] | None = None,
        *,
        watching: bool = False,
    ) -> Any:
        """A request of lightkube's."""
        kind = lightkube_class(call.resource)
        if isinstance(obj, dict) and method != "patch":
            obj = kind(obj)
        everywhere = call.resource.namespaced and call.namespace is None
        return self.client.prepare_request(
            method,
            res=kind,
            obj=obj,
            name=in_path(call.name),
            namespace="*" if everywhere else in_path(call.namespace),
            watch=watching,
            params=dict(parameters or {}),
            headers=headers,
        )

    def object(self, response: httpx2.Response, call: Call) -> JsonObject:
        """The object or list in an answer; `ApiUnreachableError` if something else answered."""
        found: Any = status.decoded(response.content, call, self.access)
        if not is_object(found) or found.get("kind") == "Status":
            raise status.foreign(call, self.access)
        answer: JsonObject = found
        return answer

    def raw(self, method: str, call: Call, parameters: Mapping[str, Any]) -> Any:
        """A request for a subresource, which lightkube prepares for its own models only."""
        from lightkube.core.generic_client import BasicRequest

        name = f"{in_path(call.name)}/{call.subresource}"
        path = call.resource.path(name, in_path(call.namespace))
        return BasicRequest(method, path, params=dict(parameters))


def is_object(value: Any) -> bool:
    """Whether a JSON value can be an object or a list of Kubernetes; items have no `kind`."""
    if not isinstance(value, dict) or not ("kind" in value or "metadata" in value):
        return False
    return isinstance(value.get("metadata", {}), dict)
