"""Telling what a create has made from what was there before."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kubeflink import objects
from kubeflink.objects import JsonObject
from kubeflink.quantities import with_plain_quantities


def is_creation_of(wanted: JsonObject, found: JsonObject, *, since: float) -> bool:
    """Whether `found` is what a create of `wanted` made, not before `since` (server's time).

    The server adds fields and changes none but the form of quantities, apart from admission
    webhooks: then the answer is no.
    """
    created = objects.metadata(found).get("creationTimestamp")
    if not isinstance(created, str):
        return False
    moment = datetime.fromisoformat(created).timestamp()
    # Both times have whole seconds: that of the object, and the header that the clock is from.
    if moment < since - 2:
        return False
    return _contains(with_plain_quantities(found), with_plain_quantities(wanted))


def _contains(whole: Any, part: Any) -> bool:
    if not part and whole is None:  # what is empty may be left out on the way through the server
        return True
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
    return bool(whole == part)
