"""Quantities in the form in which an API server writes them."""

from __future__ import annotations

import pytest

from kubeflink.quantities import with_plain_quantities


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("1.0", "1"),
        ("0.5", "500m"),
        ("1600Mi", "1600Mi"),
        ("2048Mi", "2Gi"),
        ("1.5Gi", "1536Mi"),
        ("1000m", "1"),
        ("5000", "5k"),
        ("0", "0"),
        (2, "2"),
        ("no quantity", "no quantity"),
    ],
)
def test_a_quantity_is_written_plainly(given: str | int, plain: str) -> None:
    container = {"resources": {"requests": {"cpu": given}}, "image": "2048Mi"}
    assert with_plain_quantities([container]) == [
        {"resources": {"requests": {"cpu": plain}}, "image": "2048Mi"}
    ]
