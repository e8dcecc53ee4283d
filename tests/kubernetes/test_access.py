"""Who one is to a real API server, and what it says to requests that it does not like."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kubeflink import objects
from kubeflink.cluster import deployment
from kubeflink.errors import (
    ApiUnreachableError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    UnauthorizedError,
)
from kubeflink.kube.client import KubeClient
from kubeflink.kube.exchange import Limits
from support.clusters import session
from support.kubectl import Kubectl
from support.real_cluster import Namespace

SHORT = Limits(total=2.0, first_contact=1.0, internal=1.0)


def client_of(kubeconfig: Path) -> KubeClient:
    return KubeClient.connect(kubeconfig=kubeconfig, environ={}, limits=SHORT)


async def who_am_i(client: KubeClient) -> tuple[str, set[str]]:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = (await client.http.post(path, json=review)).json()["status"]["userInfo"]
    return answer["username"], set(answer["groups"])


async def test_a_client_certificate(namespace: Namespace) -> None:
    kubeconfig = namespace.control_plane.kubeconfig("carol", ("devs",), namespace=namespace.name)
    async with client_of(kubeconfig) as client:
        name, groups = await who_am_i(client)
    assert (name, "devs" in groups) == ("carol", True)


async def test_a_token_of_a_service_account(namespace: Namespace) -> None:
    async with client_of(await namespace.as_account("default")) as client:
        name, _ = await who_am_i(client)
        assert name == f"system:serviceaccount:{namespace.name}:default"
        with pytest.raises(ForbiddenError, match=f'Account "{name}" may not list pods') as caught:
            await client.list(objects.PODS)
    assert caught.value.hint is not None
    assert 'resources ["pods"], verbs ["list"]' in caught.value.hint


async def test_a_token_file_that_is_renewed(namespace: Namespace, tmp_path: Path) -> None:
    """As a pod's token is, every hour."""
    file = tmp_path / "token"
    file.write_text("stale")
    kubeconfig = namespace.control_plane.write_kubeconfig(
        {"tokenFile": str(file)}, namespace=namespace.name
    )
    async with client_of(kubeconfig) as client:
        with pytest.raises(UnauthorizedError, match="does not accept the credentials"):
            await client.list(objects.PODS)
        file.write_text(await namespace.token("default"))
        await client.renew_credentials()
        name, _ = await who_am_i(client)
    assert name == f"system:serviceaccount:{namespace.name}:default"


async def test_no_credentials(namespace: Namespace) -> None:
    kubeconfig = namespace.control_plane.write_kubeconfig({}, namespace=namespace.name)
    async with client_of(kubeconfig) as client:
        with pytest.raises(ForbiddenError, match="system:anonymous") as caught:
            await client.list(objects.PODS)
    assert caught.value.hint is not None
    assert "No credentials were sent" in caught.value.hint


async def test_a_server_that_is_not_trusted(namespace: Namespace, tmp_path: Path) -> None:
    kubeconfig = namespace.admin
    text = kubeconfig.read_text()
    other = tmp_path / "kubeconfig"
    start = text.index('"certificate-authority-data": "') + len('"certificate-authority-data": "')
    other.write_text(text.replace(text[start : text.index('"', start)], ""))
    async with client_of(other) as client:
        with pytest.raises(ApiUnreachableError, match="certificate is not trusted"):
            await client.list(objects.PODS)


async def test_a_quota_for_services(namespace: Namespace) -> None:
    """A refusal half way, which is no matter of rights."""
    await namespace.add(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "few"},
            "spec": {"hard": {"services": "0"}},
        }
    )
    while True:
        path = f"/api/v1/namespaces/{namespace.name}/resourcequotas/few"
        if (await namespace.client.http.get(path)).json()["status"].get("hard"):
            break
        await asyncio.sleep(0.1)

    with pytest.raises(ForbiddenError, match="exceeded quota: few, requested: services=1") as no:
        await deployment.deploy(namespace.client, session({"kubernetes.namespace": namespace.name}))

    assert no.value.hint is None or "Role" not in no.value.hint
    assert await namespace.names(objects.DEPLOYMENTS) == set()


async def test_a_namespace_that_is_not_there(namespace: Namespace) -> None:
    spec = session({"kubernetes.namespace": "nowhere"})
    with pytest.raises(NotFoundError, match='namespaces "nowhere" not found'):
        await deployment.deploy(namespace.client, spec)


async def test_all_causes_of_an_invalid_object_are_told(namespace: Namespace) -> None:
    container = {"name": "A B", "image": "", "ports": [{"containerPort": 99999}]}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [container]},
    }
    with pytest.raises(InvalidError) as caught:
        await namespace.client.create(pod)
    for part in ("spec.containers[0].name", "spec.containers[0].ports[0].containerPort"):
        assert part in caught.value.message


async def test_questions_about_rights(namespace: Namespace) -> None:
    await namespace.grant("mary", "view")
    async with client_of(namespace.user()) as client:
        assert await client.can_i("list", objects.PODS) is True
        assert await client.can_i("create", objects.DEPLOYMENTS) is False
        assert await client.can_i("list", objects.PODS, "kube-system") is False


async def test_patches_of_every_kind(namespace: Namespace, tmp_path: Path) -> None:
    client = namespace.client
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1"}}
    await client.create(made)
    await client.patch(objects.CONFIG_MAPS, "a", {"data": {"b": "2"}})
    await client.patch(
        objects.CONFIG_MAPS, "a", [{"op": "add", "path": "/data/c", "value": "3"}], kind="json"
    )
    await client.patch(objects.CONFIG_MAPS, "a", {"data": {"a": None}}, kind="strategic")
    applied = {**made, "data": {"d": "4"}}
    found = await client.patch(objects.CONFIG_MAPS, "a", applied, kind="apply")
    assert found["data"] == {"b": "2", "c": "3", "d": "4"}
    kubectl = Kubectl("", tmp_path, kubeconfig=namespace.admin)
    assert (await kubectl.json("get", "configmap", "a"))["data"] == found["data"]
