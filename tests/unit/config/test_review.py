"""What is told or refused before anything is sent: cases from people who configure Flink."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubeflink.config import Configuration, load
from kubeflink.config.options import kubernetes
from kubeflink.config.yaml import load_core
from kubeflink.errors import ConfigurationError


def given(*pairs: str, version: str = "2.3", strict: bool = False) -> Configuration:
    """A configuration of `key=value` arguments."""
    dynamic = [(key, value) for key, _, value in (pair.partition("=") for pair in pairs)]
    return load(environ={}, dynamic=dynamic, version=version, strict=strict)


def notices(*pairs: str, version: str = "2.3") -> str:
    return "\n".join(notice.message for notice in given(*pairs, version=version).notices)


def flat(configuration: Configuration) -> dict[str, Any]:
    """What Flink in the pod reads."""
    name, text = configuration.nested_or_flat_text()
    if name == "flink-conf.yaml":
        return dict(line.split(": ", 1) for line in text.splitlines())
    result: dict[str, Any] = {}

    def walk(value: dict[str, Any], prefix: str) -> None:
        for key, item in value.items():
            if isinstance(item, dict):
                walk(item, f"{prefix}{key}.")
            else:
                result[f"{prefix}{key}"] = item

    walk(load_core(text, name).value, "")
    return result


# --- R06, R101: keys of which one is the start of another --------------------------------------

SHORT_KEYS = {
    "high-availability": ("kubernetes", ".storageDir", "s3://bucket", ".type"),
    "state.backend": ("rocksdb", ".incremental", "true", ".type"),
    "restart-strategy": ("none", ".fixed-delay.attempts", "3", ".type"),
    "kubernetes.taskmanager.cpu": ("2", ".limit-factor", "2", ".amount"),
    "kubernetes.container.image": ("image", ".pull-policy", "Always", ".ref"),
    "kubernetes.pod-template-file": ("t", ".jobmanager", "j", ".default"),
    "env.java.opts": ("-Da=b", ".jobmanager", "-Dc=d", ".all"),
    "execution.checkpointing.unaligned": ("true", ".forced", "true", ".enabled"),
}
"""By short key: a value, a longer key and its value, and the current name of the short key."""


@pytest.mark.parametrize("short", SHORT_KEYS)
@pytest.mark.parametrize("by", ["file", "-D"])
@pytest.mark.parametrize("version", ["1.18", "1.20", "2.3"])
def test_short_keys_are_renamed_where_the_file_is_nested(
    tmp_path: Path, short: str, by: str, version: str
) -> None:
    value, longer, other, current = SHORT_KEYS[short]
    pairs = [(short, value), (f"{short}{longer}", other)]
    if by == "file":
        name = "flink-conf.yaml" if version == "1.18" else "config.yaml"
        (tmp_path / name).write_text("".join(f"{key}: {text}\n" for key, text in pairs))
        configuration = load(conf_dir=tmp_path, version=version, environ={})
    else:
        configuration = load(environ={}, dynamic=pairs, version=version)

    written = {key: str(item).lower() for key, item in flat(configuration).items()}

    other_pair = {f"{short}{longer}": other.lower()}
    if version == "1.18":
        assert written == {short: value.lower(), **other_pair}
        assert configuration.notices == ()
    else:
        assert written == {f"{short}{current}": value.lower(), **other_pair}
        assert f"{short} is written as {short}{current}" in str(configuration.notices[0])


def test_a_short_key_that_is_in_nobodys_way_stays() -> None:
    assert flat(given("kubernetes.taskmanager.cpu=2")) == {"kubernetes.taskmanager.cpu": "2"}


def test_where_both_names_are_set_the_current_one_counts() -> None:
    configuration = given("kubernetes.taskmanager.cpu=2", "kubernetes.taskmanager.cpu.amount=3")

    assert flat(configuration) == {"kubernetes.taskmanager.cpu.amount": "3"}
    assert "is left out" in str(configuration.notices[0])


def test_the_longer_of_two_keys_may_be_the_older_one() -> None:
    assert flat(given("metrics.scope.jm=a", "metrics.scope.jm.job=b")) == {
        "metrics.scope.jm": "a",
        "metrics.scope.jm-job": "b",
    }


@pytest.mark.parametrize(
    ("shorter", "longer"),
    [
        ("a.b", "a.b.c"),
        ("my.connector", "my.connector.deep.er"),
        ("kubernetes.jobmanager.labels", "kubernetes.jobmanager.labels.x"),
    ],
)
def test_any_other_pair_is_refused_with_both_names(shorter: str, longer: str) -> None:
    value = "k:v" if "labels" in shorter else "1"
    with pytest.raises(ConfigurationError) as caught:
        given(f"{longer}=2", f"{shorter}={value}")

    assert shorter in str(caught.value)
    assert longer in str(caught.value)
    assert len(given(f"{longer}=2", f"{shorter}={value}", version="1.18")) == 2


# --- R10, R107: keys that do not exist ---------------------------------------------------------


def test_a_misspelt_option_is_told_with_the_nearest_name() -> None:
    assert "kubernetes.taskmanager.cpu.amount?" in notices("kubernetes.taskmangr.cpu=2")
    assert "taskmanager.memory.process.size?" in notices("taskmanager.memory.proces.size=1g")


def test_a_misspelt_option_is_an_error_if_one_is_strict() -> None:
    with pytest.raises(ConfigurationError, match=r"kubernetes\.taskmanager\.cpu\.amount"):
        given("kubernetes.taskmangr.cpu=2", strict=True)


@pytest.mark.parametrize(
    "pair",
    [
        "my.connector.option=x",
        "fs.s3a.endpoint=x",
        "state.backend.rocksdb.memory.managed=true",
        "execution.checkpointing.interval=10s",
        "taskmanager.network.request-backoff.max=5",
        "metrics.reporter.prom.port=9249",
        "metrics.reporter.prom.factory.class=x.Y",
        "table.exec.state.ttl=1 d",
        "kubernetes.jobmanager.labels.team=a",
        "external-resource.gpu.param.discovery-script.path=/x",
        "containerized.master.env.TZ=UTC",
        "rest.port=8081",
    ],
)
def test_right_keys_pass_in_silence(pair: str) -> None:
    assert notices(pair) == ""
    given(pair, strict=True)


@pytest.mark.parametrize(
    ("pair", "instead"),
    [
        ("kubernetes.jobmanager.env.FOO=1", "containerized.master.env.NAME"),
        ("kubernetes.taskmanager.env.FOO=1", "containerized.taskmanager.env.NAME"),
        ("kubernetes.operator.reconcile.interval=1", "Flink Kubernetes Operator"),
        ("jobmanager.replicas=2", "kubernetes.jobmanager.replicas"),
        ("taskmanager.replicas=2", "slotmanager.number-of-slots.min"),
        ("kubernetes.pod.template=x", "kubernetes.pod-template-file.default"),
    ],
)
def test_options_of_other_tools_are_told_with_the_one_that_exists(pair: str, instead: str) -> None:
    assert instead in notices(pair)


def test_an_option_of_another_version_is_told() -> None:
    assert "it came with 2.3" in notices("kubernetes.persistent-volume-claims=a:/b", version="2.2")
    assert "last with it was 1.20" in notices("cluster.evenly-spread-out-slots=true")


# --- R91, R102: values -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pair",
    [
        "taskmanager.memory.process.size=gb",
        "taskmanager.memory.process.size=",
        "kubernetes.taskmanager.cpu=",
        "kubernetes.hostnetwork.enabled=",
        "slot.idle.timeout=s",
    ],
)
def test_an_empty_shell_variable(pair: str) -> None:
    key = pair.partition("=")[0]
    with pytest.raises(ConfigurationError, match="is a variable empty") as caught:
        given(pair)

    assert caught.value.option == key
    assert caught.value.origin == "-D"


@pytest.mark.parametrize(
    "pair",
    [
        "kubernetes.taskmanager.cpu.amount=-1",
        "kubernetes.taskmanager.cpu.amount=-1.0",
        "kubernetes.taskmanager.cpu.amount=0.25",
        "kubernetes.jobmanager.cpu.amount=0.5",
        "kubernetes.jobmanager.cpu.limit-factor=1",
        "taskmanager.cpu.cores=1.5",
        "heartbeat.rpc-failure-threshold=-1",
        "security.ssl.internal.session-timeout=-1",
        "metrics.fetcher.update-interval=0",
        "pipeline.max-parallelism=-1",
        "slotmanager.number-of-slots.min=0",
    ],
)
def test_documented_special_values_work(pair: str) -> None:
    assert len(given(pair)) == 1


@pytest.mark.parametrize(
    ("pair", "bound"),
    [
        ("kubernetes.jobmanager.cpu.amount=-1", "at least 0"),
        ("kubernetes.jobmanager.cpu.amount=NaN", "at least 0"),
        ("kubernetes.jobmanager.cpu.amount=1e400", "must not be infinite"),
        ("kubernetes.jobmanager.memory.limit-factor=Infinity", "must not be infinite"),
        ("kubernetes.taskmanager.memory.limit-factor=0.5", "at least 1"),
        ("kubernetes.jobmanager.replicas=0", "at least 1"),
        ("kubernetes.jobmanager.replicas=-2", "at least 1"),
        ("taskmanager.numberOfTaskSlots=0", "at least 1"),
        ("rest.port=65536", "at most 65535"),
        ("jobmanager.rpc.port=-1", "at least 0"),
    ],
)
def test_other_values_are_refused_with_the_range(pair: str, bound: str) -> None:
    with pytest.raises(ConfigurationError, match=bound):
        given(pair)


def test_a_value_is_only_checked_where_the_version_has_the_option() -> None:
    given("cluster.evenly-spread-out-slots=maybe", version="2.3")
    with pytest.raises(ConfigurationError, match="true or false"):
        given("cluster.evenly-spread-out-slots=maybe", version="1.20")


# --- R106: lists and maps by hand --------------------------------------------------------------


@pytest.mark.parametrize("version", ["1.18", "2.3"])
@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("a:b, c:d", {"a": "b", "c": "d"}),
        ("a :b", {"a": "b"}),
        ("'arn:''arn:aws:iam::1:role/x'''", {"arn": "arn:aws:iam::1:role/x"}),
    ],
)
def test_maps_by_hand(version: str, text: str, labels: dict[str, str]) -> None:
    configuration = given(f"kubernetes.jobmanager.annotations={text}", version=version)

    assert configuration.get(kubernetes.JOBMANAGER_ANNOTATIONS) == labels


@pytest.mark.parametrize(
    ("version", "text", "piece"),
    [
        ("1.18", "{a: b}", "'{a' looks like YAML or JSON"),
        ("1.18", '{"a":"b"}', "quote"),
        ("2.3", "{a:b}", "a blank is needed after each colon"),
        ("2.3", "role:arn:aws:iam::1:role/x", "more than one colon"),
        ("1.18", "role:arn:aws:iam::1:role/x", "more than one colon"),
        ("2.3", "a:b,novalue", "'novalue' is no pair"),
        ("2.3", "k:'it''s',m:\"a, b\"", "not closed"),
    ],
)
def test_a_map_that_cannot_be_read_names_the_piece(version: str, text: str, piece: str) -> None:
    with pytest.raises(ConfigurationError, match=piece):
        given(f"kubernetes.jobmanager.annotations={text}", version=version)


def test_an_empty_map_is_yaml_in_2_3() -> None:
    configuration = given("kubernetes.jobmanager.annotations={}", version="2.3")

    assert configuration.get(kubernetes.JOBMANAGER_ANNOTATIONS) == {}
    with pytest.raises(ConfigurationError, match="is no pair"):
        given("kubernetes.jobmanager.annotations={}", version="1.18")


def test_json_is_yaml_in_2_3() -> None:
    configuration = given('kubernetes.jobmanager.tolerations=[{"key":"a","operator":"Exists"}]')

    assert configuration.get(kubernetes.JOBMANAGER_TOLERATIONS) == (
        {"key": "a", "operator": "Exists"},
    )
    with pytest.raises(ConfigurationError):
        given('kubernetes.jobmanager.tolerations=[{"key":"a","operator":"Exists"}]', version="1.18")


@pytest.mark.parametrize(
    ("toleration", "said"),
    [
        ("operator:Exists", "tolerates every taint of every node"),
        ("operator:Exists,effect:NoSchedule", "every taint with effect NoSchedule"),
        ("effect:NoSchedule", "Kubernetes refuses it"),
        ("key:a,operator:Exists,effects:NoSchedule", "no 'effects'"),
    ],
)
def test_tolerations_that_do_something_else_than_meant(toleration: str, said: str) -> None:
    assert said in notices(f"kubernetes.taskmanager.tolerations={toleration}")


def test_ordinary_tolerations_pass_in_silence() -> None:
    assert notices("kubernetes.jobmanager.tolerations=key:a,operator:Equal,value:b") == ""


# --- R08, R109, R110: things to know -----------------------------------------------------------


def test_entrypoint_arguments_are_shell_text() -> None:
    assert "shell text" in notices("kubernetes.jobmanager.entrypoint.args=-Da=b $X")
    assert notices("kubernetes.jobmanager.entrypoint.args=-Da=b") == ""


def test_an_image_of_another_version() -> None:
    said = notices("kubernetes.container.image.ref=flink:1.17.2", version="1.20")

    assert "Flink 1.17.2" in said
    assert "--flink-version 1.17" in said
    assert notices("kubernetes.container.image.ref=flink:1.20.1", version="1.20") == ""
    assert notices("kubernetes.container.image.ref=team/job:latest", version="1.20") == ""


@pytest.mark.parametrize("key", ["fs.s3a.secret.key", "security.ssl.internal.key-password"])
def test_a_secret_is_told_and_never_printed(key: str) -> None:
    configuration = given(f"{key}=hunter2")
    said = "\n".join(map(str, configuration.notices))

    assert key in said
    assert "kubernetes.env.secretKeyRef" in said
    assert "hunter2" not in said
    assert "hunter2" not in repr(configuration)


def test_the_old_file_cannot_hold_everything() -> None:
    assert "cuts the value there" in notices("a=x#y", version="1.18")
    assert notices("a=x#y", version="1.19") == ""
    with pytest.raises(ConfigurationError, match="line break"):
        given("a=x\ny", version="1.18")
    with pytest.raises(ConfigurationError, match=r"the key 'a\\nb' has a line break"):
        given("a\nb=x", version="1.18")
