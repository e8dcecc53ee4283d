"""Clusters and jobs in a notebook: what `_repr_html_` of their classes returns.

Only what an object holds already is shown. A notebook asks for this whenever an object is the last
line of a cell, and must neither wait for an answer nor see an error because of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

_STATES = {"FINISHED": "#2e7d32", "RUNNING": "#1565c0", "Ready": "#2e7d32", "FAILED": "#c62828"}
"""Colours that can be read on a light and on a dark page."""


def card(title: str, facts: Mapping[str, object]) -> str:
    """A title with a line for each fact; facts that are None or empty are left out."""
    rows = [
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{_value(value)}</td></tr>"
        for name, value in facts.items()
        if value not in (None, "", ())
    ]
    return f"<div><strong>{escape(title)}</strong><table>{''.join(rows)}</table></div>"


def listing(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table with a head; nothing if there are no rows."""
    if not rows:
        return ""
    head = "".join(f"<th style='text-align:left'>{escape(column)}</th>" for column in columns)
    lines = [
        "".join(f"<td style='text-align:left'>{_value(value)}</td>" for value in row)
        for row in rows
    ]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _value(value: object) -> str:
    text = escape("" if value is None else str(value))
    colour = _STATES.get(text)
    return text if colour is None else f"<span style='color:{colour}'>{text}</span>"
