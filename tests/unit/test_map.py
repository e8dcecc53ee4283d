"""The page that says where each part of Flink's integration lives names things that exist."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "map.md"
DECORATORS = Path(__file__).parents[2] / "src" / "kubeflink" / "spec" / "decorators"
PACKAGES = ("config", "spec", "kube", "rest", "cluster", "apiserver", "local", "broker", "cli")


def _cells() -> list[str]:
    """The right-hand cells, and those on the left of the table of what Flink does not have."""
    rows = [line.split("|") for line in PAGE.read_text(encoding="utf-8").splitlines()]
    cells = [cell for row in rows if len(row) == 4 for cell in row[1:3]]
    assert len(cells) > 100
    return cells


def _named() -> list[str]:
    words = [word for cell in _cells() for word in re.findall(r"`([\w.]+)`", cell)]
    return sorted({word for word in words if word.split(".")[0] in PACKAGES})


@pytest.mark.parametrize("name", _named())
def test_what_the_map_names_exists(name: str) -> None:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        module_name = ".".join(("kubeflink", *parts[:length]))
        try:
            found: object = import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is None or not module_name.startswith(error.name):
                raise  # the module is there, and something that it imports is not
            continue
        for attribute in parts[length:]:
            found = getattr(found, attribute)
        return
    raise AssertionError(f"there is no {name}")


def test_each_decorator_is_on_the_map() -> None:
    modules = {path.stem for path in DECORATORS.glob("*.py")} - {"__init__"}
    text = PAGE.read_text(encoding="utf-8")

    assert {module for module in modules if f"`spec.decorators.{module}`" not in text} == set()
