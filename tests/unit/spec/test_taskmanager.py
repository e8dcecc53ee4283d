"""TaskManager pods, as the driver in the JobManager makes them."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from kubeflink.objects import JsonObject
from kubeflink.spec import (
    JobManagerAddress,
    Program,
    application_configuration,
    build_taskmanager_pod,
    session_configuration,
)
from support.clusters import (
    JAR,
    configuration,
    environment,
    main_container,
    session,
    taskmanager,
)


def command(pod: JsonObject) -> list[str]:
    """The words of the start command, after bash has read them."""
    line = main_container(pod)["args"][2]
    script = f"set -f; printf '%s\\0' {line}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True, env={})
    return done.stdout.decode("utf-8").split("\0")[:-1]


def properties(pod: JsonObject) -> dict[str, str]:
    """The `-Dkey=value` words: what differs from the mounted configuration."""
    words = (word for word in command(pod) if word.startswith("-D") and word != "-D")
    return dict(word[2:].partition("=")[::2] for word in words)


def resources(pod: JsonObject) -> dict[str, str]:
    """The `-D key=value` words: the worker's share."""
    words = command(pod)
    pairs = [words[i + 1] for i, word in enumerate(words) if word == "-D"]
    return dict(pair.partition("=")[::2] for pair in pairs)


def test_a_worker_knows_its_name_its_share_and_nothing_twice() -> None:
    pod = taskmanager()

    assert pod["metadata"]["name"] == "demo-taskmanager-1-1"
    assert properties(pod)["taskmanager.resource-id"] == "demo-taskmanager-1-1"
    assert resources(pod)["taskmanager.memory.managed.size"].endswith("b")
    assert resources(pod)["taskmanager.numberOfTaskSlots"] == "1"
    # What the mounted file says already is no argument.
    assert "taskmanager.memory.process.size" not in properties(pod)
    assert "kubernetes.cluster-id" not in properties(pod)


def test_the_jvm_gets_the_sizes_that_add_up_to_the_container() -> None:
    pod = taskmanager()

    container = main_container(pod)
    assert container["resources"]["requests"]["memory"] == "1728Mi"
    arguments = str(environment(container)["FLINK_TM_JVM_MEM_OPTS"]).split()
    assert [argument[:4] for argument in arguments] == ["-Xmx", "-Xms", "-XX:", "-XX:"]


def test_pods_are_never_restarted_by_kubernetes() -> None:
    assert taskmanager()["spec"]["restartPolicy"] == "Never"


@pytest.mark.parametrize("cpu", [-1, 0])
def test_cpu_follows_the_slots_where_it_is_left_open(cpu: int) -> None:
    """-1 is the documented value for that."""
    pod = taskmanager(
        {"kubernetes.taskmanager.cpu.amount": cpu, "taskmanager.numberOfTaskSlots": 3}
    )

    assert main_container(pod)["resources"]["requests"]["cpu"] == "3.0"


@pytest.mark.parametrize(
    "value", ["#a,b&c^d*e%f(g!h", "my'value is 1", "line1\nline2", "$HOME `id` ${x}", "üñ"]
)
def test_what_the_jobmanager_got_as_argument_reaches_the_worker_unchanged(value: str) -> None:
    arguments = f"-Duser.x={shlex.quote(value)} -D user.y=1 -Dflag"
    pod = taskmanager({"kubernetes.jobmanager.entrypoint.args": arguments})

    found = properties(pod)
    assert found["user.x"] == value
    assert found["user.y"] == "1"
    assert found["flag"] == "true"


def test_such_an_argument_counts_for_the_workers_memory() -> None:
    plain = taskmanager()
    other = taskmanager(
        {"kubernetes.jobmanager.entrypoint.args": "-Dtaskmanager.memory.managed.size=100m"}
    )

    assert resources(other)["taskmanager.memory.managed.size"] == f"{100 << 20}b"
    assert resources(plain) != resources(other)


def test_entrypoint_arguments_of_the_worker_come_last_as_they_are() -> None:
    pod = taskmanager({"kubernetes.taskmanager.entrypoint.args": '-Dz="$X" y'})

    assert main_container(pod)["args"][2].endswith(' -Dz="$X" y')


def test_extended_resources_are_asked_for() -> None:
    pod = taskmanager(
        {
            "external-resources": "gpu;fpga",
            "external-resource.gpu.amount": 2,
            "external-resource.gpu.kubernetes.config-key": "nvidia.com/gpu",
            "external-resource.fpga.amount": 1,
        }
    )

    found = main_container(pod)["resources"]
    assert found["requests"]["nvidia.com/gpu"] == found["limits"]["nvidia.com/gpu"] == "2"
    assert len(found["requests"]) == 3
    assert set(resources(pod)["external-resources"].split(";")) == {"gpu", "fpga"}


def test_with_high_availability_the_jobmanagers_address_is_its_pods() -> None:
    made = session_configuration(configuration({"high-availability.type": "kubernetes"}))
    address = JobManagerAddress(pod_ip="10.1.2.3")
    pod = build_taskmanager_pod(made, attempt=1, index=1, address=address, environ={})

    assert properties(pod)["jobmanager.rpc.address"] == "10.1.2.3"
    assert properties(pod)["rest.address"] == "10.1.2.3"
    assert "jobmanager.rpc.address" not in properties(taskmanager())


def test_with_host_network_all_ports_are_random() -> None:
    made = session_configuration(configuration({"kubernetes.hostnetwork.enabled": True}))
    address = JobManagerAddress(rpc_port=41001, blob_server_port=41002)
    pod = build_taskmanager_pod(made, attempt=1, index=1, address=address, environ={})

    found = properties(pod)
    assert found["jobmanager.rpc.port"] == "41001"
    assert found["blob.server.port"] == "41002"
    assert found["taskmanager.rpc.port"] == found["rest.bind-port"] == "0"
    assert "ports" not in main_container(pod)
    assert pod["spec"]["hostNetwork"] is True


def test_the_web_servers_directory_is_another_one_for_each_start() -> None:
    first, second = (properties(taskmanager())["web.tmpdir"] for _ in range(2))

    assert first.startswith("/tmp/flink-web-")
    assert first != second


def test_the_owner_is_the_deployment() -> None:
    made = session_configuration(configuration())
    deployment = {**session().deployment}
    deployment["metadata"] = {**deployment["metadata"], "uid": "u-1"}
    pod = build_taskmanager_pod(made, attempt=2, index=3, deployment=deployment, environ={})

    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Deployment", "demo", "u-1")
    assert owner["controller"] is owner["blockOwnerDeletion"] is True
    assert pod["metadata"]["name"] == "demo-taskmanager-2-3"


def test_the_uid_of_an_owner_that_is_still_to_be_made_is_a_placeholder() -> None:
    (owner,) = taskmanager()["metadata"]["ownerReferences"]

    assert (owner["kind"], owner["name"]) == ("Deployment", "demo")
    assert owner["uid"] == "<uid of deployment/demo>"


@pytest.mark.parametrize(("version", "java_home"), [("1.20", None), ("2.0", "/opt/java")])
def test_newer_versions_set_java_home(version: str, java_home: str | None) -> None:
    pod = taskmanager({"env.java.home": "/opt/java"}, version=version)

    assert environment(main_container(pod)).get("JAVA_HOME") == java_home


def test_the_old_file_cuts_values_at_a_hash(tmp_path: Path) -> None:
    """The JobManager reads its own file, and `flink-conf.yaml` cannot hold every value."""
    (tmp_path / "flink-conf.yaml").write_text("", encoding="utf-8")
    values = {"containerized.taskmanager.env.H": "x # y", "containerized.taskmanager.env.E": ""}
    pod = taskmanager(values, version="1.18", conf_dir=tmp_path)

    found = environment(main_container(pod))
    assert found["H"] == "x"
    assert "E" not in found


def test_an_application_runs_its_own_job() -> None:
    made = application_configuration(configuration(), Program(uri=JAR, arguments=("a b",)))
    pod = build_taskmanager_pod(made, attempt=1, index=1, environ={})

    found = properties(pod)
    assert found["execution.target"] == "embedded"
    assert found["pipeline.jars"] == "['file:/opt/flink/usrlib/job.jar']"


@pytest.mark.parametrize(
    ("cluster_id", "job_id"),
    [
        ("demo", "00000000002efde30000000000000000"),
        ("negative-hash-zz", "ffffffffb36d9ec70000000000000000"),
    ],
)
def test_the_oldest_version_gives_workers_the_job_id_of_an_application(
    cluster_id: str, job_id: str
) -> None:
    values = {"high-availability.type": "kubernetes", "kubernetes.cluster-id": cluster_id}
    found = []
    for version in ("1.17", "1.18"):
        made = application_configuration(configuration(values, version=version), Program(uri=JAR))
        pod = build_taskmanager_pod(made, attempt=1, index=1, environ={})
        found.append(properties(pod).get("$internal.pipeline.job-id"))

    assert found == [job_id, None]


def test_a_template_keeps_its_own_and_gets_flinks(tmp_path: Path) -> None:
    file = tmp_path / "tm.yaml"
    file.write_text(
        """
kind: Pod
metadata: {labels: {tier: worker, component: x}}
spec:
  restartPolicy: Always
  priorityClassName: low
  containers:
    - {name: flink-main-container, env: [{name: MINE, value: a}]}
    - {name: sidecar, image: b}
""",
        encoding="utf-8",
    )
    pod = taskmanager({"kubernetes.pod-template-file.taskmanager": str(file)})

    assert pod["metadata"]["labels"]["tier"] == "worker"
    assert pod["metadata"]["labels"]["component"] == "taskmanager"
    assert pod["spec"]["restartPolicy"] == "Never"
    assert pod["spec"]["priorityClassName"] == "low"
    assert [each["name"] for each in pod["spec"]["containers"]] == [
        "sidecar",
        "flink-main-container",
    ]
    assert environment(main_container(pod))["MINE"] == "a"
