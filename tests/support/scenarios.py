"""The recorded scenarios, and how a command line is put through one.

A scenario is one JSON file of `tests/conformance/data`: what real Flink's client was given, and
what it then sent. `Sandbox` gives the command line under test the same files, environment and API
server, with real paths in the place of the recording's placeholders.
"""

from __future__ import annotations

import base64
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.command_line import ForkingServer
from support.recorder import Fault, JsonObject, RecordingServer, Request, Target

DATA = Path(__file__).resolve().parent.parent / "conformance" / "data"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One recording. `raw` is the parsed file."""

    raw: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.version}/{self.raw['id']}"

    @property
    def version(self) -> str:
        return str(self.raw["flink_version"])

    @property
    def mode(self) -> str:
        return str(self.raw["mode"])

    @property
    def args(self) -> list[str]:
        return list(self.raw["args"])

    @property
    def exit_code(self) -> int | None:
        """None where the recorded client was still running when it was ended."""
        code: int | None = self.raw["exit_code"]
        return code

    @property
    def files(self) -> Mapping[str, str]:
        return self.raw.get("files") or {}

    @property
    def requests(self) -> list[Request]:
        """The recorded requests."""
        return [_recorded_request(each) for each in self.raw.get("requests", ())]

    @property
    def faults(self) -> list[Fault]:
        known = Fault.__slots__
        return [
            Fault(**{name: value for name, value in each.items() if name in known})
            for each in self.raw.get("faults", ())
        ]

    @property
    def ingress(self) -> list[dict[str, str]]:
        """The load balancer's address, which a scenario tells by what the client printed."""
        for line in self.raw.get("client_log", ()):
            if "kubernetes.rest-service.exposed.type" in str(self.raw) and "Interface: " in line:
                host = line.rsplit("://", 1)[1].partition(":")[0]
                if "LoadBalancer" in str(self.raw["conf_file"]) + str(self.args):
                    return [{"ip" if host.replace(".", "").isdigit() else "hostname": host}]
        for line in self.raw.get("error_chain", ()):
            if "UnknownHostException: " in line:
                return [{"hostname": line.rsplit(" ", 1)[1].rstrip(":")}]
        return []


def _recorded_request(raw: Mapping[str, Any]) -> Request:
    return Request(
        method=raw["method"],
        path=raw["path"],
        query=raw.get("query") or {},
        user_agent=raw.get("user_agent") or "",
        body=raw.get("body"),
        status=raw.get("status") or 0,
    )


def load_scenarios(*modes: str) -> list[Scenario]:
    """All scenarios of these modes, by version and name."""
    paths = sorted(DATA.glob("[0-9]*/*.json"))
    found = [Scenario(json.loads(path.read_text(encoding="utf-8"))) for path in paths]
    return [scenario for scenario in found if scenario.mode in modes]


@dataclass(frozen=True, slots=True)
class Run:
    """What a call did; paths of the sandbox are placeholders again. `exit_code` None: killed."""

    exit_code: int | None
    stdout: str
    stderr: str
    requests: Sequence[Request] = ()
    before: Mapping[Target, JsonObject] = field(default_factory=dict)
    after: Mapping[Target, JsonObject] = field(default_factory=dict)
    files: frozenset[str] = frozenset()


class Sandbox:
    """The directories and the environment of one scenario."""

    def __init__(self, root: Path, scenario: Scenario, server: RecordingServer) -> None:
        self.server = server
        self.files = root / "files"
        self.work = root / "work"
        kubeconfig = root / "kubeconfig"
        self._placeholders = {
            "${CONF_DIR}": str(root / "conf"),
            "${FILES}": str(self.files),
            "${HOME}": str(root / "home"),
            "${WORK}": str(self.work),
            "${KUBECONFIG}": str(kubeconfig),
            "${API}": server.url,
        }
        for name in ("conf", "files", "home", "work"):
            (root / name).mkdir()
        kubeconfig.write_text(server.kubeconfig(), encoding="utf-8")
        for name, text in scenario.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text.startswith("base64:"):
                path.write_bytes(base64.b64decode(text.removeprefix("base64:")))
            else:
                path.write_text(self.real(text), encoding="utf-8")
        self.env = {
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            "HOME": str(root / "home"),
            "KUBECONFIG": str(kubeconfig),
            "FLINK_CONF_DIR": str(root / "conf"),
            "KUBEFLINK_FLINK_VERSION": scenario.version,
        }
        own = scenario.raw.get("env") or {}
        self.env |= {name: self.real(value) for name, value in own.items()}

    def real(self, text: str) -> str:
        for placeholder, value in self._placeholders.items():
            text = text.replace(placeholder, value)
        return text

    def recorded(self, value: Any) -> Any:
        """The value with placeholders for the paths of this sandbox."""
        text = json.dumps(value)
        for placeholder, real in self._placeholders.items():
            text = text.replace(json.dumps(real)[1:-1], placeholder)
        return json.loads(text)


@contextmanager
def prepared(scenario: Scenario) -> Iterator[Sandbox]:
    """A recording server in the scenario's initial state, and a sandbox."""
    faults = [] if scenario.mode == "jobmanager" else scenario.faults
    with (
        RecordingServer(faults, scenario.ingress) as server,
        tempfile.TemporaryDirectory(prefix="kubeflink-scenario-") as directory,
    ):
        for entry in scenario.raw.get("cluster_state_before", ()):
            place = Target(entry["kind"], entry.get("namespace"), None)
            server.objects.create(place, entry["object"])
        yield Sandbox(Path(directory).resolve(), scenario, server)


def call(
    server: ForkingServer, sandbox: Sandbox, args: Sequence[str], stdin: str | None = None
) -> Run:
    """Run the command line with a recording's arguments in a sandbox."""
    recorder = sandbox.server
    before, first = recorder.objects.snapshot(), len(recorder.requests)
    real = [sandbox.real(arg) for arg in args]
    with tempfile.TemporaryDirectory() as name:
        streams = [Path(name, stream) for stream in ("stdin", "stdout", "stderr")]
        for path in streams:
            path.write_text((stdin or "") if path.name == "stdin" else "", encoding="utf-8")
        code = server.call(real, sandbox.env, sandbox.work, streams)
        out, err = (path.read_text(encoding="utf-8", errors="replace") for path in streams[1:])
    files = (path for path in sandbox.files.rglob("*") if path.is_file())
    return Run(
        exit_code=code,
        stdout=sandbox.recorded(out),
        stderr=sandbox.recorded(err),
        requests=[_recorded(sandbox, request) for request in recorder.requests[first:]],
        before=before,
        after=recorder.objects.snapshot(),
        files=frozenset(path.relative_to(sandbox.files).as_posix() for path in files),
    )


def _recorded(sandbox: Sandbox, request: Request) -> Request:
    return Request(
        method=request.method,
        path=request.path,
        query=request.query,
        user_agent=request.user_agent,
        body=sandbox.recorded(request.body),
        status=request.status,
        created_uid=request.created_uid,
    )
