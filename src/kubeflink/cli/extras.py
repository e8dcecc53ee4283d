"""Whether the packages of an extra are there, before a command fails for the lack of them."""

from __future__ import annotations

from importlib.util import find_spec

from kubeflink.errors import LocalError

_API_SERVER = ("aiohttp", "cryptography")
"""What an API server in Python takes, for the extras `local` and `broker` alike.

Flink and a JRE, which `local` brings too, are missed and told when a pod needs them.
"""


def need(extra: str, what: str) -> None:
    """LocalError with the way to install it if `what` cannot run here."""
    missing = [package for package in _API_SERVER if find_spec(package) is None]
    if missing:
        raise LocalError(
            f"{what} needs what is not installed: {', '.join(missing)}",
            hint=f"Install it: pip install 'kubeflink[{extra}]'",
        )
