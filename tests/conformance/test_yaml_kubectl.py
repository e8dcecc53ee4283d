"""The YAML rules of the Kubernetes world against kubectl itself, which needs no server for this.

`kubectl patch --local` reads a manifest of a kind that it does not know and prints it as JSON, so
that every scalar shows the type that it was given.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kubeflink.config.yaml import dump_kubernetes, load_kubernetes
from support.commands import kubectl

HEAD = "apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: x\n"
KUBECTL_TIMEOUT = 60.0


def as_kubectl_reads(text: str, directory: Path) -> Any:
    path = directory / "thing.yaml"
    path.write_text(text, encoding="utf-8")
    command = [
        kubectl(),
        "patch",
        "--local",
        "--type=merge",
        "-p",
        "{}",
        "-o",
        "json",
        "-f",
        str(path),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=KUBECTL_TIMEOUT
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


_SCALARS = (
    "yes|No|ON|off|y|N|true|True|tRue|~|null|Null|NULL|nUll|0|-0|+0|00|012|-012|0o14|0O14|0o8|08|"
    "0x1F|0XfF|-0x1f|0xG|0b11|-0b11|0b12|1_000|1__0|0_1|_1|1_|._5|.5|-.5|+.5|1.|1.e5|1e3|1E-3|1e|"
    "1.5_0|e1|60:00|12:30:45|2024-01-02|2001-12-14t21:59:43.10-05:00|=|<x|1.2.3|+12|+x|--|-x|a.b|"
    "1,5|0.1|100000|4503599627370496|!!str 5|!!str yes|'yes'|\"no\"|''|!!int 7|!!float 2.5"
)
SCALARS = _SCALARS.split("|")


def test_scalars_have_the_types_that_kubectl_gives_them(tmp_path: Path) -> None:
    lines = [f"  k{number}: {scalar}\n" for number, scalar in enumerate(SCALARS)]
    keys = [f"  ? {word}\n  : key\n" for word in ("yes", "012", "1.5", "'on'")]
    text = HEAD + "spec:\n" + "".join(lines) + "keys:\n" + "".join(keys)

    ours, theirs = load_kubernetes(text, "thing.yaml").value, as_kubectl_reads(text, tmp_path)

    for number, scalar in enumerate(SCALARS):
        got, expected = ours["spec"][f"k{number}"], theirs["spec"].get(f"k{number}")
        assert got == expected, scalar
        assert isinstance(got, bool) == isinstance(expected, bool), scalar
    assert ours["keys"] == theirs["keys"]


TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=15),
    st.text("a0 :#'\"\\-?!&*|>%@`{}[],\n\t\r~.=<_", max_size=10),
    st.sampled_from(SCALARS),
)
NUMBERS = st.integers(-(2**52), 2**52) | st.floats(-1e15, 1e15).filter(lambda n: n != int(n))
VALUES = st.recursive(
    TEXT | st.booleans() | NUMBERS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def test_kubectl_reads_what_was_written(tmp_path: Path) -> None:
    @settings(max_examples=60)
    @given(st.lists(VALUES, min_size=5, max_size=20))
    def agree(values: list[Any]) -> None:
        manifest: Mapping[str, Any] = {
            "apiVersion": "example.com/v1",
            "kind": "Thing",
            "metadata": {"name": "x"},
            "spec": {"values": values},
        }

        assert as_kubectl_reads(dump_kubernetes(manifest), tmp_path) == manifest

    agree()
