"""A conversation with a Kubernetes API server, and what of its answers has to be the same anywhere.

The calls are those that Flink's client, kubeflink and kubectl make, with the mistakes that people
make. They build on each other: a call finds what those before it have made, so they run in order,
in a namespace `default` that is empty before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from kubeflink.objects import JsonObject

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"

CORE = "/api/v1/namespaces/default"
APPS = "/apis/apps/v1/namespaces/default"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"


@dataclass(frozen=True)
class Call:
    """One request. `body` is sent as JSON, or as it is if it is text."""

    method: str
    path: str
    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    accept: str = "application/json"

    def __str__(self) -> str:
        query = "&".join(f"{key}={value}" for key, value in self.query.items())
        short = "" if self.body is None else f" {json.dumps(self.body)[:100]}"
        return f"{self.method} {self.path}{'?' if query else ''}{query}{short}"


def get(path: str, **more: Any) -> Call:
    return Call("GET", path, **more)


def post(path: str, body: Any, **more: Any) -> Call:
    return Call("POST", path, body, **more)


def put(path: str, body: Any, **more: Any) -> Call:
    return Call("PUT", path, body, **more)


def patch(path: str, body: Any, content_type: str = MERGE, **more: Any) -> Call:
    return Call("PATCH", path, body, content_type=content_type, **more)


def delete(path: str, body: Any = None, **more: Any) -> Call:
    return Call("DELETE", path, body, **more)


async def answer(http: httpx2.AsyncClient, call: Call) -> JsonObject:
    """Status code and body of the answer, without what is another one at every call."""
    content = call.body if isinstance(call.body, str) else json.dumps(call.body)
    response = await http.request(
        call.method,
        call.path,
        params=dict(call.query),
        content=None if call.body is None else content,
        headers={"Content-Type": call.content_type, "Accept": call.accept},
        timeout=30,
    )
    try:
        body = response.json()
    except ValueError:
        body = response.text
    kind = response.headers.get("Content-Type", "").partition(";")[0]
    return {"code": response.status_code, "type": kind, "body": settled(body)}


_CHANGING = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "deletionTimestamp")
_GIVEN = ("clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort", "podIP", "podIPs")


def settled(value: Any) -> Any:
    """The value with a mark in the place of everything that depends on time and chance."""
    if isinstance(value, list):
        return [settled(each) for each in value]
    if not isinstance(value, Mapping):
        return _settled_text(value) if isinstance(value, str) else value
    found = {}
    for key, each in value.items():
        if key == "managedFields":
            continue
        if key in _CHANGING or (key in _GIVEN and each not in ("None", ["None"])):
            found[key] = "*"
        else:
            found[key] = settled(each)
    return found


def _settled_text(text: str) -> str:
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uid>", text)
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:]{8}(\.\d+)?Z", "<time>", text)


def differences(one: Any, other: Any, path: str = "") -> list[str]:
    """Where two settled answers differ; the first is the real server's."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        found = []
        for key in sorted({*one, *other}):
            where = f"{path}.{key}"
            if key not in other:
                found.append(f"{where}: really {_short(one[key])}, here not there")
            elif key not in one:
                found.append(f"{where}: really not there, here {_short(other[key])}")
            else:
                found += differences(one[key], other[key], where)
        return found
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [each for i, (a, b) in pairs for each in differences(a, b, f"{path}[{i}]")]
    return [] if one == other else [f"{path}: really {_short(one)}, here {_short(other)}"]


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) < 300 else f"{text[:297]}..."


def labelled(kind: str, name: str, api_version: str = "v1", **more: Any) -> JsonObject:
    """An object of the cluster `demo`."""
    metadata = {"name": name, "labels": {"app": "demo", "type": "flink-native-kubernetes"}}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


def pod_spec(**more: Any) -> JsonObject:
    container = {
        "name": "flink-main-container",
        "image": "flink:2.3.0",
        "resources": {"requests": {"cpu": "1.0", "memory": "1600Mi"}},
        "ports": [{"name": "rest", "containerPort": 8081}],
        **more,
    }
    return {"containers": [container]}


def pod(pod_name: str, **more: Any) -> JsonObject:
    return labelled("Pod", pod_name, spec=pod_spec(**more))


def deployment(name: str, **more: Any) -> JsonObject:
    labels = {"app": name, "component": "jobmanager"}
    return labelled(
        "Deployment",
        name,
        "apps/v1",
        spec={
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec()},
            **more,
        },
    )


def config_map(name: str, **data: str) -> JsonObject:
    return labelled("ConfigMap", name, data=data)


def service(name: str, **spec: Any) -> JsonObject:
    ports = [{"name": "rest", "port": 8081, "targetPort": 8081}]
    return labelled("Service", name, spec={"ports": ports, "selector": {"app": "demo"}, **spec})


REVIEW = {
    "apiVersion": "authorization.k8s.io/v1",
    "kind": "SelfSubjectAccessReview",
    "spec": {"resourceAttributes": {"namespace": "default", "verb": "create", "resource": "pods"}},
}

CONFIG_MAPS, PODS, SERVICES = f"{CORE}/configmaps", f"{CORE}/pods", f"{CORE}/services"
SECRETS, DEPLOYMENTS = f"{CORE}/secrets", f"{APPS}/deployments"
DRY = {"dryRun": "All"}
UID = "3d1d5b1c-6bc5-4d17-9cc9-a5a3f31c5a91"

CONVERSATIONS: Mapping[str, tuple[Call, ...]] = {
    "config maps": (
        get(f"{CONFIG_MAPS}/a"),
        post(CONFIG_MAPS, config_map("a", key="value")),
        post(CONFIG_MAPS, config_map("a", key="other")),
        get(f"{CONFIG_MAPS}/a"),
        get(CONFIG_MAPS, query={"labelSelector": "app=demo"}),
        get(CONFIG_MAPS, query={"labelSelector": "app=none"}),
        get(CONFIG_MAPS, query={"labelSelector": "app in (demo,x),!gone"}),
        get(CONFIG_MAPS, query={"labelSelector": "a=="}),
        get(CONFIG_MAPS, query={"labelSelector": "a b"}),
        get(CONFIG_MAPS, query={"labelSelector": "app in demo"}),
        get(CONFIG_MAPS, query={"fieldSelector": "metadata.name=a"}),
        get(CONFIG_MAPS, query={"fieldSelector": "data.key=a"}),
        get(CONFIG_MAPS, query={"fieldSelector": "metadata.name"}),
        put(f"{CONFIG_MAPS}/a", config_map("a", key="changed")),
        put(f"{CONFIG_MAPS}/a", config_map("b", key="changed")),
        put(f"{CONFIG_MAPS}/none", config_map("none", key="changed")),
        put(
            f"{CONFIG_MAPS}/a",
            {**config_map("a"), "metadata": {"name": "a", "resourceVersion": "1"}},
        ),
        put(f"{CONFIG_MAPS}/a", {**config_map("a"), "metadata": {"name": "a", "uid": UID}}),
        patch(f"{CONFIG_MAPS}/a", {"data": {"key": None, "new": "x"}}),
        patch(f"{CONFIG_MAPS}/a", [{"op": "add", "path": "/data/more", "value": "y"}], JSON_PATCH),
        patch(f"{CONFIG_MAPS}/a", [{"op": "test", "path": "/data/more", "value": "n"}], JSON_PATCH),
        patch(f"{CONFIG_MAPS}/a", [{"op": "remove", "path": "/data/none"}], JSON_PATCH),
        patch(f"{CONFIG_MAPS}/a", [{"op": "swap", "path": "/data/none"}], JSON_PATCH),
        patch(f"{CONFIG_MAPS}/a", {"op": "add"}, JSON_PATCH),
        patch(f"{CONFIG_MAPS}/a", {"data": {"new": "z"}}, STRATEGIC),
        patch(f"{CONFIG_MAPS}/a", {"metadata": {"resourceVersion": "1"}}),
        patch(f"{CONFIG_MAPS}/a", {"metadata": {"name": "b"}}),
        patch(f"{CONFIG_MAPS}/a", {"data": "text"}),
        patch(f"{CONFIG_MAPS}/a", {"data": {"n": 1}}),
        patch(f"{CONFIG_MAPS}/a", {}, "text/plain"),
        patch(f"{CONFIG_MAPS}/none", {"data": {}}),
        patch(f"{CONFIG_MAPS}/a", "{", MERGE),
        delete(f"{CONFIG_MAPS}/a", {"preconditions": {"uid": UID}}),
        delete(f"{CONFIG_MAPS}/a", {"preconditions": {"resourceVersion": "1"}}),
        delete(f"{CONFIG_MAPS}/a", {"propagationPolicy": "Sideways"}),
        delete(f"{CONFIG_MAPS}/a", {"dryRun": ["All"]}),
        delete(f"{CONFIG_MAPS}/a", {"kind": "DeleteOptions", "apiVersion": "v1"}),
        delete(f"{CONFIG_MAPS}/a"),
    ),
    "bodies": (
        post(CONFIG_MAPS, "{"),
        post(CONFIG_MAPS, ""),
        post(CONFIG_MAPS, "[]"),
        post(CONFIG_MAPS, "null"),
        post(CONFIG_MAPS, "text"),
        post(CONFIG_MAPS, {}),
        post(CONFIG_MAPS, {"kind": "ConfigMap"}),
        post(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap"}),
        post(CONFIG_MAPS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}),
        post(CONFIG_MAPS, {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "x"}}),
        post(CONFIG_MAPS, config_map("x"), content_type="application/xml"),
        post(CONFIG_MAPS, {**config_map("x"), "metadata": {"name": "x", "namespace": "other"}}),
        post(CONFIG_MAPS, {**config_map("X_1")}),
        post(CONFIG_MAPS, {**config_map("x"), "data": {"a b": "c"}}),
        post(CONFIG_MAPS, {**config_map("x"), "data": {"a": 1}}),
        post(CONFIG_MAPS, {**config_map("x"), "data": ["a"]}),
        post(CONFIG_MAPS, {**config_map("x"), "metadata": {"name": "x", "labels": {"a": "b c"}}}),
        post(CONFIG_MAPS, {**config_map("x"), "metadata": {"name": "x", "labels": {"a/b/c": "b"}}}),
        post(CONFIG_MAPS, {**config_map("x"), "metadata": {"name": "x", "labels": "no"}}),
        post(CONFIG_MAPS, {**config_map("x"), "metadata": {"name": "x", "resourceVersion": "7"}}),
        post(CONFIG_MAPS, {**config_map("x"), "metadata": {"name": 7}}),
        post(
            CONFIG_MAPS,
            {**config_map("x"), "more": "x"},
            query={"fieldValidation": "Strict", "dryRun": "All"},
        ),
        post(
            CONFIG_MAPS,
            {**config_map("x"), "more": "x"},
            query={"fieldValidation": "Warn", "dryRun": "All"},
        ),
        post(CONFIG_MAPS, config_map("x"), query={"fieldValidation": "Maybe", "dryRun": "All"}),
        post(CONFIG_MAPS, config_map("dry"), query={"dryRun": "All"}),
        post(CONFIG_MAPS, config_map("dry"), query={"dryRun": "Some"}),
        get(f"{CONFIG_MAPS}/dry"),
        post("/api/v1/namespaces/nowhere/configmaps", config_map("x")),
        get("/api/v1/namespaces/nowhere/configmaps"),
        post(
            CONFIG_MAPS,
            {**config_map("x"), "metadata": {"name": "x", "ownerReferences": [{"kind": "Pod"}]}},
        ),
        post(
            CONFIG_MAPS,
            {
                **config_map("owned"),
                "metadata": {
                    "name": "owned",
                    "ownerReferences": [
                        {
                            "apiVersion": "apps/v1",
                            "kind": "Deployment",
                            "name": "d",
                            "uid": UID,
                            "controller": True,
                            "blockOwnerDeletion": True,
                        }
                    ],
                },
            },
        ),
        post(CONFIG_MAPS, {**config_map("x"), "metadata": {"generateName": "x-", "name": "fixed"}}),
        delete(CONFIG_MAPS, query={"labelSelector": "app=none"}),
        delete(CONFIG_MAPS),
        get(CONFIG_MAPS),
    ),
    "paths": (
        get("/api"),
        get("/apis"),
        get("/api/v1"),
        get("/apis/apps"),
        get("/apis/apps/v1"),
        get("/apis/apps/v2"),
        get("/apis/nothing/v1"),
        get("/version"),
        get("/healthz"),
        get("/readyz"),
        get("/livez"),
        get("/none"),
        get(f"{CORE}/nothings"),
        get(f"{CORE}/nothings/a"),
        get(f"{PODS}/a/nothing"),
        Call("PUT", CONFIG_MAPS, config_map("a")),
        Call("PATCH", CONFIG_MAPS, {}, content_type=MERGE),
        Call("POST", f"{CONFIG_MAPS}/a", config_map("a")),
        Call("OPTIONS", CONFIG_MAPS),
        get(CONFIG_MAPS, accept="text/html"),
        get(CONFIG_MAPS, accept="application/yaml"),
        get(CONFIG_MAPS, query={"limit": "x"}),
        get(CONFIG_MAPS, query={"continue": "x"}),
        get(CONFIG_MAPS, query={"resourceVersion": "x"}),
        get(CONFIG_MAPS, query={"resourceVersion": "99999999999999"}),
        get(CONFIG_MAPS, query={"watch": "true", "resourceVersion": "x"}),
        get(CONFIG_MAPS, query={"resourceVersionMatch": "Exact"}),
        get(CONFIG_MAPS, query={"resourceVersionMatch": "Maybe", "resourceVersion": "1"}),
    ),
    "pods": (
        post(PODS, pod("p")),
        get(f"{PODS}/p"),
        post(PODS, pod("q", resources={"limits": {"memory": "1.5Gi", "cpu": "500m"}})),
        post(PODS, pod("q", resources={"limits": {"memory": "x"}})),
        post(
            PODS, pod("q", resources={"limits": {"memory": "1Gi"}, "requests": {"memory": "2Gi"}})
        ),
        post(PODS, pod("q", resources={"limits": {"memory": "-1"}})),
        post(PODS, pod("q", resources={"limits": {"gpu": "1"}})),
        post(PODS, pod("q", resources={"requests": {"nvidia.com/gpu": "1"}})),
        post(PODS, pod("q", image="")),
        post(PODS, pod("q", image=" x")),
        post(PODS, pod("q", name="A")),
        post(PODS, pod("q", ports=[{"containerPort": 0}])),
        post(PODS, pod("q", ports=[{"containerPort": 99999}])),
        post(PODS, pod("q", ports=[{"containerPort": 1, "name": "with space"}])),
        post(
            PODS,
            pod("q", ports=[{"containerPort": 1, "name": "x"}, {"containerPort": 2, "name": "x"}]),
        ),
        post(PODS, pod("q", env=[{"name": "", "value": "x"}])),
        post(PODS, pod("q", env=[{"name": "a=b", "value": "x"}])),
        post(PODS, pod("q", env=[{"name": "A", "value": 1}])),
        post(
            PODS,
            pod(
                "q",
                env=[
                    {
                        "name": "A",
                        "value": "1",
                        "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}},
                    }
                ],
            ),
        ),
        post(
            PODS,
            pod(
                "q", env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.nothing"}}}]
            ),
        ),
        post(PODS, pod("q", volumeMounts=[{"name": "none", "mountPath": "/x"}])),
        post(PODS, pod("q", volumeMounts=[{"name": "none"}])),
        post(PODS, pod("q", imagePullPolicy="Sometimes")),
        post(PODS, pod("q", command="sh")),
        post(PODS, labelled("Pod", "q", spec={})),
        post(PODS, labelled("Pod", "q")),
        post(PODS, labelled("Pod", "q", spec={**pod_spec(), "restartPolicy": "Perhaps"})),
        post(PODS, labelled("Pod", "q", spec={**pod_spec(), "dnsPolicy": "Perhaps"})),
        post(PODS, labelled("Pod", "q", spec={**pod_spec(), "hostNetwork": True})),
        post(
            PODS,
            labelled("Pod", "q2", spec={**pod_spec(), "serviceAccountName": "Flink_1"}),
            query=DRY,
        ),
        post(
            PODS,
            labelled("Pod", "q", spec={**pod_spec(), "volumes": [{"name": "a"}, {"name": "a"}]}),
        ),
        post(
            PODS,
            labelled("Pod", "q", spec={**pod_spec(), "volumes": [{"name": "a", "configMap": {}}]}),
        ),
        post(
            PODS,
            labelled(
                "Pod",
                "q",
                spec={
                    **pod_spec(),
                    "volumes": [
                        {"name": "a", "configMap": {"name": "x"}, "secret": {"secretName": "x"}}
                    ],
                },
            ),
        ),
        post(
            PODS, labelled("Pod", "q", spec={**pod_spec(), "tolerations": [{"operator": "Equal"}]})
        ),
        post(PODS, labelled("Pod", "q", spec={**pod_spec(), "nodeSelector": {"a": 1}})),
        post(PODS, labelled("Pod", "q", spec={**pod_spec(), "terminationGracePeriodSeconds": -1})),
        post(
            PODS,
            labelled(
                "Pod",
                "q",
                spec={"containers": [*pod_spec()["containers"], *pod_spec()["containers"]]},
            ),
        ),
        post(PODS, labelled("Pod", "p" * 260, spec=pod_spec())),
        post(PODS, {**pod("r"), "status": {"phase": "Running"}}),
        get(PODS, query={"fieldSelector": "status.phase=Pending"}),
        get(PODS, query={"fieldSelector": "spec.nodeName="}),
        get(PODS, query={"fieldSelector": "spec.image=x"}),
        get(PODS, query={"limit": "1"}),
        patch(f"{PODS}/p", {"metadata": {"labels": {"new": "x"}}}),
        patch(
            f"{PODS}/p",
            {"spec": {"containers": [{"name": "flink-main-container", "image": "flink:2.2"}]}},
            STRATEGIC,
        ),
        patch(f"{PODS}/p", {"spec": {"hostNetwork": True}}),
        patch(f"{PODS}/p", {"spec": {"nodeName": "node-1"}}),
        patch(f"{PODS}/p", {"status": {"phase": "Failed"}}),
        patch(f"{PODS}/p/status", {"status": {"phase": "Running", "podIP": "10.0.0.7"}}),
        patch(
            f"{PODS}/p/status",
            {"metadata": {"labels": {"by": "status"}}, "status": {"phase": "Running"}},
        ),
        post(
            f"{PODS}/p/binding",
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "p"},
                "target": {"kind": "Node", "name": "node-1"},
            },
        ),
        get(f"{PODS}/p"),
        get(f"{PODS}/p/status"),
        get(f"{PODS}/none/exec"),
        delete(f"{PODS}/p", {"gracePeriodSeconds": 5}),
        get(f"{PODS}/p"),
        delete(f"{PODS}/p", {"gracePeriodSeconds": 0}),
        get(f"{PODS}/p"),
        delete(f"{PODS}/q", {"gracePeriodSeconds": -3}),
        delete(PODS),
        get(PODS),
    ),
    "services": (
        post(SERVICES, service("demo-rest")),
        post(SERVICES, service("demo", clusterIP="None")),
        post(SERVICES, service("demo-np", type="NodePort")),
        post(SERVICES, service("demo-lb", type="LoadBalancer")),
        post(SERVICES, service("1demo")),
        post(SERVICES, service("demo-x", ports=[])),
        post(SERVICES, service("demo-x", ports=[{"port": 0}])),
        post(SERVICES, service("demo-x", ports=[{"port": 80}, {"port": 81}])),
        post(
            SERVICES,
            service("demo-x", ports=[{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]),
        ),
        post(
            SERVICES,
            service("demo-x", ports=[{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]),
        ),
        post(SERVICES, service("demo-x", type="Strange")),
        post(SERVICES, service("demo-x", clusterIP="1.2.3.4"), query=DRY),
        post(SERVICES, service("demo-x", clusterIP="no"), query=DRY),
        post(
            SERVICES,
            service("demo-x", type="NodePort", ports=[{"port": 80, "nodePort": 80}]),
            query=DRY,
        ),
        post(SERVICES, service("demo-x", selector={"a": "b c"})),
        post(SERVICES, labelled("Service", "demo-x")),
        put(
            f"{SERVICES}/demo-rest",
            service("demo-rest", ports=[{"port": 9999, "targetPort": "rest"}]),
        ),
        patch(f"{SERVICES}/demo-rest", {"spec": {"clusterIP": "10.96.7.7"}}),
        patch(f"{SERVICES}/demo-rest", {"spec": {"type": "NodePort"}}),
        patch(f"{SERVICES}/demo-rest", {"spec": {"type": "ClusterIP"}}),
        patch(
            f"{SERVICES}/demo-rest",
            {"spec": {"ports": [{"port": 9999, "targetPort": 7}]}},
            STRATEGIC,
        ),
        get(f"{SERVICES}/demo-rest"),
        delete(f"{SERVICES}/demo-lb"),
        delete(f"{SERVICES}/none"),
    ),
    "deployments": (
        post(DEPLOYMENTS, deployment("demo")),
        post(DEPLOYMENTS, deployment("demo")),
        get(f"{DEPLOYMENTS}/demo"),
        post(DEPLOYMENTS, deployment("x", selector={"matchLabels": {"app": "y"}})),
        post(DEPLOYMENTS, deployment("x", selector=None)),
        post(DEPLOYMENTS, deployment("x", selector={})),
        post(DEPLOYMENTS, deployment("x", replicas=-1)),
        post(DEPLOYMENTS, deployment("x", replicas="1")),
        post(
            DEPLOYMENTS,
            deployment(
                "x",
                template={
                    "metadata": {"labels": {"app": "x", "component": "jobmanager"}},
                    "spec": {"containers": []},
                },
            ),
        ),
        post(
            DEPLOYMENTS,
            deployment(
                "x",
                template={
                    "metadata": {"labels": {"app": "x", "component": "jobmanager"}},
                    "spec": {**pod_spec(), "restartPolicy": "Never"},
                },
            ),
        ),
        post(DEPLOYMENTS, deployment("x", strategy={"type": "Recreate"}), query={"dryRun": "All"}),
        post(DEPLOYMENTS, deployment("x", strategy={"type": "Sudden"})),
        post(
            DEPLOYMENTS,
            deployment("x", strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}),
        ),
        put(f"{DEPLOYMENTS}/demo", deployment("demo", replicas=2)),
        put(
            f"{DEPLOYMENTS}/demo",
            deployment("demo", selector={"matchLabels": {"component": "jobmanager"}}),
        ),
        patch(f"{DEPLOYMENTS}/demo", {"spec": {"replicas": 0}}),
        patch(f"{DEPLOYMENTS}/demo", {"status": {"replicas": 7}}),
        get(f"{DEPLOYMENTS}/demo/scale"),
        patch(f"{DEPLOYMENTS}/demo/scale", {"spec": {"replicas": 3}}),
        patch(f"{DEPLOYMENTS}/demo/scale", {"spec": {"replicas": -3}}),
        put(
            f"{DEPLOYMENTS}/demo/scale",
            {
                "apiVersion": "autoscaling/v1",
                "kind": "Scale",
                "metadata": {"name": "demo", "namespace": "default"},
                "spec": {"replicas": 1},
            },
        ),
        get(f"{DEPLOYMENTS}/none/scale"),
        get(f"{DEPLOYMENTS}/demo/status"),
        patch(f"{DEPLOYMENTS}/demo/status", {"status": {"replicas": 1, "readyReplicas": 1}}),
        delete(f"{DEPLOYMENTS}/demo", {"propagationPolicy": "Foreground"}),
        get(f"{DEPLOYMENTS}/demo"),
        patch(f"{DEPLOYMENTS}/demo", {"metadata": {"finalizers": None}}),
        get(f"{DEPLOYMENTS}/demo"),
    ),
    "secrets": (
        post(SECRETS, labelled("Secret", "s", stringData={"a": "b"})),
        get(f"{SECRETS}/s"),
        post(SECRETS, labelled("Secret", "t", data={"a": "no base64"})),
        post(SECRETS, labelled("Secret", "t", data={"a b": "YQ=="})),
        post(SECRETS, labelled("Secret", "t", type="kubernetes.io/tls", data={"a": "YQ=="})),
        patch(f"{SECRETS}/s", {"type": "other"}),
        patch(f"{SECRETS}/s", {"immutable": True}),
        patch(f"{SECRETS}/s", {"stringData": {"a": "c"}}),
        delete(f"{SECRETS}/s"),
    ),
    "accounts": (
        post(f"{CORE}/serviceaccounts", labelled("ServiceAccount", "flink")),
        post(
            f"{RBAC}/roles",
            labelled(
                "Role",
                "r",
                "rbac.authorization.k8s.io/v1",
                rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
            ),
        ),
        post(
            f"{RBAC}/roles",
            labelled(
                "Role",
                "r2",
                "rbac.authorization.k8s.io/v1",
                rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": []}],
            ),
            query=DRY,
        ),
        post(
            f"{RBAC}/rolebindings",
            labelled(
                "RoleBinding",
                "r",
                "rbac.authorization.k8s.io/v1",
                roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
                subjects=[{"kind": "ServiceAccount", "name": "flink", "namespace": "default"}],
            ),
        ),
        patch(f"{RBAC}/rolebindings/r", {"roleRef": {"name": "other"}}),
        get(f"{RBAC}/roles"),
        post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", REVIEW),
        post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {**REVIEW, "spec": {}}),
        get("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        delete(f"{RBAC}/rolebindings/r"),
        delete(f"{RBAC}/roles/r"),
        delete(f"{CORE}/serviceaccounts/flink"),
    ),
    "apply": (
        patch(f"{CONFIG_MAPS}/ap", config_map("ap", a="1"), APPLY, query={"fieldManager": "one"}),
        patch(f"{CONFIG_MAPS}/ap", config_map("ap", a="1"), APPLY),
        patch(f"{CONFIG_MAPS}/ap", config_map("ap", a="2"), APPLY, query={"fieldManager": "two"}),
        patch(f"{CONFIG_MAPS}/ap", config_map("ap", b="2"), APPLY, query={"fieldManager": "two"}),
        patch(f"{CONFIG_MAPS}/ap", config_map("ap"), APPLY, query={"fieldManager": "one"}),
        patch(
            f"{CONFIG_MAPS}/ap",
            config_map("ap", b="3"),
            APPLY,
            query={"fieldManager": "one", "force": "true"},
        ),
        patch(f"{CONFIG_MAPS}/ap", config_map("other"), APPLY, query={"fieldManager": "one"}),
        patch(f"{CONFIG_MAPS}/ap", "a: [", APPLY, query={"fieldManager": "one"}),
        patch(f"{DEPLOYMENTS}/ap", deployment("ap"), APPLY, query={"fieldManager": "one"}),
        patch(
            f"{DEPLOYMENTS}/ap", deployment("ap", replicas=3), APPLY, query={"fieldManager": "two"}
        ),
        get(f"{CONFIG_MAPS}/ap"),
        delete(f"{CONFIG_MAPS}/ap"),
        delete(f"{DEPLOYMENTS}/ap"),
    ),
    "tables": (
        post(DEPLOYMENTS, deployment("demo")),
        post(PODS, pod("p")),
        post(SERVICES, service("s")),
        post(SECRETS, labelled("Secret", "sec", stringData={"a": "b"})),
        post(CONFIG_MAPS, config_map("cm", a="b")),
        get(DEPLOYMENTS, accept=TABLE),
        get(f"{DEPLOYMENTS}/demo", accept=TABLE),
        get(PODS, accept=TABLE),
        get(SERVICES, accept=TABLE),
        get(CONFIG_MAPS, accept=TABLE),
        get(SECRETS, accept=TABLE),
        get(f"{CORE}/events", accept=TABLE),
        get(f"{CORE}/endpoints", accept=TABLE),
        get(f"{RBAC}/roles", accept=TABLE),
        get(f"{RBAC}/rolebindings", accept=TABLE),
        get(f"{APPS}/replicasets", accept=TABLE),
        get("/api/v1/nodes", accept=TABLE),
        get(CONFIG_MAPS, accept=METADATA),
        get(f"{CORE}/nothings", accept=TABLE),
        get(f"{PODS}/none", accept=TABLE),
        delete(DEPLOYMENTS),
        delete(PODS),
        delete(f"{SERVICES}/s"),
        delete(SECRETS),
        delete(f"{CONFIG_MAPS}/cm"),
    ),
    "namespaces": (
        post(
            "/api/v1/namespaces",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
        ),
        post(
            "/api/v1/namespaces",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
        ),
        post(
            "/api/v1/namespaces",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "Team"}},
        ),
        get("/api/v1/namespaces/team"),
        get("/api/v1/namespaces/none"),
        post(
            f"{CORE}/events",
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": "e"},
                "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
                "reason": "R",
                "message": "m",
                "type": "Normal",
            },
        ),
        get(f"{CORE}/events", query={"fieldSelector": "involvedObject.name=p"}),
        post(
            f"{CORE}/events",
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": "f"},
                "involvedObject": {"kind": "Pod", "name": "p", "namespace": "elsewhere"},
            },
            query=DRY,
        ),
        delete(f"{CORE}/events"),
    ),
}

_TYPES = "types are checked where they are read; a wrong one is 400"
_OPTIONS = "options of a request are not complained about in the form of an object"
_RULE = "a rule that nothing in the embedded cluster depends on"
_JSON = "JSON and protobuf are spoken, and an unknown path is told by a Status"
_FIELDS = "all fields are kept, and field validation is not looked at"

ON_PURPOSE: Mapping[str, Mapping[int, str]] = {
    "config maps": {22: _TYPES, 27: _TYPES, 28: _TYPES, 34: _OPTIONS},
    "bodies": {
        3: "no object is no object",
        19: "a mistake of the client is 400, not 500",
        21: _FIELDS,
        23: _FIELDS,
        25: _OPTIONS,
        29: _TYPES,
    },
    "paths": {
        6: _JSON,
        11: _JSON,
        19: _JSON,
        20: _JSON,
        25: "a mistake of the client is 400, not 500",
        26: _OPTIONS,
        27: _OPTIONS,
    },
    "pods": {
        3: "a quantity that is none is told with its place",
        25: "a pod without a spec has no restart policy either",
        29: _RULE,
        46: "the kubelet binds its pods itself, by an update",
        50: "the kubelet binds its pods itself, by an update",
    },
    "services": {
        4: "Kubernetes took no such names before 1.36",
        11: _RULE,
        12: _RULE,
        13: _RULE,
    },
    "deployments": {4: _RULE, 11: _RULE, 19: "it is the workload that is checked"},
    "secrets": {2: _RULE, 4: _RULE, 5: _RULE},
    "accounts": {
        2: _RULE,
        4: _RULE,
        7: _RULE,
        8: "reviews are answered by POST alone",
    },
    "apply": {
        1: _OPTIONS,
        2: "a conflict names the object",
        9: "what is applied is owned by whole values below a list's item",
    },
    "tables": {14: "the columns are the plain ones"},
    "namespaces": {7: _RULE},
}
"""By the number of the call, from 0: where the embedded server answers otherwise, and why."""
