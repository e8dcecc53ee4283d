"""Which kinds are served, and what each of them can do.

The list is short on purpose: what Flink, `kubectl` and Python clients need to run Flink. A kind
that is not here is answered with 404, a verb that a kind has not with 405. A new kind is one line
here (and, where it has rules of its own, a function in `defaults` and `validation`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kubeflink import objects
from kubeflink.objects import Resource

_ALL_VERBS = frozenset(
    {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
)


@dataclass(frozen=True, slots=True)
class ServedResource:
    """A resource with what discovery tells about it.

    `status`: the object has a `status` that only the status subresource writes.
    `generation`: `metadata.generation` counts the changes of its `spec`.
    `subresources`: served below an object, besides `status`; `refused`: known, to say that they are
    not served.
    """

    resource: Resource
    singular: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    status: bool = False
    generation: bool = False
    subresources: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    verbs: frozenset[str] = _ALL_VERBS

    def has(self, subresource: str) -> bool:
        """Whether a request for this subresource is for a handler."""
        return subresource in (*self.subresources, *self.refused) or (
            subresource == "status" and self.status
        )


SERVED: tuple[ServedResource, ...] = (
    ServedResource(
        objects.PODS,
        "pod",
        ("po",),
        ("all",),
        status=True,
        generation=True,
        subresources=("log", "portforward"),
        refused=("exec", "attach"),
    ),
    ServedResource(
        objects.SERVICES, "service", ("svc",), ("all",), status=True, subresources=("proxy",)
    ),
    ServedResource(objects.ENDPOINTS, "endpoints", ("ep",)),
    ServedResource(objects.CONFIG_MAPS, "configmap", ("cm",)),
    ServedResource(objects.SECRETS, "secret"),
    ServedResource(objects.SERVICE_ACCOUNTS, "serviceaccount", ("sa",)),
    ServedResource(objects.EVENTS, "event", ("ev",)),
    ServedResource(
        objects.NAMESPACES,
        "namespace",
        ("ns",),
        status=True,
        verbs=_ALL_VERBS - {"deletecollection"},
    ),
    ServedResource(objects.NODES, "node", ("no",), status=True),
    ServedResource(
        objects.DEPLOYMENTS,
        "deployment",
        ("deploy",),
        ("all",),
        status=True,
        generation=True,
        subresources=("scale",),
    ),
    ServedResource(
        objects.REPLICA_SETS,
        "replicaset",
        ("rs",),
        ("all",),
        status=True,
        generation=True,
        subresources=("scale",),
    ),
    # Written by controllers, read by `kubectl describe service`.
    ServedResource(objects.ENDPOINT_SLICES, "endpointslice"),
    # Stored so that what is deployed to a real cluster can be deployed here; they decide nothing.
    ServedResource(objects.ROLES, "role"),
    ServedResource(objects.ROLE_BINDINGS, "rolebinding"),
)


class Registry:
    """The served resources by where they are in a path and by kind."""

    def __init__(self, served: Iterable[ServedResource] = SERVED) -> None:
        self._served = tuple(served)
        self._by_path = {
            (each.resource.group, each.resource.version, each.resource.plural): each
            for each in self._served
        }
        self._by_resource = {each.resource: each for each in self._served}

    def __iter__(self) -> Iterator[ServedResource]:
        return iter(self._served)

    def find(self, group: str, version: str, plural: str) -> ServedResource | None:
        """The resource at `/apis/GROUP/VERSION/PLURAL`, or of the core group for `group` ''."""
        return self._by_path.get((group, version, plural))

    def served(self, resource: Resource) -> ServedResource:
        """What is known of a resource; `KeyError` where it is not served."""
        return self._by_resource[resource]

    def group_versions(self) -> list[tuple[str, str]]:
        """The groups with their version, the core group first."""
        return list(dict.fromkeys((e.resource.group, e.resource.version) for e in self._served))
