"""What servers that were killed have left behind: processes and directories."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from kubeflink.local.processes import kill_recorded
from kubeflink.local.state import StateDirectory, ephemeral_leftovers


def collect_leftovers(environ: Mapping[str, str] = os.environ) -> int:
    """Remove what demos left that were killed; returns the number of processes that still ran."""
    return sum(map(remove, ephemeral_leftovers(environ)))


def remove(directory: StateDirectory) -> int:
    """End the processes of an embedded cluster without a server, and remove its directory.

    Returns the number of processes that still ran.
    """
    killed = kill_recorded(directory.pods.glob("*/containers/*/process.json"))
    shutil.rmtree(directory.root, ignore_errors=True)
    return killed
