"""Log lines of Flink's client that scripts look for, in the form in which Flink prints them.

Flink's client prints its result through log4j, to stdout with the configuration that comes with it:

    2026-01-31 12:00:00,000 INFO  org.apache.flink.kubernetes.KubernetesClusterDescriptor
    [] - Create flink session cluster demo successfully, JobManager Web Interface: http://...

in one line. People cut the address out of it.
"""

from __future__ import annotations

from datetime import datetime

from kubeflink.cli import console

DESCRIPTOR = "org.apache.flink.kubernetes.KubernetesClusterDescriptor"


def info(message: str, logger: str = DESCRIPTOR) -> None:
    """Print a message as Flink's logging would, on stdout."""
    now = datetime.now()
    time = f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03d}"
    console.out(f"{time} {'INFO':<5} {logger:<60} [] - {message}")
