"""Which options of a client's configuration go with a job.

Flink's client makes the job graph on its own side, so all of its configuration takes part: options
given by `-D`, and those of its file. When the JobManager makes the job graph instead, they have to
be sent along; but not what describes this client, the cluster, or the way from the one to the
other, which the JobManager knows better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kubeflink.config import Configuration
from kubeflink.config.options import deployment, pipeline

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
    "kubeflink.",
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

_TLS: Final = "security.ssl."

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


def for_client(configuration: Configuration) -> dict[str, str]:
    """What Flink's own client has to know to make a job: nothing about Kubernetes.

    How TLS is spoken with the REST API is no option of a job, and is its business all the same.
    """
    tls = configuration.with_prefix(_TLS)
    return {**for_job(configuration), **{f"{_TLS}{key}": text for key, text in tls.items()}}


def with_classpaths(options: Mapping[str, str], urls: Sequence[str]) -> dict[str, str]:
    """The options with the URLs of `-C`, which as for Flink take the place of configured ones."""
    return {**options, **({pipeline.CLASSPATHS.key: ";".join(urls)} if urls else {})}


def _chosen(configuration: Configuration) -> Iterator[tuple[str, str]]:
    for key, _ in configuration.items():
        text = configuration.text(key)
        if text is None or key in _SAID_OTHERWISE or key.startswith(_NOT_OF_A_JOB):
            continue
        yield key, text
