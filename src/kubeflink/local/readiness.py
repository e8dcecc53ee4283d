"""When a container can serve.

A JobManager is ready when its REST API answers: its process is up seconds before. On the host
network that is a port which the leader writes into its Service; a standby's is never told anywhere,
so there every port of its process is tried. A TaskManager,
and any other container, is ready when it runs, unless its description has a readiness probe by HTTP
or TCP. Commands as probes are not run; they belong to an image that is not here.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence

from kubeflink.local.command import HOST
from kubeflink.local.pods import flink_script
from kubeflink.objects import JsonObject

PlacesOf = Callable[[JsonObject, int | str], Awaitable[Sequence[int]]]
"""Given a pod and one of its ports, the real ports of its own where it may be (so far)."""

_INTERVAL = 0.2  # seconds between two looks
_ANSWER_TIMEOUT = 5.0
_REST_PORT_NAME = "rest"


class Readiness:
    """Looks at containers until they are ready."""

    def __init__(self, places_of: PlacesOf) -> None:
        self._places_of = places_of

    async def wait(self, pod: JsonObject, container: JsonObject) -> None:
        """Return when the container is ready; to be cancelled when it ends before."""
        probe = container.get("readinessProbe") or {}
        script = flink_script(container)
        if "httpGet" in probe:
            path = probe["httpGet"].get("path") or "/"
            await self._until(pod, probe["httpGet"]["port"], path, probe)
        elif "tcpSocket" in probe:
            await self._until(pod, probe["tcpSocket"]["port"], None, probe)
        elif script is not None and script.component == "jobmanager":
            await self._until(pod, _REST_PORT_NAME, "/overview", {})

    async def _until(
        self, pod: JsonObject, port: int | str, path: str | None, probe: JsonObject
    ) -> None:
        await asyncio.sleep(float(probe.get("initialDelaySeconds") or 0))
        while True:
            for place in await self._places_of(pod, port):
                if await _answers(place, path):
                    return
            await asyncio.sleep(_INTERVAL)


async def _answers(port: int, path: str | None) -> bool:
    """Whether a server is there that does not say that it cannot serve (5xx).

    Flink's REST server with TLS answers whoever speaks plainly that he should not (a redirection);
    he is then asked again with TLS.
    """
    try:
        async with asyncio.timeout(_ANSWER_TIMEOUT):
            status = await _status(port, path, None)
            if path is not None and _wants_tls(status):
                status = await _status(port, path, _unchecked())
            return path is None or _serves(status)
    except ssl.SSLError:
        return True  # It is there, and wants a certificate.
    except (OSError, TimeoutError):
        return False


async def _status(port: int, path: str | None, context: ssl.SSLContext | None) -> bytes:
    """The first line of the answer; nothing where only a connection is asked for."""
    reader, writer = await asyncio.open_connection(HOST, port, ssl=context)
    try:
        if path is None:
            return b""
        writer.write(f"GET {path} HTTP/1.0\r\nHost: {HOST}\r\n\r\n".encode())
        await writer.drain()
        return await reader.readline()
    finally:
        writer.close()


def _wants_tls(status: bytes) -> bool:
    """Whether this is a redirection, or an alert of TLS instead of words of HTTP."""
    return status[:1] == b"\x15" or status.split(b" ")[1:2] in ([b"301"], [b"302"], [b"307"])


def _serves(status: bytes) -> bool:
    # Nothing: it hung up, so HTTP is not what it speaks.
    return status.startswith(b"HTTP/") and status.split(b" ")[1:2] < [b"500"]


def _unchecked() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
