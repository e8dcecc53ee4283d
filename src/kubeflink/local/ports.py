"""Which port of 127.0.0.1 stands for which port of a pod or Service.

All pods share one address, so a pod's ports cannot be the ones it would have in a cluster. Each
gets a real port that belongs to its *seat*, not to the pod: a JobManager that is restarted or
replaced sits down on the same ports, and its TaskManagers find it again. A Service's ports stay for
as long as the Service does, whatever happens to the server. Both live in a file of the state
directory.

The ports lie below the range from which systems take the ports of outgoing connections (Linux: from
32768, macOS: from 49152), so that no connection sits on one of them by chance: pods in 20000-29999,
Services where Kubernetes has its node ports, in 30000-32767.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Iterable
from pathlib import Path

from kubeflink.errors import LocalError
from kubeflink.local.state import read_typed, write_json

POD_PORTS = range(20000, 30000)
NODE_PORTS = range(30000, 32768)

_ATTEMPTS = 200

_WAY_OUT = (
    "Remove it, and delete the JobManager pods that are left running: they come back on new ports"
)


class PortBook:
    """Ports by seat, kept in a file. A seat is a text such as `pod default/demo/0 rest`."""

    def __init__(self, path: Path) -> None:
        """The book in this file; LocalError for one that is damaged."""
        self._path = path
        self._ports = read_typed(path, dict[str, int], _WAY_OUT) or {}

    def get(self, seat: str) -> int | None:
        """The seat's port, if it has one."""
        return self._ports.get(seat)

    def seats(self) -> list[str]:
        """All seats that have a port."""
        return list(self._ports)

    def taken(self) -> frozenset[int]:
        """The ports of all seats, in use or not."""
        return frozenset(self._ports.values())

    def assign(self, seat: str, candidates: range) -> int:
        """The seat's port; a free one of the candidates when it has none or its own is in use.

        To be called when nothing of ours listens there: a port that answers is somebody else's.
        """
        port = self._ports.get(seat)
        if port is None or not is_free(port):
            port = free_port(candidates, self.taken())
            self._set(seat, port)
        return port

    def claim(self, seat: str, port: int) -> None:
        """Give the seat this very port."""
        if self._ports.get(seat) != port:
            self._set(seat, port)

    def release(self, seats: Iterable[str]) -> None:
        """Forget these seats."""
        gone = set(seats) & self._ports.keys()
        if gone:
            self._write({seat: port for seat, port in self._ports.items() if seat not in gone})

    def _set(self, seat: str, port: int) -> None:
        self._write({**self._ports, seat: port})

    def _write(self, ports: dict[str, int]) -> None:
        """Only what is on disk counts: the next server knows no other ports."""
        write_json(self._path, ports)
        self._ports = ports


def free_port(candidates: range, taken: frozenset[int] = frozenset()) -> int:
    """A port of the candidates on which nothing listens; `LocalError` when none is found.

    Drawn at random, so that clusters side by side do not race for the same ones.
    """
    for port in random.sample(candidates, min(_ATTEMPTS, len(candidates))):
        if port not in taken and is_free(port):
            return port
    raise LocalError(
        f"No free port on 127.0.0.1 between {candidates.start} and {candidates.stop - 1}",
        hint="End what uses them; `ss -ltnp` or `lsof -iTCP -sTCP:LISTEN` shows it",
    )


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of 127.0.0.1 now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: connections of an earlier server that are still closing are no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
