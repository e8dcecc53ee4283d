"""What one broker leaves behind for the next: annotations of the cluster's rest Service.

A broker keeps nothing, and may write hardly anything: of what it may, the Service is there for as
long as the cluster is, and goes with it. A JobManager on the host network writes it as well, so
each write is tried again where somebody else was faster.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kubeflink import objects
from kubeflink.apiserver import statuses
from kubeflink.apiserver.metadata import copy_json
from kubeflink.broker.blueprint import Blueprint
from kubeflink.errors import ConflictError, NotFoundError
from kubeflink.kube.client import KubeClient
from kubeflink.objects import SERVICES, JsonObject
from kubeflink.spec import names

log = logging.getLogger(__name__)

_TRIES = 5


class ServiceNotes:
    """Reads and writes annotations of one cluster's rest Service."""

    def __init__(self, client: KubeClient, blueprint: Blueprint) -> None:
        self._client = client
        self._namespace = blueprint.namespace
        self.name = names.rest_service_name(blueprint.cluster_id)

    async def read(self, key: str) -> str | None:
        """What is noted; None for nothing, also where there is no Service."""
        try:
            return objects.annotations_of(await self._service()).get(key)
        except NotFoundError:
            return None

    async def amend(self, key: str, amended: Callable[[str | None], str]) -> None:
        """Make of what is noted what is to be noted. Without the Service nothing is noted."""
        for _ in range(_TRIES):
            try:
                service = await self._service()
                noted = objects.annotations_of(service).get(key)
                value = amended(noted)
                if value != noted:
                    await self._client.replace(_with_note(service, key, value))
                return
            except ConflictError:
                continue
            except NotFoundError:
                log.info("there is no Service %s to leave a note at", self.name)
                return
        raise statuses.unavailable(f"Service {self.name} is written by others all the time")

    async def _service(self) -> JsonObject:
        return await self._client.get(SERVICES, self.name, self._namespace)


def _with_note(service: JsonObject, key: str, value: str) -> JsonObject:
    noted: JsonObject = copy_json(service)
    metadata = noted["metadata"]
    metadata["annotations"] = {**(metadata.get("annotations") or {}), key: value}
    return noted
