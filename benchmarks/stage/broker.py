"""The broker's process, started as in a pod: its credentials are files."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from stage.cluster import Server, kubeconfig
from stage.processes import process

END_SECONDS = 20


@dataclass(frozen=True, slots=True)
class RunningBroker:
    """`url` and `kubeconfig` are the JobManager's; `process` is the broker's."""

    process: asyncio.subprocess.Process
    url: str
    kubeconfig: Path
    authority: str
    token: str

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid

    async def end(self) -> None:
        """End it as Kubernetes does, so that a profile of it is written."""
        self.process.terminate()
        async with asyncio.timeout(END_SECONDS):
            await self.process.wait()


@asynccontextmanager
async def broker(
    server: Server, directory: Path, python_options: Sequence[str] = ()
) -> AsyncIterator[RunningBroker]:
    """A broker for the cluster on this server. `python_options` stand before `-m kubeflink`."""
    from kubeflink.broker.process import write_credentials
    from kubeflink.spec.broker import client_kubeconfig, make_credentials

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    url = f"https://127.0.0.1:{port}"
    made = make_credentials("demo", "default")
    write_credentials(made, directory / "credentials")
    theirs = directory / "jobmanager.kubeconfig"
    theirs.write_text(client_kubeconfig(made, url, "default"))
    mine = kubeconfig(server.url, directory / "broker.kubeconfig")
    async with process(
        *(sys.executable, *python_options, "-m", "kubeflink", "broker", "demo"),
        *("--kubeconfig", str(mine), "--port", str(port), "--metrics-port", "0"),
        *("--credentials", str(directory / "credentials")),
        stderr=asyncio.subprocess.PIPE,
    ) as running:
        assert running.stderr is not None
        while b"metrics" not in (line := await running.stderr.readline()):
            if not line:
                raise RuntimeError("the broker has ended")
        draining = asyncio.create_task(running.stderr.read())
        yield RunningBroker(running, url, theirs, made.authority, made.token)
        draining.cancel()
