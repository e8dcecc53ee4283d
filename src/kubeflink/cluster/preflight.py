"""What would make a deployment fail later, asked before it begins.

Only the own commands ask, and only as much as is cheap: the questions go out together. An answer of
"no" is certain enough to stop; where the server does not answer such questions (access reviews may
be off, or about another account) nothing is concluded.

`watch` on pods is asked for beside `list`: a JobManager that may list but not watch its TaskManager
pods dies with "Number of retries has been exhausted", which tells nobody what is missing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubeflink.cluster import removal
from kubeflink.errors import KubernetesError, NotFoundError
from kubeflink.kube import next_step
from kubeflink.kube.client import KubeClient
from kubeflink.objects import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    NAMESPACES,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    JsonObject,
    Resource,
)

if TYPE_CHECKING:
    from kubeflink.config import Configuration

_CLIENT_NEEDS: Final[tuple[tuple[str, Resource], ...]] = (
    ("create", DEPLOYMENTS),
    ("create", SERVICES),
    ("create", CONFIG_MAPS),
    ("get", SERVICES),
)

_BROKER_NEEDS: Final[tuple[tuple[str, Resource], ...]] = (("create", SECRETS),)
_BROKER_ACCOUNT_NEEDS: Final[tuple[tuple[str, Resource], ...]] = (
    ("create", SERVICE_ACCOUNTS),
    ("create", ROLES),
    ("create", ROLE_BINDINGS),
)

ACCOUNT_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews"
)
"""Questions about another account, within a namespace: the ClusterRole `admin` may ask them there,
while those about the whole cluster are for its administrators."""


def jobmanager_needs(
    high_availability: bool, host_network: bool = False, application: bool = False
) -> tuple[tuple[str, Resource], ...]:
    """What the JobManager's service account has to be allowed.

    On the host network it writes its ports into its Services. That of an application deletes its
    Deployment when the application has ended; it would start it again for ever.
    """
    pods = [(verb, PODS) for verb in ("get", "list", "watch", "create", "delete")]
    needs: list[tuple[str, Resource]] = [*pods, ("get", DEPLOYMENTS)]
    if application:
        needs.append(("delete", DEPLOYMENTS))
    if high_availability:
        verbs = ("get", "list", "watch", "create", "update", "patch", "delete")
        needs += [(verb, CONFIG_MAPS) for verb in verbs]
    if host_network:
        needs += [("get", SERVICES), ("update", SERVICES)]
    return tuple(needs)


def taskmanager_needs(high_availability: bool) -> tuple[tuple[str, Resource], ...]:
    """With high availability the TaskManagers look for the leader in ConfigMaps themselves."""
    if not high_availability:
        return ()
    return tuple((verb, CONFIG_MAPS) for verb in ("get", "list", "watch"))


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. `is_fatal` if the deployment, or the cluster, would certainly fail.

    `manifest` is what to apply to put it right, as objects; empty where there is none.
    """

    message: str
    hint: str | None = None
    is_fatal: bool = True
    manifest: tuple[JsonObject, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What is going to be deployed, as far as it matters here.

    With a broker, JobManager and TaskManagers need no rights; the broker's account is made with the
    cluster, unless `broker_account` names one that exists.
    """

    cluster_id: str
    namespace: str
    jobmanager_account: str = "default"
    taskmanager_account: str = "default"
    high_availability: bool = False
    host_network: bool = False
    application: bool = False
    has_broker: bool = False
    broker_account: str | None = None

    @property
    def client_needs(self) -> tuple[tuple[str, Resource], ...]:
        """What the deploying account has to be allowed."""
        if not self.has_broker:
            return _CLIENT_NEEDS
        own = _BROKER_ACCOUNT_NEEDS if self.broker_account is None else ()
        return (*_CLIENT_NEEDS, *_BROKER_NEEDS, *own)

    @property
    def accounts(self) -> dict[str, tuple[tuple[str, Resource], ...]]:
        """What accounts that exist have to be allowed, by name."""
        driver = jobmanager_needs(self.high_availability, self.host_network, self.application)
        if self.has_broker:
            return {} if self.broker_account is None else {self.broker_account: driver}
        needs = {self.jobmanager_account: driver}
        workers = taskmanager_needs(self.high_availability)
        if workers and self.taskmanager_account != self.jobmanager_account:
            needs[self.taskmanager_account] = workers
        return needs


def plan(configuration: Configuration, *, application: bool = False) -> Plan:
    """What a configuration with a cluster id is about to deploy."""
    from kubeflink.config.options import broker
    from kubeflink.config.options import kubernetes as k8s
    from kubeflink.spec.parameters import is_high_availability_on

    return Plan(
        cluster_id=configuration.get(k8s.CLUSTER_ID) or "",
        namespace=configuration.get(k8s.NAMESPACE),
        jobmanager_account=configuration.get(k8s.JOBMANAGER_SERVICE_ACCOUNT),
        taskmanager_account=configuration.get(k8s.TASKMANAGER_SERVICE_ACCOUNT),
        high_availability=is_high_availability_on(configuration),
        host_network=configuration.get(k8s.HOSTNETWORK_ENABLED),
        application=application,
        has_broker=configuration.get(broker.ENABLED),
        broker_account=configuration.get(broker.SERVICE_ACCOUNT),
    )


async def check(client: KubeClient, plan: Plan) -> tuple[Finding, ...]:
    """All that is wrong, the fatal first. Sends reads and access reviews, and changes nothing."""
    questions = [
        _namespace(client, plan.namespace),
        _own_rights(client, plan),
        leftovers(client, plan),
        *(_account(client, plan.namespace, name, needs) for name, needs in plan.accounts.items()),
    ]
    answers = await asyncio.gather(*questions)
    found = [finding for findings in answers for finding in findings]
    return tuple(sorted(found, key=lambda finding: not finding.is_fatal))


async def _namespace(client: KubeClient, namespace: str) -> list[Finding]:
    try:
        await client.get(NAMESPACES, namespace)
    except NotFoundError:
        how = next_step.kubectl(f"create namespace {namespace}", None)
        return [Finding(f"There is no namespace {namespace}", f"Create it: {how}")]
    except KubernetesError:  # often not allowed, and no reason not to go on
        return []
    return []


async def _own_rights(client: KubeClient, plan: Plan) -> list[Finding]:
    needs = plan.client_needs
    answers = await asyncio.gather(
        *(client.can_i(verb, resource, plan.namespace) for verb, resource in needs)
    )
    missing = [need for need, may in zip(needs, answers, strict=True) if may is False]
    if not missing:
        return []
    told = ", ".join(f"{verb} {resource.plural}" for verb, resource in missing)
    hint = "Ask for the ClusterRole edit"
    if {resource for _, resource in missing} <= {ROLES, ROLE_BINDINGS}:
        hint = "Ask for the ClusterRole admin, or name an account: kubeflink.broker.service-account"
    return [Finding(f"You may not {told} in namespace {plan.namespace}", hint)]


async def leftovers(client: KubeClient, plan: Plan) -> list[Finding]:
    """The jobs that would come back although nobody asked for them."""
    if not plan.high_availability or not plan.cluster_id:
        return []
    try:
        found = await removal.ha_config_maps(client, plan.cluster_id, plan.namespace)
    except KubernetesError:
        return []
    if not found:
        return []
    jobs = removal.recoverable_jobs(found, plan.cluster_id)
    told = f" It would recover: {', '.join(jobs)}." if jobs else ""
    how = next_step.command(f"session stop {plan.cluster_id} --ha-data delete", plan.namespace)
    return [
        Finding(
            f"A former cluster {plan.cluster_id} left its high-availability data.{told}",
            f"To start anew, delete it first: {how}",
            is_fatal=False,
        )
    ]


async def _account(
    client: KubeClient, namespace: str, account: str, needs: tuple[tuple[str, Resource], ...]
) -> list[Finding]:
    try:
        await client.get(SERVICE_ACCOUNTS, account, namespace)
    except NotFoundError:
        how = next_step.kubectl(f"create serviceaccount {account}", namespace)
        return [
            Finding(
                f"There is no service account {account} in namespace {namespace}",
                f"Create it: {how}",
                manifest=role_for(account, namespace, needs),
            )
        ]
    except KubernetesError:
        return []
    answers = await asyncio.gather(
        *(_may_account(client, namespace, account, verb, kind) for verb, kind in needs)
    )
    missing = [need for need, may in zip(needs, answers, strict=True) if may is False]
    if not missing:
        return []
    told = ", ".join(f"{verb} {resource.plural}" for verb, resource in missing)
    how = next_step.kubectl(
        f"create rolebinding flink --clusterrole=edit --serviceaccount={namespace}:{account}",
        namespace,
    )
    return [
        Finding(
            f"Service account {account} in namespace {namespace} may not {told}",
            f"Without these the JobManager cannot manage its TaskManagers; e.g. {how}",
            manifest=role_for(account, namespace, needs),
        )
    ]


async def _may_account(
    client: KubeClient, namespace: str, account: str, verb: str, resource: Resource
) -> bool | None:
    """Whether a service account may; None where that cannot be asked (it takes a right too)."""
    review = {
        "apiVersion": ACCOUNT_REVIEWS.api_version,
        "kind": ACCOUNT_REVIEWS.kind,
        "metadata": {"namespace": namespace},
        "spec": {
            "user": f"system:serviceaccount:{namespace}:{account}",
            "groups": [
                "system:serviceaccounts",
                f"system:serviceaccounts:{namespace}",
                "system:authenticated",
            ],
            "resourceAttributes": {
                "namespace": namespace,
                "verb": verb,
                "group": resource.group,
                "resource": resource.plural,
            },
        },
    }
    import httpx2

    try:
        response = await client.http.post(ACCOUNT_REVIEWS.collection_path(namespace), json=review)
    except httpx2.TransportError:
        return None
    if not response.is_success:
        return None
    return bool((response.json().get("status") or {}).get("allowed"))


def role_for(
    account: str, namespace: str, needs: tuple[tuple[str, Resource], ...]
) -> tuple[JsonObject, ...]:
    """The least Role with these rights, and its binding to the account."""
    verbs: dict[Resource, list[str]] = {}
    for verb, resource in needs:
        verbs.setdefault(resource, []).append(verb)
    rules = [
        {"apiGroups": [resource.group], "resources": [resource.plural], "verbs": allowed}
        for resource, allowed in verbs.items()
    ]
    name = f"flink-{account}" if account != "flink" else "flink"
    metadata = {"name": name, "namespace": namespace}
    group = "rbac.authorization.k8s.io"
    return (
        {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata, "rules": rules},
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        },
    )
