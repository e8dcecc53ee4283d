"""Server-side apply: ownership of fields, removal, conflicts."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from kubeflink import objects
from kubeflink.apiserver.apply import apply_patch
from kubeflink.errors import ConflictError
from kubeflink.objects import JsonObject
from support.manifests import CONFIG_MAPS, DEPLOYMENTS, config_map, deployment


def apply(
    current: JsonObject | None, applied: JsonObject, manager: str = "one", *, force: bool = False
) -> JsonObject:
    resource = objects.resource_of(applied)
    return apply_patch(resource, current, applied, manager=manager, force=force)


def test_what_is_not_applied_any_more_is_removed() -> None:
    first = apply(None, config_map("a", {"x": "1", "y": "2"}, one="1", two="2"))
    second = apply(first, config_map("a", {"x": "1"}, one="1", three="3"))
    assert second["data"] == {"one": "1", "three": "3"}
    assert second["metadata"]["labels"] == {"x": "1"}
    assert apply(second, config_map("a")).get("data") is None


def test_the_fields_of_others_stay() -> None:
    first = apply(None, config_map("a", one="1", both="x"))
    second = apply(first, config_map("a", two="2", both="x"), "two")
    assert second["data"] == {"one": "1", "two": "2", "both": "x"}
    nothing = config_map("a")
    del nothing["data"]
    third = apply(second, nothing)
    assert third["data"] == {"two": "2", "both": "x"}
    assert [entry["manager"] for entry in third["metadata"]["managedFields"]] == ["two"]


def test_an_emptied_mapping_is_not_taken_from_others() -> None:
    first = apply(None, config_map("a"))
    second = apply(first, config_map("a", two="2"), "two")
    nothing = config_map("a")
    del nothing["data"]
    assert apply(second, nothing)["data"] == {"two": "2"}


def test_what_was_not_applied_by_anybody_stays_and_can_be_taken_over() -> None:
    stored = config_map("a", one="1", two="2")
    applied = apply(stored, config_map("a", one="new"))
    assert applied["data"] == {"one": "new", "two": "2"}


def test_a_conflict_is_refused_and_can_be_forced() -> None:
    first = apply(None, config_map("a", one="1"))
    with pytest.raises(ConflictError, match=r'1 conflict: conflict with "one": \.data\.one') as why:
        apply(first, config_map("a", one="2"), "two")
    (cause,) = why.value.status["details"]["causes"]
    assert cause["reason"] == "FieldManagerConflict"

    forced = apply(first, config_map("a", one="2"), "two", force=True)
    assert forced["data"] == {"one": "2"}
    assert [entry["manager"] for entry in forced["metadata"]["managedFields"]] == ["two"]


def with_container(obj: JsonObject, **container: Any) -> JsonObject:
    obj["spec"]["template"]["spec"]["containers"] = [{"name": "main", **container}]
    return obj


def test_keyed_lists_are_merged_by_their_keys() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    first = apply(None, with_container(deployment("web"), image="x", env=env))
    other = with_container(deployment("web"), image="x", env=[{"name": "C", "value": "3"}])
    second = apply(first, other, "two")
    third = apply(second, with_container(deployment("web"), image="x", env=env[:1]))
    (container,) = third["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "A", "value": "1"}, {"name": "C", "value": "3"}]

    with pytest.raises(ConflictError, match=r"containers\[name=\"main\"\]\.image"):
        apply(third, with_container(deployment("web"), image="y"), "three")


def test_a_removed_element_goes_as_a_whole() -> None:
    obj = deployment("web")
    first = apply(None, obj)
    more = deployment("web")
    more["spec"]["template"]["spec"]["containers"].append({"name": "side", "image": "y"})
    second = apply(first, more)
    third = apply(second, deployment("web"))
    names = [each["name"] for each in third["spec"]["template"]["spec"]["containers"]]
    assert names == ["main"]


async def test_over_http(http: aiohttp.ClientSession) -> None:
    headers = {"Content-Type": "application/apply-patch+yaml"}

    async def patch(path: str, body: Any, query: str) -> tuple[int, JsonObject]:
        async with http.patch(f"{path}?{query}", headers=headers, **body) as answer:
            return answer.status, await answer.json()

    status, created = await patch(
        f"{DEPLOYMENTS}/web", {"json": deployment("web")}, "fieldManager=x"
    )
    assert status == 201
    assert created["spec"]["strategy"]["type"] == "RollingUpdate"
    status, again = await patch(f"{DEPLOYMENTS}/web", {"json": deployment("web")}, "fieldManager=x")
    assert (status, again) == (200, created)

    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: 'v'}\n"
    status, made = await patch(f"{CONFIG_MAPS}/a", {"data": text}, "fieldManager=x")
    assert (status, made["data"]) == (201, {"k": "v"})

    status, _ = await patch(f"{CONFIG_MAPS}/a", {"data": text}, "force=true")
    assert status == 422
    status, _ = await patch(f"{CONFIG_MAPS}/b", {"data": text}, "fieldManager=x")
    assert status == 400
    status, _ = await patch(f"{CONFIG_MAPS}/a", {"json": deployment("a")}, "fieldManager=x")
    assert status == 400
    status, _ = await patch(
        f"{CONFIG_MAPS}/c", {"json": config_map("c")}, "fieldManager=x&dryRun=All"
    )
    assert status == 201
    async with http.get(f"{CONFIG_MAPS}/c") as answer:
        assert answer.status == 404
