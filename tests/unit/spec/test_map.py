"""`docs/map.md` names modules that exist."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path

import pytest

import kubeflink

MAP = Path(__file__).parents[3] / "docs" / "map.md"


def named() -> list[str]:
    """The dotted names of our own modules, with or without an attribute at the end."""
    layers = "|".join(p.stem for p in Path(kubeflink.__file__).parent.iterdir() if p.is_dir())
    text = MAP.read_text(encoding="utf-8")
    return sorted(set(re.findall(rf"`((?:{layers})(?:\.[a-z_]+)+)`", text)))


def test_the_map_has_names() -> None:
    assert len(named()) > 60


@pytest.mark.parametrize("name", named())
def test_each_name_leads_somewhere(name: str) -> None:
    """It is a module, or something in one."""
    parent, _, last = f"kubeflink.{name}".rpartition(".")
    found = importlib.import_module(parent)

    is_module = hasattr(found, "__path__") and importlib.util.find_spec(f"{parent}.{last}")
    assert is_module or hasattr(found, last)
