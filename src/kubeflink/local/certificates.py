"""The certificate of the embedded API server.

`kubectl` and all clients made with its library send a bearer token over TLS only, so there has to
be a certificate. An authority that exists for one embedded cluster signs it. Clients find the
authority in the kubeconfig.

A certificate that is damaged, too old, or not the authority's is made anew together with an
authority. Processes that are adopted know the old authority; a JobManager among them ends when it
does not reach the API server any more, and comes back with the new one.
"""

from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass

from kubeflink.local.state import StateDirectory, disk_errors, write_file

log = logging.getLogger(__name__)

_HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    """What the server shows and what its clients trust; `authority` is PEM."""

    context: ssl.SSLContext
    authority: bytes


def server_certificate(state: StateDirectory) -> ServerCertificate:
    """The embedded cluster's certificate, made at the first call, and anew if it is no good."""
    if state.server_pem.exists() and state.authority_pem.exists():
        try:
            return _stored(state)
        except (ssl.SSLError, ValueError) as error:
            log.warning("%s is no good (%s) and is made anew", state.server_pem, error)
    _make(state)
    return _stored(state)


def _stored(state: StateDirectory) -> ServerCertificate:
    """What the files hold; ssl.SSLError or ValueError if clients could not trust it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with disk_errors(state.root):
        # SSLError is an OSError, too, whose number means something else.
        authority = state.authority_pem.read_bytes()
        state.server_pem.read_bytes()
    context.load_cert_chain(state.server_pem)
    _shake_hands(context, ssl.create_default_context(cadata=authority.decode("ascii")))
    return ServerCertificate(context, authority)


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    """What a client would find out about the certificate, without a connection."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = (
        client.wrap_bio(to_client, to_server, server_hostname=_HOST),
        server.wrap_bio(to_server, to_client, server_side=True),
    )
    waiting = True
    while waiting:
        waiting = False
        for side in sides:
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                waiting = True


def _make(state: StateDirectory) -> None:
    # Imported here: it is needed once in the life of an embedded cluster, and takes memory.
    from kubeflink.spec.certificates import issue

    issued = issue("kubeflink-apiserver", f"kubeflink {state.name}", (_HOST, "localhost"))
    write_file(state.server_pem, issued.key + issued.certificate, mode=0o600)
    write_file(state.authority_pem, issued.authority)
