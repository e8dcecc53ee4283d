"""Typed access, values and origins of a configuration, and the file that it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from kubeflink.config.configuration import Configuration, Entry
from kubeflink.config.options import (
    deployment,
    high_availability,
    jobmanager,
    kubernetes,
    pipeline,
    resourcemanager,
    security,
    taskmanager,
)
from kubeflink.config.versions import FlinkVersion
from kubeflink.config.yaml import load_core
from kubeflink.errors import ConfigurationError


def of(values: Mapping[str, object], version: str = "2.3") -> Configuration:
    return Configuration(version=FlinkVersion.parse(version)).with_values(values, origin="-D")


def test_an_option_that_is_not_set_has_its_default() -> None:
    empty = of({})

    assert empty.get(taskmanager.NUMBER_OF_TASK_SLOTS) == 1
    assert empty.get(kubernetes.CLUSTER_ID) is None
    assert empty.get(kubernetes.CONTAINER_IMAGE_REF) == "apache/flink:2.3.0-scala_2.12"
    assert empty.get_optional(taskmanager.NUMBER_OF_TASK_SLOTS) is None
    assert not empty.contains(kubernetes.NAMESPACE)


def test_defaults_follow_the_version() -> None:
    option = kubernetes.TRANSACTIONAL_OPERATION_MAX_RETRIES

    assert of({}, "1.19").get(option) == 5
    assert of({}, "1.20").get(option) == 15


def test_keys_are_tried_in_flinks_order() -> None:
    option = kubernetes.JOBMANAGER_SERVICE_ACCOUNT
    both = of({"kubernetes.service-account": "b", "kubernetes.jobmanager.service-account": "j"})

    assert both.get(option) == "j"
    assert both.without(option.key).get(option) == "b"
    assert both.without(option.key).key_of(option) == "kubernetes.service-account"
    assert of({"high-availability": "kubernetes"}).get(high_availability.TYPE) == "kubernetes"


def test_types() -> None:
    values = of(
        {
            "jobmanager.memory.process.size": "1600m",
            "slot.idle.timeout": "5 s",
            "kubernetes.hostnetwork.enabled": "TRUE",
            "kubernetes.jobmanager.cpu.amount": "0.5",
            "kubernetes.rest-service.exposed.type": "nodeport",
            "kubernetes.jobmanager.labels": "a:b,c:d",
            "kubernetes.container.image.pull-secrets": "s1;s2",
            "kubernetes.jobmanager.tolerations": "key:a,operator:Exists;key:b,operator:Exists",
        }
    )

    assert values.get(jobmanager.MEMORY_PROCESS_SIZE) == 1600 << 20
    assert values.get(jobmanager.SLOT_IDLE_TIMEOUT) == timedelta(seconds=5)
    assert values.get(kubernetes.HOSTNETWORK_ENABLED) is True
    assert values.get(kubernetes.JOBMANAGER_CPU_AMOUNT) == 0.5
    assert values.get(kubernetes.REST_SERVICE_EXPOSED_TYPE) == "NodePort"
    assert values.get(kubernetes.JOBMANAGER_LABELS) == {"a": "b", "c": "d"}
    assert values.get(kubernetes.CONTAINER_IMAGE_PULL_SECRETS) == ("s1", "s2")
    assert values.get(kubernetes.JOBMANAGER_TOLERATIONS) == (
        {"key": "a", "operator": "Exists"},
        {"key": "b", "operator": "Exists"},
    )


def test_milliseconds_become_durations_in_1_20() -> None:
    option = resourcemanager.TASKMANAGER_TIMEOUT
    plain = {"resourcemanager.taskmanager-timeout": "5000"}
    worded = {"resourcemanager.taskmanager-timeout": "5 s"}

    assert of(plain, "1.19").get(option) == timedelta(seconds=5)
    assert of(plain, "2.3").get(option) == timedelta(seconds=5)
    assert of(worded, "2.3").get(option) == timedelta(seconds=5)
    with pytest.raises(ConfigurationError, match="a whole number is needed"):
        of(worded, "1.19").get(option)


def test_nested_keys_make_a_map() -> None:
    nested = of({"kubernetes.jobmanager.labels.x": "1", "kubernetes.jobmanager.labels.y.z": 5})

    assert nested.get(kubernetes.JOBMANAGER_LABELS) == {"x": "1", "y.z": "5"}
    assert nested.contains(kubernetes.JOBMANAGER_LABELS)


def test_a_bad_value_names_option_value_and_origin() -> None:
    entry = Entry("Bogus", "conf/config.yaml line 3")
    wrong = Configuration({"kubernetes.rest-service.exposed.type": entry})

    with pytest.raises(ConfigurationError) as caught:
        wrong.get(kubernetes.REST_SERVICE_EXPOSED_TYPE)

    assert caught.value.option == "kubernetes.rest-service.exposed.type"
    assert caught.value.origin == "conf/config.yaml line 3"
    assert "'Bogus'" in str(caught.value)
    assert "NodePort" in str(caught.value)


def test_of_a_long_value_the_beginning_is_shown() -> None:
    wrong = of({"taskmanager.numberOfTaskSlots": "9" * 5000})

    with pytest.raises(ConfigurationError, match="'99999") as caught:
        wrong.get(taskmanager.NUMBER_OF_TASK_SLOTS)

    assert len(str(caught.value)) < 300


def test_a_bad_value_of_a_secret_is_not_shown() -> None:
    key = "security.ssl.internal.handshake-timeout"
    secret = of({"my.password.retries": "hunter2", key: "hunter2"})
    option = security.SSL_INTERNAL_HANDSHAKE_TIMEOUT

    with pytest.raises(ConfigurationError, match="'hunter2'"):
        secret.get(option)
    with pytest.raises(ConfigurationError) as caught:
        secret.check("my.password.retries", option)

    assert "hunter2" not in str(caught.value)


def test_a_configuration_does_not_change() -> None:
    before = of({"a": "1"})
    after = before.with_values({"b": "2"}).without("a").with_notices("hello")

    assert dict(before.items()) == {"a": "1"}
    assert before.notices == ()
    assert dict(after.items()) == {"b": "2"}
    assert [str(notice) for notice in after.notices] == ["hello"]


def test_prefixes() -> None:
    values = of({"containerized.master.env.TZ": "UTC", "containerized.master.env.N": 1, "c": 2})

    assert values.with_prefix("containerized.master.env.") == {"TZ": "UTC", "N": "1"}


def test_the_nested_file_keeps_types_and_lists() -> None:
    values = of(
        {
            "a.b": 7,
            "a.c": True,
            "a.port": "6124",
            "size": 1.5,
            deployment.INTERNAL_APPLICATION_PROGRAM_ARGS.key: ["--x", "a;b"],
            pipeline.CLASSPATHS.key: [],
        }
    )

    name, text = values.nested_or_flat_text()

    assert name == "config.yaml"
    assert load_core(text, name).value == {
        "a": {"b": 7, "c": True, "port": "6124"},
        "size": 1.5,
        "$internal": {"application": {"program-args": ["--x", "a;b"]}},
        "pipeline": {"classpaths": []},
    }


def test_the_flat_file_has_one_line_per_key() -> None:
    values = of({"a.b": 7, "a": "x", "l": ["--x", "a;b", "it's"], "empty": []}, "1.18")

    assert values.nested_or_flat_text() == (
        "flink-conf.yaml",
        "a.b: 7\na: x\nl: --x;'a;b';'it''s'\nempty: \n",
    )


@pytest.mark.parametrize(("key", "value"), [("a", "x\nb: y"), ("a: x\nb", "y"), ("a\rb", "y")])
def test_a_line_break_does_not_fit_into_the_flat_file(key: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match="line break") as caught:
        of({key: value}, "1.18").nested_or_flat_text()

    assert len(str(caught.value).splitlines()) == 1


def test_keys_of_which_one_is_the_start_of_another_are_refused_when_written() -> None:
    with pytest.raises(ConfigurationError, match=r"a\.b and a\.b\.c cannot be set together"):
        of({"a.b.c": 1, "a.b": 2}).nested_or_flat_text()
