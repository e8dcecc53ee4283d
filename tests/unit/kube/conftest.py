from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from kubeflink.kube import KubeClient, Limits
from support.api_stub import ApiStub

QUICK = Limits(total=20.0, first_contact=0.5, internal=20.0, pause=0.02)


@dataclass
class Certificates:
    """A private authority, a server certificate for 127.0.0.1 and a client certificate."""

    authority: trustme.CA
    directory: Path

    @property
    def ca_file(self) -> Path:
        file = self.directory / "ca.crt"
        self.authority.cert_pem.write_to_path(str(file))
        return file

    def server(self, *names: str) -> ssl.SSLContext:
        """A server context that asks for client certificates and takes none as well."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert(*(names or ("127.0.0.1",))).configure_cert(context)
        self.authority.configure_trust(context)
        context.verify_mode = ssl.CERT_OPTIONAL
        return context

    def client(self, name: str = "tester") -> tuple[Path, Path]:
        """Files with a client certificate and its key."""
        made = self.authority.issue_cert(f"{name}@test", common_name=name)
        certificate = self.directory / f"{name}.crt"
        key = self.directory / f"{name}.key"
        certificate.write_bytes(b"".join(blob.bytes() for blob in made.cert_chain_pems))
        made.private_key_pem.write_to_path(str(key))
        return certificate, key


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    directory = tmp_path / "pki"
    directory.mkdir()
    return Certificates(trustme.CA(), directory)


@pytest.fixture
async def stub() -> AsyncIterator[ApiStub]:
    async with ApiStub() as stub:
        yield stub


@pytest.fixture
async def client(stub: ApiStub, tmp_path: Path) -> AsyncIterator[KubeClient]:
    async with KubeClient.connect(
        kubeconfig=stub.kubeconfig(tmp_path), environ={}, limits=QUICK
    ) as client:
        yield client
