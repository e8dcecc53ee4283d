"""Who listens on a port: whether it is a process of a given group.

On the host network a Service may name a port that is somebody else's: it begins with 8081 and keeps
the ports of a JobManager that has just died. That something answers there proves nothing.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_LISTEN = "0A"  # as /proc/net/tcp writes the state
_LSOF_TIMEOUT = 10.0


def listens(group: int, port: int) -> bool:
    """Whether a process of this process group listens on the TCP port."""
    if (_PROC / "net" / "tcp").exists():
        inodes = set(_listening_inodes(port))
        return bool(inodes) and any(inodes & set(_socket_inodes(pid)) for pid in _members(group))
    answer = subprocess.run(
        ["lsof", "-a", "-nP", "-t", "-g", str(group), f"-iTCP:{port}", "-sTCP:LISTEN"],
        capture_output=True,
        timeout=_LSOF_TIMEOUT,
        check=False,
    )
    return bool(answer.stdout.strip())


def _listening_inodes(port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        path = _PROC / "net" / table
        for line in path.read_text(encoding="ascii").splitlines()[1:] if path.exists() else ():
            fields = line.split()
            if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                yield f"socket:[{fields[9]}]"


def _members(group: int) -> Iterator[Path]:
    for directory in _PROC.iterdir():
        if directory.name.isdecimal():
            try:
                stat = (directory / "stat").read_text(encoding="utf-8", errors="replace")
            except (FileNotFoundError, ProcessLookupError):
                continue  # It has ended.
            if int(stat.rpartition(")")[2].split()[2]) == group:
                yield directory


def _socket_inodes(process: Path) -> Iterator[str]:
    try:
        for descriptor in (process / "fd").iterdir():
            target = os.readlink(descriptor)
            if target.startswith("socket:"):
                yield target
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return  # It has ended, or is none of ours.
