"""The package itself: what it exports and what importing it costs."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, kubeflink; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(done.stdout.split())

    assert not loaded & {"aiohttp", "rich", "lightkube", "httpx2", "yaml", "click", "msgspec"}


def test_the_source_distribution_takes_what_it_names_from_the_root_alone() -> None:
    """A bare name would take files of that name from any directory."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]

    assert [path for path in included if not path.startswith("/")] == []
    assert [path for path in included if not (ROOT / path[1:]).exists()] == []
