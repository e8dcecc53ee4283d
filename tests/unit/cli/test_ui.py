"""`kubeflink ui` where there is nothing to forward to."""

from __future__ import annotations

import pytest

from .conftest import SIZES, Call


@pytest.mark.usefixtures("server")
def test_without_a_pod_it_says_where_to_look(call: Call) -> None:
    start = ("session", "start", "demo", "-n", "other", "--no-preflight", "--no-wait", *SIZES)
    assert call(*start).code == 0

    found = call("ui", "demo", "-n", "other")

    assert found.code == 1
    assert found.err == (
        'kubeflink: No pod of Service demo-rest in namespace "other" is running\n'
        "  Look at it: kubeflink describe demo --namespace other\n"
    )
