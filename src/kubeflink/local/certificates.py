"""The certificate of the embedded API server.

`kubectl` and all clients made with its library send a bearer token over TLS only, so there has to
be a certificate. An authority that exists for one embedded cluster signs it; its key is thrown away
at once, so that nothing else can ever be signed by it. Clients find the authority in the
kubeconfig.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING

from kubeflink.local.state import StateDirectory, write_file

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

_LIFETIME = timedelta(days=3650)
_BACKDATED = timedelta(days=1)  # for clocks that were set back since


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
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    authority_key = ec.generate_private_key(ec.SECP256R1())
    server_key = ec.generate_private_key(ec.SECP256R1())
    authority_name = f"kubeflink {state.name}"
    authority = _certificate(authority_name, authority_name, authority_key, authority_key, [])
    names: list[x509.GeneralName] = [
        x509.IPAddress(ip_address("127.0.0.1")),
        x509.DNSName("localhost"),
    ]
    server = _certificate("kubeflink-apiserver", authority_name, server_key, authority_key, names)
    key = server_key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    pem = serialization.Encoding.PEM
    write_file(state.server_pem, key + server.public_bytes(pem), mode=0o600)
    write_file(state.authority_pem, authority.public_bytes(pem))


def _certificate(
    subject: str,
    issuer: str,
    key: EllipticCurvePrivateKey,
    issuer_key: EllipticCurvePrivateKey,
    names: list[x509.GeneralName],
) -> x509.Certificate:
    """A server's certificate for these names; without names an authority's."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    now = datetime.now(UTC)
    is_authority = not names
    builder = (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.BasicConstraints(is_authority, 0 if is_authority else None), True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), False
        )
        .add_extension(_key_usage(is_authority), True)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), False).add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False
        )
    return builder.sign(issuer_key, hashes.SHA256())


def _key_usage(is_authority: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not is_authority,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
