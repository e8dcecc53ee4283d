"""A real Kubernetes control plane on loopback: etcd, kube-apiserver, controllers, scheduler.

There is no kubelet, so no pod runs by itself. All processes, ports and files belong to the
`ControlPlane` that started them and end with it; the kernel ends them should the tests be killed.

Ports are taken by binding them before, without listening, so that nobody else can have them; the
programs bind them beside that (`SO_REUSEPORT`). etcd listens on a socket in the directory.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import json
import os
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2
import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

START_SECONDS = 120.0
"""How long one program may take to be ready on a busy machine."""

STOP_SECONDS = 20.0

_ISSUER = "https://kubernetes.default.svc.cluster.local"
_SERVICE_ADDRESSES = "10.96.0.0/16"

# Controllers without a use here: they need nodes, clouds or time.
_CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "endpoints-controller",
    "endpointslice-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",
)


class Program:
    """One running program of the control plane."""

    def __init__(self, name: str, command: Sequence[str], directory: Path) -> None:
        self.name = name
        self.log = directory / f"{name}.log"
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                command,
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_dying_with(os.getpid()),
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until(self, is_ready: Callable[[], bool], what: str) -> None:
        """Wait until it is ready; fails with the end of its log."""
        deadline = time.monotonic() + START_SECONDS
        while not is_ready():
            code = self._process.poll()
            if code is not None or time.monotonic() > deadline:
                told = f"ended with {code}" if code is not None else f"has no {what} in time"
                raise RuntimeError(f"{self.name} {told}:\n{self._last_words()}")
            time.sleep(0.1)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it, and return when it has ended."""
        self._process.send_signal(number)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(line for line in lines if not line.startswith(("I", '{"level":"info"')))[
            -3000:
        ]


class ControlPlane:
    """A context manager; `binaries` is the directory with the programs."""

    def __init__(self, binaries: Path, directory: Path) -> None:
        self._binaries = binaries
        self._directory = directory
        self._exits = contextlib.ExitStack()
        self._authority = trustme.CA(key_type=trustme.KeyType.ECDSA)
        self._ports: dict[str, int] = {}
        self._etcd_url = f"unix://{directory / 'etcd.sock'}"
        self.apiserver: ApiServerProgram
        self._controllers: Program

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._exits.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._exits.close()

    # Who may come in

    @property
    def authority(self) -> bytes:
        """The certificate of those who sign server and clients, as PEM."""
        return self._authority.cert_pem.bytes()

    @property
    def url(self) -> str:
        return self.apiserver.url

    def kubeconfig(
        self,
        user: str = "admin",
        groups: Sequence[str] = ("system:masters",),
        *,
        namespace: str = "default",
        server: str | None = None,
    ) -> Path:
        """A kubeconfig for a user of that name, who shows a client certificate."""
        # The host name says nothing, but Go refuses a certificate whose list of names is empty.
        issued = self._authority.issue_cert(
            "user.invalid", common_name=user, organization_name=groups[0] if groups else None
        )
        return self.write_kubeconfig(
            {
                "client-certificate-data": _base64(issued.cert_chain_pems[0].bytes()),
                "client-key-data": _base64(issued.private_key_pem.bytes()),
            },
            namespace=namespace,
            server=server,
        )

    def write_kubeconfig(
        self, user: Mapping[str, Any], *, namespace: str = "default", server: str | None = None
    ) -> Path:
        """A kubeconfig with these credentials."""
        cluster = {
            "server": server or self.url,
            "certificate-authority-data": _base64(self.authority),
        }
        context = {"cluster": "real", "user": "user", "namespace": namespace}
        path = self._directory / f"kubeconfig-{secrets.token_hex(4)}"
        path.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "real", "cluster": cluster}],
                    "users": [{"name": "user", "user": dict(user)}],
                    "contexts": [{"name": "real", "context": context}],
                    "current-context": "real",
                }
            )
        )
        path.chmod(0o600)
        return path

    def compact(self) -> None:
        """Make etcd forget all that was before now, as it does every few minutes anyway."""
        transport = httpx2.HTTPTransport(uds=str(self._directory / "etcd.sock"))
        with httpx2.Client(transport=transport, base_url="http://etcd", timeout=30) as etcd:
            answer = etcd.post("/v3/kv/range", json={"key": _base64(b"/")})
            revision = answer.raise_for_status().json()["header"]["revision"]
            compaction = {"revision": revision, "physical": True}
            etcd.post("/v3/kv/compaction", json=compaction).raise_for_status()

    # Starting

    def _start(self) -> None:
        self._write_keys()
        etcd = self._run(
            "etcd",
            f"--data-dir={self._directory / 'etcd'}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={self._etcd_url}",
            "--advertise-client-urls=http://127.0.0.1:2379",  # must have a port; nobody asks
            f"--listen-peer-urls=unix://{self._directory / 'peer.sock'}",
        )
        etcd.wait_until((self._directory / "etcd.sock").exists, "socket")
        self.apiserver = self._exits.enter_context(self.another_apiserver("kube-apiserver"))
        self._controllers = self._start_controllers(_CONTROLLERS)
        self._exits.callback(lambda: self._controllers.stop())
        self._run(
            "kube-scheduler",
            f"--kubeconfig={self.kubeconfig('system:kube-scheduler', ())}",
            *_WITHOUT_SERVING,
        )
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        self.apiserver.program.wait_until(
            lambda: self.apiserver.answers(account), "service account default"
        )

    @contextlib.contextmanager
    def without_controllers(self, *names: str) -> Iterator[None]:
        """For a while, some controllers do nothing."""
        self._controllers.stop()
        self._controllers = self._start_controllers(set(_CONTROLLERS).difference(names))
        try:
            yield
        finally:
            self._controllers.stop()
            self._controllers = self._start_controllers(_CONTROLLERS)

    def _start_controllers(self, names: Iterable[str]) -> Program:
        return self._program(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig('system:kube-controller-manager', ())}",
            f"--service-account-private-key-file={self._directory / 'accounts.key'}",
            f"--root-ca-file={self._directory / 'authority.pem'}",
            f"--controllers={','.join(names)}",
            "--use-service-account-credentials",
            *_WITHOUT_SERVING,
        )

    def another_apiserver(self, name: str, *flags: str) -> ApiServerProgram:
        """One more API server over the same etcd, to be used as a context manager."""
        return ApiServerProgram(
            name,
            self._binaries / "kube-apiserver",
            self._directory,
            [f"--etcd-servers={self._etcd_url}", *_apiserver_flags(self._directory), *flags],
            self.kubeconfig,
        )

    def _run(self, name: str, *arguments: str) -> Program:
        program = self._program(name, *arguments)
        self._exits.callback(program.stop)
        return program

    def _program(self, name: str, *arguments: str) -> Program:
        return Program(name, [str(self._binaries / name), *arguments], self._directory)

    def _write_keys(self) -> None:
        (self._directory / "authority.pem").write_bytes(self.authority)
        names = ("127.0.0.1", "localhost", "10.96.0.1", "kubernetes.default.svc")
        server = self._authority.issue_cert(*names)
        server.private_key_pem.write_to_path(self._directory / "server.key")
        server.cert_chain_pems[0].write_to_path(self._directory / "server.crt")
        key = rsa.generate_private_key(65537, 2048)
        (self._directory / "accounts.key").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        (self._directory / "accounts.pub").write_bytes(
            key.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        )


class ApiServerProgram:
    """A kube-apiserver on a port of its own, which it keeps when it is started again."""

    def __init__(
        self,
        name: str,
        binary: Path,
        directory: Path,
        flags: Sequence[str],
        kubeconfig: Callable[..., Path],
    ) -> None:
        self._name = name
        self._directory = directory
        self._socket = _bound_socket()
        self.port: int = self._socket.getsockname()[1]
        self.url = f"https://127.0.0.1:{self.port}"
        self._command = [
            *(str(binary), f"--secure-port={self.port}", "--permit-port-sharing"),
            *(f"--cert-dir={directory / name}", *flags),
        ]
        self._kubeconfig = kubeconfig(server=self.url)
        self.program: Program

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.program.stop()
        self._socket.close()

    def start(self) -> None:
        """Start it, and return when it is ready."""
        self.program = Program(self._name, self._command, self._directory)
        try:
            self.program.wait_until(lambda: self.answers("/readyz"), "readiness")
        except BaseException:
            self.program.stop(signal.SIGKILL)
            raise

    def answers(self, path: str) -> bool:
        """Whether a GET of the administrator succeeds."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=10, context=self._tls()) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _tls(self) -> ssl.SSLContext:
        user = json.loads(self._kubeconfig.read_text())["users"][0]["user"]
        pem = self._directory / f"{self._name}-administrator.pem"
        if not pem.exists():
            parts = (user["client-certificate-data"], user["client-key-data"])
            pem.write_bytes(b"\n".join(map(base64.b64decode, parts)))
        context = ssl.create_default_context(cafile=self._directory / "authority.pem")
        context.load_cert_chain(pem)
        return context


_WITHOUT_SERVING = ("--secure-port=0", "--leader-elect=false")


def _apiserver_flags(directory: Path) -> list[str]:
    return [
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        f"--client-ca-file={directory / 'authority.pem'}",
        f"--tls-cert-file={directory / 'server.crt'}",
        f"--tls-private-key-file={directory / 'server.key'}",
        f"--service-account-issuer={_ISSUER}",
        f"--service-account-key-file={directory / 'accounts.pub'}",
        f"--service-account-signing-key-file={directory / 'accounts.key'}",
        f"--service-cluster-ip-range={_SERVICE_ADDRESSES}",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged",
        "--profiling=false",
        "--shutdown-delay-duration=0s",
    ]


def _bound_socket() -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    bound.bind(("127.0.0.1", 0))
    return bound


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def _dying_with(parent: int) -> Callable[[], None]:
    """What a child calls first, so that the kernel ends it together with its parent."""

    def ask_for_it() -> None:
        if _LIBC is not None:
            _LIBC.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
            if os.getppid() != parent:  # it died before that
                os._exit(1)

    return ask_for_it
