"""RBAC that is really on: what JobManagers, brokers and users need, and that they get no more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kubeflink import objects
from kubeflink.broker.blueprint import read_blueprint
from kubeflink.broker.process import ONE_ATTEMPT, Broker, Listening
from kubeflink.cluster import deployment, preflight, removal
from kubeflink.cluster.preflight import Plan
from kubeflink.errors import ForbiddenError
from kubeflink.kube.client import KubeClient
from kubeflink.objects import JsonObject
from kubeflink.spec import names
from kubeflink.spec.broker import role_rules
from support.broker import TOKEN, JobManager, jobmanager, worker_request
from support.clusters import session, taskmanager
from support.control_plane import ControlPlane
from support.documents import documented_role
from support.real_cluster import Namespace, eventually

HIGH_AVAILABILITY = {
    "high-availability.type": "kubernetes",
    "high-availability.storageDir": "s3://bucket/ha",
}
BROKER = {"kubeflink.broker.enabled": "true"}

Right = tuple[str, str, str]
"""Verb, resource with subresource and group, and name (empty: all)."""


def client_of(kubeconfig: Path) -> KubeClient:
    return KubeClient.connect(kubeconfig=kubeconfig, environ={}, limits=ONE_ATTEMPT)


async def rights_of(client: KubeClient) -> set[Right]:
    """All that an account may do in its namespace, without what everybody may."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": client.namespace},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    answer = await client.http.post(path, json=review)
    assert answer.is_success, answer.text
    found = rights_in(answer.json()["status"]["resourceRules"])
    return {right for right in found if not right[1].startswith("self")}


def rights_in(rules: Iterable[JsonObject]) -> set[Right]:
    """The single rights that rules consist of."""
    return {
        (verb, f"{resource}.{group}".rstrip("."), name)
        for rule in rules
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames") or ("",)
    }


# --- the broker --------------------------------------------------------------------------------


@asynccontextmanager
async def broker_of(namespace: Namespace, **options: str) -> AsyncIterator[Broker]:
    """A cluster `demo`, and its broker outside of it, with the service account of its own."""
    chosen = {"kubernetes.namespace": namespace.name, **BROKER, **options}
    await deployment.deploy(namespace.client, session(chosen))
    account = names.broker_name("demo")
    kubeconfig = await eventually(lambda: _account(namespace, account), "the broker's account")
    # What its pod mounts is read by whoever deploys it.
    blueprint = await read_blueprint(namespace.client, "demo", namespace.name)
    async with (
        client_of(kubeconfig) as client,
        Broker(client, blueprint, Listening(TOKEN, None)) as broker,
    ):
        await broker.ready()
        yield broker


async def _account(namespace: Namespace, name: str) -> Path | None:
    found = await namespace.get(objects.SERVICE_ACCOUNTS, name)
    return None if found is None else await namespace.as_account(name)


@pytest.mark.parametrize("options", [{}, HIGH_AVAILABILITY], ids=["plain", "high availability"])
async def test_a_broker_may_do_what_its_role_says(
    namespace: Namespace, options: dict[str, str]
) -> None:
    chosen = {"kubernetes.namespace": namespace.name, **BROKER, **options}
    await deployment.deploy(namespace.client, session(chosen))
    role = await namespace.client.get(objects.ROLES, names.broker_name("demo"))

    async with client_of(await namespace.as_account(names.broker_name("demo"))) as client:
        assert await rights_of(client) == rights_in(role["rules"])
        for kind in (objects.SECRETS, objects.NAMESPACES, objects.SERVICE_ACCOUNTS):
            with pytest.raises(ForbiddenError):
                await client.list(kind)


async def test_a_broker_makes_and_releases_workers(namespace: Namespace) -> None:
    async with broker_of(namespace) as broker, jobmanager(broker) as flink:
        pods = f"/api/v1/namespaces/{namespace.name}/pods"
        request = worker_request(broker.blueprint)
        status, made = await flink.call("POST", pods, request)
        assert status == 201, made
        name = objects.name_of(made)
        real = await namespace.client.get(objects.PODS, name)
        assert objects.uid_of(real) == objects.uid_of(made)
        assert objects.owner_uids(real) == {objects.uid_of(broker.blueprint.deployment)}

        status, _ = await flink.call("DELETE", f"{pods}/{name}")
        assert status == 200

        async def is_gone() -> bool:
            return await namespace.get(objects.PODS, name) is None

        await eventually(is_gone, "the worker is gone")


async def test_a_broker_writes_the_ports_of_host_network(namespace: Namespace) -> None:
    async with (
        broker_of(namespace, **{"kubernetes.hostnetwork.enabled": "true"}) as broker,
        jobmanager(broker) as flink,
    ):
        for name in ("demo", "demo-rest"):
            path = objects.SERVICES.path(name, namespace.name)
            status, service = await flink.call("GET", path)
            assert status == 200, service
            service["spec"]["ports"][0]["targetPort"] = 45678
            status, answer = await flink.call("PUT", path, service)
            assert status == 200, answer
            real = await namespace.client.get(objects.SERVICES, name)
            assert real["spec"]["ports"][0]["targetPort"] == 45678


async def test_a_broker_keeps_high_availability(namespace: Namespace) -> None:
    async with broker_of(namespace, **HIGH_AVAILABILITY) as broker, jobmanager(broker) as flink:
        await check_leadership(flink, namespace)


async def check_leadership(flink: JobManager, namespace: Namespace) -> None:
    """What a leader election does: look, create, write with a version, delete."""
    name = "demo-cluster-config-map"
    collection = f"/api/v1/namespaces/{namespace.name}/configmaps"
    path = f"{collection}/{name}"
    assert (await flink.call("GET", path))[0] == 404
    labels = {
        "app": "demo",
        "type": "flink-native-kubernetes",
        "configmap-type": "high-availability",
    }
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"},
        },
    }
    status, made = await flink.call("POST", collection, body)
    assert status == 201, made
    changed = {**made, "data": {"address": "akka.tcp://flink@10.0.0.1"}}
    status, written = await flink.call("PUT", path, changed)
    assert status == 200, written
    status, refused = await flink.call("PUT", path, changed)
    assert (status, refused["reason"]) == (409, "Conflict")
    real = await namespace.client.get(objects.CONFIG_MAPS, name)
    assert real["data"] == changed["data"]
    assert (await flink.call("DELETE", path))[0] == 200


@pytest.mark.parametrize("options", [{}, HIGH_AVAILABILITY], ids=["plain", "high availability"])
async def test_a_broker_removes_a_cluster_that_may_end_itself(
    namespace: Namespace, options: dict[str, str]
) -> None:
    before = await namespace.everything()
    chosen = {"kubeflink.broker.self-deletion": "true", **options}
    async with broker_of(namespace, **chosen) as broker, jobmanager(broker) as flink:
        path = objects.DEPLOYMENTS.path("demo", namespace.name)
        status, answer = await flink.call("DELETE", path)
        assert status == 200, answer

        async def is_gone() -> bool:
            return await namespace.get(objects.DEPLOYMENTS, "demo") is None

        await eventually(is_gone, "the cluster is gone")

    async def is_as_before() -> bool:
        return await namespace.everything() == before

    await eventually(is_as_before, "nothing of it is left")


# --- the JobManager's account ------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, HIGH_AVAILABILITY], ids=["plain", "high availability"])
async def test_the_role_that_is_proposed_is_enough_for_a_jobmanager(
    namespace: Namespace, options: dict[str, str]
) -> None:
    """What Flink's driver does, done with the rights that `session start` asks for."""
    plan = Plan(
        "demo", namespace.name, high_availability=bool(options), host_network=not bool(options)
    )
    (finding,) = await preflight.check(namespace.client, plan)
    assert f"Service account default in namespace {namespace.name} may not" in finding.message
    for obj in finding.manifest:
        await namespace.client.create(obj)
    assert await preflight.check(namespace.client, plan) == ()

    chosen = {"kubernetes.namespace": namespace.name, **options}
    deployed = await deployment.deploy(namespace.client, session(chosen))
    pod = taskmanager(chosen)
    pod["metadata"]["ownerReferences"] = [objects.owner_reference(deployed.deployment)]
    async with client_of(await namespace.as_account("default")) as client:
        await client.get(objects.DEPLOYMENTS, "demo")
        made = await client.create(pod)
        labels = names.taskmanager_labels("demo")
        found = await client.list(objects.PODS, labels=labels)
        watch = client.watch(
            objects.PODS,
            resource_version=found.resource_version,
            labels=labels,
            timeout_seconds=1,
        )
        assert {event.type async for event in watch} <= {"MODIFIED", "BOOKMARK"}
        await client.delete(objects.PODS, objects.name_of(made))
        if options:
            config_map = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "demo-cluster-config-map"},
            }
            written = await client.create(config_map)
            await client.replace({**written, "data": {"a": "b"}})
            await client.delete(objects.CONFIG_MAPS, "demo-cluster-config-map")
        else:
            service = await client.get(objects.SERVICES, "demo-rest")
            await client.replace(service)
        with pytest.raises(ForbiddenError):
            await client.list(objects.SECRETS)


def test_the_documented_role_of_a_jobmanager_is_what_is_asked_for() -> None:
    rules = documented_role("flink")["rules"]
    needs = preflight.jobmanager_needs(high_availability=False, application=True)
    assert rights_in(rules) == {
        (verb, f"{kind.plural}.{kind.group}".rstrip("."), "") for verb, kind in needs
    }


async def test_the_edit_role_is_enough_for_a_jobmanager(namespace: Namespace) -> None:
    account = {"kind": "ServiceAccount", "name": "default", "namespace": namespace.name}
    await namespace.bind(account, {"kind": "ClusterRole", "name": "edit"})
    for high_availability in (False, True):
        plan = Plan("demo", namespace.name, high_availability=high_availability, host_network=True)
        assert await preflight.check(namespace.client, plan) == ()


# --- users -------------------------------------------------------------------------------------


async def test_a_user_without_rights_is_told_which(namespace: Namespace) -> None:
    async with client_of(namespace.user()) as client:
        (finding,) = await preflight.check(client, Plan("demo", namespace.name))
        assert finding.is_fatal
        assert (
            "You may not create deployments, create services, create configmaps, get services in"
            f" namespace {namespace.name}" in finding.message
        )
        with pytest.raises(ForbiddenError, match=r'"mary" may not create deployments\.apps') as no:
            await deployment.deploy(client, session({"kubernetes.namespace": namespace.name}))
        assert no.value.hint is not None
        assert 'apiGroups ["apps"], resources ["deployments"], verbs ["create"]' in no.value.hint


@pytest.mark.parametrize(
    ("role", "options"), [("edit", {}), ("admin", BROKER)], ids=["edit", "admin with a broker"]
)
async def test_the_documented_role_is_enough_to_deploy(
    namespace: Namespace, role: str, options: dict[str, str]
) -> None:
    """Roles are only given out by who has their rights: the broker's Role among them."""
    await namespace.grant("mary", role)
    async with client_of(namespace.user()) as client:
        plan = Plan("demo", namespace.name, has_broker=bool(options))
        told = [finding.message for finding in await preflight.check(client, plan)]
        assert not [each for each in told if each.startswith("You may not")]
        chosen = {"kubernetes.namespace": namespace.name, **options}
        await deployment.deploy(client, session(chosen))
        await removal.delete(client, "demo", timeout=60)


async def test_an_editor_may_not_make_a_broker_and_is_told_before(namespace: Namespace) -> None:
    await namespace.grant("mary", "edit")
    before = await namespace.everything()
    async with client_of(namespace.user()) as client:
        plan = Plan("demo", namespace.name, has_broker=True)
        (finding,) = await preflight.check(client, plan)
        assert "You may not create roles, create rolebindings" in finding.message
        assert finding.hint is not None
        assert "kubeflink.broker.service-account" in finding.hint
        chosen = {"kubernetes.namespace": namespace.name, **BROKER}
        with pytest.raises(ForbiddenError, match="may not create roles"):
            await deployment.deploy(client, session(chosen))

    async def is_as_before() -> bool:
        return await namespace.everything() == before

    await eventually(is_as_before, "what was made is taken back")


# --- owners ------------------------------------------------------------------------------------


async def test_where_owners_are_guarded_one_more_role_is_needed(
    namespace: Namespace, control_plane: ControlPlane
) -> None:
    """As on OpenShift: the refusal names it, and with it a cluster and its workers are made."""
    await namespace.allow("mary", documented_role("flink-user")["rules"])
    flag = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"
    chosen = {"kubernetes.namespace": namespace.name}
    with control_plane.another_apiserver("kube-apiserver-strict", flag) as strict:
        kubeconfig = control_plane.kubeconfig(
            "mary", (), namespace=namespace.name, server=strict.url
        )
        async with client_of(kubeconfig) as client:
            with pytest.raises(ForbiddenError, match="cannot set blockOwnerDeletion") as caught:
                await deployment.deploy(client, session(chosen))
            assert caught.value.hint is not None
            assert "deployments/finalizers" in caught.value.hint

            user = {"kind": "User", "name": "mary", "apiGroup": "rbac.authorization.k8s.io"}
            await namespace.add(documented_role("flink-owners"))
            await namespace.bind(user, {"kind": "Role", "name": "flink-owners"})

            async def is_deployed() -> deployment.Deployed | None:
                try:
                    return await deployment.deploy(client, session(chosen))
                except ForbiddenError:  # that server has not seen the new Role yet
                    return None

            deployed = await eventually(is_deployed, "a cluster can be deployed")

        account = {"kind": "ServiceAccount", "name": "demo-broker", "namespace": namespace.name}
        metadata = {"name": "demo-broker"}
        made = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
        await namespace.add(made)
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata}
        await namespace.add({**role, "rules": role_rules("demo")})
        await namespace.bind(account, {"kind": "Role", "name": "demo-broker"})
        token = {"token": await namespace.token("demo-broker")}
        kubeconfig = control_plane.write_kubeconfig(
            token, namespace=namespace.name, server=strict.url
        )
        pod = taskmanager(chosen)
        pod["metadata"]["ownerReferences"] = [objects.owner_reference(deployed.deployment)]
        async with client_of(kubeconfig) as client:
            with pytest.raises(ForbiddenError, match="cannot set blockOwnerDeletion") as caught:
                await client.create(pod)
            assert "or of the broker" in str(caught.value.hint)

            await namespace.bind(account, {"kind": "Role", "name": "flink-owners"})

            async def is_made() -> bool:
                try:
                    return bool(await client.create(pod))
                except ForbiddenError:
                    return False

            await eventually(is_made, "the broker's account can make workers")
