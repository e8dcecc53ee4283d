"""Every benchmark is in the table that says what it compares."""

from __future__ import annotations

import re
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_the_table_has_all_programs() -> None:
    table = (BENCHMARKS / "README.md").read_text(encoding="utf-8")

    named = re.findall(r"^\| `(\w+\.py)` \|", table, re.MULTILINE)

    assert sorted(named) == sorted(path.name for path in BENCHMARKS.glob("*.py"))
