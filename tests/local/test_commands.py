"""The command line on the embedded Kubernetes with real Flink: both worlds, one cluster."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubeflink.cluster import runner
from support.embedded import JVM_SECONDS, small_arguments
from support.flink_jars import flink_jars
from support.judge import java

pytestmark = [pytest.mark.flink, pytest.mark.timeout(900)]

SECONDS = 300

NODE_PORT = "-Dkubernetes.rest-service.exposed.type=NodePort"
TARGET = ("-t", "kubernetes-session", "-Dkubernetes.cluster-id=demo")
SOURCE = "CREATE TABLE s (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '10'"
ENDLESS = (f"{SOURCE})", "CREATE TABLE k (n BIGINT) WITH ('connector' = 'blackhole')")
BOUNDED = (
    f"{SOURCE}, 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '9')",
    ENDLESS[1],
)
INSERT = "INSERT INTO k SELECT n FROM s"
DIVIDE = "INSERT INTO k SELECT 1 / (5 - n) FROM s"

SUBMITTED = re.compile(r"Job has been submitted with JobID ([0-9a-f]{32})")


@dataclass(frozen=True)
class Shell:
    """Calls kubeflink as a command, in a home of its own."""

    env: dict[str, str]

    def __call__(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "kubeflink", *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env=self.env,
            check=False,
        )

    def succeed(self, *words: str) -> str:
        done = self(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def kubeflink(home: Path) -> Iterator[Shell]:
    """The command, with an embedded Kubernetes that runs in the background."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("FLINK_")}
    env |= {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "LC_ALL": "C.UTF-8"}
    call = Shell(env)
    exported = call.succeed("local", "up")
    path = exported.removeprefix("export KUBECONFIG=").strip()
    env["KUBECONFIG"] = path
    assert call.succeed("local", "kubeconfig").strip() == path
    try:
        yield call
    finally:
        assert call("local", "down").returncode == 0


@pytest.fixture(scope="module")
def session(kubeflink: Shell) -> Shell:
    """The command, with a session cluster `demo`."""
    done = kubeflink("session", "start", "demo", NODE_PORT, *small_arguments())
    assert done.returncode == 0, done.stderr
    assert "The session cluster demo in namespace default is ready" in done.stdout
    assert re.search(r"^Web UI: http://127\.0\.0\.1:\d+$", done.stdout, re.MULTILINE)
    return kubeflink


def wait_for(session: Shell, job: str, state: str, *, running: bool = False) -> None:
    """Until the job has the state, and if wanted all its tasks run."""
    deadline = time.monotonic() + JVM_SECONDS
    seen = None
    while time.monotonic() < deadline:
        found = json.loads(session.succeed("list", "--session", "demo", "-a", "-o", "json"))
        seen = next((each for each in found if each["jid"] == job), None)
        tasks = seen["tasks"] if seen else {}
        if seen and seen["state"] == state and (not running or tasks["running"] == tasks["total"]):
            return
        time.sleep(0.5)
    raise AssertionError(f"job {job} is {seen}, not {state}")


def submit_endless(session: Shell) -> str:
    out = session.succeed(
        "run", *TARGET, "-d", "-c", runner.MAIN_CLASS, str(runner.jar()), *ENDLESS, INSERT
    )
    found = SUBMITTED.search(out)
    assert found is not None
    wait_for(session, found[1], "RUNNING", running=True)
    return found[1]


def test_a_plan_is_made_by_the_jobmanager_and_its_jar_goes_again(session: Shell) -> None:
    program = ("-c", runner.MAIN_CLASS, str(runner.jar()), *BOUNDED, INSERT)

    framed = session.succeed("info", *TARGET, *program)
    plan = json.loads(session.succeed("info", "--session", "demo", "-o", "json", *program))

    lines = framed.splitlines()
    assert lines[0] == "----------------------- Execution Plan -----------------------"
    shown = json.loads("\n".join(lines[1 : lines.index("-" * 62, 1)]))
    for found in (shown, plan):  # which differ in the ids that the planner counts up
        sink, source = found["nodes"] if len(found["nodes"]) == 2 else (found["nodes"][0],) * 2
        assert "k[" in sink["description"]
        assert "TableSourceScan" in source["description"]
    assert json.loads(session.succeed("list", "--session", "demo", "-a", "-o", "json")) == []


def test_the_embedded_kubernetes_is_listed(kubeflink: Shell) -> None:
    (status,) = json.loads(kubeflink.succeed("local", "status", "-o", "json"))

    assert status["running"] is True
    assert status["server"].startswith("https://127.0.0.1:")
    assert "2.3.0" in status["flink"]


def test_a_second_session_of_the_name_is_refused(session: Shell) -> None:
    done = session("session", "start", "demo", *small_arguments())

    assert done.returncode == 1
    assert "The Flink cluster demo exists already" in done.stderr


def test_the_cluster_is_found_and_described(session: Shell) -> None:
    (found,) = json.loads(session.succeed("clusters", "-A", "-o", "json"))
    described = session.succeed("describe", "demo")

    assert (found["name"], found["kind"], found["ready_replicas"]) == ("demo", "session", 1)
    assert re.search(r"^demo-\S+ +jobmanager +Running", described, re.MULTILINE)
    assert re.search(r"^Flink: +2\.3\.0", described, re.MULTILINE)


def test_the_web_ui_answers_at_the_printed_address(session: Shell) -> None:
    address = session.succeed("ui", "demo").strip()

    with urllib.request.urlopen(f"{address}/overview", timeout=SECONDS) as answer:
        assert json.load(answer)["flink-version"] == "2.3.0"


def test_the_logs(session: Shell) -> None:
    lines = session.succeed("logs", "demo", "--jobmanager").splitlines()

    assert any("KubernetesSessionClusterEntrypoint" in line for line in lines)
    assert session.succeed("logs", "demo", "--tail", "1").startswith("demo-")


def test_a_job_of_the_own_world_is_followed_to_its_end(session: Shell) -> None:
    done = session("run", "--session", "demo", "--sql", "; ".join([*BOUNDED, INSERT]))

    assert done.returncode == 0, done.stderr
    assert SUBMITTED.match(done.stdout)
    assert "has finished after" in done.stdout
    assert "RUNNING" in done.stderr


def test_a_job_of_flinks_world_is_followed_to_its_end(session: Shell) -> None:
    lines = session.succeed(
        "run", *TARGET, "-c", runner.MAIN_CLASS, str(runner.jar()), *BOUNDED, INSERT
    ).splitlines()

    submitted = SUBMITTED.fullmatch(lines[0])
    assert submitted is not None
    assert lines[1:3] == [
        "Program execution finished",
        f"Job with JobID {submitted[1]} has finished.",
    ]
    assert re.fullmatch(r"Job Runtime: \d+ ms", lines[3])


def test_a_job_that_fails_when_it_runs(session: Shell) -> None:
    done = session(
        "run", "--session", "demo", "-D", "restart-strategy.type=none",
        "--sql", "; ".join([*BOUNDED, DIVIDE]),
    )  # fmt: skip

    assert done.returncode == 1
    assert "FAILED" in done.stderr
    assert "Division" in done.stderr or "zero" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_job_that_fails_in_main(session: Shell) -> None:
    done = session("run", *TARGET, "-c", runner.MAIN_CLASS, str(runner.jar()), "SELEKT 1")

    assert done.returncode == 1
    assert 1 <= len(done.stderr.strip().splitlines()) <= 4
    assert "Non-query expression encountered" in done.stderr


def test_a_mistake_in_a_file_of_statements(session: Shell, tmp_path: Path) -> None:
    script = tmp_path / "counts.sql"
    statements = ";\n".join([*BOUNDED, INSERT])
    script.write_text(f"-- it is counted\n{statements}\n  , /* and\n*/ nothing", encoding="utf-8")

    for where in ((), ("--job-graph", "client")):
        done = session("run", "--session", "demo", *where, str(script))

        assert done.returncode == 1
        assert done.stderr.splitlines()[-2:] == [
            f"kubeflink: {script}, line 6, column 4: Object 'nothing' not found",
            f"  This is in statement 3, which begins in line 4: {INSERT}",
        ]


def test_a_jar_that_is_none(session: Shell, tmp_path: Path) -> None:
    jar = tmp_path / "job.jar"
    jar.write_text("no archive", encoding="utf-8")

    for words in (("run", "--session", "demo", str(jar)), ("run", *TARGET, str(jar))):
        done = session(*words)
        assert done.returncode == 2
        assert f"{jar} is no jar" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("list", "--session", "nope"),
        ("list", "-t", "kubernetes-session", "-Dkubernetes.cluster-id=nope"),
        ("session", "stop", "nope"),
        ("describe", "nope"),
        ("logs", "nope"),
        ("run", "--session", "nope", "--sql", "; ".join([*BOUNDED, INSERT])),
    ],
    ids=" ".join,
)
def test_a_cluster_that_does_not_exist(session: Shell, words: tuple[str, ...]) -> None:
    done = session(*words)

    assert done.returncode == 4
    assert "No Flink cluster nope in namespace default" in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 3


def test_flinks_own_client_lists_the_same(session: Shell) -> None:
    job = submit_endless(session)
    ours = session.succeed("list", *TARGET).splitlines()
    address = session.succeed("ui", "demo").strip().removeprefix("http://")
    host, port = address.split(":")
    theirs = subprocess.run(
        [
            java(), "-Xmx256m", "-classpath", str(flink_jars("2.3.0") / "lib" / "*"),
            "org.apache.flink.client.cli.CliFrontend", "list",
            f"-Drest.address={host}", f"-Drest.port={port}", "-t", "remote",
        ],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**session.env, "FLINK_CONF_DIR": str(_empty_configuration(session))},
        check=True,
    ).stdout.splitlines()  # fmt: skip

    assert any(job in line for line in ours)
    assert [line for line in theirs if line in ours] == ours
    assert session.succeed("list", "-m", address).splitlines() == ours
    assert session("cancel", "--session", "demo", job).returncode == 0


def _empty_configuration(session: Shell) -> Path:
    directory = Path(session.env["HOME"], "conf")
    directory.mkdir(exist_ok=True)
    (directory / "config.yaml").write_text("parallelism.default: 1\n", encoding="utf-8")
    return directory


def test_cancel_in_both_worlds(session: Shell) -> None:
    first, second = submit_endless(session), submit_endless(session)

    assert session.succeed("cancel", *TARGET, first).splitlines() == [
        f"Cancelling job {first}.",
        f"Cancelled job {first}.",
    ]
    assert session.succeed("cancel", "--session", "demo", second) == f"Job {second} is cancelled\n"
    wait_for(session, first, "CANCELED")
    wait_for(session, second, "CANCELED")


def test_savepoints_in_both_worlds(session: Shell, tmp_path: Path) -> None:
    job = submit_endless(session)
    taken = session.succeed("savepoint", *TARGET, job, str(tmp_path)).splitlines()
    own = json.loads(
        session.succeed(
            "savepoint", "--session", "demo", job, "--savepoint-dir", str(tmp_path), "-o", "json"
        )
    )
    checkpoint = session.succeed("checkpoint", *TARGET, job)
    stopped = session.succeed("stop", *TARGET, "-p", str(tmp_path), job).splitlines()

    assert taken[:2] == [f"Triggering savepoint for job {job}.", "Waiting for response..."]
    path = taken[2].removeprefix("Savepoint completed. Path: file:")
    assert Path(path, "_metadata").is_file()
    assert Path(own["location"].removeprefix("file:"), "_metadata").is_file()
    assert re.search(rf"Checkpoint \d+ for job {job} completed\.", checkpoint)
    assert stopped[:2] == [
        f'Suspending job "{job}" with a CANONICAL savepoint.',
        f"Triggering stop-with-savepoint for job {job}.",
    ]
    assert stopped[-1].startswith(f"Savepoint completed. Path: file:{tmp_path}/")
    disposed = session.succeed("savepoint", *TARGET, "-d", f"file:{path}")
    assert disposed.splitlines()[-1] == f"Savepoint 'file:{path}' disposed."
    assert not Path(path).exists()


def test_the_session_is_stopped_by_what_a_pipe_says(kubeflink: Shell) -> None:
    words = ("kubernetes-session", "-Dkubernetes.cluster-id=piped", *small_arguments())
    assert kubeflink(*words).returncode == 0
    done = kubeflink(*words, "-Dexecution.attached=true", stdin="help\nstop\n")

    assert done.returncode == 0
    assert "Retrieve flink cluster piped successfully" in done.stdout
    assert "quit - quit attach mode" in done.stderr
    deadline = time.monotonic() + JVM_SECONDS
    while "piped" in kubeflink.succeed("clusters") and time.monotonic() < deadline:
        time.sleep(0.5)
    assert "piped" not in kubeflink.succeed("clusters")


def test_stopping_leaves_nothing(session: Shell) -> None:
    """The last test of the session: it takes the cluster away."""
    done = session("session", "stop", "demo")

    assert done.returncode == 0, done.stderr
    assert done.stdout == "The cluster demo is gone\n"
    assert "demo" not in session.succeed("clusters", "-A", "-o", "json")
