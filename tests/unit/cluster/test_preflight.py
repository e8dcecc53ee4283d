"""What would go wrong later, found before."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflink.cluster import preflight
from kubeflink.kube.access import ClusterAccess
from kubeflink.kube.client import KubeClient
from kubeflink.objects import CONFIG_MAPS, SERVICE_ACCOUNTS, SERVICES
from support.kubernetes import FLINK_LABELS, SmallKubernetes
from support.scripted_server import Answer, ScriptedServer

PLAN = preflight.Plan("demo", "default")


async def messages(kubernetes: SmallKubernetes, plan: preflight.Plan = PLAN) -> list[str]:
    found = await preflight.check(kubernetes.client, plan)
    return [finding.message for finding in found]


@pytest.fixture
async def with_account(kubernetes: SmallKubernetes) -> SmallKubernetes:
    await kubernetes.add(SERVICE_ACCOUNTS, {"metadata": {"name": "default"}})
    return kubernetes


async def test_all_is_well(with_account: SmallKubernetes) -> None:
    assert await messages(with_account) == []
    assert not [method for method, path in with_account.faults.requests if method == "DELETE"]


async def test_a_namespace_that_is_not_there(with_account: SmallKubernetes) -> None:
    assert "There is no namespace nowhere" in await messages(
        with_account, preflight.Plan("demo", "nowhere")
    )


async def test_a_service_account_that_is_not_there(kubernetes: SmallKubernetes) -> None:
    (finding,) = await preflight.check(
        kubernetes.client, preflight.Plan("demo", "default", jobmanager_account="flink")
    )

    assert finding.message == "There is no service account flink in namespace default"
    assert [obj["kind"] for obj in finding.manifest] == ["Role", "RoleBinding"]


async def test_own_rights(with_account: SmallKubernetes) -> None:
    with_account.rights.denied |= {"create deployments", "create configmaps"}

    (message,) = await messages(with_account)
    assert message == "You may not create deployments, create configmaps in namespace default"


async def test_data_of_a_former_cluster_is_told_with_what_would_come_back(
    with_account: SmallKubernetes,
) -> None:
    job = "0123456789abcdef0123456789abcdef"
    labels = {**FLINK_LABELS, "configmap-type": "high-availability"}
    metadata = {"name": f"demo-{job}-config-map", "labels": labels}
    await with_account.add(CONFIG_MAPS, {"metadata": metadata})

    (finding,) = await preflight.check(
        with_account.client, preflight.Plan("demo", "default", high_availability=True)
    )

    assert not finding.is_fatal
    assert job in finding.message
    assert await messages(with_account) == []  # without high availability nothing is recovered


async def test_a_command_that_is_shown_names_the_namespace(kubernetes: SmallKubernetes) -> None:
    labels = {**FLINK_LABELS, "configmap-type": "high-availability"}
    metadata = {"name": "demo-cluster-config-map", "labels": labels}
    await kubernetes.add(CONFIG_MAPS, {"metadata": metadata}, "other")
    plan = preflight.Plan("demo", "other", "flink", "flink", high_availability=True)

    hints = [finding.hint for finding in await preflight.check(kubernetes.client, plan)]
    assert hints == [
        "Create it: kubectl create serviceaccount flink -n other",
        "To start anew, delete it first: kubeflink session stop demo --ha-data delete"
        " --namespace other",
    ]


def allowed(value: bool) -> Answer:
    return Answer(201, {"kind": "SubjectAccessReview", "status": {"allowed": value}})


@pytest.fixture
async def api(flink_rest: ScriptedServer) -> Any:
    """An API server that answers reviews about other accounts."""
    account = {"kind": "ServiceAccount", "metadata": {"name": "x"}}
    for name in ("default", "limited"):
        flink_rest.on(
            "GET", f"/api/v1/namespaces/default/serviceaccounts/{name}", Answer(200, account)
        )
    flink_rest.on("GET", "/api/v1/namespaces/default", Answer(200, {"kind": "Namespace"}))
    own = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    flink_rest.on("POST", own, allowed(True))
    access = ClusterAccess(server=flink_rest.url, namespace="default", origin="a test")
    async with KubeClient.of(access, environ={}) as client:
        yield client


REVIEWS = "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews"


async def test_an_account_that_may_list_but_not_watch_pods(
    api: KubeClient, flink_rest: ScriptedServer
) -> None:
    needs = preflight.jobmanager_needs(high_availability=False)
    answers = [allowed((verb, kind.plural) != ("watch", "pods")) for verb, kind in needs]
    flink_rest.on("POST", REVIEWS, *answers)

    found = await preflight.check(api, PLAN)

    asked = [seen.json["spec"] for seen in flink_rest.requests("POST", REVIEWS)]
    assert {one["user"] for one in asked} == {"system:serviceaccount:default:default"}
    assert len(found) == 1
    assert found[0].message.startswith("Service account default in namespace default may not")


async def test_with_high_availability_the_workers_account_is_asked_about_too(
    api: KubeClient, flink_rest: ScriptedServer
) -> None:
    flink_rest.on("POST", REVIEWS, allowed(True))
    flink_rest.on("GET", "/api/v1/namespaces/default/configmaps", Answer(200, {"items": []}))
    plan = preflight.Plan("demo", "default", taskmanager_account="limited", high_availability=True)

    assert await preflight.check(api, plan) == ()
    users = {seen.json["spec"]["user"] for seen in flink_rest.requests("POST", REVIEWS)}
    assert users == {
        "system:serviceaccount:default:default",
        "system:serviceaccount:default:limited",
    }


def test_the_least_role() -> None:
    role, binding = preflight.role_for("flink", "ns", preflight.jobmanager_needs(True))

    by_resource = {rule["resources"][0]: rule["verbs"] for rule in role["rules"]}
    assert "watch" in by_resource["pods"]
    assert by_resource["deployments"] == ["get"]
    assert "patch" in by_resource["configmaps"]
    assert binding["subjects"][0]["name"] == "flink"


@pytest.mark.parametrize("verb", ["get", "update"])
def test_on_the_host_network_the_jobmanager_writes_into_its_services(verb: str) -> None:
    assert (verb, SERVICES) in preflight.jobmanager_needs(False, host_network=True)
    assert (verb, SERVICES) not in preflight.jobmanager_needs(True)


async def test_with_a_broker_the_jobmanagers_account_needs_nothing(
    kubernetes: SmallKubernetes,
) -> None:
    plan = preflight.Plan("demo", "default", jobmanager_account="nobody", has_broker=True)

    assert await messages(kubernetes, plan) == []


async def test_who_deploys_a_broker_makes_its_role(kubernetes: SmallKubernetes) -> None:
    kubernetes.rights.denied |= {"create roles", "create rolebindings"}
    plan = preflight.Plan("demo", "default", has_broker=True)

    (finding,) = await preflight.check(kubernetes.client, plan)
    assert finding.message == "You may not create roles, create rolebindings in namespace default"
    assert "kubeflink.broker.service-account" in (finding.hint or "")


async def test_an_account_for_the_broker_is_looked_at(kubernetes: SmallKubernetes) -> None:
    kubernetes.rights.denied |= {"create roles"}
    plan = preflight.Plan("demo", "default", has_broker=True, broker_account="theirs")

    assert await messages(kubernetes, plan) == [
        "There is no service account theirs in namespace default"
    ]
