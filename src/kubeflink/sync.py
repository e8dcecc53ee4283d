"""kubeflink without `await`: the same names as in `kubeflink`, for scripts and notebooks."""

from __future__ import annotations

from kubeflink.cluster.blocking import ApplicationCluster, Job, SessionCluster, clusters

__all__ = ["ApplicationCluster", "Job", "SessionCluster", "clusters"]
