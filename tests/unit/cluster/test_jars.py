"""Jars reach one JobManager and run there; a JobManager that forgot one gets it again."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from kubeflink import objects
from kubeflink.cluster.session import SessionCluster
from kubeflink.errors import RestStatusError, RestUnreachableError, UsageError
from support.kubernetes import SmallKubernetes
from support.scripted_server import Answer, ScriptedServer, scripted_server

JOB = "e1f121d9cab10446b84b486b38d83813"
RUN = "/jars/u_words.jar/run"
STARTED = Answer(200, {"jobid": JOB})
FORGOTTEN = Answer(
    400,
    {"errors": ["Bad request.", "java.io.IOException: Jar file /tmp/u_words.jar does not exist"]},
)

NO_MAIN = "Neither a 'Main-Class', nor a 'program-class' entry was found in the jar file."
WITHOUT_MAIN = Answer(
    500,
    {
        "errors": [
            "Internal server error.",
            "<Exception on server side:\n"
            "java.util.concurrent.CompletionException:"
            f" org.apache.flink.client.program.ProgramInvocationException: {NO_MAIN}\n"
            "\tat org.apache.flink.runtime.rest.handler.AbstractHandler.respondAsLeader"
            "(AbstractHandler.java:196)\n"
            "\tat org.apache.flink.runtime.rest.handler.LeaderRetrievalHandler.channelRead0"
            "(LeaderRetrievalHandler.java:84)\n"
            f"Caused by: org.apache.flink.client.program.ProgramInvocationException: {NO_MAIN}\n"
            "\t... 42 more\n\n"
            "End of exception on server side>",
        ]
    },
)
"""What Flink 2.3 says; the way of each request through its handlers is in it."""


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "words.jar"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Words.class", b"")
    return path


def take_jars(flink: ScriptedServer) -> None:
    flink.on("GET", "/jars", Answer(200, {"files": []}))
    flink.on("POST", "/jars/upload", Answer(200, {"filename": "/tmp/u_words.jar"}))
    flink.on("POST", RUN, STARTED)


async def test_with_a_standby_upload_and_run_reach_the_same_pod(
    demo: SessionCluster, kubernetes: SmallKubernetes, flink_rest: ScriptedServer, jar: Path
) -> None:
    deployment = await kubernetes.client.get(objects.DEPLOYMENTS, "demo")
    deployment["spec"]["replicas"] = 2
    await kubernetes.client.replace(deployment)
    running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await kubernetes.add_pod("demo-a", running)
    async with scripted_server() as one_pod:
        host, port = one_pod.url.removeprefix("http://").split(":")
        kubernetes.pods.place = (host, int(port))
        take_jars(one_pod)

        job = await demo.submit_jar(jar)

        paths = [seen.path for seen in one_pod.seen]
    assert job.id == JOB
    assert paths == ["/jars", "/jars/upload", RUN]
    assert flink_rest.seen == []


@pytest.mark.parametrize("lost", [FORGOTTEN, Answer(drop=True)], ids=["forgotten", "broken off"])
async def test_a_jobmanager_that_was_replaced_gets_the_jar_again(
    demo: SessionCluster, flink_rest: ScriptedServer, jar: Path, lost: Answer
) -> None:
    take_jars(flink_rest)
    flink_rest.on("POST", RUN, lost, STARTED)

    assert (await demo.submit_jar(jar)).id == JOB

    assert len(flink_rest.requests("POST", "/jars/upload")) == 2
    first, second = (seen.json["jobId"] for seen in flink_rest.requests("POST", RUN))
    assert first == second


async def test_a_job_that_was_started_although_the_answer_got_lost(
    demo: SessionCluster, flink_rest: ScriptedServer, jar: Path
) -> None:
    take_jars(flink_rest)
    duplicate = "org.apache.flink.runtime.client.DuplicateJobSubmissionException: submitted already"
    flink_rest.on("POST", RUN, Answer(drop=True), Answer(400, {"errors": [duplicate]}))

    job = await demo.submit_jar(jar)

    (_, run) = flink_rest.requests("POST", RUN)
    assert job.id == run.json["jobId"]


async def test_a_program_that_fails_is_not_started_again(
    demo: SessionCluster, flink_rest: ScriptedServer, jar: Path
) -> None:
    take_jars(flink_rest)
    flink_rest.on("POST", RUN, Answer(400, {"errors": ["java.lang.Exception: my mistake"]}))

    with pytest.raises(RestStatusError, match="my mistake"):
        await demo.submit_jar(jar)

    assert len(flink_rest.requests("POST", RUN)) == 1


async def test_arguments_in_one_string_are_no_letters(
    demo: SessionCluster, flink_rest: ScriptedServer, jar: Path
) -> None:
    with pytest.raises(UsageError, match="a list, not one string: 'to be'"):
        await demo.submit_jar(jar, args="to be")
    with pytest.raises(UsageError, match="a list, not one string"):
        await demo.plan(jar, args="to be")

    assert flink_rest.seen == []


async def test_a_failure_names_the_jar_as_its_file_is_called(
    demo: SessionCluster, flink_rest: ScriptedServer, jar: Path
) -> None:
    kept = name_there(jar)
    jar_id = f"36b2ad4c-3f60-4f2a-8e5c-0a1b2c3d4e5f_{kept}"
    flink_rest.on("GET", "/jars", Answer(200, {"files": [{"id": jar_id, "name": kept}]}))
    mistake = Answer(400, {"errors": ["java.lang.Exception: my mistake"]})
    flink_rest.on("POST", f"/jars/{jar_id}/run", mistake)

    with pytest.raises(RestStatusError) as caught:
        await demo.submit_jar(jar)

    assert caught.value.message == "run words.jar failed: Exception: my mistake"


async def test_a_jar_without_main_is_not_sent_again(
    demo: SessionCluster, flink_rest: ScriptedServer, jar: Path
) -> None:
    take_jars(flink_rest)
    flink_rest.on("POST", RUN, WITHOUT_MAIN, STARTED)

    with pytest.raises(RestStatusError, match="Neither a 'Main-Class'"):
        await demo.submit_jar(jar)

    assert len(flink_rest.requests("POST", RUN)) == 1


async def test_a_program_that_is_slow_is_not_started_again(
    demo: SessionCluster,
    flink_rest: ScriptedServer,
    jar: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kubeflink.rest.client.RUN_SECONDS", 0.5)
    take_jars(flink_rest)
    flink_rest.on("POST", RUN, Answer(delay=20.0))

    with pytest.raises(RestUnreachableError) as caught:
        await demo.submit_jar(jar)

    assert caught.value.hint is not None
    assert len(flink_rest.requests("POST", RUN)) == 1


PLAN = "/jars/u_words.jar/plan"
NODES = {"jid": JOB, "name": "words", "nodes": [{"id": "a", "parallelism": 3}]}


def deletions(flink: ScriptedServer) -> list[str]:
    return [seen.path for seen in flink.requests("DELETE")]


def name_there(jar: Path) -> str:
    return f"words-{hashlib.sha256(jar.read_bytes()).hexdigest()[:12]}.jar"


async def test_a_jar_that_was_uploaded_for_its_plan_is_removed_again(
    demo: SessionCluster, flink_rest: ScriptedServer, jar: Path
) -> None:
    take_jars(flink_rest)
    flink_rest.on("POST", PLAN, Answer(200, {"plan": NODES}))
    flink_rest.on("DELETE", "/jars/u_words.jar", Answer(200, {}))

    plan = await demo.plan(
        jar, entry_class="Words", args=["a b", ""], parallelism=3, options={"k": "v"}
    )

    assert plan == NODES
    (asked,) = flink_rest.requests("POST", PLAN)
    assert asked.json == {
        "entryClass": "Words",
        "programArgsList": ["a b", ""],
        "parallelism": 3,
        "flinkConfiguration": {"k": "v"},
    }
    assert deletions(flink_rest) == ["/jars/u_words.jar"]


async def test_a_jar_that_is_there_is_used_for_a_plan_and_stays(
    demo: SessionCluster, flink_rest: ScriptedServer, jar: Path
) -> None:
    there = {"id": "u_words.jar", "name": name_there(jar), "uploaded": 1, "entry": []}
    flink_rest.on("GET", "/jars", Answer(200, {"files": [there]}))
    flink_rest.on("POST", PLAN, Answer(200, {"plan": NODES}))

    assert await demo.plan(jar) == NODES

    assert flink_rest.requests("POST", "/jars/upload") == []
    assert deletions(flink_rest) == []


async def test_a_jar_is_found_again_by_the_name_that_flink_keeps(
    demo: SessionCluster, flink_rest: ScriptedServer, jar: Path
) -> None:
    named = jar.rename(jar.with_name('a "b"\\c.jar'))  # noqa: ASYNC240 - a small file of a test
    name = name_there(named).replace("words", "a _b__c")
    there = {"id": "u_words.jar", "name": name}
    flink_rest.on("GET", "/jars", Answer(200, {"files": [there]}))
    flink_rest.on("POST", RUN, STARTED)

    await demo.submit_jar(named)

    assert [seen.path for seen in flink_rest.seen if seen.method == "POST"] == [RUN]


async def test_a_program_without_a_plan_leaves_no_jar(
    demo: SessionCluster, flink_rest: ScriptedServer, jar: Path
) -> None:
    take_jars(flink_rest)
    cause = "org.apache.flink.client.program.ProgramInvocationException: no job in it"
    flink_rest.on("POST", PLAN, Answer(400, {"errors": ["Bad request.", cause]}))
    flink_rest.on("DELETE", "/jars/u_words.jar", Answer(200, {}))

    with pytest.raises(RestStatusError, match=r"plan words\.jar failed: .*no job in it"):
        await demo.plan(jar)

    assert deletions(flink_rest) == ["/jars/u_words.jar"]


async def test_a_plan_counts_although_its_jar_cannot_be_removed(
    demo: SessionCluster,
    flink_rest: ScriptedServer,
    jar: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    take_jars(flink_rest)
    flink_rest.on("POST", PLAN, Answer(200, {"plan": NODES}))
    flink_rest.on("DELETE", "/jars/u_words.jar", Answer(403, {"errors": ["not yours"]}))

    assert await demo.plan(jar) == NODES

    assert "stays on the JobManager" in caplog.text
