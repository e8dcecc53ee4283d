"""Which options of a client's configuration go with a job.

Flink's client makes the job graph on its own side, so all of its configuration takes part: options
given by `-D`, and those of its file. When the JobManager makes the job graph instead, they have to
be sent along; but not what describes this client, the cluster, or the way from the one to the
other, which the JobManager knows better.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubeflink.config import Configuration
from kubeflink.config.options import deployment

_NOT_OF_A_JOB: Final = (
    "$internal.",
    "blob.",
    "client.",
    "containerized.",
    "env.",
    "external-resource",
    "fs.",
    "heartbeat.",
    "high-availability",
    "historyserver.",
    "internal.",
    "io.tmp.",
    "jobmanager.",
    "kubernetes.",
    "metrics.",
    "plugin.",
    "process.",
    "resourcemanager.",
    "rest.",
    "s3",
    "security.",
    "slotmanager.",
    "sql-gateway.",
    "taskmanager.",
    "web.",
    "yarn.",
    "zookeeper.",
)

_SAID_OTHERWISE: Final = frozenset(
    {
        deployment.EXECUTION_TARGET.key,
        deployment.EXECUTION_ATTACHED.key,
        deployment.EXECUTION_SHUTDOWN_ON_ATTACHED_EXIT.key,
    }
)


def for_job(configuration: Configuration) -> dict[str, str]:
    """The options of a job among these, as Flink's text."""
    return dict(_chosen(configuration))


def _chosen(configuration: Configuration) -> Iterator[tuple[str, str]]:
    for key, _ in configuration.items():
        text = configuration.text(key)
        if text is None or key in _SAID_OTHERWISE or key.startswith(_NOT_OF_A_JOB):
            continue
        yield key, text
