"""Requests on resources: create, get, list, watch, replace, patch, delete, for every kind alike.

A handler reads the request, calls the `Store`, and shows the result. What a kind does differently
is in its `ServedResource`, its defaults and its rules, never here.
"""

from __future__ import annotations

import random
import weakref
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Literal, TypeAlias

from aiohttp import web

from kubeflink import objects
from kubeflink.apiserver import bodies, paths, scale, statuses
from kubeflink.apiserver.apply import apply_patch
from kubeflink.apiserver.bodies import (
    decode_json,
    decode_yaml,
    json_response,
    patched,
    read_body,
    read_object,
)
from kubeflink.apiserver.faults import Fault
from kubeflink.apiserver.paths import Continue, Target
from kubeflink.apiserver.representation import Representation, negotiate
from kubeflink.apiserver.selectors import Selection
from kubeflink.apiserver.store import ObjectList, Store, modify
from kubeflink.apiserver.streams import WatchStream
from kubeflink.apiserver.watch import Watch
from kubeflink.errors import GoneError, NotFoundError
from kubeflink.objects import JsonObject

_Handlers: TypeAlias = dict[
    str,
    Callable[["ResourceHandlers", web.BaseRequest, Target], Awaitable[web.StreamResponse]],
]


class ResourceHandlers:
    """The verbs on resources.

    `watch_duration` in seconds, lowest and highest: how long a watch lives whose client does not
    say. Watches of many clients must not end, and come back, all at once.
    """

    def __init__(
        self, store: Store, *, watch_duration: tuple[float, float] = (1800.0, 3600.0)
    ) -> None:
        self._store = store
        self._watch_duration = watch_duration
        self._watches: weakref.WeakSet[Watch] = weakref.WeakSet()

    def close_watches(self) -> None:
        """End all watches in order, as a server does that is being stopped."""
        for watch in list(self._watches):
            watch.close()

    async def handle(
        self, request: web.BaseRequest, target: Target, fault: Fault | None
    ) -> web.StreamResponse:
        """Answer a request on a collection, an object, or its `status` or `scale`."""
        if target.name:
            verbs = self._on_scale if target.subresource == "scale" else self._on_object
        else:
            verbs = self._on_collection
        handler = verbs.get(request.method)
        if handler is None:
            raise statuses.method_not_allowed()
        if request.method == "GET" and self._is_watch(request):
            return await self._watch(request, target, fault)
        return await handler(self, request, target)

    @staticmethod
    def _is_watch(request: web.BaseRequest) -> bool:
        return paths.flag(request.query, "watch")

    async def _get(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        obj = await self._store.get(target.resource, target.namespace, target.name)
        return self._shown(request, target, obj)

    async def _list(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        query = request.query
        limit = paths.integer(query, "limit") or 0
        token = Continue.parse(query["continue"]) if query.get("continue") else None
        found = await self._store.list(
            target.resource,
            target.namespace,
            selection=Selection.parse(query, target.resource),
            limit=limit,
            after=token.after if token else None,
        )
        self._check_list_version(request, found)
        version = found.resource_version
        if token is not None:
            # All pages tell of the first one's version, so that a watch from there misses nothing.
            version = token.resource_version
            self._store.watch(target.resource, target.namespace, resource_version=version)
        metadata: JsonObject = {"resourceVersion": version}
        if found.remaining:
            last = objects.namespace_of(found.items[-1]) or "", objects.name_of(found.items[-1])
            metadata["continue"] = Continue(version, last).token()
            metadata["remainingItemCount"] = found.remaining
        return json_response(self._representation(request, target).list(found, metadata))

    @staticmethod
    def _check_list_version(request: web.BaseRequest, found: ObjectList) -> None:
        asked = paths.integer(request.query, "resourceVersion")
        current = int(found.resource_version)
        if not asked:
            return
        if asked > current:
            raise statuses.failure(
                504,
                f"Too large resource version: {asked}, current: {current}",
                details={
                    "causes": [
                        {
                            "reason": "ResourceVersionTooLarge",
                            "message": "Too large resource version",
                        }
                    ]
                },
                retry_after=1,
            )
        if request.query.get("resourceVersionMatch") == "Exact" and asked != current:
            raise statuses.expired(asked, current)

    async def _watch(
        self, request: web.BaseRequest, target: Target, fault: Fault | None
    ) -> web.StreamResponse:
        query = request.query
        initial = paths.flag(query, "sendInitialEvents")
        duration = paths.integer(query, "timeoutSeconds")
        selection = Selection.parse(query, target.resource, target.name)
        representation = self._representation(request, target)

        watch: Watch | GoneError
        try:
            watch = self._store.watch(
                target.resource,
                target.namespace,
                selection=selection,
                resource_version=query.get("resourceVersion", ""),
                initial_events=initial,
            )
        except GoneError as error:
            watch = error
        if fault is not None and fault.watch == "gone":
            watch = statuses.expired(0, 1)
        if isinstance(watch, Watch):
            self._watches.add(watch)
        stream = WatchStream(
            watch,
            representation,
            duration=float(duration) if duration else random.uniform(*self._watch_duration),
            bookmarks=paths.flag(query, "allowWatchBookmarks"),
            silent=fault is not None and fault.watch == "silent",
        )
        return await stream.serve(request)

    async def _create(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        obj = await read_object(request)
        stored = await self._store.create(
            target.resource, target.namespace, obj, dry_run=paths.dry_run(request.query)
        )
        return self._shown(request, target, stored, status=201)

    async def _replace(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        obj = await read_object(request)
        metadata = obj.setdefault("metadata", {})
        _check_name(target, metadata.get("name") if isinstance(metadata, dict) else None)
        stored = await self._store.replace(
            target.resource,
            target.namespace,
            obj,
            subresource=_subresource(target),
            dry_run=paths.dry_run(request.query),
        )
        return self._shown(request, target, stored)

    async def _patch(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        kind = request.content_type
        body = await read_body(request)
        if kind in bodies.APPLY:
            return await self._apply(request, target, decode_yaml(body))
        patch = decode_json(body)

        def change(current: JsonObject) -> JsonObject:
            changed = patched(kind, current, patch)
            _check_name(target, changed["metadata"].get("name"))
            return changed

        stored = await modify(
            self._store,
            target.resource,
            target.namespace,
            target.name,
            change,
            subresource=_subresource(target),
            dry_run=paths.dry_run(request.query),
        )
        return self._shown(request, target, stored)

    async def _apply(
        self, request: web.BaseRequest, target: Target, applied: Any
    ) -> web.StreamResponse:
        """Server-side apply: make the object, or merge into it what its manager wants."""
        manager, dry = request.query.get("fieldManager", ""), paths.dry_run(request.query)
        if not manager:
            raise statuses.failure(
                422,
                'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required '
                "for apply patch",
            )
        _check_applied(target, applied)
        force, part = paths.flag(request.query, "force"), _subresource(target)

        def change(current: JsonObject | None) -> JsonObject:
            return apply_patch(
                target.resource, current, applied, manager=manager, force=force, subresource=part
            )

        try:
            stored = await modify(
                self._store,
                target.resource,
                target.namespace,
                target.name,
                change,
                subresource=part,
                dry_run=dry,
            )
        except NotFoundError:
            if part:
                raise
            stored = await self._store.create(
                target.resource, target.namespace, change(None), dry_run=dry
            )
            return self._shown(request, target, stored, status=201)
        return self._shown(request, target, stored)

    async def _delete(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        options = paths.delete_options(request.query, await read_body(request))
        deletion = await self._store.delete(target.resource, target.namespace, target.name, options)
        if deletion.gone and target.resource not in _SHOWN_WHEN_DELETED:
            uid = objects.uid_of(deletion.object)
            return json_response(statuses.success(target.resource, target.name, uid))
        return self._shown(request, target, deletion.object)

    async def _delete_collection(
        self, request: web.BaseRequest, target: Target
    ) -> web.StreamResponse:
        if "deletecollection" not in target.served.verbs:
            raise statuses.method_not_allowed()
        options = paths.delete_options(request.query, await read_body(request))
        found = await self._store.list(
            target.resource,
            target.namespace,
            selection=Selection.parse(request.query, target.resource),
        )
        for obj in found.items:
            try:
                await self._store.delete(
                    target.resource, objects.namespace_of(obj), objects.name_of(obj), options
                )
            except NotFoundError:
                continue  # somebody else was faster
        metadata = {"resourceVersion": found.resource_version}
        return json_response(self._representation(request, target).list(found, metadata))

    async def _get_scale(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        obj = await self._store.get(target.resource, target.namespace, target.name)
        return json_response(scale.scale_of(obj))

    async def _write_scale(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        body = decode_json(await read_body(request))

        def change(workload: JsonObject) -> JsonObject:
            wanted = body
            if request.method == "PATCH":
                wanted = patched(request.content_type, scale.scale_of(workload), body)
            return scale.with_replicas(workload, wanted)

        stored = await modify(
            self._store,
            target.resource,
            target.namespace,
            target.name,
            change,
            dry_run=paths.dry_run(request.query),
        )
        return json_response(scale.scale_of(stored))

    def _representation(self, request: web.BaseRequest, target: Target) -> Representation:
        return negotiate(
            request.headers.get("Accept", ""), target.resource, request.query.get("includeObject")
        )

    def _shown(
        self, request: web.BaseRequest, target: Target, obj: JsonObject, status: int = 200
    ) -> web.Response:
        return json_response(self._representation(request, target).object(obj), status)

    _on_collection: ClassVar[_Handlers] = {
        "GET": _list,
        "POST": _create,
        "DELETE": _delete_collection,
    }
    _on_object: ClassVar[_Handlers] = {
        "GET": _get,
        "PUT": _replace,
        "PATCH": _patch,
        "DELETE": _delete,
    }
    _on_scale: ClassVar[_Handlers] = {"GET": _get_scale, "PUT": _write_scale, "PATCH": _write_scale}


_SHOWN_WHEN_DELETED = (objects.PODS, objects.SERVICES, objects.SERVICE_ACCOUNTS)
"""Kinds whose deletion is answered with their last state; that of others with a Status."""


def _check_name(target: Target, given: Any) -> None:
    if given != target.name:
        raise statuses.bad_request(
            f"the name of the object ({given or ''}) does not match the name on the URL "
            f"({target.name})"
        )


def _check_applied(target: Target, applied: Any) -> None:
    if not isinstance(applied, dict) or not isinstance(applied.get("metadata"), dict):
        raise statuses.bad_request("the applied configuration is no object")
    resource, kind = target.resource, applied.get("kind")
    if (applied.get("apiVersion"), kind) != (resource.api_version, resource.kind):
        raise statuses.bad_request(
            f"the API version in the data ({applied.get('apiVersion')}, Kind={kind}) does not "
            f"match the expected API version ({resource.api_version}, Kind={resource.kind})"
        )
    _check_name(target, applied["metadata"].setdefault("name", target.name))
    if applied["metadata"].get("managedFields"):
        raise statuses.bad_request("metadata.managedFields must be nil")


def _subresource(target: Target) -> Literal["", "status"]:
    return "status" if target.subresource == "status" else ""
