"""Processes that end with the benchmark, and the kernel's account of what they have used."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process has used: CPU seconds, and MB at most."""

    cpu: float
    peak: float

    @classmethod
    def of(cls, pid: int) -> Usage:
        """So far; the CPU time is that of all its threads."""
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        cpu = (int(fields[11]) + int(fields[12])) / TICKS
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return cls(cpu, int(line.split()[1]) / 1024)
        raise RuntimeError("no VmHWM")

    def since(self, before: Usage) -> Usage:
        """The CPU time that was used after `before`; the peak stays."""
        return Usage(self.cpu - before.cpu, self.peak)


def main_thread_cpu(pid: int) -> float:
    """CPU seconds of a process's main thread so far, to the nanosecond, where `Usage` has ticks."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


@asynccontextmanager
async def process(*words: str, **options: Any) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that is killed at the end."""
    started = await asyncio.create_subprocess_exec(*words, **options)
    try:
        yield started
    finally:
        if started.returncode is None:
            os.kill(started.pid, signal.SIGKILL)
        await started.wait()
