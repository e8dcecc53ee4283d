"""The questions that are asked before a deployment, and what is said about the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubeflink.cli import console
from kubeflink.errors import ClusterError

if TYPE_CHECKING:
    from kubeflink.config import Configuration
    from kubeflink.kube import KubeClient


async def check(client: KubeClient, configuration: Configuration) -> None:
    """Say what is wrong; ClusterError if the deployment would certainly fail."""
    from kubeflink.cluster import preflight

    findings = await preflight.check(client, preflight.plan(configuration))
    for finding in findings:
        if finding.is_fatal:
            raise ClusterError(finding.message, hint=finding.hint)
        console.say(finding.message)
        if finding.hint is not None:
            console.plain(f"  {finding.hint}")
