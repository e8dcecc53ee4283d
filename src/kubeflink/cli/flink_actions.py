"""The actions of Flink's `flink` script: the command line, the target, and what they run.

Which cluster is meant follows Flink's rules. `execution.target` by `-D` counts most, then `-t`,
then the old `-e`, then the configuration file; without any of them it is `remote`, whose address is
`-m` or `rest.address`. The Kubernetes targets find their cluster by `kubernetes.cluster-id`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubeflink.cli import console, flink_help, flink_options
from kubeflink.cli.flink_arguments import CommandLine, parse
from kubeflink.cli.invocation import Invocation
from kubeflink.errors import RestUnreachableError, UsageError

if TYPE_CHECKING:
    from kubeflink.cluster.session import SessionCluster
    from kubeflink.config import Configuration
    from kubeflink.config.versions import FlinkVersion

SESSION = "kubernetes-session"
APPLICATION = "kubernetes-application"
REMOTE = "remote"

_NAMING = f"-t {SESSION} -Dkubernetes.cluster-id=ID, or -m HOST:PORT"


@dataclass(frozen=True, slots=True)
class Action:
    """One action as it was called, with the configuration that counts for it."""

    name: str
    line: CommandLine
    configuration: Configuration
    target: str


def run(invocation: Invocation, name: str, words: list[str]) -> int:
    """Run an action and return its exit code."""
    version = invocation.version
    check_version(name, version)
    options = flink_options.options_of(name, version)
    line = parse(options, words, program_follows=name in flink_options.PROGRAM_ACTIONS)
    if line.has("h"):
        console.out(flink_help.text(name, options))
        return 0
    action = prepared(invocation, name, line)
    if name in ("run", "run-application"):
        from kubeflink.cli import flink_run

        return flink_run.run(action)
    if name == "info":
        from kubeflink.cli import flink_run

        return flink_run.info(action)
    from kubeflink.cli import flink_jobs

    return flink_jobs.run(action)


def prepared(invocation: Invocation, name: str, line: CommandLine) -> Action:
    """The action with its configuration; reads files, asks nobody."""
    from kubeflink import config
    from kubeflink.config.options import deployment

    configuration = config.load(
        dynamic=line.dynamic_properties,
        version=invocation.flink_version,
        strict=invocation.strict,
    )
    dynamic = dict(line.dynamic_properties).get(deployment.EXECUTION_TARGET.key)
    configured = configuration.get(deployment.EXECUTION_TARGET)
    target = dynamic or line.value("t") or line.value("e") or configured or REMOTE
    configuration = configuration.with_values({deployment.EXECUTION_TARGET.key: target})
    return Action(name, line, configuration, target)


def check_version(name: str, version: FlinkVersion) -> None:
    """Refuse an action that this version does not have."""
    if name == "run-application" and version.application_action != name:
        raise UsageError(
            f"Flink {version} has no action run-application",
            hint="Deploy the application with: run -t kubernetes-application ...",
        )
    if name == "checkpoint" and version.release < (1, 19):
        raise UsageError(
            f"Flink {version} has no action checkpoint", hint="It came with Flink 1.19."
        )


@asynccontextmanager
async def cluster_of(action: Action) -> AsyncIterator[SessionCluster]:
    """The cluster that the action is about; connections are closed at the end."""
    if action.target in (SESSION, APPLICATION):
        from kubeflink.cli.access import configured_client
        from kubeflink.cluster.session import SessionCluster

        cluster_id = cluster_id_of(action)
        async with (
            configured_client(action.configuration) as client,
            SessionCluster(client, cluster_id) as cluster,
        ):
            yield cluster
    elif action.target == REMOTE:
        from kubeflink.cli.access import rest_tls_of
        from kubeflink.cluster.remote import RemoteCluster

        host, port = remote_address(action)
        tls = rest_tls_of(action.configuration)
        try:
            async with RemoteCluster(host, port, tls=tls) as remote:
                yield remote
        except RestUnreachableError as error:
            if error.hint is None and not _names_address(action.line):
                error.hint = f"No cluster was named by the command line: {_NAMING}"
            raise
    else:
        raise unknown_target(action.target)


def cluster_id_of(action: Action) -> str:
    """The cluster id that has to be there."""
    from kubeflink.config.options import kubernetes as k8s
    from kubeflink.spec import names

    cluster_id = action.configuration.get(k8s.CLUSTER_ID)
    if cluster_id is None:
        raise UsageError(
            "no cluster was named", hint=f"Add -D{k8s.CLUSTER_ID.key}=ID; see kubeflink clusters."
        )
    return names.validate_sought_name(cluster_id)


def unknown_target(target: str) -> UsageError:
    """The error for a target that is none of Kubernetes."""
    return UsageError(
        f"there is no target {target} here",
        hint=f"Targets are {SESSION}, {APPLICATION} and {REMOTE}.",
    )


def _names_address(line: CommandLine) -> bool:
    """Whether the address is that of the command line, and not what a file says by default."""
    from kubeflink.config.options import jobmanager, rest

    given = dict(line.dynamic_properties)
    return line.has("m") or rest.ADDRESS.key in given or jobmanager.RPC_ADDRESS.key in given


def remote_address(action: Action) -> tuple[str, int]:
    """Host and port of a JobManager that is known by its address."""
    from kubeflink.config.options import jobmanager, rest

    configuration = action.configuration
    text = action.line.value("m")
    if text is not None:
        host, separator, port = text.rpartition("://")[2].partition("/")[0].rpartition(":")
        if not separator or not port.isdigit():
            raise UsageError(f"{text} is no HOST:PORT", hint="The port is that of the REST API.")
        return host, int(port)
    address = configuration.get(rest.ADDRESS) or configuration.get(jobmanager.RPC_ADDRESS)
    if address is None:
        raise UsageError(
            "no cluster was named",
            hint=f"Name one: {_NAMING}",
        )
    return address, configuration.get(rest.PORT)
