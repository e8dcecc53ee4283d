"""The cluster's two Services: a JobManager on the host network tells the ports that it has bound.

Flink reads the Service, sets `targetPort`s in it and writes it back whole
(`Fabric8FlinkKubeClient.updateServiceTargetPort`). Taken from that are the target ports, by the
names of the ports; all else stays as it is in the API server.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from kubeflink import objects
from kubeflink.apiserver import statuses
from kubeflink.apiserver.metadata import copy_json
from kubeflink.broker.blueprint import Blueprint
from kubeflink.broker.report import Report
from kubeflink.kube.client import KubeClient
from kubeflink.objects import SERVICES, JsonObject
from kubeflink.spec import names

log = logging.getLogger(__name__)

LOWEST_PORT = 1024
"""What listens below is the node's own, never a JobManager that runs as a user."""


class ServiceUpdates:
    """Reads and updates the Services of one cluster."""

    def __init__(self, client: KubeClient, blueprint: Blueprint, report: Report) -> None:
        self._client = client
        self._blueprint = blueprint
        self._report = report

    def is_own(self, name: str) -> bool:
        """Whether it is the internal or the rest Service of this cluster."""
        cluster_id = self._blueprint.cluster_id
        return name in (
            names.internal_service_name(cluster_id),
            names.rest_service_name(cluster_id),
        )

    async def get(self, name: str) -> JsonObject:
        """One of the two; 404."""
        return await self._client.get(SERVICES, name, self._blueprint.namespace)

    async def replace(self, asked: JsonObject) -> JsonObject:
        """Set the target ports that the JobManager tells. 403 without host network, 409."""
        name = objects.name_of(asked)
        if not self._blueprint.host_network:
            why = "its ports are fixed, because this cluster does not use the host network"
            raise statuses.forbidden(SERVICES, name, f"{why} (kubeflink broker)")
        current = await self.get(name)
        version = objects.metadata(asked).get("resourceVersion")
        if version not in (None, "", current["metadata"]["resourceVersion"]):
            raise statuses.modified(SERVICES, name)
        wanted = target_ports(name, asked)
        changed = with_target_ports(current, wanted)
        if changed == current:
            return current
        log.info("Service %s: target ports %s", name, wanted)
        stored = await self._client.replace(changed)
        self._report.count("services_updated")
        return stored


def target_ports(name: str, service: Mapping[str, Any]) -> dict[str, int]:
    """The numbers that a Service wants to lead to, by the names of its ports. 403 for others."""
    spec = service.get("spec")
    ports = spec.get("ports") if isinstance(spec, dict) else None
    found: dict[str, int] = {}
    for port in ports if isinstance(ports, list) else ():
        if not isinstance(port, dict) or not isinstance(port.get("name"), str):
            continue
        target = port.get("targetPort")
        if isinstance(target, bool) or not isinstance(target, int):
            continue
        if not LOWEST_PORT <= target <= 65535:
            why = f"a JobManager listens on ports from {LOWEST_PORT} on, not on {target}"
            raise statuses.forbidden(SERVICES, name, f"{why} (kubeflink broker)")
        found[port["name"]] = target
    return found


def with_target_ports(service: JsonObject, wanted: Mapping[str, int]) -> JsonObject:
    """The Service with these target ports, where it has ports of these names."""
    changed: JsonObject = copy_json(service)
    for port in changed["spec"].get("ports") or ():
        if port.get("name") in wanted:
            port["targetPort"] = wanted[port["name"]]
    return changed
