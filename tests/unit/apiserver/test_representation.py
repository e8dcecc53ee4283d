"""Tables, partial objects, discovery, OpenAPI: what kubectl asks for."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest

from kubeflink import objects
from kubeflink.apiserver.store import ObjectStore
from kubeflink.apiserver.tables import duration, pod_reason
from support.manifests import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    PODS,
    SERVICES,
    config_map,
    deployment,
    pod,
    service,
)

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (200, "3m20s"),
        (600, "10m"),
        (179 * 60, "179m"),
        (3 * 3600 + 60, "3h1m"),
        (8 * 3600 + 60, "8h"),
        (47 * 3600, "47h"),
        (50 * 3600, "2d2h"),
        (30 * 86400, "30d"),
        (800 * 86400, "2y70d"),
        (4000 * 86400, "10y"),
    ],
)
def test_ages(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def state(kind: str, **values: Any) -> dict[str, Any]:
    return {"name": "main", "state": {kind: values}}


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({"phase": "Running"}, "Running"),
        ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        (
            {"phase": "Pending", "containerStatuses": [state("waiting", reason="ErrImagePull")]},
            "ErrImagePull",
        ),
        (
            {"phase": "Running", "containerStatuses": [state("terminated", exitCode=3)]},
            "ExitCode:3",
        ),
        ({"phase": "Running", "containerStatuses": [state("terminated", signal=9)]}, "Signal:9"),
        (
            {"phase": "Failed", "containerStatuses": [state("terminated", reason="Error")]},
            "Error",
        ),
        ({"phase": "Pending", "initContainerStatuses": [state("running")]}, "Init:0/1"),
        (
            {"phase": "Pending", "initContainerStatuses": [state("waiting", reason="Crash")]},
            "Init:Crash",
        ),
        (
            {"phase": "Running", "initContainerStatuses": [state("terminated", exitCode=0)]},
            "Running",
        ),
    ],
)
def test_the_state_of_a_pod(status: dict[str, Any], reason: str) -> None:
    shown = {**pod("p", initContainers=[{"name": "first", "image": "x"}]), "status": status}
    assert pod_reason(shown) == reason
    shown["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert pod_reason(shown) == "Terminating"


async def rows(http: aiohttp.ClientSession, path: str) -> list[list[Any]]:
    table = await (await http.get(path, headers=TABLE)).json()
    assert table["kind"] == "Table"
    widths = {len(row["cells"]) for row in table["rows"]}
    assert widths <= {len(table["columnDefinitions"])}
    return [row["cells"] for row in table["rows"]]


async def test_tables_of_all_kinds(http: aiohttp.ClientSession, store: ObjectStore) -> None:
    await http.post(PODS, json=pod("p", nodeName="local"))
    running = {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "containerStatuses": [{**state("running"), "ready": True, "restartCount": 2}],
    }
    ended = {**pod("p"), "status": running}
    await store.replace(objects.PODS, "default", ended, subresource="status")
    await http.post(DEPLOYMENTS, json=deployment("web", 3))
    await http.post(SERVICES, json=service("web", "LoadBalancer"))
    await http.post(CONFIG_MAPS, json=config_map("a", one="1", two="2"))
    node = {
        "metadata": {"name": "local", "labels": {"node-role.kubernetes.io/worker": ""}},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "nodeInfo": {"kubeletVersion": "v1.36.0"},
        },
    }
    await store.create(objects.NODES, None, node)
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p"},
        "type": "Warning",
        "reason": "Failed",
        "message": "it failed",
    }
    await store.create(objects.EVENTS, "default", event)

    ((name, ready, status, restarts, _, ip, on, *_),) = await rows(http, PODS)
    assert (name, ready, status, restarts, ip, on) == (
        "p",
        "1/1",
        "Running",
        "2",
        "10.0.0.1",
        "local",
    )
    assert (await rows(http, DEPLOYMENTS))[0][:4] == ["web", "0/3", 0, 0]
    balancer = (await rows(http, SERVICES))[0]
    assert balancer[1] == "LoadBalancer"
    assert balancer[3:5] == ["<pending>", "8081:30000/TCP"]
    assert (await rows(http, CONFIG_MAPS))[0][:2] == ["a", 2]
    assert (await rows(http, "/api/v1/nodes"))[0][:3] == ["local", "Ready", "worker"]
    (seen,) = await rows(http, "/api/v1/events")
    assert seen[1:4] == ["Warning", "Failed", "pod/p"]
    assert seen[6] == "it failed"
    assert (await rows(http, "/api/v1/namespaces"))[0][:2] == ["default", "Active"]
    for empty in ("secrets", "serviceaccounts", "endpoints"):
        assert await rows(http, f"/api/v1/{empty}") == []


async def test_a_watched_table_has_its_columns_once(http: aiohttp.ClientSession) -> None:
    await http.post(CONFIG_MAPS, json=config_map("a"))
    path = f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1"
    async with http.get(path, headers=TABLE) as answer:
        await http.post(CONFIG_MAPS, json=config_map("b"))
        first, second = [json.loads(line) for line in (await answer.text()).splitlines()]
    assert first["object"]["columnDefinitions"]
    assert second["object"]["columnDefinitions"] is None
    assert second["object"]["rows"][0]["cells"][0] == "b"
    assert second["object"]["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


async def test_partial_objects(http: aiohttp.ClientSession) -> None:
    created = await (await http.post(CONFIG_MAPS, json=config_map("a", k="v"))).json()
    headers = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
    listed = await (await http.get(CONFIG_MAPS, headers=headers)).json()
    assert listed["kind"] == "PartialObjectMetadataList"
    (item,) = listed["items"]
    assert item["metadata"] == created["metadata"]
    assert "data" not in item


async def test_only_json_is_made(http: aiohttp.ClientSession) -> None:
    both = "application/vnd.kubernetes.protobuf,application/json"
    async with http.get(CONFIG_MAPS, headers={"Accept": both}) as answer:
        assert answer.content_type == "application/json"
    headers = {"Accept": "application/vnd.kubernetes.protobuf"}
    async with http.get(CONFIG_MAPS, headers=headers) as answer:
        assert answer.status == 406


async def test_discovery_tells_of_every_kind(
    http: aiohttp.ClientSession, store: ObjectStore
) -> None:
    plain: dict[str, set[str]] = {}
    groups = (await (await http.get("/apis")).json())["groups"]
    versions = ["v1", *(group["preferredVersion"]["groupVersion"] for group in groups)]
    for version in versions:
        path = f"/apis/{version}" if "/" in version else f"/api/{version}"
        listed = await (await http.get(path)).json()
        plain[version] = {
            entry["name"] for entry in listed["resources"] if "/" not in entry["name"]
        }
    served = {each.resource for each in store.registry}
    for resource in served:
        assert resource.plural in plain[resource.api_version]

    aggregated: dict[str, set[str]] = {}
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    for path in ("/api", "/apis"):
        async with http.get(path, headers={"Accept": accept}) as answer:
            assert answer.headers["Content-Type"] == accept
            for group in (await answer.json())["items"]:
                for version in group["versions"]:
                    name = group["metadata"]["name"]
                    key = f"{name}/{version['version']}" if name else version["version"]
                    aggregated[key] = {each["resource"] for each in version["resources"]}
    assert aggregated == plain


async def test_openapi_lets_kubectl_validate_on_the_server(http: aiohttp.ClientSession) -> None:
    index = (await (await http.get("/openapi/v3")).json())["paths"]
    document = await (await http.get(index["apis/apps/v1"]["serverRelativeURL"])).json()
    patch = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"]["kind"] == "Deployment"
    assert "fieldValidation" in {parameter["name"] for parameter in patch["parameters"]}


async def test_scale(http: aiohttp.ClientSession) -> None:
    await http.post(DEPLOYMENTS, json=deployment("web", 2))
    scale = await (await http.get(f"{DEPLOYMENTS}/web/scale")).json()
    assert (scale["kind"], scale["spec"], scale["status"]["selector"]) == (
        "Scale",
        {"replicas": 2},
        "app=web",
    )
    scale["spec"]["replicas"] = 0
    scaled = await (await http.put(f"{DEPLOYMENTS}/web/scale", json=scale)).json()
    assert scaled["spec"] == {"replicas": 0}
    async with http.put(f"{DEPLOYMENTS}/web/scale", json=scale) as answer:
        assert answer.status == 409
    headers = {"Content-Type": "application/merge-patch+json"}
    body = {"spec": {"replicas": 5}}
    async with http.patch(f"{DEPLOYMENTS}/web/scale", json=body, headers=headers) as answer:
        assert (await answer.json())["spec"] == {"replicas": 5}
    async with http.put(f"{DEPLOYMENTS}/web/scale", json={"spec": {"replicas": "x"}}) as answer:
        assert answer.status == 400
