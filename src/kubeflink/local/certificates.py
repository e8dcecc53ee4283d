"""The certificate of the embedded API server.

`kubectl` and all clients made with its library send a bearer token over TLS only, so there has to
be a certificate. An authority that exists for one embedded cluster signs it. Clients find the
authority in the kubeconfig.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass

from kubeflink.local.state import StateDirectory, write_file


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    """What the server shows and what its clients trust; `authority` is PEM."""

    context: ssl.SSLContext
    authority: bytes


def server_certificate(state: StateDirectory) -> ServerCertificate:
    """The embedded cluster's certificate, made at the first call."""
    if not (state.server_pem.exists() and state.authority_pem.exists()):
        _make(state)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(state.server_pem)
    return ServerCertificate(context, state.authority_pem.read_bytes())


def _make(state: StateDirectory) -> None:
    # Imported here: it is needed once in the life of an embedded cluster, and takes memory.
    from kubeflink.spec.certificates import issue

    names = ("127.0.0.1", "localhost")
    issued = issue("kubeflink-apiserver", f"kubeflink {state.name}", names)
    write_file(state.server_pem, issued.key + issued.certificate, mode=0o600)
    write_file(state.authority_pem, issued.authority)
