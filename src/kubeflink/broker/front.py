"""The API server that a JobManager sees: a few calls on its own cluster, and nothing else.

Which calls those are is the table below; it is all that Flink 1.17 to 2.3 make. Everything else is
answered as by an API server on which the account `flink` has no other rights: 403, or 404 for what
is not served. Without the token there is no answer to anything but 401.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping

from kubeflink.apiserver.faults import FaultPlan
from kubeflink.apiserver.resources import Registry, ServedResource
from kubeflink.apiserver.reviews import Attributes
from kubeflink.apiserver.server import ApiServer
from kubeflink.broker.blueprint import Blueprint
from kubeflink.broker.config_maps import is_ha_name
from kubeflink.broker.policy import Policy
from kubeflink.broker.report import Report
from kubeflink.broker.store import BrokerStore
from kubeflink.objects import CONFIG_MAPS, DEPLOYMENTS, PODS, SERVICES, Resource
from kubeflink.spec import names

USER = "flink"

_SHOWN = 200
"""How much of a path is written down."""

SERVED = (
    ServedResource(PODS, "pod"),
    ServedResource(SERVICES, "service"),
    ServedResource(CONFIG_MAPS, "configmap"),
    ServedResource(DEPLOYMENTS, "deployment"),
)

_Names = Callable[[str], bool]


class JobManagerRights:
    """An `Authorizer`: what the JobManager of one cluster may ask for."""

    def __init__(self, blueprint: Blueprint, policy: Policy) -> None:
        cluster_id = blueprint.cluster_id
        self._namespace = blueprint.namespace
        services = {names.rest_service_name(cluster_id), names.internal_service_name(cluster_id)}
        rules: list[tuple[Resource, tuple[str, ...], _Names]] = [
            (PODS, ("list", "watch", "create"), _nameless),
            (PODS, ("delete",), lambda name: policy.parse_name(name) is not None),
            (DEPLOYMENTS, ("get", "delete"), names.deployment_name(cluster_id).__eq__),
            (SERVICES, ("get", "update"), services.__contains__),
        ]
        if blueprint.high_availability:
            verbs = ("get", "update", "patch", "delete", "watch")
            rules.append((CONFIG_MAPS, verbs, lambda name: is_ha_name(name, cluster_id)))
            # Up to 1.20, Flink cleans up by label; only what has such names is there to be found.
            rules.append((CONFIG_MAPS, ("list", "watch", "create", "deletecollection"), _nameless))
        self._rules: Mapping[tuple[str, str, str], list[_Names]] = _by_verb(rules)

    def allows(self, attributes: Attributes) -> bool:
        """Whether it is one of the calls that Flink makes, on this cluster."""
        if attributes.subresource or attributes.namespace != self._namespace:
            return False
        key = (attributes.group, attributes.resource, attributes.verb)
        return any(allowed(attributes.name) for allowed in self._rules.get(key, ()))


def _nameless(name: str) -> bool:
    return name == ""


def _by_verb(
    rules: list[tuple[Resource, tuple[str, ...], _Names]],
) -> dict[tuple[str, str, str], list[_Names]]:
    found: dict[tuple[str, str, str], list[_Names]] = {}
    for resource, verbs, allowed in rules:
        for verb in verbs:
            found.setdefault((resource.group, resource.plural, verb), []).append(allowed)
    return found


def _teller(report: Report) -> Callable[[int, str, str], None]:
    """What the report is told of requests that got no further than here."""

    def tell(code: int, method: str, path: str) -> None:
        if code == 401:  # of anybody who reaches the port; so it is counted, and not written down
            report.count("requests_unauthorized")
            return
        report.count("requests_refused")
        report.happened("a call", f"refused: {method} {path[:_SHOWN]}, which no JobManager asks")

    return tell


def front(
    store: BrokerStore,
    blueprint: Blueprint,
    policy: Policy,
    report: Report,
    *,
    token: str,
    tls: ssl.SSLContext | None,
    host: str,
    port: int,
    faults: FaultPlan | None = None,
) -> ApiServer:
    """The server; it is not started. Only a test has no `tls`."""
    return ApiServer(
        store,
        token=token,
        user=USER,
        authorizer=JobManagerRights(blueprint, policy),
        registry=Registry(SERVED),
        faults=faults,
        host=host,
        port=port,
        tls=tls,
        resources_only=True,
        on_refused=_teller(report),
    )
