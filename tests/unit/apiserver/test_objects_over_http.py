"""Create, read, list, replace, patch and delete, as clients see it."""

from __future__ import annotations

import aiohttp
import pytest

from kubeflink.apiserver.store import ObjectStore
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


async def test_an_object_goes_through_its_life(http: aiohttp.ClientSession) -> None:
    async with http.post(CONFIG_MAPS, json=config_map("a", key="1")) as answer:
        created = await answer.json()
        assert answer.status == 201
    assert created["metadata"]["uid"]
    assert created["metadata"]["creationTimestamp"].endswith("Z")

    async with http.get(f"{CONFIG_MAPS}/a") as answer:
        assert await answer.json() == created

    async with http.put(f"{CONFIG_MAPS}/a", json={**created, "data": {"key": "2"}}) as answer:
        replaced = await answer.json()
    assert replaced["data"] == {"key": "2"}
    assert int(replaced["metadata"]["resourceVersion"]) > int(
        created["metadata"]["resourceVersion"]
    )

    async with http.put(f"{CONFIG_MAPS}/a", json={**created, "data": {}}) as answer:
        conflict = await answer.json()
        assert answer.status == 409
    assert conflict["message"] == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please '
        "apply your changes to the latest version and try again"
    )

    async with http.delete(f"{CONFIG_MAPS}/a") as answer:
        assert (await answer.json())["status"] == "Success"
    async with http.get(f"{CONFIG_MAPS}/a") as answer:
        missing = await answer.json()
        assert answer.status == 404
    assert missing["message"] == 'configmaps "a" not found'
    assert missing["reason"] == "NotFound"
    assert missing["details"] == {"name": "a", "kind": "configmaps"}


async def test_an_update_without_a_change_is_no_event(http: aiohttp.ClientSession) -> None:
    created = await (await http.post(CONFIG_MAPS, json=config_map("a", key="1"))).json()

    replaced = await (await http.put(f"{CONFIG_MAPS}/a", json=config_map("a", key="1"))).json()

    assert replaced == created


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("labelSelector=tier=web", ["a", "b"]),
        ("labelSelector=tier==web,env!=dev", ["b"]),
        ("labelSelector=env in (dev,test)", ["a", "c"]),
        ("labelSelector=env notin (dev, test)", ["b", "d"]),
        ("labelSelector=!tier", ["d"]),
        ("labelSelector=tier", ["a", "b", "c"]),
        ("fieldSelector=metadata.name=c", ["c"]),
        ("fieldSelector=metadata.name!=c,metadata.namespace=default", ["a", "b", "d"]),
        ("fieldSelector=metadata.namespace=other", []),
    ],
)
async def test_selectors(http: aiohttp.ClientSession, selector: str, names: list[str]) -> None:
    labels = {
        "a": {"tier": "web", "env": "dev"},
        "b": {"tier": "web"},
        "c": {"tier": "db", "env": "test"},
        "d": {},
    }
    for name, own in labels.items():
        await http.post(CONFIG_MAPS, json=config_map(name, own))

    listed = await (await http.get(f"{CONFIG_MAPS}?{selector}")).json()

    assert [item["metadata"]["name"] for item in listed["items"]] == names
    assert listed["kind"] == "ConfigMapList"


@pytest.mark.parametrize("selector", ["labelSelector=a=(", "fieldSelector=spec.other=1"])
async def test_a_selector_that_cannot_be_used_is_refused(
    http: aiohttp.ClientSession, selector: str
) -> None:
    async with http.get(f"{CONFIG_MAPS}?{selector}") as answer:
        assert answer.status == 400


async def test_a_list_in_pages_is_whole(http: aiohttp.ClientSession) -> None:
    for number in range(7):
        await http.post(CONFIG_MAPS, json=config_map(f"m{number}"))
    names, token, versions = [], "", set()

    while True:
        query = {"limit": "3", **({"continue": token} if token else {})}
        page = await (await http.get(CONFIG_MAPS, params=query)).json()
        names += [item["metadata"]["name"] for item in page["items"]]
        versions.add(page["metadata"]["resourceVersion"])
        await http.post(CONFIG_MAPS, json=config_map(f"later{len(names)}"))
        token = page["metadata"].get("continue", "")
        if not token:
            break

    assert names == [f"m{number}" for number in range(7)]
    assert len(versions) == 1


async def test_patches(http: aiohttp.ClientSession) -> None:
    await http.post(CONFIG_MAPS, json=config_map("a", one="1", two="2"))

    async def patch(kind: str, body: object) -> tuple[int, dict[str, object]]:
        headers = {"Content-Type": f"application/{kind}"}
        async with http.patch(f"{CONFIG_MAPS}/a", json=body, headers=headers) as answer:
            return answer.status, await answer.json()

    status, merged = await patch("merge-patch+json", {"data": {"one": None, "three": "3"}})
    assert (status, merged["data"]) == (200, {"two": "2", "three": "3"})

    operations = [
        {"op": "test", "path": "/data/two", "value": "2"},
        {"op": "replace", "path": "/data/two", "value": "two"},
        {"op": "add", "path": "/metadata/labels", "value": {"x": "z"}},
        {"op": "move", "from": "/data/three", "path": "/data/four"},
    ]
    status, patched = await patch("json-patch+json", operations)
    assert (status, patched["data"]) == (200, {"two": "two", "four": "3"})

    status, _ = await patch("json-patch+json", [{"op": "test", "path": "/data/two", "value": ""}])
    assert status == 422
    status, _ = await patch("json-patch+json", [{"op": "remove", "path": "/data/nothing"}])
    assert status == 422
    status, _ = await patch("unknown+json", {})
    assert status == 415
    status, _ = await patch("merge-patch+json", {"metadata": {"resourceVersion": "1"}})
    assert status == 409


async def test_status_is_written_by_its_subresource_only(http: aiohttp.ClientSession) -> None:
    created = await (await http.post(DEPLOYMENTS, json=deployment("web"))).json()
    assert created["status"] == {}
    assert created["metadata"]["generation"] == 1

    written = {**created, "status": {"readyReplicas": 1}, "metadata": {"name": "web"}}
    ignored = await (await http.put(f"{DEPLOYMENTS}/web", json=written)).json()
    assert ignored["status"] == {}

    taken = await (await http.put(f"{DEPLOYMENTS}/web/status", json=written)).json()
    assert taken["status"] == {"readyReplicas": 1}
    assert taken["metadata"]["generation"] == 1

    written["spec"]["replicas"] = 3
    scaled = await (await http.put(f"{DEPLOYMENTS}/web", json=written)).json()
    assert scaled["metadata"]["generation"] == 2
    assert scaled["status"] == {"readyReplicas": 1}


async def test_dry_run_stores_nothing(http: aiohttp.ClientSession, store: ObjectStore) -> None:
    before = store.revision
    async with http.post(f"{CONFIG_MAPS}?dryRun=All", json=config_map("a")) as answer:
        assert answer.status == 201
        assert (await answer.json())["metadata"]["uid"]

    async with http.get(f"{CONFIG_MAPS}/a") as answer:
        assert answer.status == 404
    assert store.revision == before


async def test_delete_preconditions(http: aiohttp.ClientSession) -> None:
    created = await (await http.post(CONFIG_MAPS, json=config_map("a"))).json()

    for wrong in ({"uid": "other"}, {"resourceVersion": "1"}):
        async with http.delete(f"{CONFIG_MAPS}/a", json={"preconditions": wrong}) as answer:
            assert answer.status == 409
    right = {"preconditions": {"uid": created["metadata"]["uid"]}}
    async with http.delete(f"{CONFIG_MAPS}/a", json=right) as answer:
        assert answer.status == 200


async def test_a_pod_on_a_node_is_marked_until_its_kubelet_lets_go(
    http: aiohttp.ClientSession,
) -> None:
    await http.post(PODS, json=pod("p", nodeName="local", terminationGracePeriodSeconds=7))

    marked = await (await http.delete(f"{PODS}/p")).json()
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 7
    again = await (await http.delete(f"{PODS}/p")).json()
    assert again["metadata"]["deletionTimestamp"] == marked["metadata"]["deletionTimestamp"]

    async with http.delete(f"{PODS}/p?gracePeriodSeconds=0") as answer:
        assert answer.status == 200
    async with http.delete(f"{PODS}/p") as answer:
        assert answer.status == 404


async def test_foreground_deletion_waits_for_the_collector(http: aiohttp.ClientSession) -> None:
    await http.post(DEPLOYMENTS, json=deployment("web"))

    body = {"propagationPolicy": "Foreground"}
    marked = await (await http.delete(f"{DEPLOYMENTS}/web", json=body)).json()
    assert marked["metadata"]["finalizers"] == ["foregroundDeletion"]

    marked["metadata"]["finalizers"] = []
    async with http.put(f"{DEPLOYMENTS}/web", json=marked) as answer:
        assert answer.status == 200
    async with http.get(f"{DEPLOYMENTS}/web") as answer:
        assert answer.status == 404


async def test_a_service_gets_addresses_and_keeps_them(http: aiohttp.ClientSession) -> None:
    created = await (await http.post(SERVICES, json=service("web", "NodePort"))).json()
    spec = created["spec"]
    assert spec["clusterIP"].startswith("10.96.")
    (port,) = spec["ports"]
    assert (port["protocol"], port["targetPort"]) == ("TCP", 8081)
    assert 30000 <= port["nodePort"] < 32768

    other = await (await http.post(SERVICES, json=service("other", "NodePort"))).json()
    assert other["spec"]["clusterIP"] != spec["clusterIP"]
    assert other["spec"]["ports"][0]["nodePort"] != port["nodePort"]

    again = await (await http.put(f"{SERVICES}/web", json=service("web", "NodePort"))).json()
    assert again["spec"] == spec

    taken = service("third", "NodePort", ports=[{"port": 1, "nodePort": port["nodePort"]}])
    async with http.post(SERVICES, json=taken) as answer:
        assert answer.status == 422
        assert "provided port is already allocated" in (await answer.json())["message"]


async def test_a_namespace_takes_what_is_in_it_along(http: aiohttp.ClientSession) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
    await http.post("/api/v1/namespaces", json=space)
    await http.post("/api/v1/namespaces/other/configmaps", json=config_map("a"))
    await http.post("/api/v1/namespaces/other/pods", json=pod("p", nodeName="local"))

    marked = await (await http.delete("/api/v1/namespaces/other")).json()
    assert marked["status"]["phase"] == "Terminating"
    async with http.get("/api/v1/namespaces/other/configmaps/a") as answer:
        assert answer.status == 404
    async with http.post("/api/v1/namespaces/other/configmaps", json=config_map("b")) as answer:
        assert answer.status == 403
        assert "because it is being terminated" in (await answer.json())["message"]

    await http.delete("/api/v1/namespaces/other/pods/p?gracePeriodSeconds=0")
    async with http.get("/api/v1/namespaces/other") as answer:
        assert answer.status == 404


async def test_delete_collection_takes_what_is_selected(http: aiohttp.ClientSession) -> None:
    await http.post(CONFIG_MAPS, json=config_map("a", {"x": "1"}))
    await http.post(CONFIG_MAPS, json=config_map("b", {"x": "2"}))

    async with http.delete(f"{CONFIG_MAPS}?labelSelector=x=1") as answer:
        assert answer.status == 200
    left = await (await http.get(CONFIG_MAPS)).json()
    assert [item["metadata"]["name"] for item in left["items"]] == ["b"]


async def test_generated_names_differ(http: aiohttp.ClientSession) -> None:
    draft = config_map("")
    draft["metadata"] = {"generateName": "made-"}
    names = [
        (await (await http.post(CONFIG_MAPS, json=draft)).json())["metadata"]["name"]
        for _ in range(3)
    ]
    assert len(set(names)) == 3
    assert all(name.startswith("made-") and len(name) == 10 for name in names)
