"""The ConfigMaps of a cluster's high availability, passed through; no others.

Flink keeps in them who leads (an annotation that is renewed every few seconds), where the leaders
are, and where jobs and checkpoints are stored. Reads and writes of one ConfigMap go to the API
server, because leader election lives on versions and conflicts. Lists and watches are served from
one watch upstream, however many jobs there are: Flink opens three for each.

Of what a JobManager writes there is taken: the data, and the leader annotation. Labels are the
cluster's; owners, finalizers and other annotations are nobody's to set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kubeflink import objects
from kubeflink.apiserver import statuses
from kubeflink.apiserver.deletion import DeleteOptions, Deletion
from kubeflink.broker.blueprint import Blueprint
from kubeflink.broker.mirror import Mirror
from kubeflink.broker.report import Report
from kubeflink.kube.client import KubeClient
from kubeflink.objects import CONFIG_MAPS, JsonObject
from kubeflink.spec import names

LEADER = "control-plane.alpha.kubernetes.io/leader"
_JOB_ID = re.compile(r"[0-9a-f]{32}")


def is_ha_name(name: str, cluster_id: str) -> bool:
    """Whether Flink keeps high availability of this cluster under this name."""
    if name == names.high_availability_config_map_name(cluster_id):
        return True
    before, after = names.job_config_map_name(cluster_id, " ").split(" ")
    middle = name.removeprefix(before).removesuffix(after)
    return _JOB_ID.fullmatch(middle) is not None and name == names.job_config_map_name(
        cluster_id, middle
    )


class HighAvailability:
    """The high-availability ConfigMaps of one cluster. `limit` is the most there may be."""

    def __init__(
        self,
        client: KubeClient,
        blueprint: Blueprint,
        mirror: Mirror,
        limit: int,
        report: Report,
    ) -> None:
        self._client = client
        self._namespace = blueprint.namespace
        self._cluster_id = blueprint.cluster_id
        self._mirror = mirror
        self._limit = limit
        self._report = report

    @property
    def mirror(self) -> Mirror:
        """What there is, for lists and watches."""
        return self._mirror

    def is_own(self, name: str) -> bool:
        """Whether a ConfigMap of this name is one of this cluster's high availability."""
        return is_ha_name(name, self._cluster_id)

    async def get(self, name: str) -> JsonObject:
        """As the API server has it now; 404."""
        found = await self._client.get(CONFIG_MAPS, name, self._namespace)
        self._check_owner(found)
        return found

    async def create(self, asked: JsonObject) -> JsonObject:
        """A new one; 409, and 403 beyond the limit."""
        name = objects.name_of(asked)
        if name not in self._mirror.objects and len(self._mirror.objects) >= self._limit:
            why = f"the cluster has {self._limit} ConfigMaps of high availability already"
            self._report.begin("ConfigMaps", f"a ConfigMap cannot be made: {why}")
            raise statuses.forbidden(CONFIG_MAPS, name, f"{why} (kubeflink broker)")
        self._report.end("ConfigMaps")
        metadata = self._metadata(name, asked)
        made = await self._client.create(_config_map(metadata, asked), self._namespace)
        return self._written(made)

    async def replace(self, asked: JsonObject) -> JsonObject:
        """Write data and leader; a version in `asked` is a precondition (409)."""
        name = objects.name_of(asked)
        metadata = self._metadata(name, asked)
        version = objects.metadata(asked).get("resourceVersion")
        current = await self.get(name)
        if version not in (None, "", current["metadata"]["resourceVersion"]):
            raise statuses.modified(CONFIG_MAPS, name)
        kept = {**current["metadata"]}
        for key in ("labels", "annotations"):
            kept[key] = {**(kept.get(key) or {}), **metadata[key]}
        if version in (None, ""):
            kept.pop("resourceVersion", None)
        stored = await self._client.replace(_config_map(kept, asked))
        return self._written(stored)

    async def delete(self, name: str, options: DeleteOptions) -> Deletion:
        """Delete one; 404."""
        current = await self.get(name)
        uid = options.uid or objects.uid_of(current)
        await self._client.delete(CONFIG_MAPS, name, self._namespace, uid=uid)
        self._mirror.remove(current)
        self._report.count("config_maps_written")
        return Deletion(current, gone=True)

    def _written(self, stored: JsonObject) -> JsonObject:
        self._mirror.enter(stored)
        self._report.count("config_maps_written")
        return stored

    def _check_owner(self, found: JsonObject) -> None:
        """A ConfigMap of the right name that is not Flink's is none of the cluster's."""
        labels = objects.labels_of(found)
        wanted = names.common_labels(self._cluster_id)
        if any(labels.get(key) != value for key, value in wanted.items()):
            raise statuses.not_found(CONFIG_MAPS, objects.name_of(found))

    def _metadata(self, name: str, asked: Mapping[str, Any]) -> JsonObject:
        labels = dict(names.common_labels(self._cluster_id))
        # Up to Flink 1.20 it is by this label that its own clean-up finds them.
        if objects.labels_of(asked).get(names.LABEL_CONFIG_MAP_TYPE) == names.HIGH_AVAILABILITY:
            labels[names.LABEL_CONFIG_MAP_TYPE] = names.HIGH_AVAILABILITY
        leader = objects.annotations_of(asked).get(LEADER)
        annotations = {} if leader is None else {LEADER: str(leader)}
        return {
            "name": name,
            "namespace": self._namespace,
            "labels": labels,
            "annotations": annotations,
        }


def _config_map(metadata: JsonObject, asked: Mapping[str, Any]) -> JsonObject:
    data = asked.get("data") or {}
    if not isinstance(data, dict) or not all(isinstance(each, str) for each in data.values()):
        raise statuses.bad_request("data of a ConfigMap must be texts by keys")
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}
