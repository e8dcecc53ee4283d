"""No connection is left open by a TLS handshake that its caller has given up.

httpcore closes a connection whose handshake fails, but not one whose handshake is cancelled: that
stays open until the garbage collector finds it. A watch that begins and ends with what it is for
is cancelled at any moment.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

Trace: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[None]]


def trace() -> Trace:
    """A new value for the extension `trace` of one request, by which httpcore tells its steps."""
    opened: list[Any] = []

    async def see(step: str, about: dict[str, Any]) -> None:
        if step.endswith(".connect_tcp.complete"):
            opened[:] = [about["return_value"]]
        elif step.endswith(".start_tls.failed"):
            for stream in opened:
                await stream.aclose()

    return see
