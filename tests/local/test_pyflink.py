"""PyFlink's environments bound to a cluster, in a Python that has PyFlink: with real Flink."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kubeflink import SessionCluster
from kubeflink.local.cluster import EmbeddedCluster
from support.embedded import JVM_SECONDS, SMALL_SESSION, demo_session
from support.extras import pyflink_python
from support.left_out import left_out
from support.shell import Shell

pytestmark = [
    pytest.mark.flink,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module")
def python() -> Path:
    with left_out("PyFlink's environments are left out"):
        return pyflink_python("2.3.0")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session(kubernetes: EmbeddedCluster, python: Path) -> AsyncIterator[SessionCluster]:
    (packages,) = python.parents[1].glob("lib/python*/site-packages")
    options = {
        **SMALL_SESSION,
        # A Python inside the JVM knows nothing of the virtual environment that it is from.
        "containerized.taskmanager.env.PYTHONPATH": str(packages),
        "resourcemanager.taskmanager-timeout": "60s",
        "taskmanager.memory.jvm-metaspace.size": "256m",  # functions in Python load a lot
    }
    async with demo_session(kubernetes, options) as cluster:
        yield cluster


@pytest.fixture
def shell(kubernetes: EmbeddedCluster, session: SessionCluster, tmp_path: Path) -> Shell:
    """With a directory for temporary files that is the test's own."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    return Shell(kubernetes.kubeconfig, {"TMPDIR": str(temporary)})


def check_nothing_is_left(temporary: str) -> None:
    """Neither files of ours there, nor a process that was told of them."""
    assert [path.name for path in Path(temporary).glob("kubeflink-*")] == []
    processes = subprocess.run(
        ["ps", "-A", "-o", "args="], capture_output=True, text=True, check=True, timeout=30
    )
    assert temporary not in processes.stdout


async def run(shell: Shell, python: Path, script: str, *words: str) -> dict[str, Any]:
    """What a program has shown, by name, once it and its JVM have ended and left nothing."""
    process = await asyncio.create_subprocess_exec(
        *(python, "-c", script, *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=shell.env,
    )
    async with asyncio.timeout(2 * JVM_SECONDS):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    shown: dict[str, Any] = {"out": out.decode()}
    for line in out.decode().splitlines():
        if line.startswith("{"):
            shown |= json.loads(line)
    await asyncio.to_thread(check_nothing_is_left, shell.more["TMPDIR"])
    return shown


IN_A_NOTEBOOK = """
import asyncio, json, sys
import kubeflink
from kubeflink.cluster.remote import RemoteCluster

def show(**what):
    print(json.dumps(what), flush=True)

async def main(host, port, directory):
    async with await kubeflink.SessionCluster.attach("demo") as cluster:
        table = await cluster.table_environment(options={"pipeline.name": "from a cell"})
        words = table.from_elements([(1, "to"), (2, "be")], ["n", "word"])
        with words.execute().collect() as rows:
            show(collected=sorted([row[0], row[1]] for row in rows))
        table.execute_sql("SELECT n + 40 AS m FROM (VALUES (1), (2)) AS v(n)").print()
        table.execute_sql(
            "CREATE TABLE sink (n INT) WITH ('connector' = 'filesystem', 'format' = 'csv',"
            f" 'path' = '{directory}')")
        insert = table.execute_sql("INSERT INTO sink SELECT n FROM (VALUES (7), (8)) AS v(n)")
        insert.wait()
        job = cluster.job(str(insert.get_job_client().get_job_id()))
        outcome = await job.wait()
        show(job=[outcome.name, outcome.state])

        from pyflink.common import Types
        stream = await cluster.stream_environment(mode="batch", options={"parallelism.default": 1})
        numbers = stream.from_collection([1, 2, 3], type_info=Types.INT())
        with numbers.execute_and_collect() as found:
            show(stream=list(found))
        numbers.print()
        result = stream.execute("a stream")
        details = await cluster.job(str(result.get_job_id())).details()
        show(executed=[details.name, details.state])

    async with RemoteCluster(host, int(port)) as direct:
        table = await direct.table_environment(mode="batch")
        with table.execute_sql("SELECT COUNT(*) FROM (VALUES (1), (2)) AS v(n)").collect() as rows:
            show(direct=[row[0] for row in rows])

asyncio.run(main(*sys.argv[1:]))
"""


async def test_in_a_running_event_loop(
    kubernetes: EmbeddedCluster, shell: Shell, python: Path, tmp_path: Path
) -> None:
    """Through a forwarded port, while the loop stands still; and directly."""
    host, port = await kubernetes.services.address("default", "demo-rest", "rest")
    out = tmp_path / "out"

    shown = await run(shell, python, IN_A_NOTEBOOK, host, str(port), out.as_uri())

    assert shown["collected"] == [[1, "to"], [2, "be"]]
    assert "| +I |          42 |" in shown["out"]
    assert shown["job"] == ["from a cell", "FINISHED"]
    assert sorted("".join(file.read_text() for file in out.iterdir()).split()) == ["7", "8"]
    assert shown["stream"] == [1, 2, 3]
    assert shown["executed"] == ["a stream", "FINISHED"]
    assert shown["direct"] == [2]


WITH_FUNCTIONS = """
import json, sys
from pyflink.common import Types
from pyflink.table import DataTypes, StreamTableEnvironment
from pyflink.table.expressions import call
from pyflink.table.udf import udf
from kubeflink.sync import SessionCluster

@udf(result_type=DataTypes.STRING())
def shout(word):
    return word.upper() + "!"

options = {"python.executable": sys.executable, "parallelism.default": 1}
with SessionCluster.attach("demo") as cluster:
    stream = cluster.stream_environment(mode="batch", options=options)
    tens = stream.from_collection([1, 2], type_info=Types.INT()).map(
        lambda n: n * 10, output_type=Types.INT())
    with tens.execute_and_collect() as found:
        print(json.dumps({"stream": list(found)}))
    both = StreamTableEnvironment.create(stream)
    both.create_temporary_system_function("shout", shout)
    for mode in ("process", "thread"):
        both.get_config().set("python.execution-mode", mode)
        with both.execute_sql("SELECT shout(w) FROM (VALUES ('to'), ('be')) v(w)").collect() as it:
            print(json.dumps({mode: sorted(row[0] for row in it)}))
"""


async def test_functions_in_python_without_await(shell: Shell, python: Path) -> None:
    """In processes beside the TaskManager and in its own threads."""
    shown = await run(shell, python, WITH_FUNCTIONS)

    assert shown["stream"] == [10, 20]
    assert shown["process"] == shown["thread"] == ["BE!", "TO!"]
