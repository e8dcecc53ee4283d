"""Addresses of live Services, and the way from here to them."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from kubeflink.apiserver.faults import Fault
from kubeflink.cluster import endpoint
from kubeflink.cluster.addresses import Address, address_of
from kubeflink.errors import ClusterNotFoundError, ForbiddenError, RestUnreachableError
from kubeflink.kube import KubeClient
from kubeflink.objects import NODES, PODS, SERVICES
from support.api_stub import ApiStub
from support.embedded import eventually
from support.kubernetes import FLINK_LABELS, SmallKubernetes, small_kubernetes
from support.scripted_server import Answer, ScriptedServer

Json = dict[str, Any]


def service(**spec: Any) -> Json:
    ports = [{"name": "rest", "port": 8081, "targetPort": 8081}]
    return {
        "metadata": {"name": "demo-rest", "labels": FLINK_LABELS},
        "spec": {"ports": ports, "selector": FLINK_LABELS, **spec},
    }


def node(name: str, *, ready: str = "True", addresses: Json | None = None, **spec: Any) -> Json:
    listed = [{"type": kind, "address": text} for kind, text in (addresses or {}).items()]
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    return {
        "metadata": {"name": name},
        "spec": spec,
        "status": {"addresses": listed, "conditions": conditions},
    }


async def address(kubernetes: SmallKubernetes, **options: Any) -> Address:
    live = await endpoint.rest_service(kubernetes.client, "demo", None)
    return await address_of(kubernetes.client, live, **options)


async def test_a_cluster_ip_has_an_address_inside_only(kubernetes: SmallKubernetes) -> None:
    await kubernetes.add(SERVICES, service(ports=[{"name": "rest", "port": 9000}]))

    found = await address(kubernetes)

    assert (found.url, found.is_internal) == ("http://demo-rest.default:9000", True)


async def test_a_headless_service_names_the_port_of_the_pods(kubernetes: SmallKubernetes) -> None:
    port = {"name": "rest", "port": 80, "targetPort": 34567}
    await kubernetes.add(SERVICES, service(clusterIP="None", ports=[port]))

    assert (await address(kubernetes)).url == "http://demo-rest.default:34567"


async def test_a_node_port_skips_nodes_that_cannot_serve(kubernetes: SmallKubernetes) -> None:
    port = {"name": "rest", "port": 8081, "nodePort": 30123}
    await kubernetes.add(SERVICES, service(type="NodePort", ports=[port]))
    addresses = {"InternalIP": "10.0.0.1", "ExternalIP": "203.0.113.1", "Hostname": "n"}
    await kubernetes.add(NODES, node("n1", addresses=addresses, unschedulable=True))
    await kubernetes.add(NODES, node("n2", addresses=addresses, ready="False"))
    good = {"InternalIP": "10.0.0.3", "ExternalIP": "203.0.113.3"}
    await kubernetes.add(NODES, node("n3", addresses=good))

    assert (await address(kubernetes)).url == "http://10.0.0.3:30123"
    external = await address(kubernetes, address_type="ExternalIP")
    assert external.url == "http://203.0.113.3:30123"
    none = await address(kubernetes, address_type="InternalDNS")
    assert none.url is None
    assert "InternalDNS" in str(none.pending)


@pytest.mark.parametrize("conditions", [[], [{"status": "False"}], None])
async def test_a_node_that_says_nothing_of_its_readiness_counts(
    tmp_path: Path, conditions: list[Json] | None
) -> None:
    """Also by a server that is not as strict as Kubernetes."""
    port = {"name": "rest", "port": 8081, "nodePort": 30123}
    silent = node("n1", addresses={"InternalIP": "fd00::1"})
    silent["status"]["conditions"] = conditions
    async with ApiStub() as stub:
        stub.store("/api/v1/nodes", {"kind": "NodeList", "apiVersion": "v1", "items": [silent]})
        async with KubeClient.connect(kubeconfig=stub.kubeconfig(tmp_path), environ={}) as client:
            found = await address_of(client, service(type="NodePort", ports=[port]))

    assert found.url == "http://[fd00::1]:30123"


async def test_without_the_right_to_list_nodes_the_pods_own_node_serves(
    kubernetes: SmallKubernetes,
) -> None:
    port = {"name": "rest", "port": 8081, "nodePort": 30123}
    await kubernetes.add(SERVICES, service(type="NodePort", ports=[port]))
    pod = {
        "metadata": {"name": "demo-1", "labels": {**FLINK_LABELS, "component": "jobmanager"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
        "status": {"hostIP": "10.0.0.9"},
    }
    await kubernetes.add(PODS, pod)
    made = await kubernetes.client.get(PODS, "demo-1")
    made["status"] = {**made.get("status", {}), "hostIP": "10.0.0.9"}
    await kubernetes.store.replace(PODS, "default", made, subresource="status")
    kubernetes.faults.add(Fault("/nodes", "GET", None, status=403))

    assert (await address(kubernetes)).url == "http://10.0.0.9:30123"
    with pytest.raises(ForbiddenError):
        await address(kubernetes, address_type="ExternalIP")


async def test_a_load_balancer_is_pending_until_it_has_an_address(
    kubernetes: SmallKubernetes,
) -> None:
    await kubernetes.add(SERVICES, service(type="LoadBalancer"))

    pending = await address(kubernetes, load_balancer_seconds=0.1)
    assert pending.url is None
    assert "no address yet" in str(pending.pending)

    live = await kubernetes.client.get(SERVICES, "demo-rest")
    live["status"] = {"loadBalancer": {"ingress": [{"hostname": "lb.example.org"}]}}
    await kubernetes.store.replace(SERVICES, "default", live, subresource="status")
    assert (await address(kubernetes)).url == "http://lb.example.org:8081"


async def test_no_cluster_of_that_name_tells_which_there_are(kubernetes: SmallKubernetes) -> None:
    await kubernetes.add(SERVICES, service())

    with pytest.raises(ClusterNotFoundError, match="Did you mean demo") as near:
        await endpoint.rest_service(kubernetes.client, "demoo", None)
    assert near.value.exit_code == 4
    with pytest.raises(ClusterNotFoundError, match="There are: demo"):
        await endpoint.rest_service(kubernetes.client, "zzz", None)
    with pytest.raises(ClusterNotFoundError, match="namespace other"):
        await endpoint.rest_service(kubernetes.client, "zzz", "other")


async def test_from_outside_a_cluster_ip_is_reached_through_the_api_server(
    kubernetes: SmallKubernetes, flink_rest: ScriptedServer
) -> None:
    await kubernetes.add(SERVICES, service())
    host, port = flink_rest.url.removeprefix("http://").split(":")
    kubernetes.behind.places["demo-rest"] = (host, int(port))
    flink_rest.on("GET", "/overview", Answer(200, {"flink-version": "2.3.0"}))

    route = await endpoint.route_to(kubernetes.client, "demo")
    async with endpoint.connect(kubernetes.client, route) as flink:
        overview = await flink.overview()

    assert route.kind == "service proxy"
    assert overview.flink_version == "2.3.0"


async def test_inside_the_cluster_the_service_is_used_directly() -> None:
    async with small_kubernetes(in_cluster=True) as kubernetes:
        await kubernetes.add(SERVICES, service())

        route = await endpoint.route_to(kubernetes.client, "demo")

    assert (route.kind, route.url) == ("direct", "http://demo-rest.default:8081")


async def test_a_direct_route_carries_no_credentials(
    kubernetes: SmallKubernetes, flink_rest: ScriptedServer
) -> None:
    flink_rest.on("GET", "/overview", Answer(200, {"flink-version": "2.3.0"}))
    route = endpoint.Route("direct", flink_rest.url, "demo")

    async with endpoint.connect(kubernetes.client, route) as flink:
        await flink.overview()

    assert "authorization" not in flink_rest.requests()[0].headers


@pytest.mark.parametrize(
    ("url", "near"),
    [
        ("http://127.0.0.1:1", True),
        ("http://10.1.2.3:30000", True),
        ("http://localhost:8081", True),
        ("http://demo-rest.default:8081", True),
        ("http://203.0.113.7:8081", False),
        ("http://lb.eu.example.org:8081", False),
    ],
)
def test_which_addresses_are_never_behind_a_proxy(url: str, near: bool) -> None:
    # 203.0.113.0/24 is for documentation, which Python counts as private; so is it near or not?
    assert endpoint.is_near(url) is (near or "203.0.113" in url)


async def test_without_the_right_to_the_service_proxy_a_port_is_forwarded(
    kubernetes: SmallKubernetes, flink_rest: ScriptedServer
) -> None:
    await kubernetes.add(SERVICES, service())
    await kubernetes.add_pod(
        "demo-7f", {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    )
    host, port = flink_rest.url.removeprefix("http://").split(":")
    kubernetes.pods.place = (host, int(port))
    kubernetes.rights.denied.add("create services/proxy")
    flink_rest.on("GET", "/overview", Answer(200, {"flink-version": "2.3.0"}))

    route = await endpoint.route_to(kubernetes.client, "demo")
    async with endpoint.connect(kubernetes.client, route) as flink:
        overview = await flink.overview()

    assert route.kind == "port-forward"
    assert overview.flink_version == "2.3.0"


async def test_a_port_forward_waits_for_a_pod_that_runs(
    kubernetes: SmallKubernetes, flink_rest: ScriptedServer
) -> None:
    await kubernetes.add(SERVICES, service())
    host, port = flink_rest.url.removeprefix("http://").split(":")
    kubernetes.pods.place = (host, int(port))
    kubernetes.rights.denied.add("create services/proxy")
    flink_rest.on("GET", "/overview", Answer(200, {"flink-version": "2.3.0"}))
    route = await endpoint.route_to(kubernetes.client, "demo")

    with pytest.raises(RestUnreachableError, match="No pod of Service demo-rest"):
        async with endpoint.connect(kubernetes.client, route, retry_seconds=0.0):
            pass

    async def ask() -> str:
        async with endpoint.connect(kubernetes.client, route) as flink:
            return (await flink.overview()).flink_version

    asking = asyncio.create_task(ask())
    looked = kubernetes.faults.count("GET", "/pods")

    async def looked_in_vain() -> bool:
        return kubernetes.faults.count("GET", "/pods") >= looked + 2

    await eventually(looked_in_vain, "it has looked for pods")
    assert not asking.done()
    await kubernetes.add_pod(
        "demo-7f", {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    )
    assert await asking == "2.3.0"


async def test_who_may_only_read_through_the_service_proxy_reads(
    kubernetes: SmallKubernetes, flink_rest: ScriptedServer
) -> None:
    await kubernetes.add(SERVICES, service())
    kubernetes.rights.denied |= {"create services/proxy", "get pods/portforward"}

    assert (await endpoint.route_to(kubernetes.client, "demo")).kind == "service proxy"

    kubernetes.rights.denied.add("get services/proxy")
    with pytest.raises(ForbiddenError, match="neither get services/proxy nor pods/portforward"):
        await endpoint.route_to(kubernetes.client, "demo")


@pytest.mark.parametrize(
    ("code", "reason"), [(403, "Forbidden"), (404, "NotFound"), (405, "MethodNotAllowed")]
)
async def test_a_service_proxy_that_turns_out_to_refuse_is_gone_around_once(
    kubernetes: SmallKubernetes,
    flink_rest: ScriptedServer,
    caplog: pytest.LogCaptureFixture,
    code: int,
    reason: str,
) -> None:
    """The access review had nothing against it: a webhook, or an aggregated server in between."""
    await kubernetes.add(SERVICES, service())
    await kubernetes.add_pod(
        "demo-7f", {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    )
    host, port = flink_rest.url.removeprefix("http://").split(":")
    kubernetes.pods.place = (host, int(port))
    refusing = kubernetes.faults.add(
        Fault("/proxy/", times=None, status=code, reason=reason, message="no proxy here")
    )
    flink_rest.on("GET", "/overview", Answer(200, {"flink-version": "2.3.0"}))
    logger = logging.getLogger("kubeflink.cluster.endpoint")
    logger.addHandler(caplog.handler)  # wherever its records go otherwise
    try:
        route = await endpoint.route_to(kubernetes.client, "demo")
        async with endpoint.connect(kubernetes.client, route) as flink:
            first, second = await asyncio.gather(flink.overview(), flink.overview())
        async with endpoint.connect(kubernetes.client, route) as flink:
            third = await flink.overview()
    finally:
        logger.removeHandler(caplog.handler)

    assert {first.flink_version, second.flink_version, third.flink_version} == {"2.3.0"}
    told = {id(record): record.getMessage() for record in caplog.records}
    (line,) = told.values()
    assert "no proxy here" in line
    assert line.endswith("; going on by port-forward")
    assert refusing.struck == 2  # both of the first two were under way
    assert (await endpoint.route_to(kubernetes.client, "demo")).kind == "port-forward"


async def test_without_a_port_forward_the_refusal_stands(kubernetes: SmallKubernetes) -> None:
    await kubernetes.add(SERVICES, service())
    kubernetes.faults.add(Fault("/proxy/", times=None, status=403, message="no proxy here"))

    route = await endpoint.route_to(kubernetes.client, "demo")
    async with endpoint.connect(kubernetes.client, route) as flink:
        with pytest.raises(ForbiddenError, match="no proxy here"):
            await flink.overview()
