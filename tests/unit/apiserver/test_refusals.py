"""What the server refuses, with the codes and words of a real one."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import aiohttp
import pytest

from kubeflink.apiserver.reviews import Attributes
from kubeflink.apiserver.server import ApiServer
from kubeflink.apiserver.store import ObjectStore
from support.manifests import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    PODS,
    SERVICES,
    config_map,
    deployment,
    pod,
    service,
)

JSON = {"Content-Type": "application/json"}
NODES = "/api/v1/nodes"
EVENTS = "/api/v1/namespaces/default/events"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"
OPERATOR = {"key": "app", "operator": "Equals", "values": ["a"]}


async def refusal(
    http: aiohttp.ClientSession, method: str, path: str, code: int, **request: Any
) -> dict[str, Any]:
    async with http.request(method, path, **request) as answer:
        status: dict[str, Any] = await answer.json()
        assert answer.status == code, status
    assert status["kind"] == "Status"
    assert status["status"] == "Failure"
    assert status["code"] == code
    return status


@pytest.mark.parametrize(
    ("method", "path", "code", "reason"),
    [
        ("GET", "/", 404, "NotFound"),
        ("GET", "/api/v2/pods", 404, "NotFound"),
        ("GET", "/apis/batch/v1/jobs", 404, "NotFound"),
        ("GET", "/api/v1/namespaces/default/unknown", 404, "NotFound"),
        ("GET", f"{PODS}/p/unknown", 404, "NotFound"),
        ("GET", f"{CONFIG_MAPS}/a/status", 404, "NotFound"),
        ("GET", "/api/v1/namespaces/default/nodes", 404, "NotFound"),
        ("PUT", CONFIG_MAPS, 405, "MethodNotAllowed"),
        ("POST", f"{CONFIG_MAPS}/a", 405, "MethodNotAllowed"),
        ("POST", "/version", 405, "MethodNotAllowed"),
        ("DELETE", f"{DEPLOYMENTS}/a/scale", 405, "MethodNotAllowed"),
        ("GET", f"{CONFIG_MAPS}?watch=maybe", 400, "BadRequest"),
        ("GET", f"{CONFIG_MAPS}?watch=1&resourceVersion=abc", 400, "BadRequest"),
        ("GET", f"{CONFIG_MAPS}?limit=-1", 400, "BadRequest"),
        ("GET", f"{CONFIG_MAPS}?resourceVersion={'9' * 5000}", 400, "BadRequest"),
        ("GET", f"{CONFIG_MAPS}?watch=1&resourceVersion={'9' * 5000}", 400, "BadRequest"),
        ("GET", f"{CONFIG_MAPS}?watch=1&timeoutSeconds={'9' * 400}", 400, "BadRequest"),
        ("GET", f"{CONFIG_MAPS}?continue=abc", 400, "BadRequest"),
        ("GET", f"{CONFIG_MAPS}?resourceVersion=99999999999999", 504, "Timeout"),
        ("DELETE", f"{CONFIG_MAPS}/a?propagationPolicy=Never", 422, "Invalid"),
        ("DELETE", f"{CONFIG_MAPS}/a?gracePeriodSeconds=x", 400, "BadRequest"),
    ],
)
async def test_requests_that_lead_nowhere(
    http: aiohttp.ClientSession, method: str, path: str, code: int, reason: str
) -> None:
    status = await refusal(http, method, path, code)
    assert status["reason"] == reason
    assert status["message"]


async def test_bodies_that_cannot_be_read(http: aiohttp.ClientSession) -> None:
    status = await refusal(http, "POST", CONFIG_MAPS, 400, data=b"{nonsense", headers=JSON)
    assert "json parse error" in status["message"]
    await refusal(http, "POST", CONFIG_MAPS, 400, json=[1])
    await refusal(http, "POST", CONFIG_MAPS, 400, json=pod("p"))
    await refusal(http, "POST", CONFIG_MAPS, 415, data=b"x", headers={"Content-Type": "text/css"})
    await refusal(http, "POST", CONFIG_MAPS, 413, data=BytesIO(b" " * (3 * 1024 * 1024 + 1)))
    await refusal(http, "PUT", f"{CONFIG_MAPS}/b", 400, json=config_map("a"))
    wrong_place = config_map("a")
    wrong_place["metadata"]["namespace"] = "other"
    await refusal(http, "POST", CONFIG_MAPS, 400, json=wrong_place)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"env": [{"name": "A", "value": 1}]}, "env"),
        ({"ports": {"containerPort": 1}}, "ports"),
        ({"ports": [{"containerPort": "8081"}]}, "containerPort"),
        ({"command": "sleep"}, "command"),
        ({"resources": []}, "resources"),
        ({"env": [{"name": "A", "valueFrom": "x"}]}, "valueFrom"),
    ],
)
async def test_fields_of_another_type(
    http: aiohttp.ClientSession, change: dict[str, Any], field: str
) -> None:
    draft = pod("p")
    draft["spec"]["containers"][0].update(change)

    status = await refusal(http, "POST", PODS, 400, json=draft)

    assert status["message"].startswith('Pod in version "v1" cannot be handled as a Pod: ')
    assert field in status["message"]


INCOMPLETE: list[tuple[dict[str, Any], str]] = [
    ({"configMap": {"name": "c", "items": [{"path": "p"}]}}, "configMap.items[0].key"),
    ({"secret": {"secretName": "s", "items": [{"key": "k"}]}}, "secret.items[0].path"),
    ({"secret": {"secretName": "s", "defaultMode": 0o7777}}, "secret.defaultMode"),
    ({"downwardAPI": {"items": [{"fieldRef": {}}]}}, "downwardAPI.items[0].path"),
    ({"hostPath": {}}, "hostPath.path"),
    ({"persistentVolumeClaim": {}}, "persistentVolumeClaim.claimName"),
    ({"projected": {"sources": [{"secret": {}}]}}, "projected.sources[0].secret.name"),
]


@pytest.mark.parametrize(("source", "field"), INCOMPLETE)
async def test_volumes_that_say_too_little(
    http: aiohttp.ClientSession, source: dict[str, Any], field: str
) -> None:
    draft = pod("p", volumes=[{"name": "v", **source}])

    status = await refusal(http, "POST", PODS, 422, json=draft)

    assert f"spec.volumes[0].{field}" in [each["field"] for each in status["details"]["causes"]]


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ("fieldRef", "fieldPath"),
        ("resourceFieldRef", "resource"),
        ("configMapKeyRef", "key"),
        ("secretKeyRef", "key"),
    ],
)
async def test_variables_that_say_too_little(
    http: aiohttp.ClientSession, source: str, key: str
) -> None:
    draft = pod("p")
    draft["spec"]["containers"][0]["env"] = [{"name": "A", "valueFrom": {source: {}}}]

    status = await refusal(http, "POST", PODS, 422, json=draft)

    (cause,) = status["details"]["causes"]
    assert cause["field"] == f"spec.containers[0].env[0].valueFrom.{source}.{key}"
    assert cause["reason"] == "FieldValueRequired"


READ_BY_OTHERS = [
    (DEPLOYMENTS, deployment("a"), {"progressDeadlineSeconds": "10m"}),
    (DEPLOYMENTS, deployment("a"), {"strategy": {"rollingUpdate": "25%"}}),
    (DEPLOYMENTS, deployment("a"), {"selector": {"matchExpressions": [OPERATOR]}}),
    (PODS, pod("a"), {"volumes": [{"name": "v", "configMap": {"name": ["cm"]}}]}),
    (PODS, pod("a"), {"volumes": [{"name": "v", "hostPath": {"path": 1}}]}),
    (SERVICES, service("a"), {"externalIPs": [1]}),
    (NODES, {"metadata": {"name": "a"}, "status": {"addresses": [{}]}}, {}),
    (EVENTS, {"metadata": {"name": "a"}, "lastTimestamp": "yesterday"}, {}),
    (EVENTS, {"metadata": {"name": "a"}, "source": "me"}, {}),
    (ENDPOINTS, {"metadata": {"name": "a"}, "subsets": [{"addresses": [{"ip": 1}]}]}, {}),
]


@pytest.mark.parametrize(("path", "draft", "spec"), READ_BY_OTHERS)
async def test_fields_that_controllers_and_tables_read(
    http: aiohttp.ClientSession, path: str, draft: dict[str, Any], spec: dict[str, Any]
) -> None:
    """A single one of another type would end a controller, or every list for `kubectl get`."""
    draft = {**draft, "spec": {**draft.get("spec", {}), **spec}} if spec else draft

    status = await refusal(http, "POST", path, 400, json=draft)

    assert status["reason"] == "BadRequest"


@pytest.mark.parametrize("metadata", [[], "x", {"labels": {"a": 1}}, {"annotations": []}])
async def test_metadata_of_another_type(http: aiohttp.ClientSession, metadata: Any) -> None:
    await refusal(http, "POST", CONFIG_MAPS, 400, json={**config_map("a"), "metadata": metadata})


MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
UNREADABLE_PATCHES: list[tuple[str, Any]] = [
    (JSON_PATCH, [{"op": "add", "path": 5, "value": 1}]),
    (JSON_PATCH, [{"op": ["add"], "path": "/data"}]),
    (JSON_PATCH, [{"op": "move", "from": {}, "path": "/data"}]),
    (STRATEGIC, {"metadata": {"$deleteFromPrimitiveList/finalizers": 5}}),
    (STRATEGIC, {"metadata": {"$setElementOrder/finalizers": 5, "finalizers": ["a/b"]}}),
    (STRATEGIC, {"$retainKeys": 5}),
]


@pytest.mark.parametrize(("form", "patch"), UNREADABLE_PATCHES)
async def test_patches_that_cannot_be_read(
    http: aiohttp.ClientSession, form: str, patch: Any
) -> None:
    await http.post(CONFIG_MAPS, json=config_map("a", k="v"))
    headers = {"Content-Type": form}
    await refusal(http, "PATCH", f"{CONFIG_MAPS}/a", 400, data=json.dumps(patch), headers=headers)


@pytest.mark.parametrize("form", [MERGE, STRATEGIC, "application/apply-patch+yaml"])
async def test_patches_that_are_deep(http: aiohttp.ClientSession, form: str) -> None:
    await http.post(CONFIG_MAPS, json=config_map("a"))
    deep = '{"a":' * 900 + "1" + "}" * 900
    head = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "x": '
    path = f"{CONFIG_MAPS}/a?fieldManager=me"
    headers = {"Content-Type": form}
    status = await refusal(http, "PATCH", path, 400, data=f"{head}{deep}}}", headers=headers)
    assert "nested too deeply" in status["message"]


@pytest.mark.parametrize("body", [5, [], {"metadata": 5}, {"spec": 5}, {"spec": {"replicas": "x"}}])
async def test_a_scale_that_is_none(http: aiohttp.ClientSession, body: Any) -> None:
    await http.post(DEPLOYMENTS, json=deployment("web"))
    status = await refusal(http, "PUT", f"{DEPLOYMENTS}/web/scale", 400, json=body)
    assert "cannot be handled as a Scale" in status["message"]


async def test_a_namespace_that_is_not_there(http: aiohttp.ClientSession) -> None:
    path = "/api/v1/namespaces/nope/configmaps"
    status = await refusal(http, "POST", path, 404, json=config_map("a"))
    assert status["message"] == 'namespaces "nope" not found'
    assert status["details"] == {"name": "nope", "kind": "namespaces"}


async def test_the_namespace_that_everything_is_in_stays(http: aiohttp.ClientSession) -> None:
    await http.post(CONFIG_MAPS, json=config_map("a"))

    status = await refusal(http, "DELETE", "/api/v1/namespaces/default", 403)
    await refusal(http, "DELETE", "/api/v1/namespaces", 405)

    told = 'namespaces "default" is forbidden: this namespace may not be deleted'
    assert status["message"] == told
    async with http.get(f"{CONFIG_MAPS}/a") as answer:
        assert answer.status == 200


async def test_a_name_that_is_taken(http: aiohttp.ClientSession) -> None:
    await http.post(DEPLOYMENTS, json=deployment("web"))
    status = await refusal(http, "POST", DEPLOYMENTS, 409, json=deployment("web"))
    assert status["reason"] == "AlreadyExists"
    assert status["message"] == 'deployments.apps "web" already exists'
    assert status["details"] == {"name": "web", "group": "apps", "kind": "deployments"}


def causes(status: dict[str, Any]) -> dict[str, str]:
    return {cause["field"]: cause["message"] for cause in status["details"]["causes"]}


async def test_names(http: aiohttp.ClientSession) -> None:
    status = await refusal(http, "POST", CONFIG_MAPS, 422, json=config_map("Not_Good"))
    assert status["message"].startswith(
        'ConfigMap "Not_Good" is invalid: metadata.name: Invalid value: "Not_Good": a lowercase '
        "RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
        "must start and end with an alphanumeric character"
    )
    status = await refusal(http, "POST", SERVICES, 422, json=service("1st"))
    assert "a DNS-1035 label must consist of" in causes(status)["metadata.name"]
    status = await refusal(http, "POST", SERVICES, 422, json=service("a" * 64))
    assert causes(status)["metadata.name"].endswith("must be no more than 63 characters")
    status = await refusal(http, "POST", CONFIG_MAPS, 422, json=config_map(""))
    assert causes(status)["metadata.name"] == "Required value: name or generateName is required"
    labelled = config_map("a", {"good": "not good!"})
    status = await refusal(http, "POST", CONFIG_MAPS, 422, json=labelled)
    assert "a valid label must be an empty string or consist of" in status["message"]


@pytest.mark.parametrize(
    ("container", "field", "message"),
    [
        ({"name": "main", "image": ""}, "image", "Required value"),
        ({"name": "Main"}, "name", 'Invalid value: "Main": a lowercase RFC 1123 label'),
        (
            {"ports": [{"name": "rest", "containerPort": n} for n in (1, 2)]},
            "ports[1].name",
            'Duplicate value: "rest"',
        ),
        (
            {"ports": [{"containerPort": 99999}]},
            "ports[0].containerPort",
            "Invalid value: 99999: must be between 1 and 65535, inclusive",
        ),
        (
            {"volumeMounts": [{"name": "conf", "mountPath": "/conf"}]},
            "volumeMounts[0].name",
            'Not found: "conf"',
        ),
        (
            {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1500m"}}},
            "resources.requests",
            'Invalid value: "2": must be less than or equal to cpu limit of 1500m',
        ),
        (
            {"resources": {"requests": {"memory": "much"}}},
            "resources.requests.memory",
            'Invalid value: "much": quantities must match the regular expression',
        ),
        (
            {"imagePullPolicy": "Sometimes"},
            "imagePullPolicy",
            'Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"',
        ),
    ],
)
async def test_containers(
    http: aiohttp.ClientSession, container: dict[str, Any], field: str, message: str
) -> None:
    draft = pod("p")
    draft["spec"]["containers"][0].update(container)

    status = await refusal(http, "POST", PODS, 422, json=draft)

    assert causes(status)[f"spec.containers[0].{field}"].startswith(message)


async def test_all_causes_are_told_at_once(http: aiohttp.ClientSession) -> None:
    draft = deployment("web")
    draft["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    draft["spec"]["template"]["spec"] = {"containers": [], "restartPolicy": "Never"}

    status = await refusal(http, "POST", DEPLOYMENTS, 422, json=draft)

    assert status["message"].startswith('Deployment.apps "web" is invalid: [')
    assert causes(status) == {
        "spec.template.metadata.labels": 'Invalid value: {"app":"web"}: `selector` does not match '
        "template `labels`",
        "spec.template.spec.containers": "Required value",
        "spec.template.spec.restartPolicy": 'Unsupported value: "Never": supported values: '
        '"Always"',
    }


async def test_services_and_config_maps(http: aiohttp.ClientSession) -> None:
    status = await refusal(http, "POST", SERVICES, 422, json=service("web", ports=[]))
    assert causes(status) == {"spec.ports": "Required value"}
    unnamed = service("web", ports=[{"port": 1}, {"port": 0}])
    status = await refusal(http, "POST", SERVICES, 422, json=unnamed)
    assert causes(status)["spec.ports[0].name"] == "Required value"
    assert causes(status)["spec.ports[1].port"].startswith("Invalid value: 0: must be between")
    large = config_map("a", one="x" * 600_000, two="x" * 448_577)
    status = await refusal(
        http, "POST", CONFIG_MAPS, 422, data=BytesIO(json.dumps(large).encode()), headers=JSON
    )
    assert "Too long: may not be more than 1048576 bytes" in status["message"]
    status = await refusal(http, "POST", CONFIG_MAPS, 422, json=config_map("a", **{"a/b": "c"}))
    assert causes(status)["data[a/b]"].startswith('Invalid value: "a/b": a valid config key')


async def test_what_may_not_change(http: aiohttp.ClientSession) -> None:
    await http.post(DEPLOYMENTS, json=deployment("web"))
    changed = deployment("web")
    changed["spec"]["selector"]["matchLabels"] = {"app": "web", "x": "y"}
    changed["spec"]["template"]["metadata"]["labels"] = {"app": "web", "x": "y"}
    status = await refusal(http, "PUT", f"{DEPLOYMENTS}/web", 422, json=changed)
    assert causes(status)["spec.selector"].endswith("field is immutable")

    await http.post(PODS, json=pod("p", nodeName="local"))
    moved = pod("p", nodeName="elsewhere")
    status = await refusal(http, "PUT", f"{PODS}/p", 422, json=moved)
    assert causes(status)["spec"].startswith("Forbidden: pod updates may not change fields")

    await http.post(CONFIG_MAPS, json={**config_map("a", k="v"), "immutable": True})
    await refusal(http, "PUT", f"{CONFIG_MAPS}/a", 422, json=config_map("a", k="w"))


async def test_a_pod_may_be_given_a_node_once(http: aiohttp.ClientSession) -> None:
    await http.post(PODS, json=pod("p"))
    async with http.put(f"{PODS}/p", json=pod("p", nodeName="local")) as answer:
        assert answer.status == 200


async def test_a_token_is_needed_in_the_header_or_the_path(store: ObjectStore) -> None:
    async with ApiServer(store, token="secret") as server, aiohttp.ClientSession() as http:
        for wrong in ({}, {"Authorization": "Bearer no"}, {"Authorization": "Basic secret"}):
            status = await refusal(http, "GET", f"{server.url}{PODS}", 401, headers=wrong)
            assert status["message"] == "Unauthorized"
        await refusal(http, "GET", f"{server.url}/-/wrong{PODS}", 401)
        headers = {"Authorization": "Bearer secret"}
        async with http.get(f"{server.url}{PODS}", headers=headers) as answer:
            assert answer.status == 200
        async with http.get(f"{server.url_with_token}{PODS}?watch=0") as answer:
            assert answer.status == 200
        async with http.get(f"{server.url}/readyz") as answer:
            assert await answer.text() == "ok"


class ReadsOnly:
    """An authorizer for somebody who may only look at pods in one namespace."""

    def allows(self, attributes: Attributes) -> bool:
        wanted = (attributes.resource, attributes.namespace)
        return attributes.verb in ("get", "list", "watch") and wanted == ("pods", "default")


async def test_an_authorizer_decides_and_can_be_asked(store: ObjectStore) -> None:
    server = ApiServer(store, authorizer=ReadsOnly(), user="ann")
    async with server, aiohttp.ClientSession(server.url) as http:
        async with http.get(PODS) as answer:
            assert answer.status == 200
        status = await refusal(http, "POST", PODS, 403, json=pod("p"))
        assert status["message"] == (
            'pods is forbidden: User "ann" cannot create resource "pods" in API group "" in the '
            'namespace "default"'
        )
        status = await refusal(http, "DELETE", f"{DEPLOYMENTS}/web", 403)
        assert status["message"] == (
            'deployments.apps "web" is forbidden: User "ann" cannot delete resource '
            '"deployments" in API group "apps" in the namespace "default"'
        )
        status = await refusal(http, "GET", "/api/v1/nodes", 403)
        assert status["message"].endswith('API group "" at the cluster scope')

        for verb, allowed in (("list", True), ("create", False)):
            asked = {"verb": verb, "resource": "pods", "namespace": "default"}
            review = {"spec": {"resourceAttributes": asked}}
            path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
            async with http.post(path, json=review) as answer:
                assert answer.status == 201
                assert (await answer.json())["status"]["allowed"] is allowed
