"""A namespace on the real control plane, and what a test needs to see and do in it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx2

from kubeflink import objects
from kubeflink.errors import NotFoundError
from kubeflink.kube.client import KubeClient
from kubeflink.objects import JsonObject, Resource
from support.control_plane import ControlPlane

T = TypeVar("T")

SECONDS = 60.0
"""How long the controllers may take on a busy machine."""

KINDS = (
    objects.DEPLOYMENTS,
    objects.REPLICA_SETS,
    objects.PODS,
    objects.SERVICES,
    objects.CONFIG_MAPS,
    objects.SECRETS,
    objects.SERVICE_ACCOUNTS,
    objects.ROLES,
    objects.ROLE_BINDINGS,
)
"""All that kubeflink makes, and what Kubernetes makes of it."""

GIVEN = {objects.SERVICE_ACCOUNTS: "default", objects.CONFIG_MAPS: "kube-root-ca.crt"}
"""What two controllers put into each namespace, at their own time."""

QUOTAS = Resource("", "v1", "ResourceQuota", "resourcequotas")
CLAIMS = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")


@dataclass(frozen=True)
class Namespace:
    """Its name, the control plane that it is on, and the administrator's client in it."""

    name: str
    control_plane: ControlPlane
    client: KubeClient

    @property
    def admin(self) -> Path:
        """The administrator's kubeconfig, whose context has this namespace."""
        return self.control_plane.kubeconfig(namespace=self.name)

    def user(self, name: str = "mary") -> Path:
        """The kubeconfig of a user who has no rights of her own."""
        return self.control_plane.kubeconfig(name, (), namespace=self.name)

    async def grant(self, user: str, cluster_role: str) -> None:
        """Give a user a ClusterRole in this namespace."""
        await self.bind(
            {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"},
            {"kind": "ClusterRole", "name": cluster_role},
        )

    async def allow(self, user: str, rules: Sequence[Mapping[str, Any]]) -> None:
        """Give a user a Role with these rules."""
        name = f"{user}-own"
        await self.add(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "Role",
                "metadata": {"name": name},
                "rules": list(rules),
            }
        )
        await self.bind(
            {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"},
            {"kind": "Role", "name": name},
        )

    async def bind(self, subject: JsonObject, role: JsonObject) -> None:
        """Bind a role to a subject, under a name made of both."""
        await self.add(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": {"name": f"{subject['name']}-{role['name']}"},
                "subjects": [subject],
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", **role},
            }
        )

    async def add(self, obj: JsonObject) -> JsonObject:
        """Create an object of a kind that kubeflink need not know."""
        group, _, version = obj["apiVersion"].rpartition("/")
        plural = f"{obj['kind'].lower()}s"
        path = Resource(group, version, obj["kind"], plural).collection_path(self.name)
        answer = await self.client.http.post(path, json=obj)
        assert answer.is_success, answer.text
        return dict(answer.json())

    async def names(self, resource: Resource) -> set[str]:
        """The names of all objects of a kind."""
        found = await self.client.list(resource, self.name)
        return {objects.name_of(obj) for obj in found.items}

    async def everything(self) -> dict[str, set[str]]:
        """All objects of `KINDS`, by the plural of their kind."""
        return {kind.plural: await self.names(kind) for kind in KINDS}

    async def get(self, resource: Resource, name: str) -> JsonObject | None:
        """One object, None if it is not there."""
        try:
            return await self.client.get(resource, name)
        except NotFoundError:
            return None

    async def token(self, account: str) -> str:
        """A token of a service account, as a pod of its would get it."""
        path = objects.SERVICE_ACCOUNTS.path(f"{account}/token", self.name)
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        answer = await self.client.http.post(path, json=review)
        assert answer.is_success, answer.text
        return str(answer.json()["status"]["token"])

    async def as_account(self, account: str) -> Path:
        """The kubeconfig of a service account."""
        credentials = {"token": await self.token(account)}
        return self.control_plane.write_kubeconfig(credentials, namespace=self.name)


@asynccontextmanager
async def namespace_of(control_plane: ControlPlane, name: str) -> AsyncIterator[Namespace]:
    """Make a namespace with what Kubernetes puts into each; it stays, as the control plane goes."""
    path = control_plane.kubeconfig(namespace=name)
    async with KubeClient.connect(kubeconfig=path, environ={}) as client:
        made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await client.create(made)
        namespace = Namespace(name, control_plane, client)
        for kind, given in GIVEN.items():
            await eventually(lambda: namespace.get(kind, given), given)  # noqa: B023
        yield namespace


async def eventually(
    look: Callable[[], Awaitable[T | None]], what: str, *, timeout: float = SECONDS
) -> T:
    """The first result of `look` that is true; fails the test when there is none in time."""
    deadline = time.monotonic() + timeout
    while True:
        seen = await look()
        if seen:
            return seen
        assert time.monotonic() < deadline, f"{what}: not within {timeout:.0f} s; saw {seen!r}"
        await asyncio.sleep(0.1)


async def put_status(client: KubeClient, resource: Resource, obj: JsonObject) -> JsonObject:
    """Write the status of an object, as a controller or a kubelet does."""
    path = resource.path(f"{objects.name_of(obj)}/status", objects.namespace_of(obj))
    answer: httpx2.Response = await client.http.put(path, json=obj)
    assert answer.is_success, answer.text
    return dict(answer.json())
