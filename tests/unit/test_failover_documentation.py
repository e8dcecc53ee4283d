"""The documentation shows the outcomes that the tests prove."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.failover_table import TABLE, markdown

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["host-network.md", "high-availability.md"])
def test_the_table_is_that_of_the_tests(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    shown = text.split("<!-- failover table -->\n")[1].split("\n<!-- end -->")[0]

    assert shown == markdown()


def test_every_combination_is_there_once() -> None:
    combinations = {(row.kind, row.host_network, row.high_availability) for row in TABLE}

    assert len(combinations) == len(TABLE) == 8
