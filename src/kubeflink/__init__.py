"""Apache Flink on Kubernetes from Python.

kubeflink is Flink's native Kubernetes integration written in Python: it deploys session and
application clusters of real Apache Flink through the Kubernetes API, and submits and steers jobs
over Flink's REST API. No JVM and no Flink distribution is needed where it is installed.

    async with kubeflink.SessionCluster.temporary("demo") as cluster:
        job = await cluster.submit_jar("wordcount.jar")
        print(await job.wait())

`kubeflink.sync` has the same without `await`. What is exported here is imported when it is first
used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kubeflink.cluster.application import ApplicationCluster
    from kubeflink.cluster.description import ClusterSummary
    from kubeflink.cluster.job import Job, JobOutcome
    from kubeflink.cluster.job_progress import JobProgress
    from kubeflink.cluster.listing import clusters
    from kubeflink.cluster.savepoints import Savepoint
    from kubeflink.cluster.session import SessionCluster
    from kubeflink.config.configuration import Configuration
    from kubeflink.errors import KubeflinkError
    from kubeflink.spec.program import Program, PythonProgram

__version__ = "0.1.0.dev0"

__all__ = [
    "ApplicationCluster",
    "ClusterSummary",
    "Configuration",
    "Job",
    "JobOutcome",
    "JobProgress",
    "KubeflinkError",
    "Program",
    "PythonProgram",
    "Savepoint",
    "SessionCluster",
    "clusters",
]

_HOMES = {
    "ApplicationCluster": "kubeflink.cluster.application",
    "ClusterSummary": "kubeflink.cluster.description",
    "Configuration": "kubeflink.config.configuration",
    "Job": "kubeflink.cluster.job",
    "JobOutcome": "kubeflink.cluster.job",
    "JobProgress": "kubeflink.cluster.job_progress",
    "KubeflinkError": "kubeflink.errors",
    "Program": "kubeflink.spec.program",
    "PythonProgram": "kubeflink.spec.program",
    "Savepoint": "kubeflink.cluster.savepoints",
    "SessionCluster": "kubeflink.cluster.session",
    "clusters": "kubeflink.cluster.listing",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
