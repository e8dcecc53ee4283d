"""Every namespace has the service account `default`, as in Kubernetes.

Nothing here depends on what an account may do; but who deploys looks whether it is there.
"""

from __future__ import annotations

from kubeflink import objects
from kubeflink.apiserver.store import Store
from kubeflink.errors import ConflictError, NotFoundError
from kubeflink.local.watching import reconcile_on_changes
from kubeflink.objects import NAMESPACES, SERVICE_ACCOUNTS

DEFAULT_ACCOUNT = "default"

_PERIOD = 60.0


class ServiceAccountController:
    """Creates what is missing."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run(self) -> None:
        """Until it is cancelled."""
        watched = (NAMESPACES, SERVICE_ACCOUNTS)
        await reconcile_on_changes(self._store, watched, self.complete, period=_PERIOD)

    async def complete(self) -> None:
        """One look at all namespaces."""
        accounts = (await self._store.list(SERVICE_ACCOUNTS)).items
        there = {
            objects.namespace_of(each)
            for each in accounts
            if objects.name_of(each) == DEFAULT_ACCOUNT
        }
        for namespace in (await self._store.list(NAMESPACES)).items:
            name = objects.name_of(namespace)
            is_ending = objects.metadata(namespace).get("deletionTimestamp") is not None
            if name in there or is_ending:
                continue
            account = {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": DEFAULT_ACCOUNT, "namespace": name},
            }
            try:
                await self._store.create(SERVICE_ACCOUNTS, name, account)
            except (ConflictError, NotFoundError):  # somebody was faster, or the namespace has gone
                continue
