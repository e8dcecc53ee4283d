"""Cluster ids and the names made of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeflink.errors import ConfigurationError, UsageError
from kubeflink.spec import names

LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


@pytest.mark.parametrize("cluster_id", ["a", "a1", "a-b", "x" * 45])
def test_a_label_of_up_to_45_characters_is_a_cluster_id(cluster_id: str) -> None:
    assert names.validate_cluster_id(cluster_id) == cluster_id


@pytest.mark.parametrize(
    "cluster_id", ["", " ", "A", "1abc", "a-", "-a", "My_Cluster", "flinksql_test_2", "a.b", "ä"]
)
def test_anything_else_is_refused_with_the_rule(cluster_id: str) -> None:
    with pytest.raises(ConfigurationError, match=r"kubernetes\.cluster-id") as caught:
        names.validate_cluster_id(cluster_id, "-D")

    assert "-D" in str(caught.value)
    assert "Lower-case letters" in str(caught.value.hint)


def test_the_hint_has_a_name_that_would_do() -> None:
    with pytest.raises(ConfigurationError) as caught:
        names.validate_cluster_id("1_My Cluster_")

    assert "'my-cluster'" in str(caught.value.hint)


def test_more_than_45_characters_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="46 characters"):
        names.validate_cluster_id("a" * 46)


@given(st.text(max_size=60))
def test_whatever_is_let_through_makes_names_that_kubernetes_takes(cluster_id: str) -> None:
    try:
        names.validate_cluster_id(cluster_id)
    except ConfigurationError:
        return

    service = names.rest_service_name(cluster_id)
    pod = names.taskmanager_pod_name(cluster_id, 9, 999)
    assert all(LABEL.fullmatch(name) and len(name) <= 63 for name in (cluster_id, service, pod))


def test_a_random_cluster_id_is_another_one_each_time_and_valid() -> None:
    made = {names.random_cluster_id() for _ in range(50)}

    assert len(made) == 50
    for cluster_id in made:
        assert re.fullmatch(r"flink-cluster-[0-9a-f]{31}", cluster_id)
        assert names.validate_cluster_id(cluster_id) == cluster_id


@pytest.mark.parametrize("namespace", ["", " ns ", "Ns", "a_b", "-a", "a" * 64])
def test_a_namespace_that_kubernetes_cannot_have_is_refused(namespace: str) -> None:
    with pytest.raises(ConfigurationError, match=r"kubernetes\.namespace"):
        names.validate_namespace(namespace)


def test_labels_select_one_role_of_one_cluster() -> None:
    jobmanager, taskmanager = names.jobmanager_labels("demo"), names.taskmanager_labels("demo")

    assert jobmanager != taskmanager
    assert names.common_labels("demo").items() <= jobmanager.items()
    assert names.common_labels("demo").items() <= taskmanager.items()
    assert jobmanager["app"] == "demo"


@pytest.mark.parametrize("name", ["a", "a-1", "x" * 63])
def test_a_name_that_kubernetes_can_have_is_looked_for(name: str) -> None:
    assert names.validate_sought_name(name) == name


@pytest.mark.parametrize("name", ["", " ", "A B", "a/b", "../x", "Demo", "1a", "a.b", "x" * 64])
def test_a_name_that_no_cluster_has_is_not_looked_for(name: str) -> None:
    with pytest.raises(UsageError):
        names.validate_sought_name(name)
