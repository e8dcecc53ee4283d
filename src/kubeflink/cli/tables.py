"""Results as a table, JSON or YAML."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from kubeflink.cli import console


def show(rows: Sequence[Any], columns: Sequence[str], cells: Any, output: str) -> None:
    """Print values: as lines of the texts that `cells` gives for each, or whole in JSON or YAML."""
    if output == "table":
        for line in table(columns, [cells(row) for row in rows]):
            console.out(line)
    else:
        document([plain(row) for row in rows], output)


def document(value: Any, output: str) -> None:
    """Print a value as JSON or YAML."""
    if output == "json":
        console.out(console.visible_json(json.dumps(value, indent=2, ensure_ascii=False)))
        return
    from kubeflink.config.yaml import dump_kubernetes

    entries = value if isinstance(value, list) else [value]
    console.raw("---\n".join(dump_kubernetes(entry) for entry in entries))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Aligned lines with the columns' names first, as kubectl prints them, each row in one."""
    lines = [list(columns), *([_cell(text) for text in row] for row in rows)]
    widths = [max(len(line[number]) for line in lines) for number in range(len(columns))]
    return [
        "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def _cell(text: str) -> str:
    return console.visible(text).replace("\n", "\\n").replace("\t", "\\t")


def plain(value: Any) -> Any:
    """A result as mappings, lists and scalars."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: plain(getattr(value, field.name)) for field in fields}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    import msgspec

    return plain(msgspec.to_builtins(value))


def age(since: datetime | None) -> str:
    """How long ago, in kubectl's notation: `45s`, `3m`, `5h`, `2d`."""
    return "" if since is None else duration((datetime.now(UTC) - since).total_seconds())


def duration(seconds: float) -> str:
    """A length of time in the largest unit that gives at least two of it."""
    whole = max(0, int(seconds))
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if whole >= 2 * size:
            return f"{whole // size}{unit}"
    return f"{whole}s"


def moment(milliseconds: int) -> str:
    """A time of Flink's, local: `2026-01-31 12:00:00`; empty if it is not known."""
    if milliseconds <= 0:
        return ""
    return f"{datetime.fromtimestamp(milliseconds / 1000):%Y-%m-%d %H:%M:%S}"
