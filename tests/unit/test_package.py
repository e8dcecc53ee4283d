"""The package itself: what it exports and what importing it costs."""

from __future__ import annotations

import subprocess
import sys


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, kubeflink; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(done.stdout.split())

    assert not loaded & {"aiohttp", "rich", "lightkube", "httpx2", "yaml", "click", "msgspec"}
