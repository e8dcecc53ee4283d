"""Building the objects of a recorded scenario in this process, without a command line or a server.

The input files are written to a directory, whose path stands for the placeholders of the recording;
in the objects it is replaced by them again.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kubeflink.cli.flink_arguments import parse
from kubeflink.cli.flink_options import options_of
from kubeflink.cli.flink_program import program_of
from kubeflink.config import Configuration, FlinkVersion, load
from kubeflink.objects import JsonObject
from kubeflink.spec import (
    JobManagerSpec,
    application_configuration,
    build_jobmanager,
    build_taskmanager_pod,
    session_configuration,
)
from support.scenarios import Scenario


class Client:
    """The machine of a scenario's client: its files and its environment."""

    def __init__(self, root: Path, scenario: Scenario) -> None:
        self.scenario = scenario
        self._placeholders = {
            "${CONF_DIR}": str(root / "conf"),
            "${FILES}": str(root / "files"),
        }
        self._conf_dir = root / "conf"
        self._conf_dir.mkdir()
        for name, text in scenario.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text.startswith("base64:"):
                path.write_bytes(base64.b64decode(text.removeprefix("base64:")))
            else:
                path.write_text(self._real(text), encoding="utf-8")
        own: Mapping[str, str] = scenario.raw.get("env") or {}
        self.environ = {name: self._real(value) for name, value in own.items()}

    def configuration(self) -> Configuration:
        """The configuration with which the scenario's cluster is deployed."""
        words = [self._real(word) for word in self.scenario.args]
        version = FlinkVersion.parse(self.scenario.version)
        if "application" in (self.scenario.mode, self.scenario.raw.get("deployed_by")):
            line = parse(options_of(words[0], version), words[1:], program_follows=True)
            configuration = self._load(line.dynamic_properties)
            return application_configuration(configuration, program_of(line))
        return session_configuration(self._load(_dynamic_properties(words)))

    def _load(self, dynamic: Sequence[tuple[str, str | None]]) -> Configuration:
        version = self.scenario.version
        return load(conf_dir=self._conf_dir, dynamic=dynamic, version=version, environ={})

    def spec(self) -> JobManagerSpec:
        """The objects of the cluster."""
        return build_jobmanager(self.configuration(), environ=self.environ)

    def pod(self, name: str) -> JsonObject:
        """The TaskManager pod of this name."""
        attempt, index = map(int, name.rsplit("-", 2)[1:])
        configuration = self.configuration()
        return self.recorded(
            build_taskmanager_pod(configuration, attempt=attempt, index=index, environ=self.environ)
        )

    def recorded(self, obj: JsonObject) -> JsonObject:
        """The object with placeholders for the paths of this machine."""
        text = json.dumps(obj)
        for placeholder, real in self._placeholders.items():
            text = text.replace(json.dumps(real)[1:-1], placeholder)
        found: JsonObject = json.loads(text)
        return found

    def _real(self, text: str) -> str:
        for placeholder, real in self._placeholders.items():
            text = text.replace(placeholder, real)
        return text


def _dynamic_properties(words: Sequence[str]) -> list[tuple[str, str | None]]:
    """The `-D` of a session; its other words are not read."""
    found: list[tuple[str, str | None]] = []
    remaining = iter(words)
    for word in remaining:
        if word.startswith("-D"):
            key, equals, value = (word[2:] or next(remaining)).partition("=")
            found.append((key, value if equals else None))
    return found


def bodies(scenario: Scenario, kind: str | None = None) -> list[JsonObject]:
    """The objects that real Flink created, in order, each once, of one kind or of all."""
    found: dict[tuple[str, str], Any] = {}
    for request in scenario.requests:
        body = request.body
        if request.method in ("POST", "PUT") and isinstance(body, dict) and "kind" in body:
            key = (body["kind"], body["metadata"].get("name", ""))
            if kind in (None, body["kind"]):
                found.setdefault(key, body)
                found[key] = body
    return list(found.values())
