"""TLS with a real server: whom the client trusts, what it shows, what it says if it cannot."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx2
import pytest

from kubeflink import config
from kubeflink.config.rest_tls import RestTls, StoreFile, given_files, rest_tls
from kubeflink.errors import ConfigurationError, RestTlsError
from kubeflink.rest import FlinkClient, failures
from kubeflink.rest.tls import context_of, openssl_name
from support.certificates import PASSWORD, Stores, make_stores


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return make_stores(tmp_path_factory.mktemp("stores"))


def configured(options: dict[str, str], version: str = "2.3.0") -> RestTls:
    found = rest_tls(config.load(conf_dir=None, overrides=options, environ={}, version=version))
    assert found is not None
    return found


class JobManager(BaseHTTPRequestHandler):
    """Answers as Flink does."""

    def do_GET(self) -> None:
        body = b'{"flink-version": "2.3.0"}'
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def served(context: ssl.SSLContext | None) -> Iterator[str]:
    """The address of a server with TLS or without; asyncio's own would end without an alert."""
    with ThreadingHTTPServer(("127.0.0.1", 0), JobManager) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


async def ask(url: str, tls: RestTls) -> str:
    """The version that the server tells. Waits for nothing that does not pass by itself."""
    async with httpx2.AsyncClient(trust_env=False, verify=context_of(tls)) as http:
        return (await FlinkClient(http, url, where="demo").overview()).flink_version


def pem(path: Path) -> RestTls:
    found = given_files(str(path), None, {})
    assert found is not None
    return found


@pytest.mark.parametrize("version", ["1.17.2", "1.20.5", "2.3.0"])
async def test_the_truststore_of_the_configuration_is_trusted(stores: Stores, version: str) -> None:
    suites = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
    old = {"security.ssl.algorithms": suites}

    with served(stores.server_context()) as url:
        assert await ask(url, configured({**stores.options(), **old}, version)) == "2.3.0"


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
async def test_an_authority_in_pem(stores: Stores, tmp_path: Path, encoding: str) -> None:
    bundle = tmp_path / "bundle.pem"
    bundle.write_bytes("# Zürich\n".encode(encoding) + stores.authority_pem.read_bytes())

    with served(stores.server_context()) as url:
        assert await ask(url, pem(bundle)) == "2.3.0"


async def test_the_older_common_options_count_where_there_are_no_others(stores: Stores) -> None:
    options = {
        key.replace("rest.truststore", "truststore"): value
        for key, value in stores.options().items()
    }
    assert "security.ssl.truststore-password" in options

    with served(stores.server_context()) as url:
        assert await ask(url, configured(options)) == "2.3.0"


@pytest.mark.parametrize(
    ("version", "options", "is_on"),
    [
        ("1.20.5", {"security.ssl.enabled": "true"}, True),
        ("1.20.5", {"security.ssl.enabled": "true", "security.ssl.rest.enabled": "false"}, False),
        ("2.3.0", {}, False),
        ("2.3.0", {"security.ssl.rest.enabled": "true"}, True),
    ],
)
def test_whether_it_is_switched_on(version: str, options: dict[str, str], is_on: bool) -> None:
    made = config.load(conf_dir=None, overrides=options, environ={}, version=version)

    assert (rest_tls(made) is not None) == is_on


async def test_another_authority_is_one_error_that_names_the_option(
    stores: Stores, tmp_path: Path
) -> None:
    other = make_stores(tmp_path)

    with served(stores.server_context()) as url:
        for tls in (pem(other.authority_pem), RestTls()):
            with pytest.raises(RestTlsError, match="not trusted") as refused:
                await ask(url, tls)
            assert "--rest-ca FILE" in str(refused.value.hint)
            assert "security.ssl.rest.truststore" in str(refused.value.hint)


async def test_a_fingerprint_is_all_that_counts(stores: Stores, tmp_path: Path) -> None:
    other = make_stores(tmp_path)
    right = configured(
        {**stores.options(), "security.ssl.rest.cert.fingerprint": stores.fingerprint}
    )
    wrong = configured(
        {**stores.options(), "security.ssl.rest.cert.fingerprint": other.fingerprint}
    )

    with served(stores.server_context()) as url:
        assert await ask(url, replace(right, authorities=None)) == "2.3.0"
        with pytest.raises(RestTlsError, match="another certificate") as refused:
            await ask(url, wrong)
    assert "security.ssl.rest.cert.fingerprint" in str(refused.value.hint)


async def test_host_names_count_where_that_is_asked_for(stores: Stores) -> None:
    asked = {**stores.options(), "security.ssl.rest.verify-hostname": "true"}

    with served(stores.server_context()) as url:
        with pytest.raises(RestTlsError, match="127"):
            await ask(url, configured(asked))
        assert not configured({**stores.options()}).verify_hostname


@pytest.mark.parametrize("maximum", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_client_shows_its_certificate_where_it_is_asked_for(
    stores: Stores, maximum: ssl.TLSVersion
) -> None:
    context = stores.server_context(mutual=True)
    context.maximum_version = maximum
    shown = configured(stores.options(mutual=True))
    given = given_files(str(stores.authority_pem), str(stores.client_pem), {})
    assert given is not None

    with served(context) as url:
        assert await ask(url, replace(shown, protocols=())) == "2.3.0"
        assert await ask(url, given) == "2.3.0"
        with pytest.raises(RestTlsError, match="certificate") as refused:
            await ask(url, pem(stores.authority_pem))  # which OpenSSL answers with a mere failure
    assert "--rest-cert FILE" in str(refused.value)
    assert "security.ssl.rest.authentication-enabled" in str(refused.value)


async def test_a_server_without_tls(stores: Stores) -> None:
    trusted = pem(stores.authority_pem)

    with served(None) as url, pytest.raises(RestTlsError, match="not speak TLS") as refused:
        await ask(url, trusted)
    assert "security.ssl.rest.enabled" in str(refused.value.hint)


async def test_no_common_version(stores: Stores) -> None:
    context = stores.server_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_3

    with served(context) as url, pytest.raises(RestTlsError, match="no way") as refused:
        await ask(url, configured(stores.options()))
    assert "security.ssl.protocol" in str(refused.value.hint)


# -- files that are of no use -----------------------------------------------------------------


def use(path: Path, password: str | None = None, *, certificate: bool = False) -> str:
    option = "security.ssl.rest.keystore" if certificate else "security.ssl.rest.truststore"
    file = StoreFile(path, option, password)
    tls = RestTls(certificate=file) if certificate else RestTls(authorities=file)
    with pytest.raises(ConfigurationError) as refused:
        context_of(tls)
    assert refused.value.option == option
    assert PASSWORD not in str(refused.value)
    return str(refused.value)


def test_stores_that_cannot_be_used_are_told_with_the_way_out(
    stores: Stores, tmp_path: Path
) -> None:
    java = tmp_path / "rest.jks"
    java.write_bytes(b"\xfe\xed\xfe\xed\x00\x00\x00\x02")
    text = tmp_path / "broken.pem"
    text.write_text("-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n")

    assert "name the file of this machine: --rest-ca FILE" in use(tmp_path / "gone.p12")
    assert "--rest-cert FILE" in use(tmp_path / "gone.p12", certificate=True)
    assert "its password is wrong" in use(stores.truststore, "wrong")
    assert "its password is wrong" in use(stores.keystore, "wrong", certificate=True)
    assert "no certificate with its key" in use(stores.truststore, PASSWORD, certificate=True)
    assert "no certificate with its key" in use(stores.authority_pem, certificate=True)
    assert "no certificate that OpenSSL can read" in use(text)
    told = use(java)
    assert "keytool -importkeystore -srckeystore rest.jks -destkeystore rest.p12" in told


def test_no_secret_is_in_what_is_shown(stores: Stores) -> None:
    assert PASSWORD not in repr(configured(stores.options(mutual=True)))


def test_versions_and_suites_that_do_not_exist(stores: Stores) -> None:
    with pytest.raises(ConfigurationError, match=r"security\.ssl\.protocol: SSLv9"):
        context_of(RestTls(protocols=("SSLv9",)))
    with pytest.raises(ConfigurationError, match=r"security\.ssl\.algorithms"):
        context_of(RestTls(ciphers=("TLS_FOO_WITH_BAR",)))


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("TLS_DHE_RSA_WITH_AES_256_CBC_SHA256", "DHE-RSA-AES256-SHA256"),
        ("TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"),
    ],
)
def test_suites_have_a_name_in_openssl(java: str, openssl: str) -> None:
    assert openssl_name(java) == openssl
    ssl.create_default_context().set_ciphers(openssl)


@pytest.mark.parametrize(
    "told", [ssl.SSLWantReadError, ssl.SSLWantWriteError, ssl.SSLEOFError, ssl.SSLZeroReturnError]
)
def test_an_answer_that_does_not_come_is_no_fault_of_tls(told: type[ssl.SSLError]) -> None:
    """OpenSSL says so, too, while a connection such as the API server's is waited for."""
    error = httpx2.ReadTimeout("")
    error.__cause__ = TimeoutError()
    error.__cause__.__context__ = told(2, "The operation did not complete (read)")

    assert failures.tls_failure("cluster demo", error) is None

    error.__cause__.__context__.__context__ = ssl.SSLError(1, "no shared cipher")
    assert failures.tls_failure("cluster demo", error) is not None
