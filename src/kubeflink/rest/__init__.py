"""Flink's REST API from the client's side: jars, jobs, savepoints, checkpoints, logs.

The client is imported when it is asked for: a deployment makes no request to Flink, and should not
pay for the means to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kubeflink.rest.client import FlinkClient as FlinkClient

__all__ = ["FlinkClient"]

RETRY_SECONDS = 60.0
"""How long a request is repeated: as long as Flink's client does, by its options rest.retry.*.

A start of the REST server takes seconds, a failover with the default lease about half a minute.
"""


def __getattr__(name: str) -> Any:
    if name == "FlinkClient":
        from kubeflink.rest.client import FlinkClient

        return FlinkClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
