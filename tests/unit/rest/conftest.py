from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from kubeflink.rest import FlinkClient
from support.scripted_server import Answer, ScriptedServer, scripted_server

RECORDED = Path(__file__).parent / "recorded"

Recorded = Callable[[str], Answer]


@pytest.fixture(scope="session")
def recorded_bodies() -> dict[str, dict[str, Any]]:
    """What a real Flink 2.3.0 session cluster answered, by the name of the occasion."""
    bodies: dict[str, dict[str, Any]] = json.loads((RECORDED / "2.3.0.json").read_text())
    return bodies


@pytest.fixture
def recorded(recorded_bodies: dict[str, dict[str, Any]]) -> Recorded:
    def answer(name: str) -> Answer:
        entry = recorded_bodies[name]
        return Answer(entry["status"], entry["body"])

    return answer


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with scripted_server() as server:
        yield server


@pytest.fixture
async def flink(server: ScriptedServer) -> AsyncIterator[FlinkClient]:
    async with httpx2.AsyncClient(trust_env=False) as http:
        yield FlinkClient(http, server.url, where="demo", retry_seconds=20)
