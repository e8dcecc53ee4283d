"""Health, metrics and troubles over plain HTTP, on a port of its own that knows no secrets.

/livez    200 while the process works
/healthz  200 when the broker can serve: it has seen the API server, and not lost it for long
/metrics  Prometheus' text format
/status   the troubles as JSON, for `kubeflink describe`
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from aiohttp import web

from kubeflink.apiserver.bodies import json_response
from kubeflink.broker.report import Report
from kubeflink.errors import LocalError

log = logging.getLogger(__name__)

OUTAGE_SECONDS = 60.0
"""How long the API server may be away until the broker no longer calls itself healthy."""

Gauges = dict[str, tuple[str, float]]


class Monitor:
    """The second server. `why_unhealthy` gives a sentence, or None while all is well."""

    def __init__(
        self,
        report: Report,
        gauges: Callable[[], Gauges],
        why_unhealthy: Callable[[], str | None],
        *,
        host: str,
        port: int,
    ) -> None:
        self._report = report
        self._gauges = gauges
        self._why_unhealthy = why_unhealthy
        self._host, self._port = host, port
        self._told: str | None = None
        self._runner: web.ServerRunner | None = None

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return self._port

    async def start(self) -> None:
        """Listen. `LocalError` when the port is taken."""
        self._runner = web.ServerRunner(web.Server(self._answer, access_log=None))
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port)
        try:
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            raise LocalError(
                f"cannot listen on {self._host}:{self._port}: {error.strerror or error}",
                hint="Choose another port: --metrics-port",
            ) from error
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop to listen."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405)
        match request.path:
            case "/livez":
                return web.Response(text="ok\n")
            case "/healthz":
                why = self._health()
                return web.Response(text=f"{why or 'ok'}\n", status=503 if why else 200)
            case "/metrics":
                healthy = float(self._why_unhealthy() is None)
                gauges = {**self._gauges(), "healthy": ("Whether /healthz is 200", healthy)}
                text = self._report.metrics(gauges)
                return web.Response(text=text, headers={"Content-Type": _METRICS_TYPE})
            case "/status":
                return json_response(self._status())
        return web.Response(status=404)

    def _health(self) -> str | None:
        """Why the broker cannot serve, which the log says when it begins and when it ends."""
        why = self._why_unhealthy()
        if why is not None and self._told is None:
            log.warning("not ready: %s", why)
        elif why is None and self._told is not None:
            log.info("ready again")
        self._told = why
        return why

    def _status(self) -> dict[str, object]:
        return {
            "unhealthy": self._why_unhealthy(),
            "troubles": [
                {
                    "text": trouble.text,
                    "seconds": round(time.time() - trouble.since),
                    "lasting": trouble.until is None,
                }
                for trouble in self._report.troubles
            ],
            **{name: value for name, (_, value) in self._gauges().items()},
        }


_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
