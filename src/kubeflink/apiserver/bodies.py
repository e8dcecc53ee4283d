"""Bodies of requests and answers: reading with limits, decoding, patching."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

from kubeflink.apiserver import protobuf, statuses
from kubeflink.apiserver.patches import json_patch, merge_patch
from kubeflink.apiserver.strategic import strategic_merge
from kubeflink.apiserver.watch import encode_json
from kubeflink.objects import JsonObject

MAXIMUM_BODY = 3 * 1024 * 1024
"""Bytes of a request body, as the real server's limit."""

APPLY = ("application/apply-patch+yaml", "application/apply-patch+json")


async def read_body(request: web.BaseRequest) -> bytes:
    """The whole body; 413 where it is larger than Kubernetes takes."""
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > MAXIMUM_BODY:
            raise statuses.failure(413, f"Request entity too large: limit is {MAXIMUM_BODY}")
    return bytes(body)


async def read_object(request: web.BaseRequest) -> JsonObject:
    """A JSON, YAML or protobuf object from the body; 400, 413 or 415."""
    body = await read_body(request)
    decoded: Any
    if request.content_type == protobuf.MEDIA_TYPE:
        decoded = protobuf.decode(body)
    elif request.content_type in ("application/yaml", "application/x-yaml"):
        decoded = decode_yaml(body)
    elif request.content_type in ("application/json", "application/octet-stream", "text/plain"):
        decoded = decode_json(body)
    else:
        raise _unknown_format("application/json, application/yaml")
    if not isinstance(decoded, dict):
        raise statuses.bad_request(
            "couldn't get version/kind; json parse error: the body is no object"
        )
    return decoded


def decode_json(body: bytes) -> Any:
    """A JSON value; 400."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise statuses.bad_request(
            f"couldn't get version/kind; json parse error: {error}"
        ) from error


def decode_yaml(body: bytes) -> Any:
    """A YAML value, or a JSON one; 400."""
    if body.lstrip()[:1] == b"{":
        return decode_json(body)
    try:
        return msgspec.yaml.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise statuses.bad_request(f"error decoding YAML: {error}") from error


def patched(media_type: str, current: JsonObject, patch: Any) -> JsonObject:
    """The object after a patch of this media type; 400, 415 or 422."""
    result: Any
    if media_type == "application/json-patch+json":
        if not isinstance(patch, list):
            raise statuses.bad_request("a JSON patch is a list of operations")
        result = json_patch(current, patch)
    elif media_type in ("application/merge-patch+json", "application/strategic-merge-patch+json"):
        if not isinstance(patch, dict):
            raise statuses.bad_request("a merge patch is an object")
        merge = merge_patch if media_type == "application/merge-patch+json" else strategic_merge
        result = merge(current, patch)
    else:
        raise _unknown_format(
            "application/json-patch+json, application/merge-patch+json, "
            "application/strategic-merge-patch+json, application/apply-patch+yaml"
        )
    if not isinstance(result, dict) or not isinstance(result.get("metadata"), dict):
        raise statuses.bad_request("what the patch leads to is no object")
    return result


def _unknown_format(accepted: str) -> Exception:
    return statuses.failure(
        415,
        "the body of the request was in an unknown format - accepted media types include: "
        f"{accepted}",
    )


def json_response(body: JsonObject, status: int = 200) -> web.Response:
    """A JSON answer."""
    return web.Response(body=encode_json(body), status=status, content_type="application/json")
