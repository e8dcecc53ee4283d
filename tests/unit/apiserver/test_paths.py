"""Paths and queries, without a server."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeflink.apiserver.deletion import DeleteOptions
from kubeflink.apiserver.paths import Continue, delete_options, parse_target
from kubeflink.apiserver.resources import Registry
from kubeflink.apiserver.selectors import LabelSelector
from kubeflink.errors import ApiStatusError

REGISTRY = Registry()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/pods", ("pods", None, "", "", "")),
        ("/api/v1/namespaces", ("namespaces", None, "", "", "")),
        ("/api/v1/namespaces/a", ("namespaces", None, "a", "", "")),
        ("/api/v1/namespaces/a/status", ("namespaces", None, "a", "status", "")),
        ("/api/v1/namespaces/a/pods/", ("pods", "a", "", "", "")),
        ("/api/v1/namespaces/a/pods/p", ("pods", "a", "p", "", "")),
        ("/api/v1/namespaces/a/pods/p/log", ("pods", "a", "p", "log", "")),
        ("/apis/apps/v1/namespaces/a/deployments/d", ("deployments", "a", "d", "", "")),
        (
            "/api/v1/namespaces/proxy/services/s:x/proxy/proxy/a%2Fb/",
            ("services", "proxy", "s:x", "proxy", "/proxy/a%2Fb/"),
        ),
        ("/api/v1/namespaces/a/services/s/proxy", ("services", "a", "s", "proxy", "")),
        ("/api/v1/namespaces/a/services/s/proxy/", ("services", "a", "s", "proxy", "/")),
    ],
)
def test_targets(path: str, expected: tuple[str, str | None, str, str, str]) -> None:
    target = parse_target(path, REGISTRY)
    assert target is not None
    plural = target.resource.plural
    seen = (plural, target.namespace, target.name, target.subresource, target.rest)
    assert seen == expected


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/api",
        "/api/v1",
        "/apis/apps",
        "/apis/apps/v1",
        "/apis/apps/v2/deployments",
        "/api/v1/pods/p",
        "/api/v1/namespaces/a/nodes",
        "/metrics",
        "",
    ],
)
def test_paths_that_lead_nowhere(path: str) -> None:
    assert parse_target(path, REGISTRY) is None


@given(st.text())
def test_no_path_breaks_the_parser(path: str) -> None:
    parse_target(path, REGISTRY)
    parse_target(f"/api/v1/{path}", REGISTRY)


@given(st.text(), st.text(), st.text())
def test_tokens_come_back(version: str, namespace: str, name: str) -> None:
    token = Continue(version, (namespace, name)).token()
    assert Continue.parse(token) == Continue(version, (namespace, name))


@given(st.text(max_size=20))
def test_what_is_no_token_or_selector_is_a_bad_request(text: str) -> None:
    for parse in (Continue.parse, LabelSelector.parse):
        try:
            parse(text)
        except ApiStatusError as error:
            code = error.code
        else:
            code = 400
        assert code == 400


def test_delete_options_come_from_the_body_and_the_query() -> None:
    body = b"""{"kind": "DeleteOptions", "gracePeriodSeconds": 0, "dryRun": ["All"],
        "preconditions": {"uid": "u", "resourceVersion": "7"}, "propagationPolicy": "Orphan"}"""
    assert delete_options({"gracePeriodSeconds": "9"}, body) == DeleteOptions(
        grace_period=0, propagation="Orphan", uid="u", resource_version="7", dry_run=True
    )
    assert delete_options({"gracePeriodSeconds": "9"}, b"") == DeleteOptions(grace_period=9)
    assert delete_options({"orphanDependents": "true"}, b"").propagation == "Orphan"
