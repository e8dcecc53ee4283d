"""Lists are merged by what Kubernetes takes for a key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeflink.objects import JsonObject
from kubeflink.spec.merge import merge, same_mount_path, same_name, same_port, same_value

NAMED = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("abcd"), "value": st.integers(0, 3)}),
    max_size=6,
)


@given(NAMED, NAMED)
def test_each_name_is_there_once_with_its_last_value(
    present: list[JsonObject], added: list[JsonObject]
) -> None:
    merged, _ = merge(present, added, same_name)

    last = {entry["name"]: entry for entry in (*present, *added)}
    assert {entry["name"]: entry for entry in merged} == last
    assert len(merged) == len(last)


@given(NAMED, NAMED)
def test_names_keep_the_order_in_which_they_came(
    present: list[JsonObject], added: list[JsonObject]
) -> None:
    merged, _ = merge(present, added, same_name)

    order = list(dict.fromkeys(entry["name"] for entry in (*present, *added)))
    assert [entry["name"] for entry in merged] == order


def test_what_gives_way_is_told_and_what_is_equal_is_not() -> None:
    old, equal = {"name": "a", "value": "1"}, {"name": "b", "value": "2"}

    _, replaced = merge([old, equal], [{"name": "a", "value": "9"}, dict(equal)], same_name)

    assert replaced == [old]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ({"name": "rest", "containerPort": 1}, {"name": "rest", "containerPort": 2}, True),
        ({"name": "x", "containerPort": 8081}, {"name": "rest", "containerPort": 8081}, True),
        ({"containerPort": 8081}, {"name": "rest", "containerPort": 8081}, True),
        ({"containerPort": 1}, {"containerPort": 2}, False),
        (
            {"name": "x", "containerPort": 53, "protocol": "UDP"},
            {"name": "y", "containerPort": 53},
            False,
        ),
    ],
)
def test_ports_are_the_same_by_name_or_by_number(
    left: JsonObject, right: JsonObject, expected: bool
) -> None:
    assert same_port(left, right) is expected


def test_a_port_that_meets_two_others_replaces_both() -> None:
    present = [{"name": "rest", "containerPort": 1}, {"name": "x", "containerPort": 8081}]

    merged, replaced = merge(present, [{"name": "rest", "containerPort": 8081}], same_port)

    assert merged == [{"name": "rest", "containerPort": 8081}]
    assert len(replaced) == 2


def test_mounts_are_the_same_by_path_and_tolerations_only_if_equal() -> None:
    mount = {"name": "a", "mountPath": "/x"}

    assert same_mount_path(mount, {"name": "b", "mountPath": "/x"})
    assert not same_mount_path(mount, {"name": "a", "mountPath": "/y"})
    assert same_value({"key": "a"}, {"key": "a"})
    assert not same_value({"key": "a"}, {"key": "a", "operator": "Exists"})
