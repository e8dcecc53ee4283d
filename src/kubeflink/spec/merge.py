"""Merging of lists whose entries have a name.

Flink appends what it adds to what a pod template has. So a template's port `rest`, its variable
`_POD_IP_ADDRESS` or its mount of `/opt/flink/conf` end up twice in the pod, and the API server
refuses the pod, or the order decides. Here an entry takes the place of the earlier one with the
same name, so that Flink's value wins, as its documentation promises.

What counts as the same is what Kubernetes takes for a key: the name of a variable or volume, the
path of a mount, the name of a port or its number and protocol. Tolerations have no key; only equal
ones are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from kubeflink.objects import JsonObject

Same: TypeAlias = Callable[[JsonObject, JsonObject], bool]


def same_name(left: JsonObject, right: JsonObject) -> bool:
    """For variables and volumes."""
    return bool(left.get("name") == right.get("name"))


def same_mount_path(left: JsonObject, right: JsonObject) -> bool:
    """For volume mounts."""
    return bool(left.get("mountPath") == right.get("mountPath"))


def same_port(left: JsonObject, right: JsonObject) -> bool:
    """For container ports: the same name, or the same number of the same protocol."""
    if left.get("name") is not None and left.get("name") == right.get("name"):
        return True
    return _number_and_protocol(left) == _number_and_protocol(right)


def _number_and_protocol(port: JsonObject) -> tuple[object, object]:
    return port.get("containerPort"), port.get("protocol", "TCP")


def same_value(left: JsonObject, right: JsonObject) -> bool:
    """For tolerations."""
    return left == right


def merge(
    present: Sequence[JsonObject], added: Iterable[JsonObject], same: Same
) -> tuple[list[JsonObject], list[JsonObject]]:
    """The list with the added entries, and the present ones that had to give way.

    An added entry stands where the entry that it replaces stood, or else at the end. Entries that
    are equal are one; nothing gives way for those.
    """
    merged: list[JsonObject] = []
    replaced: list[JsonObject] = []
    for entry in (*present, *added):
        places = [place for place, other in enumerate(merged) if same(other, entry)]
        replaced += [merged[place] for place in places if merged[place] != entry]
        if places:
            merged[places[0]] = entry
            for place in reversed(places[1:]):
                del merged[place]
        else:
            merged.append(entry)
    return merged, replaced
