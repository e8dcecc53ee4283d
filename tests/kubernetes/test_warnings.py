"""What a real API server warns of is shown: by the log, and by the command line."""

from __future__ import annotations

import logging

import pytest

from kubeflink import objects
from kubeflink.objects import JsonObject
from support.embedded import small_arguments
from support.real_cluster import Namespace
from support.shell import Shell

WOULD_VIOLATE = 'Warning: would violate PodSecurity "restricted:latest": '


async def test_a_namespace_that_warns_of_unrestricted_pods(namespace: Namespace) -> None:
    """Dry runs and the deployment itself are told the same: it is shown once."""
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/warn": "restricted"}}}
    await namespace.client.patch(objects.NAMESPACES, namespace.name, label)
    account = {"kind": "ServiceAccount", "name": "default", "namespace": namespace.name}
    await namespace.bind(account, {"kind": "ClusterRole", "name": "edit"})

    words = ("session", "start", "demo", "--no-wait", *small_arguments())
    done = await Shell(namespace.admin, {}).succeed(*words)

    lines = [line for line in done.err.splitlines() if "Warning: " in line]
    assert len(lines) == 1
    assert lines[0].startswith(f"kubeflink: {WOULD_VIOLATE}")
    assert 'container "flink-main-container"' in lines[0]


async def test_a_field_that_is_not_known(
    namespace: Namespace, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeflink.kube.warnings._TOLD", set())
    monkeypatch.setattr(logging.getLogger("kubeflink"), "propagate", True)
    pod: JsonObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "odd"},
        "spec": {"containers": [{"name": "main", "image": "none", "imagePullPolice": "Never"}]},
    }

    await namespace.client.create(pod)

    assert 'Warning: unknown field "spec.containers[0].imagePullPolice"' in caplog.messages
