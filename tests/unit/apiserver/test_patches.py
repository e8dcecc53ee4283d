"""Merge patch, JSON patch, strategic merge: pure functions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeflink.apiserver.patches import json_patch, merge_patch
from kubeflink.apiserver.strategic import strategic_merge
from kubeflink.errors import BadRequestError, InvalidError

_SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
_KEYS = st.sampled_from(["a", "b", "c/d", "e~f", ""])
_JSON = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(_KEYS, _JSON, max_size=4)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return value


@given(_OBJECTS, _OBJECTS)
def test_a_merge_patch_can_lead_anywhere(source: dict[str, Any], goal: dict[str, Any]) -> None:
    """The patch that removes what is not wanted and sets what is gives the goal."""
    source, goal = without_nulls(source), without_nulls(goal)

    def difference(old: Any, new: Any) -> Any:
        if not isinstance(old, dict) or not isinstance(new, dict):
            return new
        patch = {key: None for key in old if key not in new}
        return patch | {key: difference(old.get(key), value) for key, value in new.items()}

    assert merge_patch(source, difference(source, goal)) == goal


@given(_OBJECTS, _JSON)
def test_a_json_patch_adds_and_removes(document: dict[str, Any], value: Any) -> None:
    for key in document:
        path = "/" + key.replace("~", "~0").replace("/", "~1")
        removed = json_patch(document, [{"op": "remove", "path": path}])
        assert removed == {name: item for name, item in document.items() if name != key}
        back = json_patch(removed, [{"op": "add", "path": path, "value": document[key]}])
        assert back == document
        replaced = json_patch(document, [{"op": "replace", "path": path, "value": value}])
        assert replaced == {**document, key: value}
        json_patch(document, [{"op": "test", "path": path, "value": document[key]}])


def test_json_patch_on_lists() -> None:
    document = {"l": [1, 2, 3]}
    operations = [
        {"op": "add", "path": "/l/1", "value": "new"},
        {"op": "add", "path": "/l/-", "value": "last"},
        {"op": "remove", "path": "/l/0"},
        {"op": "copy", "from": "/l/0", "path": "/first"},
        {"op": "move", "from": "/l/1", "path": "/two"},
    ]
    assert json_patch(document, operations) == {"l": ["new", 3, "last"], "first": "new", "two": 2}
    assert document == {"l": [1, 2, 3]}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/l/4", "value": 1},
        {"op": "remove", "path": "/l/-"},
        {"op": "replace", "path": "/x", "value": 1},
        {"op": "add", "path": "/x/y", "value": 1},
        {"op": "add", "path": "/l/01", "value": 1},
        {"op": "add", "path": "l", "value": 1},
        {"op": "add", "path": "/x"},
        {"op": "move", "from": "/x", "path": "/y"},
        {"op": "test", "path": "/l", "value": []},
    ],
)
def test_json_patches_that_do_not_apply(operation: dict[str, Any]) -> None:
    with pytest.raises(InvalidError):
        json_patch({"l": [1, 2, 3]}, [operation])


@pytest.mark.parametrize("operation", ["add", {"op": "sing"}, {}])
def test_what_is_no_json_patch(operation: Any) -> None:
    with pytest.raises(BadRequestError):
        json_patch({}, [operation])


def containers(*items: dict[str, Any]) -> dict[str, Any]:
    return {"containers": list(items)}


@pytest.mark.parametrize(
    ("patch", "merged"),
    [
        (
            containers({"name": "b", "image": "new"}),
            containers({"name": "a", "image": "1"}, {"name": "b", "image": "new", "env": []}),
        ),
        (
            containers({"name": "c", "image": "3"}),
            containers(
                {"name": "c", "image": "3"},
                {"name": "a", "image": "1"},
                {"name": "b", "image": "2", "env": []},
            ),
        ),
        (
            containers({"name": "a", "$patch": "delete"}),
            containers({"name": "b", "image": "2", "env": []}),
        ),
        (
            containers({"$patch": "replace"}, {"name": "c"}),
            containers({"name": "c"}),
        ),
        (
            {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]},
            containers({"name": "b", "image": "2", "env": []}, {"name": "a", "image": "1"}),
        ),
        ({"containers": None}, {}),
        ({"$patch": "replace", "x": 1}, {"x": 1}),
    ],
)
def test_strategic_merge_of_containers(patch: dict[str, Any], merged: dict[str, Any]) -> None:
    target = containers({"name": "a", "image": "1"}, {"name": "b", "image": "2", "env": []})
    assert strategic_merge(target, patch) == merged


def test_strategic_merge_knows_the_ports_by_their_place() -> None:
    in_container = {"ports": [{"containerPort": 1, "name": "x"}]}
    assert strategic_merge(in_container, {"ports": [{"containerPort": 1, "name": "y"}]}) == {
        "ports": [{"containerPort": 1, "name": "y"}]
    }
    in_service = {"ports": [{"port": 1, "targetPort": 5}]}
    assert strategic_merge(in_service, {"ports": [{"port": 1, "nodePort": 6}]}) == {
        "ports": [{"port": 1, "targetPort": 5, "nodePort": 6}]
    }


def test_strategic_merge_of_plain_lists() -> None:
    target = {"args": ["a", "b"], "finalizers": ["x", "y"]}
    assert strategic_merge(target, {"args": ["c"], "finalizers": ["z"]}) == {
        "args": ["c"],
        "finalizers": ["z", "x", "y"],
    }
    patch = {"$deleteFromPrimitiveList/finalizers": ["x"]}
    assert strategic_merge(target, patch)["finalizers"] == ["y"]


def test_strategic_merge_keeps_only_what_it_is_told_to_retain() -> None:
    target = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}
    patch = {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}
    assert strategic_merge(target, patch) == {"strategy": {"type": "Recreate"}}


def test_an_element_without_its_key_is_refused() -> None:
    with pytest.raises(BadRequestError, match="does not contain declared merge key: name"):
        strategic_merge({}, containers({"image": "1"}))
