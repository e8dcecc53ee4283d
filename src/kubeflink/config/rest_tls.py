"""How clients speak TLS with Flink's REST API: what `security.ssl.rest.*` says.

Flink has one configuration for both sides (SSLUtils). Its client trusts what the truststore holds,
does not look at host names (before 2.3, where `security.ssl.rest.verify-hostname` came), and shows
the certificate of the keystore where `authentication-enabled` asks for it. The files are those of
whoever reads the configuration: in the pods they may lie elsewhere, or come from Secrets.

Nothing is read here but the configuration.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubeflink.config.options import security
from kubeflink.config.options.option import Option
from kubeflink.config.versions import FlinkVersion

if TYPE_CHECKING:
    from kubeflink.config.configuration import Configuration

CA_OPTION: Final = "--rest-ca"
CERTIFICATE_OPTION: Final = "--rest-cert"


@dataclass(frozen=True, slots=True)
class StoreFile:
    """A file with certificates: PEM, or a store in Java's form or PKCS12, with its passwords.

    `option` is what named it, for messages; `key_password` is for the key alone, if it differs.
    """

    path: Path
    option: str
    password: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RestTls:
    """TLS with the REST API.

    Without `authorities` those of the system count. `fingerprints` are SHA-1 in hexadecimal digits;
    a server whose certificate has one of them is trusted, and no other. `protocols` and `ciphers`
    have Java's names; without any, those of Python's `ssl` count.
    """

    authorities: StoreFile | None = None
    certificate: StoreFile | None = None
    fingerprints: tuple[str, ...] = ()
    verify_hostname: bool = False
    protocols: tuple[str, ...] = ()
    ciphers: tuple[str, ...] = ()

    @property
    def is_pinned(self) -> bool:
        """Whether something says which server is meant, or who asks.

        It then takes a connection to the server itself to make it count.
        """
        return bool(self.authorities or self.certificate or self.fingerprints)

    def with_files_of(self, given: RestTls | None) -> RestTls:
        """The same with the files that were given, where some were."""
        if given is None:
            return self
        return replace(
            self,
            authorities=given.authorities or self.authorities,
            certificate=given.certificate or self.certificate,
        )


CA_VARIABLE: Final = "KUBEFLINK_REST_CA"
CERTIFICATE_VARIABLE: Final = "KUBEFLINK_REST_CERT"
PASSWORD_VARIABLE: Final = "KUBEFLINK_REST_PASSWORD"
"""Of the stores; there is no option for it, since others can read command lines."""


def given_files(
    authorities: str | Path | None,
    certificate: str | Path | None,
    environ: Mapping[str, str] = os.environ,
) -> RestTls | None:
    """TLS with the files of `--rest-ca` and `--rest-cert`; None without any."""
    if not authorities and not certificate:
        return None
    password = environ.get(PASSWORD_VARIABLE)
    return RestTls(
        StoreFile(Path(authorities), CA_OPTION, password) if authorities else None,
        StoreFile(Path(certificate), CERTIFICATE_OPTION, password) if certificate else None,
    )


def rest_tls(configuration: Configuration) -> RestTls | None:
    """What a configuration says; None where the REST API is without TLS."""
    if not _is_enabled(configuration):
        return None
    wants_certificate = configuration.get(security.SSL_REST_AUTHENTICATION_ENABLED)
    knows_names = configuration.version >= FlinkVersion(2, 3, 0)
    fingerprints = _words(configuration.get(security.SSL_REST_CERT_FINGERPRINT))
    return RestTls(
        authorities=_authorities(configuration),
        certificate=_certificate(configuration) if wants_certificate else None,
        fingerprints=tuple(each.replace(":", "").lower() for each in fingerprints),
        verify_hostname=knows_names and configuration.get(security.SSL_REST_VERIFY_HOSTNAME),
        protocols=_words(configuration.get(security.SSL_PROTOCOL)),
        ciphers=_words(configuration.get(security.SSL_ALGORITHMS)),
    )


def _is_enabled(configuration: Configuration) -> bool:
    if configuration.contains(security.SSL_REST_ENABLED):
        return configuration.get(security.SSL_REST_ENABLED)
    knows_older_switch = configuration.version < FlinkVersion(2, 0, 0)
    return knows_older_switch and configuration.get(security.SSL_ENABLED)


def _authorities(configuration: Configuration) -> StoreFile | None:
    option, path = _first(configuration, security.SSL_REST_TRUSTSTORE, security.SSL_TRUSTSTORE)
    if path is None:
        return None
    _, password = _first(
        configuration,
        security.SSL_REST_TRUSTSTORE_PASSWORD,
        security.SSL_TRUSTSTORE_PASSWORD,
    )
    return StoreFile(Path(path), option, password)


def _certificate(configuration: Configuration) -> StoreFile | None:
    option, path = _first(configuration, security.SSL_REST_KEYSTORE, security.SSL_KEYSTORE)
    if path is None:
        return None
    _, password = _first(
        configuration, security.SSL_REST_KEYSTORE_PASSWORD, security.SSL_KEYSTORE_PASSWORD
    )
    _, key_password = _first(
        configuration, security.SSL_REST_KEY_PASSWORD, security.SSL_KEY_PASSWORD
    )
    return StoreFile(Path(path), option, password, key_password)


def _first(
    configuration: Configuration, option: Option[str | None], fallback: Option[str | None]
) -> tuple[str, str | None]:
    """The key and value of the first option that is set; Flink's own order."""
    for each in (option, fallback):
        value = configuration.get(each)
        if value is not None:
            return each.key, value
    return option.key, None


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())
