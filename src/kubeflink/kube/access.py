"""Which API server, as whom: what a kubeconfig context or a service account comes down to.

Plain values without I/O. Secrets are kept out of every `repr`, since these values end up in
tracebacks and logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kubeflink.objects import JsonObject

if TYPE_CHECKING:
    from kubeflink.config.rest_tls import RestTls


@dataclass(frozen=True, slots=True)
class ServerTls:
    """How the server's certificate is judged.

    `ca_data` is PEM text. `insecure` skips the check of the server, and only that: client
    certificates are still sent. `server_name` is the name that the certificate must have, and the
    one sent as SNI, instead of the host of the URL.
    """

    ca_file: Path | None = None
    ca_data: str | None = None
    insecure: bool = False
    server_name: str | None = None


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A certificate and its key, each as a file or as PEM text."""

    certificate_file: Path | None = None
    certificate_data: str | None = field(default=None, repr=False)
    key_file: Path | None = None
    key_data: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A credential plug-in, as `users[].user.exec` describes it.

    `command` is absolute or a bare name that is looked up in PATH. `cluster` is what the plug-in is
    told about the cluster when `provideClusterInfo` is set (`spec.cluster` of the ExecCredential).
    """

    api_version: str
    command: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    install_hint: str | None = None
    interactive_mode: str = "IfAvailable"
    cluster: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Whom to act as: `as`, `as-uid`, `as-groups` and `as-user-extra` of a kubeconfig user."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UserCredentials:
    """What proves who is asking. All fields empty is an anonymous user."""

    token: str | None = field(default=None, repr=False)
    token_file: Path | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    certificate: ClientCertificate | None = None
    plugin: ExecPlugin | None = None
    impersonation: Impersonation | None = None

    @property
    def are_secret(self) -> bool:
        """Whether something is sent that others must not see."""
        return bool(self.token or self.token_file or self.username or self.plugin)


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """An API server and the account that talks to it.

    `origin` says where this came from, such as the path of a kubeconfig. `notices` are lines for
    the user. `pods_are_processes` is set for the embedded Kubernetes, whose kubeconfig says so: all
    its pods have the files of this machine. `proxy_url` is the kubeconfig's own as long as nothing
    is connected, and then that of the proxy in use, from wherever it is. It may hold a password.
    """

    server: str
    namespace: str
    origin: str
    context: str | None = None
    cluster_name: str | None = None
    user_name: str | None = None
    in_cluster: bool = False
    pods_are_processes: bool = False
    tls: ServerTls = ServerTls()
    proxy_url: str | None = field(default=None, repr=False)
    credentials: UserCredentials = UserCredentials()
    rest_tls: RestTls | None = None
    """For the JobManagers behind it, whose REST APIs are reached with the same access."""
    notices: tuple[str, ...] = ()
