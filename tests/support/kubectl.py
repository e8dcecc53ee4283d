"""The real kubectl, run against a server of the test."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMIT = 60.0
"""Seconds that one command may take."""


def binary() -> str:
    """The kubectl of the environment that runs the tests, or one on the PATH."""
    beside = Path(sys.executable).parent
    found = shutil.which("kubectl", path=f"{beside}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        raise FileNotFoundError("kubectl is not installed: it comes with the group dev")
    return found


@dataclass(frozen=True, slots=True)
class Result:
    """How a command ended."""

    code: int
    out: str
    err: str


class Kubectl:
    """Runs kubectl with a kubeconfig of its own, or a given one, and an empty home."""

    def __init__(self, url: str, directory: Path, *, kubeconfig: Path | None = None) -> None:
        self._kubeconfig = kubeconfig or directory / "kubeconfig"
        self._directory = directory
        if kubeconfig is None:
            self._write_kubeconfig(url)

    def _write_kubeconfig(self, url: str) -> None:
        context = {"cluster": "test", "user": "test", "namespace": "default"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": url}}],
            "users": [{"name": "test", "user": {}}],
            "contexts": [{"name": "test", "context": context}],
        }
        self._kubeconfig.write_text(json.dumps(config))

    async def __call__(self, *arguments: str, stdin: str = "") -> str:
        """The output of a command that must succeed."""
        result = await self.run(*arguments, stdin=stdin)
        assert result.code == 0, f"kubectl {' '.join(arguments)}: {result.err}{result.out}"
        return result.out

    async def fails(self, *arguments: str, stdin: str = "") -> str:
        """The complaint of a command that must fail."""
        result = await self.run(*arguments, stdin=stdin)
        assert result.code != 0, f"kubectl {' '.join(arguments)}: {result.out}"
        return result.err

    async def json(self, *arguments: str) -> Any:
        """The object that a command prints."""
        return json.loads(await self(*arguments, "-o", "json"))

    async def run(self, *arguments: str, stdin: str = "", **environment: str) -> Result:
        """Run a command to its end."""
        async with self.started(*arguments, **environment) as process:
            async with asyncio.timeout(LIMIT):
                out, err = await process.communicate(stdin.encode())
            assert process.returncode is not None
            return Result(process.returncode, out.decode(), err.decode())

    @asynccontextmanager
    async def started(
        self, *arguments: str, **environment: str
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        """A running command, which is ended on the way out."""
        process = await asyncio.create_subprocess_exec(
            binary(),
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={
                "PATH": os.environ.get("PATH", ""),
                "HOME": str(self._directory),
                "KUBECONFIG": str(self._kubeconfig),
                **environment,
            },
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()
