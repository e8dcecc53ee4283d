"""A cluster with a broker: its objects, and a JobManager that has nothing else."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from kubeflink import config, objects, spec
from kubeflink.objects import JsonObject
from kubeflink.spec import JobManagerSpec

SIZES = {
    "kubernetes.cluster-id": "demo",
    "kubernetes.namespace": "flink",
    "jobmanager.memory.process.size": "1600m",
    "taskmanager.memory.process.size": "1728m",
}
ENABLED = {"kubeflink.broker.enabled": "true"}


def built(options: Mapping[str, str] = ENABLED) -> JobManagerSpec:
    loaded = config.load(conf_dir=None, dynamic=list({**SIZES, **options}.items()), environ={})
    return spec.build_jobmanager(spec.session_configuration(loaded), environ={})


def application(options: Mapping[str, str] | None = None, version: str = "2.3.0") -> JobManagerSpec:
    values = {**SIZES, **ENABLED, **(options or {})}
    loaded = config.load(conf_dir=None, dynamic=list(values.items()), version=version, environ={})
    program = spec.Program(uri="local:///opt/flink/usrlib/job.jar")
    return spec.build_jobmanager(spec.application_configuration(loaded, program), environ={})


def of_kind(found: JobManagerSpec, kind: str, name: str) -> JsonObject:
    (one,) = (o for o in found.objects if o["kind"] == kind and objects.name_of(o) == name)
    return one


def test_without_the_option_nothing_changes() -> None:
    assert [objects.name_of(o) for o in built({}).objects if "broker" in objects.name_of(o)] == []


def test_flinks_own_objects_come_first() -> None:
    plain, with_broker = built({}), built()
    names = [(o["kind"], objects.name_of(o)) for o in plain.objects]

    assert [(o["kind"], objects.name_of(o)) for o in with_broker.objects][: len(names)] == names
    assert [o["kind"] for o in with_broker.objects[len(names) :]] == [
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "Secret",
        "Secret",
        "Service",
        "Deployment",
    ]


def test_the_jobmanager_has_no_token_and_finds_its_broker() -> None:
    found = built()
    pod = found.deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    variables = {each["name"]: each.get("value") for each in container["env"]}

    assert pod["automountServiceAccountToken"] is False
    assert variables["KUBECONFIG"] == "/opt/kubeflink/broker/kubeconfig"
    assert variables["KUBERNETES_MASTER"] == "https://demo-broker.flink:8443"
    assert {"name": "kubeflink-broker-volume", "secret": {"secretName": "demo-broker-client"}} in (
        pod["volumes"]
    )


def test_the_jobmanagers_kubeconfig_has_no_key_of_the_broker() -> None:
    found = built(ENABLED | {"kubernetes.context": "prod"})
    client, own = (
        of_kind(found, "Secret", "demo-broker-client"),
        of_kind(found, "Secret", "demo-broker"),
    )
    assert client["data"].keys() == {"kubeconfig"}
    kubeconfig = yaml.safe_load(base64.b64decode(client["data"]["kubeconfig"]))
    token = base64.b64decode(own["data"]["token"]).decode()

    assert kubeconfig["current-context"] == "prod"  # Flink looks for the context that is set
    assert kubeconfig["users"][0]["user"]["token"] == token
    assert "PRIVATE" not in str(kubeconfig)
    assert len(token) >= 32


def test_no_two_clusters_have_the_same_token() -> None:
    assert of_kind(built(), "Secret", "demo-broker") != of_kind(built(), "Secret", "demo-broker")


def test_the_certificate_has_the_services_names() -> None:
    from cryptography import x509

    own = of_kind(built(), "Secret", "demo-broker")
    certificate = x509.load_pem_x509_certificate(base64.b64decode(own["data"]["tls.crt"]))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value

    assert {"demo-broker.flink", "demo-broker.flink.svc"} <= set(
        names.get_values_for_type(x509.DNSName)
    )


HA = {
    "high-availability.type": "kubernetes",
    "high-availability.storageDir": "s3://bucket/ha",
}
SELF_DELETION = {"kubeflink.broker.self-deletion": "true"}

Rights = dict[tuple[str, ...], tuple[list[str] | None, set[str]]]

OF_A_SESSION: Rights = {
    ("", "pods"): (None, {"list", "watch", "create", "delete"}),
    ("apps", "deployments"): (["demo"], {"get"}),
    ("", "services"): (["demo-rest", "demo"], {"get", "update"}),
}
DELETION: Rights = {("apps", "deployments"): (["demo"], {"get", "delete"})}
SCALING: Rights = {("apps", "deployments/scale"): (["demo"], {"patch"})}


def rights(found: JobManagerSpec) -> Rights:
    """What the Role allows, but for ConfigMaps."""
    role = of_kind(found, "Role", "demo-broker")
    return {
        (*rule["apiGroups"], *rule["resources"]): (rule.get("resourceNames"), set(rule["verbs"]))
        for rule in role["rules"]
        if rule["resources"] != ["configmaps"]
    }


def config_map_rights(found: JobManagerSpec) -> list[tuple[list[str] | None, list[str]]]:
    return [
        (rule.get("resourceNames"), rule["verbs"])
        for rule in of_kind(found, "Role", "demo-broker")["rules"]
        if rule["resources"] == ["configmaps"]
    ]


def test_the_role_of_a_session_is_as_small_as_can_be() -> None:
    assert rights(built()) == OF_A_SESSION
    assert rights(built(ENABLED | HA)) == OF_A_SESSION
    assert config_map_rights(built()) == []


def test_only_who_ends_itself_may_delete_its_deployment() -> None:
    """And scale it to none, where there is something to be cleaned up meanwhile."""
    assert rights(application()) == OF_A_SESSION | DELETION
    assert rights(application(HA)) == OF_A_SESSION | DELETION | SCALING
    assert rights(built(ENABLED | HA | SELF_DELETION)) == OF_A_SESSION | DELETION | SCALING
    assert rights(application({"kubeflink.broker.self-deletion": "false"})) == OF_A_SESSION


@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
def test_config_maps_are_named_where_their_names_are_known(version: str) -> None:
    """Jobs of a session have random ids, and so may have those of an application from 2.x on."""
    known = ["demo-cluster-config-map", "demo-00000000002efde30000000000000000-config-map"]
    anywhere = (None, ["list", "watch", "create"])

    of_session, of_application = built(ENABLED | HA), application(HA, version)

    assert config_map_rights(of_session) == [anywhere, (None, ["get", "update", "delete"])]
    names = known if version == "1.20.5" else None
    assert config_map_rights(of_application) == [anywhere, (names, ["get", "update", "delete"])]


def test_an_account_that_exists_is_used() -> None:
    found = built(ENABLED | {"kubeflink.broker.service-account": "theirs"})

    kinds = {o["kind"] for o in found.objects}
    assert not kinds & {"ServiceAccount", "Role", "RoleBinding"}
    pod = of_kind(found, "Deployment", "demo-broker")["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "theirs"


def test_the_brokers_pod_is_locked_down() -> None:
    broker = of_kind(built(), "Deployment", "demo-broker")
    pod = broker["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["command"] == ["kubeflink"]
    assert container["args"][:4] == ["--flink-version", "2.3.0", "broker", "demo"]
    assert "type" not in objects.labels_of(broker)  # it is no Flink cluster


def test_the_image_or_the_cluster_say_as_whom_it_runs() -> None:
    """OpenShift gives each namespace ids of its own, and refuses a pod that wants another one."""
    pod = of_kind(built(), "Deployment", "demo-broker")["spec"]["template"]["spec"]

    assert "runAsUser" not in str(pod)


ONLY_LINUX = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "os", "operator": "Exists"}]}]}
APART = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}]
TEMPLATE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "spec": {
        "priorityClassName": "high",
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ONLY_LINUX},
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": APART},
        },
    },
}


def test_a_broker_may_run_where_its_jobmanager_may(tmp_path: Path) -> None:
    (tmp_path / "template.yaml").write_text(yaml.safe_dump(TEMPLATE))
    placed = {
        "kubernetes.jobmanager.node-selector": "pool:flink",
        "kubernetes.jobmanager.tolerations": "key:flink,operator:Exists,effect:NoSchedule",
        "kubernetes.taskmanager.node-selector": "pool:gpu",
        "kubernetes.pod-template-file.jobmanager": str(tmp_path / "template.yaml"),
    }
    pod = of_kind(built(ENABLED | placed), "Deployment", "demo-broker")["spec"]["template"]["spec"]

    assert pod["nodeSelector"] == {"pool": "flink"}
    assert pod["tolerations"] == [{"key": "flink", "operator": "Exists", "effect": "NoSchedule"}]
    assert pod["priorityClassName"] == "high"
    assert list(pod["affinity"]) == ["nodeAffinity"]  # kept apart, it might have no node


def test_without_a_word_about_it_a_broker_may_run_anywhere() -> None:
    pod = of_kind(built(), "Deployment", "demo-broker")["spec"]["template"]["spec"]

    assert not {"nodeSelector", "tolerations", "affinity", "priorityClassName"} & set(pod)


def test_a_broker_that_is_not_ready_can_be_asked_why() -> None:
    service = of_kind(built(), "Service", "demo-broker")

    assert service["spec"]["publishNotReadyAddresses"] is True


def test_the_longest_cluster_id_leaves_room() -> None:
    loaded = SIZES | ENABLED | {"kubernetes.cluster-id": "a" * 45}

    assert all(len(objects.name_of(o)) <= 63 for o in built(loaded).objects)
