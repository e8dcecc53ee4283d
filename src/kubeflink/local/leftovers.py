"""What servers that were killed have left behind: processes and directories."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from kubeflink.errors import LocalError
from kubeflink.local.processes import kill_recorded
from kubeflink.local.state import StateDirectory, ephemeral_leftovers, remove_tree

_REMOVAL_SECONDS = 10.0
"""How long processes that were just killed may go on to make files."""

_POLL = 0.1


def collect_leftovers(environ: Mapping[str, str] = os.environ) -> int:
    """Remove what demos left that were killed; returns the number of processes that still ran.

    What cannot be removed stays for the next time: it is in nobody's way.
    """
    killed = 0
    for directory in ephemeral_leftovers(environ):
        killed += _kill(directory)
        remove_tree(directory.root)
    return killed


def remove(directory: StateDirectory) -> int:
    """End the processes of an embedded cluster without a server, and remove its directory.

    Returns the number of processes that still ran. `LocalError` if something cannot be removed.
    """
    killed = _kill(directory)
    deadline = time.monotonic() + _REMOVAL_SECONDS
    while (obstacle := remove_tree(directory.root)) is not None:
        if time.monotonic() > deadline:
            raise LocalError(
                f"Not all of the embedded cluster {directory.name!r} can be removed: {obstacle}",
                hint=f"Its processes have ended; remove {directory.root}",
            )
        time.sleep(_POLL)
    return killed


def _kill(directory: StateDirectory) -> int:
    return kill_recorded(directory.pods.glob("*/containers/*/process.json"))
