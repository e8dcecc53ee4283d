"""What can be done with objects: get, list, create, replace, patch, scale, delete.

A create whose answer got lost is repeated. When the repetition is told that the object exists, it
is looked at: if it has everything that was asked for and was not made before the first attempt, it
is the one that was created, and the call succeeds with it. Nothing is written into the object for
that purpose, since the objects are to be exactly Flink's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kubeflink import errors, objects
from kubeflink.kube import status
from kubeflink.kube.creation import is_creation_of
from kubeflink.kube.exchange import Exchange, Trail
from kubeflink.kube.parameters import Selector, dry_run_parameter, selectors, with_body
from kubeflink.kube.requests import Requests, is_object
from kubeflink.kube.status import Call
from kubeflink.objects import JsonObject, Resource

PAGE = 500
"""Objects per page of a list, as kubectl has it."""

Propagation = Literal["Background", "Foreground", "Orphan"]
PatchKind = Literal["merge", "json", "strategic", "apply"]
Objects = list[JsonObject]

PATCH_TYPES: Mapping[PatchKind, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


@dataclass(frozen=True, slots=True)
class ObjectList:
    """The objects of a collection at one version, from which a watch can go on."""

    items: tuple[JsonObject, ...]
    resource_version: str


class ObjectVerbs:
    """The verbs of `KubeClient`. `namespace` arguments default to the account's own."""

    def __init__(self, exchange: Exchange, requests: Requests) -> None:
        self.exchange = exchange
        self.requests = requests

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> JsonObject:
        """One object."""
        call = self.requests.call("get", resource, namespace, name)
        response = await self.exchange.send(call, lambda: self.requests.prepare("get", call))
        return self.requests.object(response, call)

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        all_namespaces: bool = False,
        labels: Selector = None,
        fields: Selector = None,
        transform: Callable[[JsonObject], JsonObject] | None = None,
    ) -> ObjectList:
        """All objects that match, each with its `apiVersion` and `kind`.

        `transform` makes of each what is kept of it, page by page.
        """
        call = self.requests.call("list", resource, namespace, all_namespaces=all_namespaces)
        parameters = selectors(labels, fields)
        try:
            return await self._pages(call, {"limit": PAGE, **parameters}, transform)
        except errors.GoneError:
            # The version of the first page is too old for the next one: take all at once.
            return await self._pages(call, parameters, transform)

    async def _pages(
        self,
        call: Call,
        parameters: dict[str, Any],
        transform: Callable[[JsonObject], JsonObject] | None,
    ) -> ObjectList:
        kind = {"apiVersion": call.resource.api_version, "kind": call.resource.kind}
        items: Objects = []
        while True:
            response = await self.exchange.send(
                call, lambda: self.requests.prepare("list", call, parameters)
            )
            page = self.requests.object(response, call)
            metadata = objects.metadata(page)
            found = page.get("items") or []
            if not isinstance(found, list) or not all(map(is_object, found)):
                raise status.foreign(call, self.requests.access)
            complete = ({**kind, **item} for item in found)
            items += complete if transform is None else map(transform, complete)
            if not metadata.get("continue"):
                return ObjectList(tuple(items), str(metadata.get("resourceVersion", "")))
            if metadata["continue"] == parameters.get("continue"):  # it would never end
                raise status.foreign(call, self.requests.access)
            parameters["continue"] = metadata["continue"]

    async def create(
        self, obj: JsonObject, namespace: str | None = None, *, dry_run: bool = False
    ) -> JsonObject:
        """Create an object and give it back as the server has it.

        `ConflictError` when it exists already. Cancelling leaves it open whether it was created.
        """
        call = self.requests.call_for("create", obj, namespace)
        trail = Trail()
        try:
            response = await self.exchange.send(
                call,
                lambda: self.requests.prepare("post", call, dry_run_parameter(dry_run), obj),
                trail=trail,
            )
        except errors.ConflictError:
            if not trail.maybe_done or not call.name:
                raise
            found = await self.get(call.resource, call.name, call.namespace)
            since = self.exchange.server_time(trail.first_sent)
            if not is_creation_of(obj, found, since=since):
                raise
            return found
        return self.requests.object(response, call)

    async def replace(
        self, obj: JsonObject, namespace: str | None = None, *, dry_run: bool = False
    ) -> JsonObject:
        """Replace an object; `ConflictError` when it carries an older resource version."""
        call = self.requests.call_for("update", obj, namespace)
        response = await self.exchange.send(
            call, lambda: self.requests.prepare("put", call, dry_run_parameter(dry_run), obj)
        )
        return self.requests.object(response, call)

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: Any,
        namespace: str | None = None,
        *,
        kind: PatchKind = "merge",
        field_manager: str | None = None,
        force: bool = False,
        dry_run: bool = False,
    ) -> JsonObject:
        """Change an object. A JSON patch is repeated only if it was certainly not carried out."""
        call = self.requests.call("patch", resource, namespace, name)
        parameters = {
            "fieldManager": field_manager or ("kubeflink" if kind == "apply" else None),
            "force": "true" if force else None,
            **dry_run_parameter(dry_run),
        }
        headers = {"Content-Type": PATCH_TYPES[kind]}
        response = await self.exchange.send(
            call,
            lambda: self.requests.prepare("patch", call, parameters, body, headers),
            idempotent=kind != "json",
        )
        return self.requests.object(response, call)

    async def scale(
        self, resource: Resource, name: str, replicas: int, namespace: str | None = None
    ) -> None:
        """Set how many pods a workload has, by its `scale` subresource."""
        call = self.requests.call("patch", resource, namespace, name, subresource="scale")

        def request() -> Any:
            prepared = self.requests.raw("PATCH", call, {})
            prepared.headers = {"Content-Type": PATCH_TYPES["merge"]}
            return with_body(prepared, {"spec": {"replicas": replicas}})

        await self.exchange.send(call, request)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        propagation: Propagation | None = "Background",
        grace_period: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """Delete an object, with `uid` only that very one (`ConflictError` if it is another).

        `grace_period` is in seconds. The object may still be there when this returns.
        """
        call = self.requests.call("delete", resource, namespace, name)
        options: JsonObject = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if propagation is not None:
            options["propagationPolicy"] = propagation
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        if grace_period is not None:
            options["gracePeriodSeconds"] = grace_period
        if dry_run:
            options["dryRun"] = ["All"]
        trail = Trail()
        try:
            await self.exchange.send(
                call, lambda: with_body(self.requests.prepare("delete", call), options), trail=trail
            )
        except errors.NotFoundError:
            if not trail.maybe_done:
                raise
