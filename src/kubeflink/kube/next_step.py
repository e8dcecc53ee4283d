"""Commands for the user to copy: they go to the cluster that a message is about, wherever it is.

A namespace is named unless it is `default`. Which API server it is, and by which credentials, only
the command line knows: it notes in `LED_BY` what the present command was told.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Final

LED_BY: Final[ContextVar[Mapping[str, str]]] = ContextVar(
    "options that say where a command goes, by their long names", default=MappingProxyType({})
)


def command(words: str, namespace: str) -> str:
    """`kubeflink` with these words, and with what leads it to the same cluster."""
    where = dict(LED_BY.get())
    if namespace not in ("", "default"):  # where that is not kubectl's own, an option may say so
        where["namespace"] = namespace
    return f"kubeflink {words}{_options(where)}"


def kubectl(words: str, namespace: str | None) -> str:
    """The same for `kubectl`, with the namespace whatever it is; None for what is in none."""
    where = {name: value for name, value in LED_BY.get().items() if name != "namespace"}
    within = "" if namespace is None else f" -n {shlex.quote(namespace)}"
    return f"kubectl {words}{within}{_options(where)}"


def _options(where: Mapping[str, str]) -> str:
    return "".join(f" --{name} {shlex.quote(value)}" for name, value in where.items())
