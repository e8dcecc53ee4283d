"""The JobManager's Deployment and what accompanies it, decorator by decorator."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflink.errors import ConfigurationError, TemplateError
from kubeflink.objects import JsonObject
from support.clusters import (
    accompanying,
    environment,
    main_container,
    messages,
    pod_spec,
    session,
)


def template(tmp_path: Path, text: str) -> str:
    path = tmp_path / "template.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def deployed_with_template(
    tmp_path: Path, text: str, **values: object
) -> tuple[JsonObject, JsonObject, str]:
    """Pod spec, main container and notices of a JobManager with a template."""
    options = {name.replace("__", "."): value for name, value in values.items()}
    file = template(tmp_path, text)
    spec = session({"kubernetes.pod-template-file.jobmanager": file, **options})
    return pod_spec(spec), main_container(pod_spec(spec)), messages(spec)


# --- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"kubernetes.cluster-id": "My_Cluster"}, "is no name for a cluster"),
        ({"kubernetes.cluster-id": "a" * 46}, "46 characters"),
        ({"kubernetes.namespace": "my ns"}, "is no name for a namespace"),
        ({"kubernetes.jobmanager.replicas": 2}, "need high availability"),
        ({"kubernetes.jobmanager.replicas": 0}, "kubernetes.jobmanager.replicas"),
        ({"kubernetes.jobmanager.cpu.limit-factor": 0.5}, "at least 1"),
        ({"kubernetes.jobmanager.memory.limit-factor": 0.99}, "at least 1"),
        ({"kubernetes.rest-service.exposed.type": "Bogus"}, "exposed.type"),
        ({"rest.bind-port": "8080-8090"}, "must be one port"),
        ({"blob.server.port": "1-2"}, "must be one port"),
        ({"blob.server.port": "9" * 5000}, "must be one port"),
        ({"jobmanager.rpc.port": 0}, "must be a fixed port"),
        ({"kubernetes.container.image.ref": " "}, "is blank"),
        ({"kubernetes.persistent-volume-claims": "c:relative"}, "must start with '/'"),
        ({"kubernetes.persistent-volume-claims": "C:/x"}, "is no name"),
        ({"kubernetes.persistent-volume-claims": "a:/x,b:/x"}, "is there twice"),
        ({"kubernetes.persistent-volume-claims": "a.b:/x,a-b:/y"}, "same volume name"),
        ({"kubernetes.persistent-volume-claims": "a" * 61 + ":/x"}, "too long"),
        ({"kubernetes.env.secretKeyRef": "env:E,secret:s"}, "has no key"),
        ({"kubernetes.jobmanager.owner.reference": "name:n,uid:u"}, "no apiVersion and no kind"),
        (
            {"kubernetes.jobmanager.tolerations": "key:a,operator:Exists,tolerationSeconds:x"},
            "tolerationSeconds",
        ),
        ({"kubernetes.pod-template-file.default": "/no/such.yaml"}, "does not exist"),
        ({"security.kerberos.krb5-conf.path": "/no/krb5.conf"}, "does not exist"),
        ({"jobmanager.memory.process.size": "300m"}, "300"),
    ],
)
def test_what_cannot_work_is_refused(values: dict[str, object], words: str) -> None:
    with pytest.raises((ConfigurationError, TemplateError)) as caught:
        session(values)

    assert words in str(caught.value)


# --- identity and placement ------------------------------------------------------------------


def test_user_labels_cannot_take_the_pods_away_from_the_cluster() -> None:
    spec = session({"kubernetes.jobmanager.labels": "team:a,app:x,component:y,type:z"})

    selector = spec.deployment["spec"]["selector"]["matchLabels"]
    labels = spec.deployment["spec"]["template"]["metadata"]["labels"]
    assert labels == {**selector, "team": "a"}
    assert spec.deployment["metadata"]["labels"] == labels
    assert selector["app"] == "demo"


def test_on_services_user_labels_win() -> None:
    spec = session({"kubernetes.rest-service.labels": {"app": "other"}})

    assert accompanying(spec, "Service")["demo-rest"]["metadata"]["labels"]["app"] == "other"


def test_service_labels_came_with_a_later_version() -> None:
    spec = session({"kubernetes.rest-service.labels": "a:b"}, version="2.1")

    assert "a" not in accompanying(spec, "Service")["demo-rest"]["metadata"]["labels"]


def test_owner_references_have_booleans() -> None:
    owner = "apiVersion:v1,kind:K,name:n,uid:u,controller:TRUE,blockOwnerDeletion:no,foo:bar"
    spec = session({"kubernetes.jobmanager.owner.reference": owner})

    assert spec.deployment["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "K",
            "name": "n",
            "uid": "u",
            "controller": True,
            "blockOwnerDeletion": False,
        }
    ]


def test_tolerations_have_numbers_and_no_unknown_fields() -> None:
    option = "key:a,operator:Exists,effect:NoExecute,tolerationSeconds:60,color:red"
    spec = session({"kubernetes.jobmanager.tolerations": option})

    assert pod_spec(spec)["tolerations"] == [
        {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
    ]


@pytest.mark.parametrize(
    ("cpu", "factor", "request_", "limit"),
    [(1, 1, "1.0", "1.0"), (0.0001, 3, "1.0E-4", "3.0000000000000003E-4"), (2.7, 1.1, "2.7", None)],
)
def test_cpu_is_written_as_java_does(
    cpu: float, factor: float, request_: str, limit: str | None
) -> None:
    spec = session(
        {"kubernetes.jobmanager.cpu.amount": cpu, "kubernetes.jobmanager.cpu.limit-factor": factor}
    )

    resources = main_container(pod_spec(spec))["resources"]
    assert resources["requests"]["cpu"] == request_
    assert resources["limits"]["cpu"] == (limit or repr(cpu * factor))


def test_memory_limits_are_rounded_down_to_mebibytes() -> None:
    spec = session(
        {
            "jobmanager.memory.process.size": "1601m",
            "kubernetes.jobmanager.memory.limit-factor": 1.1,
        }
    )

    resources = main_container(pod_spec(spec))["resources"]
    assert resources["requests"]["memory"] == "1601Mi"
    assert resources["limits"]["memory"] == "1761Mi"


def test_memory_limits_end_where_javas_int_does() -> None:
    spec = session({"kubernetes.jobmanager.memory.limit-factor": 1e9})

    assert main_container(pod_spec(spec))["resources"]["limits"]["memory"] == "2147483647Mi"


def test_pull_secrets_are_trimmed() -> None:
    spec = session({"kubernetes.container.image.pull-secrets": " a ; ;b"})

    assert pod_spec(spec)["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]


# --- ports and services ----------------------------------------------------------------------


def test_host_network_has_no_container_ports_but_the_services_stay() -> None:
    spec = session({"kubernetes.hostnetwork.enabled": True})

    assert "ports" not in main_container(pod_spec(spec))
    assert pod_spec(spec)["dnsPolicy"] == "ClusterFirstWithHostNet"
    (port,) = accompanying(spec, "Service")["demo-rest"]["spec"]["ports"]
    assert port["targetPort"] == 8081


def test_high_availability_needs_no_internal_service() -> None:
    spec = session(
        {"high-availability.type": "kubernetes", "high-availability.storageDir": "s3://b"}
    )

    assert list(accompanying(spec, "Service")) == ["demo-rest"]


@pytest.mark.parametrize(
    ("exposed", "type_", "cluster_ip"),
    [
        ("ClusterIP", "ClusterIP", None),
        ("NodePort", "NodePort", None),
        ("LoadBalancer", "LoadBalancer", None),
        ("Headless_ClusterIP", "ClusterIP", "None"),
    ],
)
def test_the_rest_service_has_four_types(exposed: str, type_: str, cluster_ip: str | None) -> None:
    spec = session({"kubernetes.rest-service.exposed.type": exposed})

    service = accompanying(spec, "Service")["demo-rest"]["spec"]
    assert service["type"] == type_
    assert service.get("clusterIP") == cluster_ip


def test_the_rest_port_may_differ_from_the_one_that_is_bound() -> None:
    spec = session({"rest.port": 9000, "rest.bind-port": "9001"})

    (port,) = accompanying(spec, "Service")["demo-rest"]["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (9000, 9001)


# --- mounts, files, environment --------------------------------------------------------------


def test_secrets_become_volumes_and_variables() -> None:
    spec = session(
        {
            "kubernetes.secrets": {"s3": "/opt/s3"},
            "kubernetes.env.secretKeyRef": "env:KEY,secret:s3,key:access",
        }
    )

    container = main_container(pod_spec(spec))
    assert {"name": "s3-volume", "mountPath": "/opt/s3"} in container["volumeMounts"]
    assert environment(container)["KEY"] == {"secretKeyRef": {"key": "access", "name": "s3"}}


def test_time_zone_and_java_options_go_their_own_ways() -> None:
    """Variables to the pod; options of the JVM, with blanks or not, only to the file."""
    options = '-Da="b c" -Dq=$HOME'
    spec = session({"containerized.master.env.TZ": "Europe/Berlin", "env.java.opts.all": options})

    container = main_container(pod_spec(spec))
    assert environment(container)["TZ"] == "Europe/Berlin"
    assert container["args"] == ["bash", "-c", "kubernetes-jobmanager.sh kubernetes-session "]
    assert options in accompanying(spec, "ConfigMap")["flink-config-demo"]["data"]["config.yaml"]


def test_entrypoint_arguments_are_shell_text_as_they_are() -> None:
    spec = session({"kubernetes.jobmanager.entrypoint.args": "-Da=b $X"})

    assert main_container(pod_spec(spec))["args"][2].endswith("kubernetes-session -Da=b $X")


def test_a_krb5_conf_may_have_any_name(tmp_path: Path) -> None:
    file = tmp_path / "my.conf"
    file.write_text("[libdefaults]\n", encoding="utf-8")
    spec = session({"security.kerberos.krb5-conf.path": str(file)})

    (volume,) = (v for v in pod_spec(spec)["volumes"] if v["name"] == "kerberos-krb5conf-volume")
    assert volume["configMap"]["items"] == [{"key": "my.conf", "path": "krb5.conf"}]
    config_map = accompanying(spec, "ConfigMap")["kerberos-krb5conf-demo"]
    assert config_map["data"] == {"my.conf": "[libdefaults]\n"}
    assert "labels" not in config_map["metadata"]


def test_claims_are_mounted_read_only_if_asked() -> None:
    spec = session(
        {
            "kubernetes.persistent-volume-claims": "data.a:/data",
            "kubernetes.persistent-volume-claim-read-only": True,
        }
    )

    assert {
        "name": "data-a-pvc",
        "persistentVolumeClaim": {"claimName": "data.a", "readOnly": True},
    } in pod_spec(spec)["volumes"]


def test_claims_came_with_a_later_version() -> None:
    spec = session({"kubernetes.persistent-volume-claims": "data:/data"}, version="2.2")

    assert "data-pvc" not in str(spec.deployment)


# --- templates -------------------------------------------------------------------------------

CLASHES = """
kind: Pod
spec:
  containers:
    - name: flink-main-container
      ports: [{containerPort: 9999, name: rest}, {containerPort: 9249, name: metrics}]
      env: [{name: _POD_IP_ADDRESS, value: 1.2.3.4}, {name: MINE, value: x}]
      volumeMounts: [{name: v, mountPath: /opt/flink/conf}]
  volumes: [{name: v, emptyDir: {}}]
"""


def test_flinks_value_wins_and_it_is_said(tmp_path: Path) -> None:
    _, container, told = deployed_with_template(tmp_path, CLASHES)

    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports["rest"] == 8081
    assert ports["metrics"] == 9249
    assert [variable["name"] for variable in container["env"]].count("_POD_IP_ADDRESS") == 1
    assert environment(container)["_POD_IP_ADDRESS"] != "1.2.3.4"
    assert environment(container)["MINE"] == "x"
    paths = [each["mountPath"] for each in container["volumeMounts"]]
    assert paths.count("/opt/flink/conf") == 1
    for name in ("'rest'", "'_POD_IP_ADDRESS'", "'/opt/flink/conf'"):
        assert name in told


@pytest.mark.parametrize("policy", ["OnFailure", "Never"])
def test_a_deployment_restarts_always(tmp_path: Path, policy: str) -> None:
    spec, _, told = deployed_with_template(
        tmp_path, f"kind: Pod\nspec: {{restartPolicy: {policy}}}"
    )

    assert spec["restartPolicy"] == "Always"
    assert policy in told


def test_without_a_template_the_restart_policy_is_kubernetes_own() -> None:
    assert "restartPolicy" not in pod_spec(session())


def test_host_network_is_never_mixed_with_cluster_dns(tmp_path: Path) -> None:
    text = "kind: Pod\nspec: {hostNetwork: true, dnsPolicy: Default}\n"
    off, _, told = deployed_with_template(tmp_path, text)
    on, _, _ = deployed_with_template(tmp_path, text, kubernetes__hostnetwork__enabled=True)

    assert (off["hostNetwork"], off["dnsPolicy"]) == (False, "Default")
    assert "kubernetes.hostnetwork.enabled" in told
    assert (on["hostNetwork"], on["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")


def test_a_template_without_main_container_gets_one_after_the_others(tmp_path: Path) -> None:
    text = "kind: Pod\nspec: {containers: [{name: main, image: a}]}\n"
    spec, _, told = deployed_with_template(tmp_path, text)

    assert [each["name"] for each in spec["containers"]] == ["main", "flink-main-container"]
    assert "'main'" in told


def test_options_win_over_the_template_and_the_template_over_defaults(tmp_path: Path) -> None:
    text = """
kind: Pod
spec:
  serviceAccountName: from-template
  containers:
    - {name: flink-main-container, image: "template:1", imagePullPolicy: Never}
"""
    spec, container, _ = deployed_with_template(tmp_path, text)
    set_, chosen, _ = deployed_with_template(
        tmp_path,
        text,
        kubernetes__container__image__ref="option:2",
        kubernetes__service__account=None,
    )

    assert spec["serviceAccountName"] == spec["serviceAccount"] == "from-template"
    assert (container["image"], container["imagePullPolicy"]) == ("template:1", "Never")
    assert (chosen["image"], chosen["imagePullPolicy"]) == ("option:2", "Never")
    assert set_["serviceAccountName"] == "from-template"


def test_other_resources_of_a_template_stay(tmp_path: Path) -> None:
    text = """
kind: Pod
spec:
  containers:
    - name: flink-main-container
      resources: {limits: {cpu: 7, nvidia.com/gpu: 1}, claims: [{name: c}]}
"""
    _, container, _ = deployed_with_template(tmp_path, text)

    assert container["resources"]["limits"] == {
        "cpu": "1.0",
        "memory": "1600Mi",
        "nvidia.com/gpu": "1",
    }
    assert container["resources"]["claims"] == [{"name": "c"}]


def test_a_roles_template_replaces_the_default_one_and_it_is_said(tmp_path: Path) -> None:
    default = tmp_path / "default.yaml"
    default.write_text(
        "kind: Pod\nspec: {volumes: [{name: a, emptyDir: {}}, {name: b, emptyDir: {}}]}\n",
        encoding="utf-8",
    )
    own = tmp_path / "own.yaml"
    own.write_text("kind: Pod\nspec: {volumes: [{name: c, emptyDir: {}}]}\n", encoding="utf-8")
    spec = session(
        {
            "kubernetes.pod-template-file.default": str(default),
            "kubernetes.pod-template-file.jobmanager": str(own),
        }
    )

    volumes = {each["name"] for each in pod_spec(spec)["volumes"]}
    assert "c" in volumes
    assert not {"a", "b"} & volumes
    assert "volume a, volume b" in messages(spec)


def test_the_taskmanagers_template_travels_as_it_is(tmp_path: Path) -> None:
    text = "# mine\nkind: Pod\nspec: {priorityClassName: low}\n"
    file = template(tmp_path, text)
    spec = session({"kubernetes.pod-template-file.taskmanager": file})

    data = accompanying(spec, "ConfigMap")["pod-template-demo"]["data"]
    assert data == {"taskmanager-pod-template.yaml": text}
    mounts = main_container(pod_spec(spec))["volumeMounts"]
    assert {"name": "pod-template-volume", "mountPath": "/opt/flink/pod-template"} in mounts
    assert "priorityClassName" not in pod_spec(spec)


# --- the order of things ---------------------------------------------------------------------


def test_accompanying_objects_come_in_flinks_order(tmp_path: Path) -> None:
    (tmp_path / "user.keytab").write_bytes(b"k")
    (tmp_path / "krb5.conf").write_text("", encoding="utf-8")
    hadoop = tmp_path / "hadoop"
    hadoop.mkdir()
    (hadoop / "core-site.xml").write_text("<c/>", encoding="utf-8")
    values = {
        "security.kerberos.login.keytab": str(tmp_path / "user.keytab"),
        "security.kerberos.login.principal": "u@R",
        "security.kerberos.krb5-conf.path": str(tmp_path / "krb5.conf"),
        "kubernetes.pod-template-file.taskmanager": template(tmp_path, "kind: Pod\n"),
    }
    spec = session(values, environ={"HADOOP_CONF_DIR": str(hadoop)})

    assert [obj["metadata"]["name"] for obj in spec.accompanying] == [
        "demo",
        "demo-rest",
        "hadoop-config-demo",
        "kerberos-keytab-demo",
        "kerberos-krb5conf-demo",
        "flink-config-demo",
        "pod-template-demo",
    ]


def test_building_twice_gives_the_same() -> None:
    """Nothing that a decorator gets is changed by it."""
    assert session() == session()
