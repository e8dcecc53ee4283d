"""TLS contexts for Flink's REST API, out of the stores that Java programs use.

Java trusts every certificate of a truststore, be it an authority's or the server's own, and does
not insist on extensions that OpenSSL's strict mode wants. A fingerprint replaces that trust: the
server's own certificate must have it, whoever signed it (Netty's FingerprintTrustManagerFactory);
it is looked at as the last act of the handshake, before anything is sent.

Secrets are never in messages. A client's key is in a file for as long as OpenSSL needs to read it,
encrypted with a password that nobody else knows.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubeflink.config.rest_tls import (
    CA_OPTION,
    CA_VARIABLE,
    CERTIFICATE_OPTION,
    CERTIFICATE_VARIABLE,
    RestTls,
    StoreFile,
)
from kubeflink.errors import ConfigurationError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

_JAVA_STORES: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
"""How files of Java's own formats (JKS, JCEKS) begin."""

_VERSIONS: Final = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}

PROTOCOL_OPTION: Final = "security.ssl.protocol"
ALGORITHMS_OPTION: Final = "security.ssl.algorithms"
FINGERPRINT_OPTION: Final = "security.ssl.rest.cert.fingerprint"

TRUST_HINT: Final = (
    f"Name its certificate authority: {CA_OPTION} FILE, or security.ssl.rest.truststore and"
    " security.ssl.rest.truststore-password in the configuration"
)
CERTIFICATE_HINT: Final = (
    f"Name a certificate that it knows: {CERTIFICATE_OPTION} FILE, or in the configuration"
    " security.ssl.rest.authentication-enabled with security.ssl.rest.keystore and its passwords"
)


class FingerprintError(ssl.SSLCertVerificationError):
    """The server's certificate is not the one that was named."""


def context_of(tls: RestTls) -> ssl.SSLContext:
    """The context for connections to the REST API. Reads files; raises ConfigurationError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = tls.verify_hostname
    if tls.protocols:
        _restrict(context, tls.protocols)
    if tls.ciphers:
        _choose_ciphers(context, tls.ciphers)
    if tls.fingerprints:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.sslobject_class = _checking(frozenset(tls.fingerprints))
    elif tls.authorities is not None:
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        _trust(context, tls.authorities)
    else:
        context.load_default_certs()
    if tls.certificate is not None:
        _show(context, tls.certificate)
    return context


# -- what is spoken ---------------------------------------------------------------------------


def _restrict(context: ssl.SSLContext, protocols: tuple[str, ...]) -> None:
    unknown = [name for name in protocols if name not in _VERSIONS]
    if unknown:
        raise ConfigurationError(
            f"{PROTOCOL_OPTION}: {unknown[0]} is no version of TLS",
            option=PROTOCOL_OPTION,
            hint=f"It is one of {', '.join(_VERSIONS)}",
        )
    versions = [_VERSIONS[name] for name in protocols]
    context.minimum_version, context.maximum_version = min(versions), max(versions)


def _choose_ciphers(context: ssl.SSLContext, suites: tuple[str, ...]) -> None:
    """Offers these suites (of TLS 1.2 and older; those of 1.3 are always offered)."""
    names = [openssl_name(suite) for suite in suites if "_WITH_" in suite]
    if not names:
        return
    try:
        context.set_ciphers(":".join(names))
    except ssl.SSLError as error:
        raise ConfigurationError(
            f"{ALGORITHMS_OPTION}: none of these suites is known here: {', '.join(suites)}",
            option=ALGORITHMS_OPTION,
        ) from error


def openssl_name(suite: str) -> str:
    """OpenSSL's name of a cipher suite, from Java's.

    >>> openssl_name("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
    'ECDHE-RSA-AES128-GCM-SHA256'
    >>> openssl_name("TLS_RSA_WITH_AES_128_CBC_SHA")
    'AES128-SHA'
    """
    exchange, _, cipher = suite.removeprefix("TLS_").removeprefix("SSL_").partition("_WITH_")
    cipher = cipher.replace("AES_128", "AES128").replace("AES_256", "AES256")
    cipher = cipher.replace("_CBC_", "_").replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    parts = [cipher] if exchange == "RSA" else [exchange, cipher]
    return "-".join(parts).replace("_", "-")


# -- whom to trust ----------------------------------------------------------------------------


def _checking(fingerprints: frozenset[str]) -> type[ssl.SSLObject]:
    """A kind of connection whose handshake fails for other certificates."""

    class Checked(ssl.SSLObject):
        def do_handshake(self) -> None:
            super().do_handshake()
            found = hashlib.sha1(self.getpeercert(binary_form=True) or b"").hexdigest()
            if found not in fingerprints:
                error = FingerprintError(f"its SHA-1 fingerprint is {found}")
                error.verify_message = str(error)
                raise error

    return Checked


def _trust(context: ssl.SSLContext, store: StoreFile) -> None:
    content = _content(store)
    if _is_pem(content):
        # Comments between the certificates may be in any language, and OpenSSL wants ASCII.
        _load_authorities(context, store, content.decode("ascii", "ignore"))
        return
    from cryptography.hazmat.primitives.serialization import Encoding

    opened = _opened(store, content)
    found = [each.certificate for each in opened.additional_certs]
    found += [opened.cert.certificate] if opened.cert is not None else []
    if not found:
        raise _useless(store, "has no certificate in it")
    _load_authorities(context, store, b"".join(each.public_bytes(Encoding.DER) for each in found))


def _load_authorities(context: ssl.SSLContext, store: StoreFile, data: str | bytes) -> None:
    try:
        context.load_verify_locations(cadata=data)
    except (ssl.SSLError, ValueError) as error:
        raise _useless(store, "has no certificate that OpenSSL can read") from error


# -- who asks ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Identity:
    """A certificate with its chain and key as PEM, the key with a password or None."""

    pem: bytes
    password: str | None


def _show(context: ssl.SSLContext, store: StoreFile) -> None:
    content = _content(store)
    identity = _Identity(content, store.key_password or store.password)
    if not _is_pem(content):
        identity = _identity(store, _opened(store, content))
    descriptor, name = tempfile.mkstemp(prefix="kubeflink-", suffix=".pem")  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(identity.pem)
        # A password is always given: OpenSSL would ask for one on the terminal.
        context.load_cert_chain(name, password=identity.password or "")
    except (ssl.SSLError, OSError, ValueError) as error:
        raise _useless(
            store, "has no certificate with its key, or the password is wrong"
        ) from error
    finally:
        os.unlink(name)


def _identity(store: StoreFile, opened: PKCS12KeyAndCertificates) -> _Identity:
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        PrivateFormat,
    )

    if opened.key is None or opened.cert is None:
        raise _useless(store, "has no certificate with its key in it")
    password = secrets.token_hex(16)
    key = opened.key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password.encode())
    )
    chain = [opened.cert, *opened.additional_certs]
    pem = b"".join(each.certificate.public_bytes(Encoding.PEM) for each in chain)
    return _Identity(pem + key, password)


# -- files ------------------------------------------------------------------------------------


def _content(store: StoreFile) -> bytes:
    try:
        return store.path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"{store.option}: {store.path} cannot be read: {error.strerror}",
            option=store.option,
            hint=_other_file(store),
        ) from error


def _other_file(store: StoreFile) -> str | None:
    """The way out where a configuration names a file of the pods."""
    if not store.option.startswith("security."):
        return None
    option, variable = CA_OPTION, CA_VARIABLE
    if "keystore" in store.option:
        option, variable = CERTIFICATE_OPTION, CERTIFICATE_VARIABLE
    return f"If it is in the pods only, name the file of this machine: {option} FILE or {variable}"


def _is_pem(content: bytes) -> bool:
    return b"-----BEGIN " in content


def _opened(store: StoreFile, content: bytes) -> PKCS12KeyAndCertificates:
    """The entries of a PKCS12 store. A key of its own password cannot be in one, says Java too."""
    if content.startswith(_JAVA_STORES):
        target = Path(store.path.name).with_suffix(".p12")
        raise ConfigurationError(
            f"{store.option}: {store.path} is in Java's own format (JKS), which is not read here",
            option=store.option,
            hint=f"Convert it: keytool -importkeystore -srckeystore {store.path.name}"
            f" -destkeystore {target} -deststoretype PKCS12",
        )
    try:
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError as error:
        raise ConfigurationError(
            f"{store.option}: reading the store {store.path} needs the Python package cryptography",
            option=store.option,
            hint="Install it: pip install 'kubeflink[tls]'; a file of PEM needs nothing",
        ) from error
    try:
        return load_pkcs12(content, (store.password or "").encode() or None)
    except ValueError as error:
        raise _useless(store, "is no PKCS12 store, or its password is wrong") from error


def _useless(store: StoreFile, why: str) -> ConfigurationError:
    return ConfigurationError(f"{store.option}: {store.path} {why}", option=store.option)
