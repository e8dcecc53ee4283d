"""Options of kubeflink's own client."""

from __future__ import annotations

from kubeflink.config.options.kinds import ENUM
from kubeflink.config.options.option import option

JOB_GRAPH = option(
    "kubeflink.job-graph",
    ENUM,
    "cluster",
    choices=("cluster", "client"),
    about=(
        "Where the `main` of a jar runs, which makes the job graph: in the JobManager of the "
        "cluster that the jar is sent to, or beside the client, in a JVM as with Flink's client."
    ),
)
