"""What the client sets before it deploys, and which programs an application can have."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflink.errors import ConfigurationError, UsageError
from kubeflink.spec import (
    Program,
    PythonProgram,
    application_configuration,
    session_configuration,
)
from support.clusters import JAR, accompanying, application, configuration, messages, session


def test_a_session_has_fixed_ports_and_an_entry_point() -> None:
    made = session_configuration(configuration())

    assert made.text("blob.server.port") == "6124"
    assert made.text("taskmanager.rpc.port") == "6122"
    assert made.text("execution.target") == "kubernetes-session"
    entry_point = made.text("kubernetes.internal.jobmanager.entrypoint.class") or ""
    assert entry_point.endswith("KubernetesSessionClusterEntrypoint")


def test_ports_that_were_set_stay() -> None:
    made = session_configuration(configuration({"blob.server.port": "7000", "rest.port": 9000}))

    assert made.text("blob.server.port") == "7000"
    assert made.text("rest.bind-port") is None


def test_a_cluster_id_is_made_up_where_there_is_none() -> None:
    values = {"kubernetes.cluster-id": None}
    first = session_configuration(configuration(values)).text("kubernetes.cluster-id")
    second = session_configuration(configuration(values)).text("kubernetes.cluster-id")

    assert first is not None
    assert first.startswith("flink-cluster-")
    assert first != second


def test_high_availability_takes_the_cluster_id_and_a_fixed_port() -> None:
    values = {"high-availability.type": "kubernetes", "high-availability.cluster-id": "mine"}
    made = session_configuration(configuration({**values, "jobmanager.rpc.port": 7000}))

    assert made.text("high-availability.cluster-id") == "demo"
    assert made.text("high-availability.jobmanager.port") == "7000"


def test_a_port_range_is_refused_with_its_origin() -> None:
    with pytest.raises(ConfigurationError, match="taskmanager\\.rpc\\.port") as caught:
        session_configuration(configuration({"taskmanager.rpc.port": "1-2"}))

    assert "keyword" in str(caught.value)


def test_what_holds_only_for_the_clients_machine_stays_there() -> None:
    """A freshly unpacked distribution binds everything to localhost."""
    local = {
        "kubernetes.config.file": "/home/me/kubeconfig",
        "jobmanager.bind-host": "localhost",
        "taskmanager.bind-host": "localhost",
        "taskmanager.host": "localhost",
        "rest.bind-address": "localhost",
        "jobmanager.rpc.address": "localhost",
    }
    text = accompanying(session(local), "ConfigMap")["flink-config-demo"]["data"]["config.yaml"]

    assert "localhost" not in text
    assert "kubeconfig" not in text
    assert "address: demo.default" in text


# --- programs --------------------------------------------------------------------------------


def test_a_program_with_all_its_options() -> None:
    program = Program(
        uri=JAR,
        main_class="com.example.Main",
        arguments=("--name", "two words", "", "[x]"),
        classpaths=("file:///opt/a.jar", "http://h/b.jar"),
        parallelism=4,
        detached=True,
        shutdown_on_attached_exit=True,
        savepoint_path="s3://b/sp",
        allow_non_restored_state=True,
        claim_mode="CLAIM",
    )
    made = application_configuration(configuration(), program)

    assert made.raw("pipeline.jars") == (JAR,)
    assert made.raw("pipeline.classpaths") == ("file:/opt/a.jar", "http://h/b.jar")
    assert made.raw("$internal.application.program-args") == program.arguments
    assert made.raw("$internal.application.main") == "com.example.Main"
    assert made.raw("parallelism.default") == 4
    assert made.raw("execution.attached") is False
    assert made.raw("execution.shutdown-on-attached-exit") is True
    assert made.raw("execution.state-recovery.path") == "s3://b/sp"
    assert made.raw("execution.state-recovery.ignore-unclaimed-state") is True
    assert made.raw("execution.state-recovery.claim-mode") == "CLAIM"
    assert made.raw("execution.target") == "kubernetes-application"


def test_savepoints_had_other_names() -> None:
    program = Program(uri=JAR, savepoint_path="s3://b/sp")
    made = application_configuration(configuration(version="1.19"), program)

    assert made.raw("execution.savepoint.path") == "s3://b/sp"
    assert made.raw("execution.savepoint-restore-mode") == "NO_CLAIM"
    assert "execution.state-recovery.path" not in made


@pytest.mark.parametrize(("version", "expected"), [("1.20", ()), ("2.0", None)])
def test_empty_lists_are_written_by_older_versions(
    version: str, expected: tuple[str, ...] | None
) -> None:
    made = application_configuration(configuration(version=version), Program(uri=JAR))

    assert made.raw("$internal.application.program-args") == expected
    assert made.raw("pipeline.classpaths") == expected


def test_a_python_script_runs_in_flinks_driver() -> None:
    python = PythonProgram(script="local:///opt/job.py", files="local:///a,local:///b")
    made = application_configuration(
        configuration(), Program(python=python, arguments=("--out", "x y"))
    )

    assert made.raw("$internal.application.main") == "org.apache.flink.client.python.PythonDriver"
    assert made.raw("$internal.application.program-args") == (
        "--python",
        "local:///opt/job.py",
        "--out",
        "x y",
    )
    assert made.raw("python.files") == "local:///a,local:///b"
    assert "pipeline.jars" not in made


def test_a_python_module_is_named() -> None:
    made = application_configuration(
        configuration(), Program(python=PythonProgram(module="word_count"))
    )

    assert made.raw("$internal.application.program-args") == ("--pyModule", "word_count")


def test_no_program_is_refused() -> None:
    with pytest.raises(UsageError, match="needs a program"):
        application_configuration(configuration(), Program())


@pytest.mark.parametrize("path", ["./my.jar", "/home/me/my.jar", "my.jar"])
def test_a_file_of_this_machine_is_refused_with_the_ways_out(path: str) -> None:
    with pytest.raises(UsageError) as caught:
        application_configuration(configuration(), Program(uri=path))

    assert path in str(caught.value)
    assert "local:///" in str(caught.value)
    assert "kubernetes.artifacts.local-upload-enabled=true" in str(caught.value)


def test_older_versions_cannot_upload_and_are_not_told_to() -> None:
    with pytest.raises(UsageError) as caught:
        application_configuration(configuration(version="1.19"), Program(uri="./my.jar"))

    assert "upload" not in str(caught.value)


def test_a_file_is_uploaded_where_that_is_on(tmp_path: Path) -> None:
    upload = {
        "kubernetes.artifacts.local-upload-enabled": True,
        "kubernetes.artifacts.local-upload-target": "file:///shared",
    }
    made = application_configuration(
        configuration(upload), Program(uri=str(tmp_path / "my job.jar"))
    )

    (jar,) = made.raw("pipeline.jars")  # type: ignore[misc]
    assert jar == f"local://{tmp_path}/my%20job.jar"


def test_a_file_address_is_one_in_the_image() -> None:
    spec = application(Program(uri="file:///opt/job.jar"))

    assert "file:///opt/job.jar is looked for in the image" in messages(spec)


@pytest.mark.parametrize("version", ["1.17", "1.18"])
def test_older_versions_fetch_nothing(version: str) -> None:
    with pytest.raises(ConfigurationError, match="only a program that is in the image"):
        application_configuration(configuration(version=version), Program(uri="https://h/a.jar"))


def test_a_class_path_must_be_of_addresses() -> None:
    with pytest.raises(UsageError, match=r"/opt/a\.jar"):
        application_configuration(configuration(), Program(uri=JAR, classpaths=("/opt/a.jar",)))


def test_arguments_keep_their_dollars() -> None:
    """Nothing replaces `${VAR}` in the arguments of a program; a shell never sees them."""
    spec = application(Program(uri=JAR, arguments=("--sleep", "${SLEEP}")))

    text = accompanying(spec, "ConfigMap")["flink-config-demo"]["data"]["config.yaml"]
    assert "${SLEEP}" in text
    assert "SLEEP" not in str(spec.deployment)
