"""Who listens on which ports.

On the host network a Service may name a port that is somebody else's: it begins with 8081 and keeps
the ports of a JobManager that has just died. That something answers there proves nothing.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

_PROC = Path("/proc")
_LISTEN = "0A"  # as /proc/net/tcp writes the state
_LSOF_TIMEOUT = 10.0


def listening_ports(groups: Iterable[int]) -> frozenset[int]:
    """The TCP ports on which processes of these process groups listen."""
    wanted = frozenset(groups)
    if not wanted:
        return frozenset()
    if (_PROC / "net" / "tcp").exists():
        ports = _ports_by_inode()
        inodes = (inode for pid in _members(wanted) for inode in _socket_inodes(pid))
        return frozenset(ports[inode] for inode in inodes if inode in ports)
    group_list = ",".join(map(str, sorted(wanted)))
    answer = subprocess.run(
        ["lsof", "-a", "-nP", "-Fn", "-g", group_list, "-iTCP", "-sTCP:LISTEN"],
        capture_output=True,
        text=True,
        timeout=_LSOF_TIMEOUT,
        check=False,
    )
    numbers = (line.rpartition(":")[2] for line in answer.stdout.splitlines() if line[:1] == "n")
    return frozenset(int(number) for number in numbers if number.isdecimal())


def _ports_by_inode() -> dict[str, int]:
    """All ports of this machine on which something listens, by the name of the socket."""
    found = {}
    for table in ("tcp", "tcp6"):
        path = _PROC / "net" / table
        for line in path.read_text(encoding="ascii").splitlines()[1:] if path.exists() else ():
            fields = line.split()
            if fields[3] == _LISTEN:
                found[f"socket:[{fields[9]}]"] = int(fields[1].rpartition(":")[2], 16)
    return found


def _members(groups: frozenset[int]) -> Iterator[Path]:
    for directory in _PROC.iterdir():
        if directory.name.isdecimal():
            try:
                stat = (directory / "stat").read_text(encoding="utf-8", errors="replace")
            except (FileNotFoundError, ProcessLookupError):
                continue  # It has ended.
            if int(stat.rpartition(")")[2].split()[2]) in groups:
                yield directory


def _socket_inodes(process: Path) -> Iterator[str]:
    try:
        for descriptor in (process / "fd").iterdir():
            target = os.readlink(descriptor)
            if target.startswith("socket:"):
                yield target
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return  # It has ended, or is none of ours.
