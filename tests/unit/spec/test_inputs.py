"""The files that become part of a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflink.errors import ConfigurationError
from kubeflink.spec.inputs import read_inputs
from support.clusters import (
    accompanying,
    configuration,
    environment,
    main_container,
    messages,
    pod_spec,
    session,
)

LOGGING = (
    "log4j-console.properties",
    "logback-console.xml",
    "log4j.properties",
    "logback.xml",
    "log4j-cli.properties",
    "log4j-session.properties",
    "logback-session.xml",
    "log4j2.yaml",
    "masters",
)


@pytest.fixture
def conf_dir(tmp_path: Path) -> Path:
    directory = tmp_path / "conf"
    directory.mkdir()
    (directory / "config.yaml").write_text("{}\n", encoding="utf-8")
    return directory


@pytest.mark.parametrize(("version", "shipped"), [("2.0", LOGGING[:2]), ("2.1", LOGGING[:7])])
def test_each_version_ships_its_logging_files(
    conf_dir: Path, version: str, shipped: tuple[str, ...]
) -> None:
    for name in LOGGING:
        (conf_dir / name).write_text(name, encoding="utf-8")
    spec = session(version=version, conf_dir=conf_dir)

    data = accompanying(spec, "ConfigMap")["flink-config-demo"]["data"]
    assert set(data) == {"config.yaml", *shipped}
    (volume,) = (v for v in pod_spec(spec)["volumes"] if v["name"] == "flink-config-volume")
    assert {each["key"] for each in volume["configMap"]["items"]} == set(data)


def test_a_directory_without_console_logging_is_told(conf_dir: Path) -> None:
    (conf_dir / "log4j.properties").write_text("a=b", encoding="utf-8")

    told = messages(session(conf_dir=conf_dir))

    assert "log4j-console.properties" in told
    assert "log4j.properties is not used" in told


def test_default_logging_is_supplied_only_on_request(conf_dir: Path) -> None:
    plain = read_inputs(configuration(conf_dir=conf_dir), {})
    supplied = read_inputs(configuration(conf_dir=conf_dir), {}, default_logging=True)

    assert plain.logging_files == {}
    assert "rootLogger.level" in supplied.logging_files["log4j-console.properties"]
    assert supplied.notices == ()


def test_default_logging_leaves_the_users_own_alone(conf_dir: Path) -> None:
    (conf_dir / "logback-console.xml").write_text("<mine/>", encoding="utf-8")

    supplied = read_inputs(configuration(conf_dir=conf_dir), {}, default_logging=True)

    assert supplied.logging_files == {"logback-console.xml": "<mine/>"}


# --- Hadoop ----------------------------------------------------------------------------------


def hadoop(directory: Path, *names: str) -> Path:
    directory.mkdir(parents=True)
    for name in names:
        (directory / name).write_text(f"<{name}/>", encoding="utf-8")
    return directory


def test_two_files_of_the_hadoop_configuration_are_shipped(tmp_path: Path) -> None:
    directory = hadoop(tmp_path / "h", "core-site.xml", "hdfs-site.xml", "log4j.properties")
    spec = session(environ={"HADOOP_CONF_DIR": str(directory)})

    data = accompanying(spec, "ConfigMap")["hadoop-config-demo"]["data"]
    assert set(data) == {"core-site.xml", "hdfs-site.xml"}
    assert environment(main_container(pod_spec(spec)))["HADOOP_CONF_DIR"] == "/opt/hadoop/conf"


@pytest.mark.parametrize(
    ("place", "file"), [("etc/hadoop", "core-site.xml"), ("conf", "hdfs-site.xml")]
)
def test_hadoop_home_leads_to_the_configuration(tmp_path: Path, place: str, file: str) -> None:
    hadoop(tmp_path / place, file)
    spec = session(environ={"HADOOP_HOME": str(tmp_path)})

    assert set(accompanying(spec, "ConfigMap")["hadoop-config-demo"]["data"]) == {file}


def test_a_directory_without_those_files_is_left_out_and_told(tmp_path: Path) -> None:
    spec = session(
        environ={"HADOOP_CONF_DIR": str(tmp_path / "none"), "HADOOP_HOME": str(tmp_path)}
    )

    assert "hadoop" not in str(spec.deployment)
    assert "core-site.xml" in messages(spec)


def test_an_existing_config_map_counts_more_than_the_directory(tmp_path: Path) -> None:
    directory = hadoop(tmp_path / "h", "core-site.xml")
    spec = session(
        {"kubernetes.hadoop.conf.config-map.name": "ours"},
        environ={"HADOOP_CONF_DIR": str(directory)},
    )

    (volume,) = (v for v in pod_spec(spec)["volumes"] if v["name"] == "hadoop-config-volume")
    assert volume["configMap"] == {"name": "ours"}
    assert "hadoop-config-demo" not in accompanying(spec, "ConfigMap")


def test_hadoop_can_be_switched_off(tmp_path: Path) -> None:
    directory = hadoop(tmp_path / "h", "core-site.xml")
    spec = session(
        {
            "kubernetes.decorator.hadoop-conf-mount.enabled": False,
            "kubernetes.hadoop.conf.config-map.name": "ours",
        },
        environ={"HADOOP_CONF_DIR": str(directory)},
    )

    assert "hadoop" not in str(spec.deployment)


# --- Kerberos --------------------------------------------------------------------------------


def test_the_keytab_is_named_by_its_place_in_the_pods(tmp_path: Path) -> None:
    keytab = tmp_path / "user.keytab"
    keytab.write_bytes(b"\x05\x02\x00\x00\xff\xfe")
    spec = session(
        {
            "security.kerberos.login.keytab": str(keytab),
            "security.kerberos.login.principal": "user@R",
        }
    )

    secret = accompanying(spec, "Secret")["kerberos-keytab-demo"]
    assert secret["data"] == {"user.keytab": "BQIAAP/+"}
    assert "labels" not in secret["metadata"]
    text = accompanying(spec, "ConfigMap")["flink-config-demo"]["data"]["config.yaml"]
    assert "/opt/kerberos/kerberos-keytab/user.keytab" in text
    assert str(keytab) not in text


def test_a_keytab_without_principal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="principal"):
        session({"security.kerberos.login.keytab": str(tmp_path)})


def test_a_keytab_that_is_not_there_is_refused() -> None:
    values = {"security.kerberos.login.keytab": "/no/k", "security.kerberos.login.principal": "u"}

    with pytest.raises(ConfigurationError, match="keytab /no/k does not exist") as caught:
        session(values)

    assert "security.kerberos.login.keytab" in str(caught.value)


def test_kerberos_can_be_switched_off() -> None:
    spec = session(
        {
            "kubernetes.decorator.kerberos-mount.enabled": False,
            "security.kerberos.login.keytab": "/no/k",
        }
    )

    assert "kerberos" not in str(spec.deployment)
    assert "/no/k" in accompanying(spec, "ConfigMap")["flink-config-demo"]["data"]["config.yaml"]
