"""A certificate for one server, and an authority that signs nothing else.

For servers whose clients are told beforehand whom to trust (the embedded API server, a broker): the
authority is made together with the certificate and its key is thrown away at once, so that nothing
can ever be signed by it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING

from kubeflink.errors import UsageError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

_LIFETIME = timedelta(days=3650)
_BACKDATED = timedelta(days=1)  # for clocks that were set back since


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    """All as PEM: what the server shows, its key, and the authority that its clients trust."""

    certificate: bytes
    key: bytes = field(repr=False)
    authority: bytes


def issue(subject: str, authority: str, names: Sequence[str]) -> ServerCertificate:
    """A certificate for a server that is reached by these host names and IP addresses.

    Raises `UsageError` where the library that makes certificates is not installed.
    """
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as error:
        raise UsageError(
            "making a certificate needs the package cryptography",
            hint="Install it: pip install 'kubeflink[broker]'",
        ) from error
    authority_key = ec.generate_private_key(ec.SECP256R1())
    server_key = ec.generate_private_key(ec.SECP256R1())
    issuer = _certificate(authority, authority, authority_key, authority_key, [])
    server = _certificate(subject, authority, server_key, authority_key, _general(names))
    key = server_key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    pem = serialization.Encoding.PEM
    return ServerCertificate(server.public_bytes(pem), key, issuer.public_bytes(pem))


def _general(names: Sequence[str]) -> list[x509.GeneralName]:
    from cryptography import x509

    found: list[x509.GeneralName] = []
    for name in names:
        try:
            found.append(x509.IPAddress(ip_address(name)))
        except ValueError:
            found.append(x509.DNSName(name))
    return found


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
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])

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
