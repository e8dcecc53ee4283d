"""kubeflink as a command beside a test's own event loop, which serves the embedded Kubernetes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 300.0
"""The limit of a call; most of them start JVMs or wait for some."""

SUBMITTED = re.compile(r"Job has been submitted with JobID ([0-9a-f]{32})")


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def job(self) -> str:
        """The id of the one job that it submitted."""
        (found,) = set(SUBMITTED.findall(self.out))
        return str(found)

    @property
    def json(self) -> Any:
        """Its output as JSON."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Shell:
    """Calls kubeflink with a kubeconfig, and without what this machine has configured of Flink."""

    kubeconfig: Path
    more: Mapping[str, str]

    @property
    def env(self) -> dict[str, str]:
        """The environment of the calls."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("FLINK_", "KUBEFLINK_FLINK_"))
        }
        return {**kept, "KUBECONFIG": str(self.kubeconfig), "LC_ALL": "C.UTF-8", **self.more}

    @asynccontextmanager
    async def started(self, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """A call that goes on; it is killed at the end if it has not ended."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "kubeflink", *words),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self.env,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()

    async def __call__(self, *words: str) -> Done:
        async with self.started(*words) as process:
            return await ended(process)

    async def succeed(self, *words: str) -> Done:
        """A call that has to succeed."""
        done = await self(*words)
        assert done.code == 0, done.err
        return done


async def ended(process: asyncio.subprocess.Process) -> Done:
    """What a started call has said, from here on, once it has ended."""
    out, err = await asyncio.wait_for(process.communicate(), SECONDS)
    assert process.returncode is not None
    return Done(process.returncode, out.decode(), err.decode())


async def line_with(stream: asyncio.StreamReader | None, text: str) -> str:
    """The next line that contains the text; the lines before it are lost."""
    assert stream is not None

    async def look() -> str:
        seen = []
        async for line in stream:
            seen.append(line.decode())
            if text in seen[-1]:
                return seen[-1]
        raise AssertionError(f"no line with {text!r} in {''.join(seen)!r}")

    return await asyncio.wait_for(look(), SECONDS)


def interrupt(process: asyncio.subprocess.Process) -> None:
    """Ctrl-C."""
    process.send_signal(signal.SIGINT)
