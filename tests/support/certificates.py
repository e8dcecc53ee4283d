"""Certificates for Flink's REST API, in the stores that Java and kubeflink read."""

from __future__ import annotations

import hashlib
import ssl
from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    load_pem_private_key,
    pkcs12,
)

PASSWORD = "s3cret-of-the-stores"


@dataclass(frozen=True, slots=True)
class Stores:
    """An authority and what it issued, as files: PKCS12 with one password, and PEM."""

    directory: Path
    authority: trustme.CA
    server: trustme.LeafCert
    password: str = PASSWORD

    @property
    def keystore(self) -> Path:
        """The server's certificate and key, with which clients show themselves, too."""
        return self.directory / "rest-keystore.p12"

    @property
    def truststore(self) -> Path:
        """The authority."""
        return self.directory / "rest-truststore.p12"

    @property
    def authority_pem(self) -> Path:
        """The authority as PEM."""
        return self.directory / "authority.pem"

    @property
    def client_pem(self) -> Path:
        """A client's certificate and key as PEM."""
        return self.directory / "client.pem"

    @property
    def fingerprint(self) -> str:
        """The SHA-1 of the server's certificate, as keytool prints it."""
        digest = (
            hashlib.sha1(_certificate(self.server).public_bytes(Encoding.DER)).hexdigest().upper()
        )
        return ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))

    def options(self, *, mutual: bool = False) -> dict[str, str]:
        """Flink's options for REST with TLS."""
        return {
            "security.ssl.rest.enabled": "true",
            "security.ssl.rest.authentication-enabled": str(mutual).lower(),
            "security.ssl.rest.keystore": str(self.keystore),
            "security.ssl.rest.keystore-password": PASSWORD,
            "security.ssl.rest.key-password": PASSWORD,
            "security.ssl.rest.truststore": str(self.truststore),
            "security.ssl.rest.truststore-password": PASSWORD,
        }

    def server_context(self, *, mutual: bool = False) -> ssl.SSLContext:
        """For a server of the test's own."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server.configure_cert(context)
        if mutual:
            self.authority.configure_trust(context)
            context.verify_mode = ssl.CERT_REQUIRED
        return context


def make_stores(directory: Path) -> Stores:
    """A new authority, and a certificate for `flink.example`: no address that is really used."""
    directory.mkdir(parents=True, exist_ok=True)
    rsa = trustme.KeyType.RSA  # as the suites want that Flink offers by itself
    authority = trustme.CA(key_type=rsa)
    stores = Stores(directory, authority, authority.issue_cert("flink.example", key_type=rsa))
    encryption = BestAvailableEncryption(PASSWORD.encode())
    key = load_pem_private_key(stores.server.private_key_pem.bytes(), None)
    stores.keystore.write_bytes(
        pkcs12.serialize_key_and_certificates(
            b"rest",
            key,
            _certificate(stores.server),
            None,
            encryption,  # type: ignore[arg-type]
        )
    )
    root = x509.load_pem_x509_certificate(authority.cert_pem.bytes())
    stores.truststore.write_bytes(
        pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(root, b"ca")], encryption)
    )
    authority.cert_pem.write_to_path(str(stores.authority_pem))
    authority.issue_cert(
        "client.example", key_type=rsa
    ).private_key_and_cert_chain_pem.write_to_path(str(stores.client_pem))
    return stores


def _certificate(leaf: trustme.LeafCert) -> x509.Certificate:
    return x509.load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes())
