"""Importing the configuration is part of every command, so it must stay small."""

from __future__ import annotations

import subprocess
import sys


def test_neither_yaml_nor_the_option_families_are_imported_with_the_package() -> None:
    code = "import sys, kubeflink.config; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(done.stdout.split())

    assert not loaded & {"yaml", "msgspec", "asyncio", "difflib"}
    assert "kubeflink.config.options.kubernetes" not in loaded
