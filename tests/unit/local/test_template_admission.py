"""TaskManager pods get what their pod template says, by Flink's rules."""

from __future__ import annotations

from kubeflink import objects
from kubeflink.apiserver.admission import AdmissionRequest
from kubeflink.local.template_admission import (
    TEMPLATE_KEY,
    TaskManagerTemplateAdmission,
    merge_template,
)
from kubeflink.objects import JsonObject


def flink_pod() -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "demo-taskmanager-1-1",
            "labels": {"component": "taskmanager", "app": "demo"},
            "ownerReferences": [{"kind": "Deployment", "uid": "u"}],
        },
        "spec": {
            "restartPolicy": "Never",
            "hostNetwork": False,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "containers": [
                {
                    "name": "flink-main-container",
                    "image": "apache/flink:2.3.0",
                    "env": [{"name": "OURS", "value": "1"}],
                    "resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "1Gi"}},
                    "volumeMounts": [
                        {"name": "flink-config-volume", "mountPath": "/opt/flink/conf"}
                    ],
                }
            ],
            "volumes": [{"name": "flink-config-volume", "configMap": {"name": "c"}}],
        },
    }


TEMPLATE: JsonObject = {
    "metadata": {"labels": {"component": "mine", "tier": "worker"}, "annotations": {"a": "b"}},
    "spec": {
        "restartPolicy": "Always",
        "hostNetwork": True,
        "dnsPolicy": "Default",
        "serviceAccountName": "worker",
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "k"}],
        "initContainers": [{"name": "init", "image": "i"}],
        "containers": [
            {
                "name": "flink-main-container",
                "image": "other",
                "env": [{"name": "OURS", "value": "2"}, {"name": "THEIRS", "value": "3"}],
                "resources": {"requests": {"memory": "9Gi", "gpu": "1"}},
                "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
            },
            {"name": "sidecar", "image": "s"},
        ],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    },
}


def test_lists_are_joined_and_what_flink_sets_counts() -> None:
    pod = merge_template(TEMPLATE, flink_pod())
    spec = pod["spec"]
    main, sidecar = spec["containers"]

    assert pod["metadata"]["labels"] == {
        "component": "taskmanager",
        "tier": "worker",
        "app": "demo",
    }
    assert pod["metadata"]["annotations"] == {"a": "b"}
    assert (spec["restartPolicy"], spec["hostNetwork"]) == ("Never", False)
    assert (spec["dnsPolicy"], spec["serviceAccountName"]) == ("Default", "worker")
    assert (spec["nodeSelector"], spec["tolerations"]) == ({"disk": "ssd"}, [{"key": "k"}])
    assert [volume["name"] for volume in spec["volumes"]] == ["scratch", "flink-config-volume"]
    assert [each["name"] for each in spec["initContainers"]] == ["init"]
    assert sidecar["name"] == "sidecar"
    assert main["image"] == "apache/flink:2.3.0"
    assert {each["name"]: each["value"] for each in main["env"]} == {"THEIRS": "3", "OURS": "1"}
    assert main["resources"]["requests"] == {"memory": "1Gi", "gpu": "1"}
    assert [each["mountPath"] for each in main["volumeMounts"]] == ["/scratch", "/opt/flink/conf"]


def test_an_empty_template_changes_nothing() -> None:
    pod = flink_pod()
    assert merge_template({}, flink_pod()) == pod


def admit(pod: JsonObject, *, uid: str = "u", data: JsonObject | None = None) -> JsonObject:
    items = [{"key": TEMPLATE_KEY, "path": TEMPLATE_KEY}]
    volume = {"name": "t", "configMap": {"name": "pod-template-demo", "items": items}}
    stored = {
        objects.DEPLOYMENTS: [
            {
                "metadata": {"name": "demo", "namespace": "default", "uid": uid},
                "spec": {"template": {"spec": {"volumes": [volume]}}},
            }
        ],
        objects.CONFIG_MAPS: [
            {
                "metadata": {"name": "pod-template-demo", "namespace": "default"},
                "data": data or {TEMPLATE_KEY: "metadata: {labels: {tier: worker}}"},
            }
        ],
    }
    request = AdmissionRequest("CREATE", objects.PODS, pod, None, lambda kind: stored[kind])
    TaskManagerTemplateAdmission().admit(request)
    return pod


def test_the_template_comes_from_the_config_map_that_the_owner_mounts() -> None:
    assert admit(flink_pod())["metadata"]["labels"]["tier"] == "worker"


def test_pods_of_others_pass_unchanged() -> None:
    assert admit(flink_pod(), uid="somebody else") == flink_pod()
    jobmanager = flink_pod()
    jobmanager["metadata"]["labels"]["component"] = "jobmanager"
    assert "tier" not in admit(jobmanager)["metadata"]["labels"]
