"""A container's command line as the java command line that Flink's scripts would make of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from kubeflink.config.versions import FlinkVersion
from kubeflink.errors import ConfigurationError
from kubeflink.jvm.flink_home import FlinkHome
from kubeflink.jvm.java import JavaRuntime
from kubeflink.local.command import (
    FlinkLaunch,
    FlinkScript,
    dynamic_properties,
    find_script,
    java_command,
)
from kubeflink.local.environment import ContainerConfigError
from kubeflink.local.flink_image import build_image
from kubeflink.local.volumes import Mount, Mounts

SESSION = FlinkScript("jobmanager", "kubernetes-session", ())
PORTS = {"rest": 20001, "jobmanager-rpc": 20002, "blobserver": 20003}


def launch(tmp_path: Path, configuration: str = "", **changes: object) -> FlinkLaunch:
    home = FlinkHome(tmp_path / "home", FlinkVersion(2, 3, 0), tmp_path / "home/lib/flink-dist.jar")
    home.lib.mkdir(parents=True, exist_ok=True)
    for jar in ("flink-dist-2.3.0.jar", "flink-json.jar", "zzz.jar"):
        (home.lib / jar).touch()
    conf = tmp_path / "mounted"
    conf.mkdir(exist_ok=True)
    sizes = "jobmanager.memory.process.size: 1600m\n"
    (conf / "config.yaml").write_text(sizes + configuration)
    image = build_image(
        home, Mounts((Mount("/opt/flink/conf", conf),)), tmp_path / "container", "/opt/flink/conf"
    )
    made = FlinkLaunch(
        image=image,
        java=JavaRuntime(Path("/jre"), 17),
        environment={},
        temporary=tmp_path / "tmp",
        log_file=tmp_path / "flink.log",
        ports=PORTS,
        host_network=False,
    )
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def last_values(command: list[str]) -> dict[str, str]:
    """What Flink sees: the last value of each key."""
    return dict(dynamic_properties(command))


def heap(command: list[str]) -> int:
    """The heap in bytes."""
    (size,) = (word for word in command if word.startswith("-Xmx"))
    return int(size.removeprefix("-Xmx"))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["/docker-entrypoint.sh", "bash", "-c", "kubernetes-jobmanager.sh kubernetes-session "],
            SESSION,
        ),
        (
            [
                "/my-entry.sh",
                "bash",
                "-c",
                "/opt/flink/bin/kubernetes-taskmanager.sh -Da='b c' -D d=e",
            ],
            FlinkScript("taskmanager", "", ("-Da=b c", "-D", "d=e")),
        ),
        (
            ["x", "bash", "-c", "kubernetes-jobmanager.sh kubernetes-application -Dx=$HOME"],
            FlinkScript("jobmanager", "kubernetes-application", ("-Dx=$HOME",)),
        ),
        (["sh", "-c", "echo kubernetes-jobmanager"], None),
        (["sleep", "1"], None),
        ([], None),
    ],
)
def test_finds_the_script_and_its_arguments(words: list[str], expected: FlinkScript | None) -> None:
    assert find_script(words) == expected


@pytest.mark.parametrize(
    "text",
    [
        "kubernetes-jobmanager.sh standalone",
        "kubernetes-jobmanager.sh",
        "kubernetes-taskmanager.sh 'x",
    ],
)
def test_refuses_what_the_scripts_would_refuse(text: str) -> None:
    with pytest.raises(ContainerConfigError):
        find_script(["bash", "-c", text])


def test_jobmanager_gets_its_memory_its_class_and_its_place(tmp_path: Path) -> None:
    command = java_command(SESSION, launch(tmp_path))
    values = last_values(command)

    assert command[0] == "/jre/bin/java"
    assert {"-Xmx1073741824", "-Xms1073741824", "-XX:MaxMetaspaceSize=268435456"} <= set(command)
    assert "org.apache.flink.kubernetes.entrypoint.KubernetesSessionClusterEntrypoint" in command
    assert values["jobmanager.memory.heap.size"] == "1073741824b"
    assert values["jobmanager.rpc.port"] == values["high-availability.jobmanager.port"] == "20002"
    assert (values["blob.server.port"], values["rest.bind-port"]) == ("20003", "20001")
    assert values["jobmanager.rpc.address"] == "127.0.0.1"


def test_flink_dist_comes_last_on_the_class_path(tmp_path: Path) -> None:
    command = java_command(SESSION, launch(tmp_path))
    jars = command[command.index("-classpath") + 1].split(":")
    assert [Path(jar).name for jar in jars] == ["flink-json.jar", "zzz.jar", "flink-dist-2.3.0.jar"]


def test_host_network_gets_no_port_options(tmp_path: Path) -> None:
    values = last_values(java_command(SESSION, launch(tmp_path, host_network=True, ports={})))
    assert not [key for key in values if key.endswith("port")]
    assert values["jobmanager.rpc.address"] == "127.0.0.1"


def test_options_of_the_command_line_count_for_the_memory(tmp_path: Path) -> None:
    script = FlinkScript(
        "jobmanager", "kubernetes-session", ("-Djobmanager.memory.process.size=2g",)
    )
    assert heap(java_command(script, launch(tmp_path))) > heap(
        java_command(SESSION, launch(tmp_path))
    )


def test_memory_that_flink_refuses_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        java_command(SESSION, launch(tmp_path, "jobmanager.memory.heap.size: 9g\n"))


def test_taskmanager_takes_its_memory_from_the_environment(tmp_path: Path) -> None:
    script = FlinkScript(
        "taskmanager", "", ("-Dtaskmanager.rpc.port=6122", "-D", "a.b=/opt/flink/lib")
    )
    made = launch(tmp_path, environment={"FLINK_TM_JVM_MEM_OPTS": "-Xmx1m -Xms1m"})
    command = java_command(script, made)

    assert command[1:3] == ["-Xmx1m", "-Xms1m"]
    assert command[command.index("--configDir") + 1] == str(made.image.conf)
    assert last_values(command)["taskmanager.rpc.port"] == "0"
    assert last_values(command)["a.b"] == f"{made.image.root}/lib"


def test_jvm_options_of_the_configuration_come_after_the_cluster_s(tmp_path: Path) -> None:
    configuration = (
        "env.java.opts.all: -Da=1\n"
        "env.java.opts.jobmanager: -Db=2\n"
        "env.java.opts.taskmanager: -Dc=3\n"
    )
    command = java_command(
        SESSION, launch(tmp_path, configuration, jvm_options=("-XX:TieredStopAtLevel=1",))
    )
    first, second, third = (
        command.index(word) for word in ("-XX:TieredStopAtLevel=1", "-Da=1", "-Db=2")
    )
    assert first < second < third
    assert "-Dc=3" not in command


def test_a_garbage_collector_of_the_configuration_replaces_the_cluster_s(tmp_path: Path) -> None:
    options = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    made = launch(tmp_path, "env.java.opts.all: -XX:+UseG1GC\n", jvm_options=options)
    collectors = [word for word in java_command(SESSION, made) if word.endswith("GC")]
    assert collectors == ["-XX:+UseG1GC"]


@pytest.mark.parametrize(("feature", "expected"), [(11, False), (17, False), (21, True)])
def test_newer_jvms_are_told_to_allow_a_security_manager(
    tmp_path: Path, feature: int, expected: bool
) -> None:
    command = java_command(SESSION, launch(tmp_path, java=JavaRuntime(Path("/jre"), feature)))
    assert ("-Djava.security.manager=allow" in command) is expected


def test_reads_both_forms_of_dynamic_properties() -> None:
    assert dynamic_properties(["-D", "a=b=c", "-Dd=e", "x", "-Df", "--g", "-D"]) == [
        ("a", "b=c"),
        ("d", "e"),
        ("f", "true"),
    ]
