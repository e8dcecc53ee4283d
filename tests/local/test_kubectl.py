"""kubectl against the API server alone: no controllers and no kubelet, only objects and a backend.

kubectl is the judge twice: it must be content with the answers, and what it does itself with a
patch (`--local`) must be what the server does with it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kubeflink import objects
from kubeflink.apiserver.patches import json_patch, merge_patch
from kubeflink.apiserver.pods import LogOptions
from kubeflink.apiserver.server import ApiServer
from kubeflink.apiserver.store import ObjectStore, modify
from kubeflink.apiserver.strategic import strategic_merge
from kubeflink.objects import JsonObject
from support.kubectl import LIMIT, Kubectl
from support.manifests import config_map, deployment, pod, service


class Backend:
    """Pods whose log is made up and whose every port is one real port."""

    def __init__(self) -> None:
        self.port = 0

    async def log(
        self, namespace: str, pod: str, container: str, options: LogOptions
    ) -> AsyncIterator[bytes]:
        lines = [f"{pod} {container} {number}\n".encode() for number in range(5)]
        for line in lines[-(options.tail_lines or len(lines)) :]:
            yield line
        if options.follow:
            yield b"and more\n"

    async def connect(
        self, namespace: str, pod: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)


@pytest.fixture
def store() -> ObjectStore:
    return ObjectStore()


@pytest.fixture
def backend() -> Backend:
    return Backend()


@pytest.fixture
async def kubectl(store: ObjectStore, backend: Backend, tmp_path: Path) -> AsyncIterator[Kubectl]:
    async with ApiServer(store, token="a-secret", backend=backend) as server:
        yield Kubectl(server.url_with_token, tmp_path)


def manifest(*items: JsonObject) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


async def run_pod(store: ObjectStore, name: str) -> None:
    def change(obj: JsonObject) -> None:
        obj["status"] = {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [
                {"name": "main", "ready": True, "restartCount": 0, "state": {"running": {}}}
            ],
        }

    await modify(store, objects.PODS, "default", name, change, subresource="status")


async def test_apply_get_describe_delete(kubectl: Kubectl, store: ObjectStore) -> None:
    everything = manifest(
        deployment("web"), service("web", "NodePort"), config_map("conf", k="v"), pod("p")
    )
    applied = await kubectl("apply", "-f", "-", stdin=everything)
    assert applied.count(" created") == 4
    again = await kubectl("apply", "-f", "-", stdin=everything)
    assert again.count(" unchanged") == 4

    shown = await kubectl("get", "all")
    assert "deployment.apps/web" in shown
    assert re.search(r"pod/p +0/1 +Pending +0", shown)
    assert re.search(r"service/web +NodePort +10\.96\.\d+\.\d+ +<none> +8081:3\d{4}/TCP", shown)
    assert "NOMINATED NODE" in await kubectl("get", "pods", "-o", "wide")
    assert (await kubectl("get", "pods", "-l", "app=none")) == ""
    assert (
        await kubectl("get", "pods", "--field-selector=status.phase=Pending", "-o", "name")
    ) == ("pod/p\n")
    assert (await kubectl("get", "cm", "-A", "--no-headers")).split()[:3] == [
        "default",
        "conf",
        "1",
    ]

    for kind in ("deployment/web", "service/web", "configmap/conf", "pod/p", "namespace/default"):
        assert re.search(r"^Name: +\w+", await kubectl("describe", kind))

    removed = await kubectl("delete", "deploy/web", "svc/web", "cm/conf", "pod/p")
    assert removed.count(" deleted") == 4
    complaint = await kubectl.fails("get", "pod", "p")
    assert complaint == 'Error from server (NotFound): pods "p" not found\n'


async def test_a_second_apply_changes_and_removes(kubectl: Kubectl) -> None:
    first = deployment("web")
    container = first["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    await kubectl("apply", "-f", "-", stdin=manifest(first))
    container["env"] = [{"name": "B", "value": "3"}]
    container["image"] = "flink:2.4"
    assert "configured" in await kubectl("apply", "-f", "-", stdin=manifest(first))

    (seen,) = (await kubectl.json("get", "deploy", "web"))["spec"]["template"]["spec"]["containers"]
    assert seen["env"] == [{"name": "B", "value": "3"}]
    assert seen["image"] == "flink:2.4"
    assert (await kubectl.json("get", "deploy", "web"))["metadata"]["generation"] == 2


async def test_server_side_apply(kubectl: Kubectl) -> None:
    def text(**data: str) -> str:
        return json.dumps(config_map("conf", **data))

    apply = ("apply", "--server-side", "-f", "-")
    assert await kubectl(*apply, stdin=text(a="1", b="2")) == "configmap/conf serverside-applied\n"
    await kubectl(*apply, stdin=text(a="1", c="3"))
    assert (await kubectl.json("get", "cm", "conf"))["data"] == {"a": "1", "c": "3"}
    complaint = await kubectl.fails(*apply, "--field-manager=other", stdin=text(a="x"))
    assert 'Apply failed with 1 conflict: conflict with "kubectl": .data.a' in complaint
    await kubectl(*apply, "--field-manager=other", "--force-conflicts", stdin=text(a="x"))
    assert (await kubectl.json("get", "cm", "conf"))["data"] == {"a": "x", "c": "3"}
    await kubectl(*apply, stdin=manifest(deployment("web"), service("web"), pod("p")))


async def test_an_applied_object_can_be_applied_by_the_server_later(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=json.dumps(config_map("conf", a="1")))
    apply = ("apply", "--server-side", "-f", "-")
    await kubectl(*apply, stdin=json.dumps(config_map("conf", a="2")))
    assert (await kubectl.json("get", "cm", "conf"))["data"] == {"a": "2"}


async def test_create(kubectl: Kubectl) -> None:
    for arguments in (
        ("namespace", "other"),
        ("configmap", "conf", "--from-literal=a=b"),
        ("secret", "generic", "hidden", "--from-literal=a=b"),
        ("serviceaccount", "bob"),
        ("deployment", "web", "--image=flink", "--replicas=0", "--port=80", "--", "sleep", "5"),
        ("service", "nodeport", "web", "--tcp=80:8081"),
        ("service", "externalname", "elsewhere", "--external-name=example.com"),
    ):
        assert (await kubectl("create", *arguments)).endswith(" created\n")
    await kubectl("run", "p", "--image=flink", "--restart=Never")
    await kubectl("expose", "deployment", "web", "--port=80", "--name=exposed")

    made = await kubectl.json("get", "deploy", "web")
    assert made["spec"]["replicas"] == 0
    (container,) = made["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["sleep", "5"]
    assert (await kubectl.json("get", "secret", "hidden"))["data"] == {"a": "Yg=="}
    (port,) = (await kubectl.json("get", "svc", "web"))["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (80, 8081)

    complaint = await kubectl.fails("create", "configmap", "conf")
    assert complaint.endswith('configmaps "conf" already exists\n')
    complaint = await kubectl.fails("-n", "nope", "create", "configmap", "conf")
    assert complaint.endswith('namespaces "nope" not found\n')
    assert "RFC 1123 subdomain" in await kubectl.fails("create", "configmap", "Bad_Name")
    await kubectl("delete", "namespace", "other")


async def test_small_changes(kubectl: Kubectl, store: ObjectStore) -> None:
    await kubectl("apply", "-f", "-", stdin=manifest(deployment("web"), pod("p")))
    await kubectl("scale", "deploy/web", "--replicas=4")
    await kubectl("label", "pod/p", "tier=front")
    await kubectl("annotate", "pod/p", "note=a b")
    await kubectl("set", "image", "deploy/web", "main=flink:2.4")
    await kubectl("set", "env", "deploy/web", "A=1")
    await kubectl("rollout", "restart", "deploy/web")
    await kubectl("patch", "deploy/web", "--type=merge", "-p", '{"spec":{"paused":true}}')
    operations = '[{"op":"replace","path":"/spec/minReadySeconds","value":3}]'
    assert "missing" in await kubectl.fails("patch", "deploy/web", "--type=json", "-p", operations)
    operations = operations.replace("replace", "add")
    await kubectl("patch", "deploy/web", "--type=json", "-p", operations)
    status = '{"status":{"phase":"Running"}}'
    await kubectl("patch", "pod/p", "--subresource=status", "--type=merge", "-p", status)

    spec = (await kubectl.json("get", "deploy", "web"))["spec"]
    assert (spec["replicas"], spec["paused"], spec["minReadySeconds"]) == (4, True, 3)
    (container,) = spec["template"]["spec"]["containers"]
    assert container["image"] == "flink:2.4"
    assert container["env"] == [{"name": "A", "value": "1"}]
    assert spec["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"]
    changed = await kubectl.json("get", "pod", "p")
    assert changed["metadata"]["labels"] == {"tier": "front"}
    assert changed["metadata"]["annotations"]["note"] == "a b"
    assert changed["status"]["phase"] == "Running"


async def test_edit_and_replace(kubectl: Kubectl) -> None:
    await kubectl("create", "configmap", "conf", "--from-literal=a=before")
    edited = await kubectl.run("edit", "cm/conf", EDITOR="sed -i s/before/after/")
    assert edited.code == 0, edited.err
    assert (await kubectl.json("get", "cm", "conf"))["data"] == {"a": "after"}
    await kubectl("replace", "-f", "-", stdin=json.dumps(config_map("conf", b="new")))
    assert (await kubectl.json("get", "cm", "conf"))["data"] == {"b": "new"}


async def test_wait_and_watch(kubectl: Kubectl, store: ObjectStore) -> None:
    await kubectl("apply", "-f", "-", stdin=manifest(pod("p"), pod("q")))
    complaint = await kubectl.fails("wait", "--for=condition=Ready", "pod/p", "--timeout=1s")
    assert "timed out waiting for the condition" in complaint

    async with kubectl.started("get", "pods", "--watch", "--no-headers") as watching:
        assert watching.stdout is not None
        async with asyncio.timeout(LIMIT):
            first = {(await watching.stdout.readline()).split()[0] for _ in range(2)}
            assert first == {b"p", b"q"}
            ready = asyncio.create_task(kubectl("wait", "--for=condition=Ready", "pod/p"))
            gone = asyncio.create_task(kubectl("wait", "--for=delete", "pod/q"))
            await run_pod(store, "p")
            assert await ready == "pod/p condition met\n"
            row = (await watching.stdout.readline()).split()
            assert row[:3] == [b"p", b"1/1", b"Running"]
            await kubectl("delete", "pod", "q")
            assert await gone in ("pod/q condition met\n", "")


async def test_a_deletion_that_takes_time(kubectl: Kubectl, store: ObjectStore) -> None:
    await kubectl("apply", "-f", "-", stdin=json.dumps(pod("p", nodeName="local")))
    await run_pod(store, "p")
    await kubectl("delete", "pod", "p", "--wait=false")
    assert "Terminating" in await kubectl("get", "pod", "p")
    await kubectl("delete", "pod", "p", "--grace-period=0", "--force")
    assert 'pods "p" not found' in await kubectl.fails("get", "pod", "p")


async def test_logs(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=manifest(deployment("web"), pod("p", {"app": "web"})))
    assert (await kubectl("logs", "p")).splitlines()[-1] == "p main 4"
    assert await kubectl("logs", "p", "--tail=1") == "p main 4\n"
    assert (await kubectl("logs", "-f", "p", "-c", "main")).endswith("and more\n")
    assert await kubectl("logs", "deploy/web", "--tail=1") == "p main 4\n"
    assert "container other is not valid" in await kubectl.fails("logs", "p", "-c", "other")


async def test_port_forward(kubectl: Kubectl, store: ObjectStore, backend: Backend) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"you said " + await reader.readline())
        writer.close()
        await writer.wait_closed()

    labels = {"app": "web"}
    ports = [{"name": "main", "image": "x", "ports": [{"containerPort": 8081}]}]
    target = pod("p", labels, containers=ports)
    await kubectl("apply", "-f", "-", stdin=manifest(target, service("web")))
    assert "not running" in await kubectl.fails("port-forward", "pod/p", ":8081")
    await run_pod(store, "p")
    listener = await asyncio.start_server(greet, "127.0.0.1", 0)
    backend.port = listener.sockets[0].getsockname()[1]
    async with listener, kubectl.started("port-forward", "service/web", ":8081") as forwarding:
        assert forwarding.stdout is not None
        async with asyncio.timeout(LIMIT):
            told = (await forwarding.stdout.readline()).decode()
            port = int(re.findall(r"127\.0\.0\.1:(\d+)", told)[0])
            for word in (b"one", b"two"):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(word + b"\n")
                assert await reader.read() == b"you said " + word + b"\n"
                writer.close()
                await writer.wait_closed()


async def test_exec_is_refused(kubectl: Kubectl, store: ObjectStore) -> None:
    await kubectl("apply", "-f", "-", stdin=json.dumps(pod("p")))
    await run_pod(store, "p")
    assert "exec is not available" in await kubectl.fails("exec", "p", "--", "ls")


async def test_questions_about_the_server(kubectl: Kubectl) -> None:
    assert "Server Version: v1." in await kubectl("version")
    resources = await kubectl("api-resources", "--no-headers", "-o", "name")
    assert {"pods", "deployments.apps", "services"} <= set(resources.split())
    assert "apps/v1" in await kubectl("api-versions")
    assert await kubectl("auth", "can-i", "create", "pods") == "yes\n"
    assert await kubectl("get", "--raw", "/healthz") == "ok"
    assert "is running at" in await kubectl("cluster-info")
    assert await kubectl("get", "events") == ""
    complaint = await kubectl.fails("get", "unknowns")
    assert complaint == """error: the server doesn't have a resource type "unknowns"\n"""


async def test_a_wrong_token(store: ObjectStore, tmp_path: Path) -> None:
    async with ApiServer(store, token="a-secret") as server:
        stranger = Kubectl(server.url, tmp_path)
        assert "You must be logged in to the server" in await stranger.fails("get", "pods")


_CONTAINER: JsonObject = {
    "name": "main",
    "image": "x:1",
    "args": ["a", "b"],
    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    "ports": [{"containerPort": 1, "name": "one"}, {"containerPort": 2, "name": "two"}],
    "volumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "v", "mountPath": "/w"}],
}
_POD_SPEC: JsonObject = {
    "containers": [_CONTAINER, {"name": "side", "image": "y:1"}],
    "volumes": [{"name": "v", "emptyDir": {}}, {"name": "c", "configMap": {"name": "c"}}],
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "imagePullSecrets": [{"name": "s"}],
    "nodeSelector": {"a": "b"},
}


def _whole_pod() -> JsonObject:
    whole = pod("p", {"a": "b", "c": "d"})
    whole["metadata"]["finalizers"] = ["example.com/a", "example.com/b"]
    whole["spec"] = json.loads(json.dumps(_POD_SPEC))
    return whole


@pytest.mark.parametrize(
    "patch",
    [
        {"metadata": {"labels": {"a": None, "e": "f"}}},
        {"metadata": {"finalizers": ["example.com/c"]}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}},
        {"spec": {"containers": [{"name": "side", "image": "y:2"}]}},
        {"spec": {"containers": [{"name": "third", "image": "z"}]}},
        {"spec": {"containers": [{"name": "main", "$patch": "delete"}]}},
        {"spec": {"containers": [{"$patch": "replace"}, {"name": "only", "image": "o"}]}},
        {"spec": {"containers": [{"name": "main", "args": ["c"]}]}},
        {"spec": {"containers": [{"name": "main", "env": [{"name": "B", "value": "3"}]}]}},
        {"spec": {"containers": [{"name": "main", "env": [{"name": "A", "$patch": "delete"}]}]}},
        {"spec": {"containers": [{"name": "main", "ports": [{"containerPort": 2, "name": "x"}]}]}},
        {
            "spec": {
                "containers": [
                    {"name": "main", "volumeMounts": [{"mountPath": "/w", "readOnly": True}]}
                ]
            }
        },
        {"spec": {"volumes": [{"name": "v", "$patch": "delete"}]}},
        {
            "spec": {
                "volumes": [
                    {"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}
                ]
            }
        },
        {"spec": {"tolerations": [{"key": "b", "operator": "Exists"}]}},
        {"spec": {"imagePullSecrets": [{"name": "t"}]}},
        {"spec": {"nodeSelector": {"$patch": "replace", "x": "y"}}},
        {
            "spec": {
                "$setElementOrder/containers": [{"name": "side"}, {"name": "main"}],
                "containers": [{"name": "side", "image": "y:3"}],
            }
        },
        {
            "spec": {
                "$setElementOrder/volumes": [{"name": "n"}, {"name": "v"}, {"name": "c"}],
                "volumes": [{"name": "n", "emptyDir": {}}],
            }
        },
    ],
)
async def test_strategic_merge_as_kubectl_does_it(kubectl: Kubectl, patch: JsonObject) -> None:
    expected = await kubectl(
        *("patch", "--local", "-f", "-", "-o", "json", "--type=strategic"),
        *("-p", json.dumps(patch)),
        stdin=json.dumps(_whole_pod()),
    )
    assert strategic_merge(_whole_pod(), patch) == json.loads(expected)


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("merge", {"metadata": {"labels": {"a": None}}, "spec": {"containers": []}}),
        ("merge", {"spec": {"nodeSelector": {"x": "y"}, "tolerations": None}}),
        ("json", [{"op": "add", "path": "/spec/tolerations/0", "value": {"key": "first"}}]),
        ("json", [{"op": "move", "from": "/metadata/labels/a", "path": "/metadata/labels/z"}]),
        ("json", [{"op": "remove", "path": "/spec/containers/0/env/1"}]),
        ("json", [{"op": "add", "path": "/metadata/labels/x.y~1z", "value": "1"}]),
    ],
)
async def test_other_patches_as_kubectl_does_them(kubectl: Kubectl, kind: str, patch: Any) -> None:
    expected = await kubectl(
        *("patch", "--local", "-f", "-", "-o", "json", f"--type={kind}", "-p", json.dumps(patch)),
        stdin=json.dumps(_whole_pod()),
    )
    apply = merge_patch if kind == "merge" else json_patch
    assert apply(_whole_pod(), patch) == json.loads(expected)
