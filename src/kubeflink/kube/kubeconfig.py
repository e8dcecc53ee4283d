"""Finding the API server by kubectl's rules.

The order is that of client-go's deferred loading: an explicit file must exist and is the only one
read; otherwise the files in `KUBECONFIG` are merged, missing ones skipped, or `~/.kube/config` is
read. The service account of a pod is used only when all that gives nothing. (Several clients do it
the other way round, and then a kubeconfig that is mounted into a pod is silently ignored.)

Merging: the first file that names a cluster, user or context wins with its whole entry, and the
first `current-context` that is not empty counts. Relative paths in an entry are relative to the
file that holds the entry. An entry named twice in one file is an error, as is a value of the wrong
type: kubectl decodes strictly, and a number that stands where a name should is no name.

Two things are not as in kubectl. It sends no credentials by plain http; here they are sent, since
the kubeconfig says so, and a notice tells of it unless the server is on this machine. And where it
goes on to `http://localhost:8080`, this says that there is no kubeconfig: nobody means that address
today, and the connection error only hides the cause.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubeflink.errors import KubeconfigError
from kubeflink.kube import entries
from kubeflink.kube.access import ClusterAccess, ServerTls, UserCredentials
from kubeflink.kube.proxies import bypassed
from kubeflink.objects import EMBEDDED_EXTENSION

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Entry:
    """One named cluster, user or context, and the file that it stands in."""

    name: str
    value: Mapping[str, Any]
    file: Path


class Kubeconfig:
    """All files merged."""

    def __init__(self) -> None:
        self.files: tuple[Path, ...] = ()
        self.current_context = ""
        self.clusters: dict[str, Entry] = {}
        self.users: dict[str, Entry] = {}
        self.contexts: dict[str, Entry] = {}

    @property
    def origin(self) -> str:
        """The files read, for messages."""
        return ", ".join(map(str, self.files))

    def add(self, document: Mapping[str, Any], file: Path) -> None:
        """Merge one more file: what is there already stays."""
        self.files = (*self.files, file)
        self.current_context = self.current_context or entries.text(
            document, "current-context", f"{file}"
        )
        for section, singular in (
            ("clusters", "cluster"),
            ("users", "user"),
            ("contexts", "context"),
        ):
            merged: dict[str, Entry] = getattr(self, section)
            for name, value in entries.named(document, section, singular, file).items():
                merged.setdefault(name, Entry(name, value, file))


def load(
    kubeconfig: Path | str | None = None,
    context: str | None = None,
    *,
    namespace: str | None = None,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> ClusterAccess:
    """Resolve the access that kubectl would use with `--kubeconfig` and `--context`.

    Reads files only; nothing is asked of any server. Raises `KubeconfigError`.
    """
    files = candidates(kubeconfig, environ)
    merged = read(files, required=kubeconfig is not None)
    wanted = context or merged.current_context
    in_cluster = _in_cluster_address(environ, service_account)
    if wanted:
        access = resolve(merged, wanted, environ)
        pod = _pod_namespace(environ, service_account) if in_cluster else None
        chosen = namespace or access.namespace or pod or DEFAULT_NAMESPACE
    elif in_cluster:
        access = _service_account_access(in_cluster, service_account)
        chosen = namespace or _pod_namespace(environ, service_account) or DEFAULT_NAMESPACE
    else:
        raise _nothing_found(merged, files)
    return entries.with_namespace(access, chosen)


def candidates(kubeconfig: Path | str | None, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """The files to look at, in order of precedence."""
    if kubeconfig is not None:
        try:
            return (Path(kubeconfig).expanduser(),)
        except RuntimeError:  # nobody of that name has a home
            return (Path(kubeconfig),)
    listed = environ.get("KUBECONFIG", "")
    if listed:
        paths = [Path(part) for part in listed.split(os.pathsep) if part]
        return tuple(dict.fromkeys(paths))
    home = environ.get("HOME") or environ.get("USERPROFILE")
    return (Path(home, ".kube", "config"),) if home else ()


def read(files: tuple[Path, ...], *, required: bool = False) -> Kubeconfig:
    """Read and merge files; those that do not exist are skipped unless `required`."""
    merged = Kubeconfig()
    for file in files:
        try:
            content = file.read_text("utf-8")
        except FileNotFoundError:
            if required:
                raise KubeconfigError(f"Kubeconfig {file} does not exist") from None
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
            raise KubeconfigError(f"Cannot read kubeconfig {file}: {reason}") from error
        else:
            merged.add(entries.parse(content, file), file)
    return merged


def resolve(merged: Kubeconfig, context: str, environ: Mapping[str, str]) -> ClusterAccess:
    """Follow a context to its cluster and user. The namespace is empty where it has none."""
    entry = merged.contexts.get(context)
    if entry is None:
        known = ", ".join(merged.contexts) or "none"
        raise KubeconfigError(
            f'There is no context "{context}" in {merged.origin or "any kubeconfig"}',
            hint=f"Contexts there: {known}",
        )
    where = f'context "{context}" in {entry.file}'
    cluster_name = entries.text(entry.value, "cluster", where)
    user_name = entries.text(entry.value, "user", where)
    cluster = _lookup(merged.clusters, cluster_name, "cluster", where)
    user = _lookup(merged.users, user_name, "user", where) if user_name else None
    tls, proxy_url = entries.cluster_settings(cluster.value, cluster_name, cluster.file)
    if user is None:
        credentials = UserCredentials()
    else:
        credentials = entries.user_credentials(
            user.value, user_name, user.file, cluster=cluster.value, cluster_file=cluster.file
        )
    url = entries.server_url(
        cluster.value,
        f'cluster "{cluster_name}" in {cluster.file}',
        tls=tls,
        certificate=credentials.certificate,
    )
    return ClusterAccess(
        server=url,
        namespace=entries.text(entry.value, "namespace", where),
        origin=merged.origin,
        context=context,
        cluster_name=cluster_name,
        user_name=user_name or None,
        pods_are_processes=entries.has_extension(cluster.value, EMBEDDED_EXTENSION),
        tls=tls,
        proxy_url=proxy_url,
        credentials=credentials,
        notices=_notices(tls, cluster_name, url, credentials),
    )


def _lookup(section: Mapping[str, Entry], name: str, kind: str, where: str) -> Entry:
    if not name:
        raise KubeconfigError(f"No {kind} is set in {where}")
    if name not in section:
        raise KubeconfigError(f'There is no {kind} "{name}", which {where} names')
    return section[name]


def _notices(
    tls: ServerTls, cluster_name: str, url: str, credentials: UserCredentials
) -> tuple[str, ...]:
    notices = []
    if tls.insecure:
        notices.append(
            f'The certificate of cluster "{cluster_name}" is not checked'
            " (insecure-skip-tls-verify): whoever answers at its address is believed"
        )
    if url.startswith("http://") and credentials.are_secret and not bypassed(url, ""):
        notices.append(
            f'Cluster "{cluster_name}" is reached by plain http ({url}):'
            " credentials go over the network unencrypted"
        )
    return tuple(notices)


def _nothing_found(merged: Kubeconfig, files: tuple[Path, ...]) -> KubeconfigError:
    looked_at = ", ".join(map(str, files)) or "no file (neither KUBECONFIG nor HOME is set)"
    if not merged.files:
        return KubeconfigError(
            f"No kubeconfig found; looked at {looked_at} and for the service account of a pod",
            hint="Set KUBECONFIG or give --kubeconfig; "
            "`kubeflink local up` starts a Kubernetes of its own.",
        )
    if merged.contexts:
        return KubeconfigError(
            f"No current context is set in {merged.origin}",
            hint=f"Choose one with --context: {', '.join(merged.contexts)}",
        )
    return KubeconfigError(f"The kubeconfig {merged.origin} holds no context")


def _in_cluster_address(environ: Mapping[str, str], service_account: Path) -> str | None:
    """The API server's URL for a pod; None outside of one."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port or not service_account.joinpath("token").is_file():
        return None
    address = f"[{host}]" if ":" in host else host
    return entries.checked_url(
        f"https://{address}:{port}",
        "The address in KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT",
    )


def _pod_namespace(environ: Mapping[str, str], service_account: Path) -> str | None:
    if environ.get("POD_NAMESPACE"):
        return environ["POD_NAMESPACE"]
    try:
        return service_account.joinpath("namespace").read_text("utf-8").strip() or None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise KubeconfigError(
            f"Cannot read {service_account / 'namespace'}: {error.strerror}"
        ) from error


def _service_account_access(server: str, service_account: Path) -> ClusterAccess:
    ca_file = service_account / "ca.crt"
    return ClusterAccess(
        server=server,
        namespace="",
        origin=f"service account in {service_account}",
        in_cluster=True,
        tls=ServerTls(ca_file=ca_file if ca_file.exists() else None),
        credentials=UserCredentials(token_file=service_account / "token"),
    )
