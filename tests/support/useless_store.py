"""An object store that is of no use: it says nothing, or the same to everybody.

What a library makes of it is seen in a process of its own: the library may go on trying for long
after kubeflink has given up.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

SECONDS = 120.0
"""The limit of one upload, which is far below what the libraries would take by themselves."""

_UPLOAD = """
import asyncio, sys
from pathlib import Path
from kubeflink.cluster import artifacts
from kubeflink.config import load
from kubeflink.errors import KubeflinkError
jar, target, overwrite, seconds, *pairs = sys.argv[1:]
artifacts.ANSWER_SECONDS = artifacts.PIECE_SECONDS = float(seconds)
options = dict(pair.split("=", 1) for pair in pairs)
configuration = load(conf_dir=None, overrides=options, environ={})
upload = artifacts.Upload(Path(jar), target, overwrite == "True")
try:
    asyncio.run(artifacts.Artifacts(configuration, (upload,)).upload())
except KubeflinkError as error:
    print(error)
"""

_NO_ENVIRONMENT = ("AWS_", "AZURE_", "GOOGLE_", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_")


@dataclass(slots=True)
class UselessStore:
    """Where it listens, and how each connection to it began."""

    port: int
    begun: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def useless_store(answer: bytes = b"") -> Iterator[UselessStore]:
    """Takes connections while the context lasts, and sends `answer` for whatever is sent."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        store = UselessStore(listener.getsockname()[1])
        connections: list[socket.socket] = []
        is_over = threading.Event()

        def serve(connection: socket.socket) -> None:
            with suppress(OSError):
                heard = connection.recv(65536)
                if heard:
                    store.begun.append(heard)
                while heard:
                    connection.sendall(answer)
                    heard = connection.recv(65536)

        def accept() -> None:
            while not is_over.is_set():
                connection, _ = listener.accept()
                connections.append(connection)
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield store
        finally:
            is_over.set()
            socket.create_connection(listener.getsockname()).close()  # accept looks up
            accepting.join()
            for connection in connections:
                connection.close()


def refusal(code: int, body: str, kind: str = "application/json") -> bytes:
    """An answer that refuses, for `useless_store`."""
    head = f"HTTP/1.1 {code} No\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return f"{head}{body}".encode()


def upload(
    jar: Path,
    target: str,
    options: Mapping[str, str],
    *,
    seconds: float,
    overwrite: bool = False,
    python: Path | str = sys.executable,
    environment: Mapping[str, str] | None = None,
) -> str:
    """What is told of an upload by this Python, whose store may be silent for `seconds`."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(_NO_ENVIRONMENT)}
    pairs = [f"{key}={value}" for key, value in options.items()]
    done = subprocess.run(
        [str(python), "-c", _UPLOAD, str(jar), target, str(overwrite), str(seconds), *pairs],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env={**kept, "AWS_EC2_METADATA_DISABLED": "true", **(environment or {})},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout
