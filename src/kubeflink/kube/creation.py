"""Telling what a create has made from what was there before."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kubeflink import objects
from kubeflink.objects import JsonObject


def is_creation_of(wanted: JsonObject, found: JsonObject, *, since: float) -> bool:
    """Whether `found` is what a create of `wanted` made, not before `since` (server's time).

    The server adds fields and changes none, apart from admission webhooks: then the answer is no.
    """
    created = objects.metadata(found).get("creationTimestamp")
    if not isinstance(created, str):
        return False
    moment = datetime.fromisoformat(created).timestamp()
    # Both times have whole seconds: that of the object, and the header that the clock is from.
    return moment >= since - 2 and _contains(found, wanted)


def _contains(whole: Any, part: Any) -> bool:
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            _contains(whole.get(key), value) for key, value in part.items()
        )
    if isinstance(part, list):
        return (
            isinstance(whole, list)
            and len(whole) >= len(part)
            and all(_contains(a, b) for a, b in zip(whole, part, strict=False))
        )
    # Empty values may be left out on the way through the server.
    return bool(whole == part) or (whole is None and part in ("", 0, False, None))
