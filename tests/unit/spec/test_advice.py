"""Remarks on clusters that are valid, but may not do what was meant."""

from __future__ import annotations

import pytest

from kubeflink.spec import Program
from support.clusters import application, messages, session

MASTER = "containerized.master.env.ENABLE_BUILT_IN_PLUGINS"
WORKER = "containerized.taskmanager.env.ENABLE_BUILT_IN_PLUGINS"
CHECKPOINTS = "execution.checkpointing.dir"
STORAGE = {"high-availability.storageDir": "s3a://bucket/ha"}


def test_a_plain_session_needs_no_advice_but_for_logging() -> None:
    (notice,) = session().notices

    assert "log4j-console.properties" in notice.message


@pytest.mark.parametrize(
    ("key", "port"), [("rest.bind-port", "8081"), ("blob.server.port", "7000")]
)
def test_fixed_ports_have_no_effect_with_host_network(key: str, port: str) -> None:
    told = messages(session({"kubernetes.hostnetwork.enabled": True, key: port}))

    assert f"{key}={port} has no effect" in told
    assert key not in messages(session({key: port}))


def test_ports_that_the_client_sets_itself_are_no_mistake() -> None:
    values = {
        "kubernetes.hostnetwork.enabled": True,
        "high-availability.type": "kubernetes",
        **STORAGE,
    }

    assert "no effect" not in messages(session(values))


def test_a_file_system_that_no_role_enables_is_told_with_both_options() -> None:
    told = messages(session({CHECKPOINTS: "s3://bucket/checkpoints"}))

    assert CHECKPOINTS in told
    assert MASTER in told
    assert WORKER in told
    assert "flink-s3-fs-presto-2.3.0.jar" in told


def test_a_file_system_that_one_role_enables_is_told_for_the_other() -> None:
    told = messages(session({CHECKPOINTS: "s3a://b/c", MASTER: "flink-s3-fs-hadoop-2.3.0.jar"}))

    assert WORKER in told
    assert f"set {MASTER}" not in told


def test_both_roles_with_the_plugin_are_right() -> None:
    jar = "flink-s3-fs-hadoop-2.3.0.jar;flink-gs-fs-hadoop-2.3.0.jar"

    assert "PLUGINS" not in messages(session({CHECKPOINTS: "s3://b", MASTER: jar, WORKER: jar}))


def test_of_an_image_of_ones_own_nothing_is_known() -> None:
    values = {CHECKPOINTS: "s3://b/c", "kubernetes.container.image.ref": "registry/mine:1"}

    assert "PLUGINS" not in messages(session(values))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("flink-s3-fs-presto-2.3.0.jar,flink-gs-fs-hadoop-2.3.0.jar", "separated by ';'"),
        ("flink-s3-fs-presto-1.20.0.jar", "another version"),
        ("s3-presto", "is no file of the image's opt directory"),
    ],
)
def test_strange_plugins_are_told(value: str, words: str) -> None:
    assert words in messages(session({MASTER: value}))


def test_a_program_in_a_store_needs_the_plugin_in_the_jobmanager_alone() -> None:
    program = Program(uri="s3a://bucket/job.jar")

    told = messages(application(program))

    assert f"set {MASTER} to flink-s3-fs-hadoop-2.3.0.jar" in told
    assert WORKER not in told
    assert "PLUGINS" not in messages(application(program, {MASTER: "flink-s3-fs-hadoop-2.3.0.jar"}))


def test_other_artifacts_in_a_store_need_the_plugin_too() -> None:
    values = {"user.artifacts.artifact-list": "https://a.example/b.jar;gs://bucket/udf.jar"}

    told = messages(application(Program(uri="local:///opt/flink/usrlib/job.jar"), values))

    assert "gs://bucket/udf.jar needs a file system" in told
    assert "https" not in told
