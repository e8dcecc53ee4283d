"""Why a pod does not run: the kinds of trouble that people report, as the API server shows them."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflink.cluster import diagnosis
from kubeflink.cluster.diagnosis import Course, Diagnosis, Observed
from kubeflink.cluster.log_diagnosis import LogFinding, explain_log, explain_own_log

Json = dict[str, Any]


def pod(status: Json, *, component: str = "jobmanager", restart: str = "Always") -> Json:
    container = {
        "name": "flink-main-container",
        "image": "flink:9.9",
        "resources": {
            "requests": {"cpu": "2.0", "memory": "1728Mi"},
            "limits": {"cpu": "2.0", "memory": "1728Mi"},
        },
    }
    return {
        "kind": "Pod",
        "metadata": {"name": "demo-7f", "labels": {"app": "demo", "component": component}},
        "spec": {"containers": [container], "restartPolicy": restart},
        "status": status,
    }


def container(**status: Any) -> Json:
    entry = {"name": "flink-main-container", "image": "flink:9.9", "ready": False, **status}
    return {"phase": "Pending", "containerStatuses": [entry]}


@pytest.mark.parametrize(
    ("reason", "words", "is_final_at_once"),
    [
        ("ErrImagePull", "flink:9.9 cannot be pulled", False),
        ("ImagePullBackOff", "flink:9.9 cannot be pulled", False),
        ("ErrImageNeverPull", "may not be pulled", True),
        ("InvalidImageName", "no valid image name", True),
        ("CreateContainerConfigError", 'secret "s3" not found', False),
        ("RunContainerError", "cannot be started", False),
    ],
)
def test_waiting_containers(reason: str, words: str, is_final_at_once: bool) -> None:
    waiting = {"reason": reason, "message": 'secret "s3" not found'}

    found = diagnosis.explain_pod(pod(container(state={"waiting": waiting})))

    assert found is not None
    assert words in found.sentence
    assert found.sentence.startswith("JobManager pod demo-7f")
    assert found.hint
    assert (found.patience == 0.0) is is_final_at_once


@pytest.mark.parametrize("reason", ["ContainerCreating", "PodInitializing"])
def test_a_start_that_goes_well_has_no_cause(reason: str) -> None:
    assert diagnosis.explain_pod(pod(container(state={"waiting": {"reason": reason}}))) is None


def test_a_pod_without_a_node_tells_what_it_asks_for() -> None:
    message = "0/3 nodes are available: 3 Insufficient cpu."
    condition = {"type": "PodScheduled", "status": "False", "message": message}

    found = diagnosis.explain_pod(pod({"phase": "Pending", "conditions": [condition]}))

    assert found is not None
    assert "3 Insufficient cpu" in found.sentence
    assert "cpu 2.0, memory 1728Mi" in found.sentence
    assert found.patience is None  # an autoscaler may help


def test_oom_killed_names_limit_and_option() -> None:
    terminated = {"exitCode": 137, "reason": "OOMKilled"}
    status = container(state={"terminated": terminated})

    found = diagnosis.explain_termination(pod(status, component="taskmanager", restart="Never"))

    assert found is not None
    assert "TaskManager demo-7f was OOMKilled" in found.sentence
    assert "1728Mi" in found.sentence
    assert "taskmanager.memory.process.size" in str(found.hint)


def test_evicted() -> None:
    status = {
        "phase": "Failed",
        "reason": "Evicted",
        "message": "The node was low on resource: memory.",
    }

    found = diagnosis.explain_pod(pod(status))

    assert found is not None
    assert "Evicted (The node was low on resource: memory.)" in found.sentence


def test_a_crash_loop_is_told_by_the_log_of_the_last_run() -> None:
    status = container(
        state={"waiting": {"reason": "CrashLoopBackOff"}},
        lastState={"terminated": {"exitCode": 1, "reason": "Error"}},
        restartCount=2,
    )
    log = (
        "2026-01-01 ERROR o.a.f.r.e.ClusterEntrypoint [] - Could not start cluster entrypoint.\n"
        "org.apache.flink.runtime.entrypoint.ClusterEntrypointException: Failed to initialize\n"
        "\tat a.B.c(B.java:1)\n"
        "Caused by: java.net.UnknownHostException: demo.default: Name or service not known\n"
        "\t... 3 more\n"
    )

    found = diagnosis.explain_pod(pod(status), log=log)

    assert found is not None
    assert found.patience == 0.0
    assert found.sentence == (
        "JobManager pod demo-7f ended with exit code 1: "
        "UnknownHostException: demo.default: Name or service not known"
    )


def test_the_first_crash_of_a_deployment_may_pass_but_not_that_of_a_bare_pod() -> None:
    status = container(state={"terminated": {"exitCode": 1, "reason": "Error"}})

    assert diagnosis.explain_pod(pod(status)).patience > 0  # type: ignore[union-attr, operator]
    assert diagnosis.explain_pod(pod(status, restart="Never")).patience == 0  # type: ignore[union-attr]


def test_volumes_that_cannot_be_mounted_are_told_by_events() -> None:
    event = {
        "type": "Warning",
        "reason": "FailedMount",
        "message": 'MountVolume.SetUp failed for volume "x" : secret "x" not found',
    }
    status = container(state={"waiting": {"reason": "ContainerCreating"}})

    found = diagnosis.explain_pod(pod(status), [event])

    assert found is not None
    assert 'secret "x" not found' in found.sentence


def test_a_deployment_that_may_not_make_pods() -> None:
    message = 'pods "demo-" is forbidden: error looking up service account: serviceaccount "x"'
    condition = {"type": "ReplicaFailure", "status": "True", "message": message}
    deployment = {"metadata": {"name": "demo"}, "status": {"conditions": [condition]}}

    found = diagnosis.diagnose(diagnosis.Observed(deployment, []))

    assert found is not None
    assert "kubernetes.service-account" in str(found.hint)


@pytest.mark.parametrize(
    ("line", "words", "hint"),
    [
        ("exec /docker-entrypoint.sh: exec format error", "architecture", "node-selector"),
        (
            "Fatal error occurred in ResourceManager.\n"
            "FlinkException: Number of retries has been exhausted.",
            "watch",
            "watch",
        ),
        (
            'pods is forbidden: User "system:serviceaccount:ns:default" cannot list resource '
            '"pods" in API group "" in the namespace "ns"',
            'account "system:serviceaccount:ns:default" may not list pods',
            "Role",
        ),
        (
            'Message: pods "demo-taskmanager-1-1" is forbidden: cannot set blockOwnerDeletion if an'
            " ownerReference refers to a resource you can't set finalizers on: , <nil>.",
            "may not make pods that are owned by its Deployment",
            'resources ["deployments/finalizers"], verbs ["update"]',
        ),
        ("Renew deadline reached after 15 seconds", "renew", "1.18.1"),
        ("java.lang.OutOfMemoryError: Metaspace", "metaspace", "jvm-metaspace.size"),
        (
            "Could not find a file system implementation for scheme 's3'.",
            "s3://",
            "ENABLE_BUILT_IN_PLUGINS=flink-s3-fs-presto-<version>.jar",
        ),
        (
            "Could not find a file system implementation for scheme 'abfss'.",
            "abfss://",
            "ENABLE_BUILT_IN_PLUGINS=flink-azure-fs-hadoop-<version>.jar",
        ),
    ],
)
def test_known_sentences_of_logs(line: str, words: str, hint: str) -> None:
    found = explain_log(f"some line\n{line}\nanother line\n")

    assert found is not None
    assert words in found.sentence
    assert hint in str(found.hint)


def test_other_logs() -> None:
    assert explain_log("") is None
    assert explain_log("2026 INFO all is well\n") is None
    assert explain_log("2026 ERROR a.b.C [] - it broke\n") is not None


def test_a_deployment_of_which_no_pod_is_wanted() -> None:
    deployment = {"metadata": {"name": "demo", "namespace": "prod"}, "spec": {"replicas": 0}}
    found = diagnosis.diagnose(Observed(deployment))
    assert found is not None
    assert found.sentence == "Deployment demo is scaled to none"
    assert found.hint == "Scale it: kubectl scale deployment demo --replicas=1 -n prod"


def test_what_a_request_has_failed_of_is_no_cause_of_the_process() -> None:
    """A REST handler complains so while Flink is starting."""
    request = (
        "2026-12-01 13:07:55,887 ERROR org.apache.flink.runtime.rest.handler.cluster."
        "ClusterOverviewHandler [] - Unhandled exception.\n"
        "org.apache.flink.util.concurrent.FutureUtils$RetryException: Could not complete it.\n"
        "Caused by: org.apache.pekko.actor.ActorNotFound: Actor not found\n"
    )
    later = "2026-12-01 13:07:56,000 INFO  org.apache.flink.x.Y [] - all is well\n"
    cause = (
        "2026-12-01 13:07:54,000 ERROR org.apache.flink.x.Entrypoint [] - Could not start.\n"
        "java.nio.file.AccessDeniedException: s3://bucket/ha\n"
    )
    assert explain_log(request + later) is None
    found = explain_log(cause + request)
    assert found is not None
    assert found.sentence == "AccessDeniedException: s3://bucket/ha"


def test_a_cause_is_final_when_it_has_lasted() -> None:
    pulling = Diagnosis("image", "ErrImagePull", patience=25.0)
    again = Diagnosis("image", "ImagePullBackOff", patience=25.0)
    course = Course()

    assert [course.note(pulling, 0.0), course.note(again, 10.0), course.note(pulling, 24.0)] == [
        True,
        False,
        False,
    ]
    assert not course.is_final(24.0)
    assert course.is_final(25.0)


def test_a_cause_begins_anew_when_it_was_gone_or_was_another() -> None:
    course = Course()
    course.note(Diagnosis("image", "x", patience=25.0), 0.0)

    assert course.note(None, 20.0)
    assert course.note(Diagnosis("image", "x", patience=25.0), 30.0)
    assert not course.is_final(40.0)
    assert course.note(Diagnosis("room", "y"), 60.0)
    assert not course.is_final(1e9)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece", ["a", "a.", "flink-", "Fatal error occurred ", "lost leadership ", "Plugin x"]
)
def test_a_log_with_one_long_line_does_not_take_for_ever(piece: str) -> None:
    """Where the time grows with the square of its length, it is hours; the limit ends the test."""
    long = piece * (1_000_000 // len(piece))

    found = explain_log(f"2026 INFO {long}\n2026 ERROR a.b.C [] - it broke\n")

    assert found is not None
    assert found.sentence == "it broke"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("kubeflink: no such file\n", LogFinding("no such file")),
        (
            "kubeflink: 2030-01-01 00:00:00,000 INFO it begins\n"
            "kubeflink: cannot listen\n  Choose another port\n  or host\n",
            LogFinding("cannot listen", "Choose another port or host"),
        ),
        # It was killed; what it was doing last is no reason.
        ("kubeflink: away\nkubeflink: 2030-01-01 00:00:00,000 INFO goes on\n", None),
        ("Traceback (most recent call last):\nKeyError: 1\n", None),
        ("", None),
    ],
)
def test_the_last_words_of_a_kubeflink(text: str, found: LogFinding | None) -> None:
    assert explain_own_log(text) == found


def test_a_broker_is_explained_with_its_own_options() -> None:
    terminated = {"exitCode": 137, "reason": "OOMKilled"}

    found = diagnosis.explain_pod(
        pod(container(state={"terminated": terminated}), component="broker")
    )

    assert found is not None
    assert found.sentence.startswith("Broker pod demo-7f was OOMKilled")
    assert found.hint == "Raise kubeflink.broker.memory.size"


@pytest.mark.parametrize(
    ("runtime", "hint"),
    [("containerd", "names a file of the image"), ("process", "names a file of this machine here")],
)
def test_a_program_that_is_missing_is_looked_for_where_it_has_to_be(
    runtime: str, hint: str
) -> None:
    """A pod of the embedded Kubernetes is a process, with the files of its machine."""
    ended = {"exitCode": 1, "containerID": f"{runtime}://17"}
    state = {"waiting": {"reason": "CrashLoopBackOff"}}
    status = container(state=state, lastState={"terminated": ended})
    log = "Caused by: x\njava.io.IOException: JAR file does not exist '/opt/flink/usrlib/a.jar'\n"

    found = diagnosis.explain_pod(pod(status), log=log)

    assert found is not None
    assert found.sentence == (
        "JobManager pod demo-7f ended with exit code 1: its program /opt/flink/usrlib/a.jar does"
        " not exist"
    )
    assert hint in (found.hint or "")


def test_a_cause_is_told_in_short_where_an_error_will_tell_it_soon() -> None:
    soon = Diagnosis(
        "image", "JobManager pod demo-7f: its image cannot be pulled (...)", None, 25.0
    )
    assert soon.stage == "the image cannot be pulled so far"
    for late in (Diagnosis("image", "told"), Diagnosis("another kind", "told", None, 25.0)):
        assert late.stage == "told"
