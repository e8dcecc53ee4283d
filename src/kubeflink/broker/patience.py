"""A broker that begins while the API server is away: it waits, and its health says for what.

If it ended instead, Kubernetes would start it again later and later, and it would be missing for
minutes after the API server is back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from kubeflink.broker.blueprint import Blueprint
from kubeflink.broker.monitor import Gauges, Monitor
from kubeflink.broker.report import Report
from kubeflink.errors import (
    ApiStatusError,
    ApiUnreachableError,
    ServerError,
    TooManyRequestsError,
)
from kubeflink.kube.backoff import Backoff
from kubeflink.kube.outage import Outage

T = TypeVar("T")

PASSING = (ServerError, TooManyRequestsError, ApiUnreachableError)
"""Errors that say nothing about what was asked for."""


async def patiently(
    ask: Callable[[], Awaitable[T]], tell: Callable[[str], None] | None = None
) -> T:
    """What `ask` gives, as soon as the API server answers. What is final is raised.

    `tell` is called with the message of each error that was waited out.
    """
    outage, backoff = Outage("the API server"), Backoff()
    while True:
        try:
            found = await ask()
        except PASSING as error:
            wanted = error.retry_after if isinstance(error, ApiStatusError) else None
            pause = backoff.pause(at_least=wanted)
            outage.failed(error.message, limit=0.0, pause=pause)
            if tell is not None:
                tell(error.message)
            await asyncio.sleep(pause)
        else:
            outage.over()
            return found


async def awaited_blueprint(
    read: Callable[[], Awaitable[Blueprint]], *, host: str, metrics_port: int
) -> Blueprint:
    """The blueprint, for which the API server is waited for as long as it takes.

    Until then health and numbers are served at the port on which the broker serves them later.
    """
    why = "the cluster's Deployment has not been read yet"

    def tell(message: str) -> None:
        nonlocal why
        why = f"the API server is away: {message}"

    monitor = Monitor(Report(), _gauges, lambda: why, host=host, port=metrics_port)
    await monitor.start()
    try:
        return await patiently(read, tell)
    finally:
        await monitor.stop()


def _gauges() -> Gauges:
    return {"api_server_up": ("Whether the API server answers", 0.0)}
