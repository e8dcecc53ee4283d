"""Reading the entries of a kubeconfig: types, paths, base64, and what excludes what.

Pure functions over the parsed YAML. The checks are those of client-go's clientcmd and rest
packages, with messages that name the entry and its file.
"""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kubeflink.errors import KubeconfigError
from kubeflink.kube.access import (
    ClientCertificate,
    ClusterAccess,
    ExecPlugin,
    Impersonation,
    ServerTls,
    UserCredentials,
)
from kubeflink.kube.headers import WHAT_DOES_NOT_FIT, fits
from kubeflink.objects import JsonObject

EXEC_API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
INTERACTIVE_MODES = ("Never", "IfAvailable", "Always")
EXEC_EXTENSION = "client.authentication.k8s.io/exec"

_PROVIDER_SUCCESSORS = {
    "gcp": "install gke-gcloud-auth-plugin and run `gcloud container clusters get-credentials`",
    "azure": "install kubelogin and run `kubelogin convert-kubeconfig`",
    "oidc": "install kubelogin (kubectl oidc-login) and set it up as an exec plug-in",
}


def parse(content: str, file: Path) -> Mapping[str, Any]:
    """The document of a kubeconfig; an empty file is an empty mapping.

    Read by Kubernetes' rules: `on` is a boolean there, and `2024-01-01` a string.
    """
    from kubeflink.config.yaml import YamlError, load_kubernetes

    try:
        document = load_kubernetes(content, str(file)).value
    except YamlError as error:
        raise KubeconfigError(f"Cannot read kubeconfig: {error.message}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise KubeconfigError(f"Kubeconfig {file} is not a mapping")
    if document.get("kind") not in (None, "Config"):
        raise KubeconfigError(f"{file} is not a kubeconfig: its kind is {document['kind']}")
    return document


def named(
    document: Mapping[str, Any], section: str, singular: str, file: Path
) -> dict[str, Mapping[str, Any]]:
    """The entries of `clusters`, `users` or `contexts` by name."""
    found: dict[str, Mapping[str, Any]] = {}
    items = document.get(section) or ()
    if not isinstance(items, list | tuple):
        raise KubeconfigError(f"{section} in {file} is not a list")
    for item in items:
        if not isinstance(item, dict):
            raise KubeconfigError(f"{section} in {file} has an entry that is not a mapping")
        name = text(item, "name", f"{section} in {file}")
        if name in found:
            raise KubeconfigError(f'{section} in {file} names "{name}" twice')
        found[name] = mapping(item, singular, f'{singular} "{name}" in {file}')
    return found


def text(value: Mapping[str, Any], key: str, where: str) -> str:
    """A string; empty where there is none. The value itself is not shown: it may be a secret."""
    found = value.get(key)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise KubeconfigError(
            f"{key} of {where} is a {_type_name(found)}, not a string",
            hint="Put quotes around the value.",
        )
    return found


def header_text(value: Mapping[str, Any], key: str, where: str) -> str:
    """A string that goes into a header, without blanks around it."""
    found = text(value, key, where)
    if not fits(found):
        raise KubeconfigError(f"{key} of {where} {WHAT_DOES_NOT_FIT}")
    return found.strip()


def flag(value: Mapping[str, Any], key: str, where: str) -> bool:
    """A boolean; False where there is none."""
    found = value.get(key)
    if found is not None and not isinstance(found, bool):
        raise KubeconfigError(f"{key} of {where} is a {_type_name(found)}, not true or false")
    return bool(found)


def mapping(value: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    """A mapping; empty where there is none."""
    found = value.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise KubeconfigError(f"{key} of {where} is a {_type_name(found)}, not a mapping")
    return found


def header_texts(value: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    """A list of strings that go into headers."""
    found = texts(value, key, where)
    if not all(map(fits, found)):
        raise KubeconfigError(f"One of {key} of {where} {WHAT_DOES_NOT_FIT}")
    return tuple(each.strip() for each in found)


def texts(value: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    """A list of strings."""
    found = value.get(key)
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise KubeconfigError(f"{key} of {where} is not a list of strings")
    return tuple(found)


def path(value: Mapping[str, Any], key: str, where: str, file: Path) -> Path | None:
    """A path, relative to the directory of the kubeconfig that names it."""
    found = text(value, key, where)
    return file.parent.absolute() / found if found else None


def pem(value: Mapping[str, Any], key: str, where: str) -> str | None:
    """The text behind a base64 `...-data` value, without what is not ASCII: comments may be."""
    encoded = text(value, key, where)
    if not encoded:
        return None
    try:
        return base64.b64decode("".join(encoded.split()), validate=True).decode("ascii", "ignore")
    except ValueError as error:
        raise KubeconfigError(f"{key} of {where} is not base64 of PEM text") from error


def cluster_settings(
    cluster: Mapping[str, Any], name: str, file: Path
) -> tuple[ServerTls, str | None]:
    """How to judge the server, and the proxy on the way to it."""
    where = f'cluster "{name}" in {file}'
    tls = ServerTls(
        ca_file=path(cluster, "certificate-authority", where, file),
        ca_data=pem(cluster, "certificate-authority-data", where),
        insecure=flag(cluster, "insecure-skip-tls-verify", where),
        server_name=text(cluster, "tls-server-name", where) or None,
    )
    if tls.ca_file and tls.ca_data:
        raise KubeconfigError(
            f"certificate-authority and certificate-authority-data are both set in {where}"
        )
    if tls.insecure and (tls.ca_file or tls.ca_data):
        raise KubeconfigError(
            f"insecure-skip-tls-verify is set together with a certificate authority in {where}",
            hint="Keep the certificate authority and remove insecure-skip-tls-verify.",
        )
    return tls, text(cluster, "proxy-url", where) or None


def server_url(
    cluster: Mapping[str, Any],
    where: str,
    *,
    tls: ServerTls,
    certificate: ClientCertificate | None,
) -> str:
    """The URL of the API server, without a slash at the end.

    A bare `host:port` is https where a CA, a client certificate or the insecure flag is given and
    http otherwise, as in client-go's DefaultServerURL.
    """
    server = text(cluster, "server", where).strip()
    if not server:
        raise KubeconfigError(f"No server is set in {where}")
    if "://" not in server:
        secure = bool(tls.ca_file or tls.ca_data or tls.insecure or certificate)
        if "/" in server.rstrip("/"):
            raise KubeconfigError(f"The server of {where} is neither a URL nor host:port")
        server = f"{'https' if secure else 'http'}://{server}"
    return checked_url(server, f"The server of {where}")


def checked_url(server: str, what: str) -> str:
    """The URL as requests begin with it; query and fragment are left out, as client-go does."""
    try:
        parts = urlsplit(server)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_usable = is_usable and parts.port != 0 and server.isprintable() and " " not in server
    except ValueError:  # of an IPv6 address, or of a port
        is_usable = False
    if not is_usable:
        shown = f": {server}" if server.isprintable() and "@" not in server else ""
        raise KubeconfigError(f"{what} is not an http or https URL{shown}")
    if "@" in parts.netloc:
        raise KubeconfigError(
            f"{what} has a user name or password in it, and messages show this URL",
            hint="Write them as username and password of the kubeconfig's user.",
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")


def user_credentials(
    user: Mapping[str, Any],
    name: str,
    file: Path,
    *,
    cluster: Mapping[str, Any],
    cluster_file: Path,
) -> UserCredentials:
    """What a kubeconfig user has to show."""
    where = f'user "{name}" in {file}'
    credentials = UserCredentials(
        token=header_text(user, "token", where) or None,
        token_file=path(user, "tokenFile", where, file),
        username=text(user, "username", where) or None,
        password=text(user, "password", where) or None,
        certificate=client_certificate(user, where, file),
        plugin=exec_plugin(user, where, file, cluster=cluster, cluster_file=cluster_file),
        impersonation=impersonation(user, where),
    )
    provider = text(mapping(user, "auth-provider", where), "name", where)
    if provider and credentials.plugin:
        raise KubeconfigError(f"An auth-provider and an exec plug-in are both set in {where}")
    if provider:
        successor = _PROVIDER_SUCCESSORS.get(provider, "set up an exec plug-in for this user")
        raise KubeconfigError(
            f'The auth-provider "{provider}" of {where} is not supported',
            hint=f"Kubernetes replaced auth-providers by exec plug-ins: {successor}.",
        )
    if (credentials.token or credentials.token_file) and credentials.username:
        raise KubeconfigError(
            f"More than one way to authenticate in {where}: token, username",
            hint="Keep one of them.",
        )
    return credentials


def client_certificate(user: Mapping[str, Any], where: str, file: Path) -> ClientCertificate | None:
    """The client certificate and key; one without the other is an error."""
    found = ClientCertificate(
        certificate_file=path(user, "client-certificate", where, file),
        certificate_data=pem(user, "client-certificate-data", where),
        key_file=path(user, "client-key", where, file),
        key_data=pem(user, "client-key-data", where),
    )
    if found == ClientCertificate():
        return None
    for kind, in_file, in_data in (
        ("client-certificate", found.certificate_file, found.certificate_data),
        ("client-key", found.key_file, found.key_data),
    ):
        if in_file and in_data:
            raise KubeconfigError(f"{kind} and {kind}-data are both set in {where}")
        if not in_file and not in_data:
            raise KubeconfigError(f"Neither {kind} nor {kind}-data is set in {where}")
    return found


def exec_plugin(
    user: Mapping[str, Any],
    where: str,
    file: Path,
    *,
    cluster: Mapping[str, Any],
    cluster_file: Path,
) -> ExecPlugin | None:
    """The exec plug-in of a user."""
    spec = mapping(user, "exec", where)
    if not spec:
        return None
    where = f"the exec plug-in of {where}"
    api_version, command = text(spec, "apiVersion", where), text(spec, "command", where)
    if not command:
        raise KubeconfigError(f"No command is set in {where}")
    if api_version not in EXEC_API_VERSIONS:
        raise KubeconfigError(
            f"apiVersion {api_version or '(none)'} of {where} is not supported",
            hint=f"Supported are {' and '.join(EXEC_API_VERSIONS)}; update the plug-in's set-up.",
        )
    mode = text(spec, "interactiveMode", where)
    if not mode and api_version == EXEC_API_VERSIONS[0]:
        raise KubeconfigError(f"interactiveMode must be set in {where}")
    if mode and mode not in INTERACTIVE_MODES:
        raise KubeconfigError(
            f"interactiveMode {mode} of {where} is none of {', '.join(INTERACTIVE_MODES)}"
        )
    informed = flag(spec, "provideClusterInfo", where)
    return ExecPlugin(
        api_version=api_version,
        command=_command(command, file),
        arguments=texts(spec, "args", where),
        environment=_environment(spec, where),
        install_hint=text(spec, "installHint", where) or None,
        interactive_mode=mode or "IfAvailable",
        cluster=cluster_information(cluster, cluster_file) if informed else None,
    )


def _command(command: str, file: Path) -> str:
    """A command with a separator is relative to the kubeconfig; a bare name is left to PATH."""
    if "/" not in command and "\\" not in command:
        return command
    return str(file.parent.absolute() / command)


def _environment(spec: Mapping[str, Any], where: str) -> dict[str, str]:
    variables = spec.get("env") or ()
    if not isinstance(variables, list | tuple) or not all(isinstance(v, dict) for v in variables):
        raise KubeconfigError(f"env of {where} is not a list of name and value")
    return {text(v, "name", where): text(v, "value", where) for v in variables}


def cluster_information(cluster: Mapping[str, Any], file: Path) -> JsonObject:
    """`spec.cluster` of the ExecCredential that a plug-in gets with `provideClusterInfo`."""
    where = f"a cluster in {file}"
    information: JsonObject = {
        key: cluster[key]
        for key in ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url")
        if cluster.get(key)
    }
    authority = text(cluster, "certificate-authority-data", where)
    authority_file = path(cluster, "certificate-authority", where, file)
    if authority_file and not authority:
        try:
            authority = base64.b64encode(authority_file.read_bytes()).decode("ascii")
        except OSError as error:
            raise KubeconfigError(
                f"Cannot read certificate-authority {authority_file}: {error.strerror}"
            ) from error
    if authority:
        information["certificate-authority-data"] = authority
    if has_extension(cluster, EXEC_EXTENSION):
        information["config"] = _extensions(cluster)[EXEC_EXTENSION]
    return information


def has_extension(cluster: Mapping[str, Any], name: str) -> bool:
    """Whether a cluster's entry has an extension of that name, which whoever wrote it put there."""
    return name in _extensions(cluster)


def _extensions(cluster: Mapping[str, Any]) -> dict[str, Any]:
    found = cluster.get("extensions")
    entries = found if isinstance(found, list) else []
    named = (
        each for each in entries if isinstance(each, dict) and isinstance(each.get("name"), str)
    )
    return {each["name"]: each.get("extension") for each in named}


def impersonation(user: Mapping[str, Any], where: str) -> Impersonation | None:
    """Whom the user of this kubeconfig wants to act as."""
    extra = mapping(user, "as-user-extra", where)
    found = Impersonation(
        user=header_text(user, "as", where),
        uid=header_text(user, "as-uid", where),
        groups=header_texts(user, "as-groups", where),
        extra={str(key): header_texts(extra, key, where) for key in extra},
    )
    if found == Impersonation():
        return None
    if not found.user:
        raise KubeconfigError(f"as-uid, as-groups or as-user-extra without as in {where}")
    return found


def with_namespace(access: ClusterAccess, namespace: str) -> ClusterAccess:
    """The same access with another default namespace."""
    return dataclasses.replace(access, namespace=namespace)


def _type_name(value: object) -> str:
    names: dict[type, str] = {
        bool: "boolean",
        int: "number",
        float: "number",
        str: "string",
        list: "list",
        dict: "mapping",
    }
    return names.get(type(value), type(value).__name__)
