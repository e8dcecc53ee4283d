"""Which Flink clusters there are, for callers who have no client yet."""

from __future__ import annotations

from pathlib import Path

from kubeflink.cluster import description
from kubeflink.cluster.access import Connection
from kubeflink.cluster.description import ClusterSummary


async def clusters(
    namespace: str | None = None,
    *,
    all_namespaces: bool = False,
    kubeconfig: str | Path | None = None,
    context: str | None = None,
) -> tuple[ClusterSummary, ...]:
    """All Flink clusters in a namespace or in all; by default in that of the context.

    Those that Flink's own client or its Kubernetes operator made are among them.
    """
    async with Connection(kubeconfig, context, namespace).client() as client:
        return await description.clusters(client, all_namespaces=all_namespaces)
