"""An API server that does not answer is told of long before its request fails."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kubeflink import objects
from kubeflink.kube import KubeClient, Limits, outage
from kubeflink.kube.outage import Outage
from support.api_stub import ApiStub, Fault


@dataclass
class Told:
    """The lines so far, without their seconds, and that something has been told."""

    lines: list[str] = field(default_factory=list)
    event: asyncio.Event = field(default_factory=asyncio.Event)
    file: Path | None = None
    """Made when something is told, for a process to see."""

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(re.sub(r" since \d+ s", "", record.getMessage()))

    def tell(self, away: Outage, pause: float) -> None:
        outage.write_lines(away, pause)
        self.event.set()
        if self.file is not None:
            self.file.touch()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    monkeypatch.setattr(outage, "SILENT_SECONDS", 0.05)
    told = Told()
    handler = logging.Handler()
    monkeypatch.setattr(handler, "emit", told.emit)
    logger = logging.getLogger("kubeflink.kube.outage")
    logger.addHandler(handler)  # wherever its records go otherwise
    token = outage.TELLER.set(told.tell)
    yield told
    outage.TELLER.reset(token)
    logger.removeHandler(handler)


def silent_until(event: asyncio.Event) -> Fault:
    async def fault(request: web.Request, stub: ApiStub) -> None:
        await event.wait()

    return fault


def slow(seconds: float = 0.3) -> Fault:
    async def fault(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return web.Response(text='{"type": "BOOKMARK", "object": {}}\n')

    return fault


async def test_a_first_request_that_hangs(client: KubeClient, stub: ApiStub, told: Told) -> None:
    stub.faults = [("GET", silent_until(told.event))]

    await client.list(objects.PODS)

    assert told.lines == [
        f"waiting for the API server {stub.url}, no answer so far",
        f"the API server {stub.url} answers",
    ]


async def test_what_is_slow_by_nature_is_not_told_of(
    client: KubeClient, stub: ApiStub, told: Told
) -> None:
    stub.watches = [slow()]
    stub.faults = [("GET", slow())]

    log = [line async for line in client.follow_pod_logs("a")]
    events = [event async for event in client.watch(objects.PODS, resource_version="1")]

    assert (len(log), len(events)) == (1, 1)
    assert told.lines == []


async def test_who_repeats_requests_himself_tells_of_them_himself(
    stub: ApiStub, told: Told, tmp_path: Path
) -> None:
    stub.faults = [("GET", slow())]
    once = Limits(total=0.0)
    async with KubeClient.connect(
        kubeconfig=stub.kubeconfig(tmp_path), environ={}, limits=once
    ) as client:
        await client.pod_logs("a")

    assert told.lines == []


@pytest.mark.parametrize("mode", ["Never", "IfAvailable"])
async def test_a_plugin_that_hangs_is_not_taken_for_the_api_server(
    stub: ApiStub, told: Told, tmp_path: Path, mode: str
) -> None:
    told.file = tmp_path / "told"
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "plugged"},
    }
    script = tmp_path / "plugin"
    script.write_text(
        f"#!{sys.executable}\n"
        "import os, time\n"
        f"while not os.path.exists({str(told.file)!r}):\n"
        "    time.sleep(0.01)\n"
        f"print({json.dumps(credential)!r})\n"
    )
    script.chmod(0o755)
    user: dict[str, Any] = {
        "exec": {
            "apiVersion": credential["apiVersion"],
            "command": "./plugin",
            "interactiveMode": mode,
        }
    }
    file = stub.kubeconfig(tmp_path, user=json.dumps(user))
    async with KubeClient.connect(kubeconfig=file, environ={}) as client:
        await client.list(objects.PODS)

    assert told.lines == [f"waiting for the credential plug-in {script}, no answer so far"]
