"""The questions that are asked before a deployment, and what is said about the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubeflink.cli import console
from kubeflink.errors import ClusterError

if TYPE_CHECKING:
    from kubeflink.cluster.preflight import Finding
    from kubeflink.config import Configuration
    from kubeflink.kube import KubeClient


async def check(
    client: KubeClient, configuration: Configuration, *, application: bool = False
) -> None:
    """Say what is wrong; ClusterError if the deployment would certainly fail."""
    from kubeflink.cluster import preflight

    findings = await preflight.check(client, preflight.plan(configuration, application=application))
    for finding in findings:
        if finding.is_fatal:
            raise ClusterError(finding.message, hint=_way_out(finding))
        console.say(finding.message)
        if finding.hint is not None:
            console.plain(f"  {finding.hint}")


def _way_out(finding: Finding) -> str | None:
    """What to do, and what to apply: rights are given by whoever has them, who needs it whole."""
    if not finding.manifest:
        return finding.hint
    from kubeflink.spec.manifest import manifest

    # One document, because it is shown indented, where `---` would not separate two.
    rights = manifest(
        {"apiVersion": "v1", "kind": "List", "items": list(finding.manifest)}
    ).rstrip()
    told = f"The least that the account needs, for kubectl apply -f -:\n{rights}"
    return told if finding.hint is None else f"{finding.hint}\n{told}"
