"""Programs that tests use as judges."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def kubectl() -> str:
    """kubectl from this environment, else from PATH."""
    beside = Path(sys.executable).with_name("kubectl")
    found = str(beside) if beside.exists() else shutil.which("kubectl")
    assert found is not None, "kubectl is missing: pip install --group dev"
    return found
