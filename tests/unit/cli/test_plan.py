"""`info` in both worlds: the plan comes from the JobManager of a session that was named."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from .conftest import Call

PLAN = {"jid": "0" * 32, "name": "words", "nodes": [{"id": "a", "description": "Source <é>"}]}
FRAME = (
    "----------------------- Execution Plan -----------------------",
    "--------------------------------------------------------------",
)


class JobManager(BaseHTTPRequestHandler):
    """Takes any jar and answers with the one plan; keeps what it was asked."""

    asked: list[tuple[str, str, bytes]]

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.asked.append((self.command, self.path, body))
        answers = {"GET": {"files": []}, "DELETE": {}}
        by_path = {"/jars/upload": {"filename": "/tmp/u_words.jar"}}
        content = by_path.get(self.path) or answers.get(self.command) or {"plan": PLAN}
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_DELETE = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def jobmanager() -> Iterator[tuple[str, list[tuple[str, str, bytes]]]]:
    handler = type("Handler", (JobManager,), {"asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}", handler.asked
        server.shutdown()
        thread.join()


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "words.jar"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Words.class", b"")
    return path


def test_the_plan_stands_between_the_lines_of_flink(
    call: Call, jar: Path, jobmanager: tuple[str, list[tuple[str, str, bytes]]]
) -> None:
    address, asked = jobmanager

    found = call("info", "-m", address, "-p", "2", "-c", "Words", str(jar), "--to", "a b")

    assert found.code == 0, found.err
    before, _, rest = found.out.partition(f"{FRAME[0]}\n")
    plan, _, after = rest.partition(f"\n{FRAME[1]}\n")
    assert before == ""
    assert json.loads(plan) == PLAN
    assert after == "\nNo description provided.\n"
    (body,) = (json.loads(body) for _, path, body in asked if path.endswith("/plan"))
    assert body["programArgsList"] == ["--to", "a b"]
    assert (body["entryClass"], body["parallelism"]) == ("Words", 2)
    assert [command for command, _, _ in asked] == ["GET", "POST", "POST", "DELETE"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--session", "demo", "gone.jar"), 2, "There is no file gone.jar"),
        (("--session", "demo", "job.py"), 2, "makes plans of jars alone"),
        (("-m", "127.0.0.1:1", "gone.jar"), 2, "There is no file gone.jar"),
    ],
    ids=["own, missing", "own, no jar", "Flink's, missing"],
)
def test_what_can_have_no_plan_is_said_before_anybody_is_asked(
    call: Call, words: tuple[str, ...], code: int, message: str
) -> None:
    found = call("info", *words)

    assert found.code == code
    assert message in found.err


def test_without_its_jvm_and_without_a_cluster_both_ways_out_are_named(
    call: Call, jar: Path
) -> None:
    found = call("--flink-version", "1.17", "info", str(jar))  # which is installed nowhere

    assert found.code == 1
    assert "JVM on this side" in found.err
    assert "pip install" in found.err
    assert "-t kubernetes-session -Dkubernetes.cluster-id=ID" in found.err
