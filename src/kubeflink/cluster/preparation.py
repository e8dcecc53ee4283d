"""What comes before a deployment, of a session as of an application."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kubeflink.cluster import deployment, preflight
from kubeflink.cluster.access import Connection, configured
from kubeflink.errors import ClusterExistsError
from kubeflink.kube.client import KubeClient

if TYPE_CHECKING:
    from kubeflink.config import Configuration, Notice
    from kubeflink.spec import JobManagerSpec

logger = logging.getLogger(__name__)


@asynccontextmanager
async def prepared(
    connection: Connection,
    name: str | None,
    options: Mapping[str, object] | None,
    *,
    conf_dir: str | Path | None,
    flink_version: str | None,
    strict: bool,
) -> AsyncIterator[tuple[KubeClient, Configuration]]:
    """A client and the configuration for a new cluster; see `configured`.

    The client is closed if the block ends with an error, else it belongs to the new cluster. What a
    former cluster of the name has left, and the new one would find, is told as a warning.
    """
    configuration, client = configured(
        connection,
        name,
        options,
        conf_dir=conf_dir,
        flink_version=flink_version,
        strict=strict,
    )
    try:
        for finding in await preflight.leftovers(client, preflight.plan(configuration)):
            logger.warning("%s %s", finding.message, finding.hint)
        yield client, configuration
    except BaseException:
        await client.close()
        raise


def fitting(client: KubeClient, notices: Iterable[Notice]) -> Iterator[Notice]:
    """The notices that are true of what a client's API server makes of pods."""
    for notice in notices:
        if not (notice.of_containers and client.access.pods_are_processes):
            yield notice


async def check_absent(client: KubeClient, spec: JobManagerSpec, way_out: str) -> None:
    """Raises ClusterExistsError, with the way out, if there is such a cluster already.

    Notices of the specification are logged as warnings before.
    """
    for notice in fitting(client, spec.notices):
        logger.warning("%s", notice.message)
    if await deployment.find_rest_service(client, spec.cluster_id, spec.namespace):
        raise ClusterExistsError(
            f"The Flink cluster {spec.cluster_id} exists already in namespace {spec.namespace}",
            hint=way_out,
        )
