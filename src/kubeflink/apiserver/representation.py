"""How an object is shown to a client: as it is, as a Table row, or as its metadata only.

A client asks in `Accept`, best first, such as `application/json;as=Table;v=v1;g=meta.k8s.io`. What
this server cannot make (protobuf, CBOR) is passed over; a client that takes nothing else gets 406.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kubeflink.apiserver import statuses, tables
from kubeflink.apiserver.store import ObjectList
from kubeflink.apiserver.watch import WatchEvent, encode_json
from kubeflink.objects import JsonObject, Resource

View = Literal["", "Table", "PartialObjectMetadata", "PartialObjectMetadataList"]
_META = "meta.k8s.io"
_VIEWS = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")


@dataclass(frozen=True, slots=True)
class Representation:
    """One way of showing objects of one resource.

    `include_object`: what of the object goes into a Table row ("None", "Metadata" or "Object").
    """

    resource: Resource
    view: View = ""
    include_object: str = "Metadata"

    def object(self, obj: JsonObject) -> JsonObject:
        """One object."""
        if self.view == "Table":
            version = obj["metadata"].get("resourceVersion", "")
            return tables.table(self.resource, [obj], version, self.include_object)
        return _partial(obj) if self.view else obj

    def list(self, found: ObjectList, metadata: JsonObject) -> JsonObject:
        """A list; `metadata` is the list's own."""
        if self.view == "Table":
            table = tables.table(self.resource, found.items, "", self.include_object)
            return {**table, "metadata": metadata}
        items: Sequence[JsonObject] = found.items
        kind, version = f"{self.resource.kind}List", self.resource.api_version
        if self.view:
            kind, version = "PartialObjectMetadataList", f"{_META}/v1"
            items = [_partial(obj) for obj in items]
        else:
            # As from a real server, whose items are of the list's kind and do not say so.
            items = [_without_kind(obj) for obj in items]
        return {"kind": kind, "apiVersion": version, "metadata": metadata, "items": items}

    def event(self, event: WatchEvent, *, first: bool = False) -> bytes:
        """A watch event as one line of JSON without its end.

        Only the first row of a watch carries the columns, as clients expect.
        """
        if not self.view or event.type == "ERROR":
            return event.encoded()
        if self.view == "Table":
            bookmark = event.type == "BOOKMARK"
            rows = [] if bookmark else [event.object]
            shown = tables.table(self.resource, rows, "", self.include_object)
            if not first:
                shown["columnDefinitions"] = None
            if bookmark:
                shown["rows"] = [{"cells": [], "object": _partial(event.object)}]
        else:
            shown = _partial(event.object)
        return encode_json({"type": event.type, "object": shown})


def negotiate(accept: str, resource: Resource, include_object: str | None = None) -> Representation:
    """The best representation that the client takes; 406 where it takes none of ours."""
    for media in accept.split(",") if accept.strip() else ["*/*"]:
        kind, *parameters = (part.strip() for part in media.split(";"))
        if kind not in ("application/json", "*/*", "application/*", "text/*", "text/html"):
            continue
        given = dict(_parameter(each) for each in parameters if "=" in each)
        view: Any = given.get("as", "")
        if view == "":
            return Representation(resource)
        if view in _VIEWS and given.get("g") == _META and given.get("v") == "v1":
            return Representation(resource, view, include_object or "Metadata")
    raise statuses.failure(406, "only the following media types are accepted: application/json")


def _parameter(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key.strip(), value.strip()


def _partial(obj: JsonObject) -> JsonObject:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"{_META}/v1",
        "metadata": obj["metadata"],
    }


def _without_kind(obj: JsonObject) -> JsonObject:
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}
