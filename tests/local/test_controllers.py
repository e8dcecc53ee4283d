"""Deployments, Services and the garbage collector, with plain processes for pods."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kubeflink import objects
from kubeflink.apiserver.deletion import DeleteOptions, Propagation
from kubeflink.apiserver.store import modify
from kubeflink.errors import ApiStatusError, NotFoundError
from kubeflink.local.cluster import EmbeddedCluster
from kubeflink.local.deployment_status import is_ready
from kubeflink.local.services import ADDRESSES_ANNOTATION
from kubeflink.objects import JsonObject, Resource
from support.embedded import container_state, embedded_cluster, eventually, shell_pod

pytestmark = pytest.mark.asyncio(loop_scope="module")

# Answers with the name of its pod, on the port that is its first argument.
ECHO = """
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(os.environ["HOSTNAME"].encode())
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

FIRST, SECOND, THIRD, FOURTH, BALANCED = range(19_101, 19_106)
"""Ports below those that embedded clusters give to pods."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    async with embedded_cluster() as cluster:
        yield cluster


def sleeper(name: str, replicas: int = 1, script: str = "exec sleep 1000") -> JsonObject:
    template = shell_pod(name, script, restartPolicy="Always", labels={"app": name})
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": template["spec"]},
        },
    }


async def pods_of(cluster: EmbeddedCluster, app: str) -> list[JsonObject]:
    pods = (await cluster.store.list(objects.PODS, "default")).items
    return [pod for pod in pods if objects.labels_of(pod).get("app") == app]


async def ready_pods(cluster: EmbeddedCluster, app: str, count: int) -> list[JsonObject]:
    """The pods, once there are so many, all ready and none of them ending."""

    async def look() -> list[JsonObject] | None:
        pods = await pods_of(cluster, app)
        good = [p for p in pods if is_ready(p) and "deletionTimestamp" not in p["metadata"]]
        return good if len(good) == len(pods) == count else None

    if count == 0:

        async def none() -> bool:
            return not await pods_of(cluster, app)

        await eventually(none, f"no pods of {app}")
        return []
    return await eventually(look, f"{count} ready pods of {app}")


async def condition(cluster: EmbeddedCluster, name: str, kind: str, status: str) -> JsonObject:
    async def look() -> JsonObject | None:
        found = await cluster.store.get(objects.DEPLOYMENTS, "default", name)
        for each in found["status"].get("conditions") or ():
            if (each["type"], each["status"]) == (kind, status):
                return dict(each)
        return None

    return await eventually(look, f"{name}: {kind}={status}")


async def change(cluster: EmbeddedCluster, resource: Resource, name: str, **spec: object) -> None:
    def apply(obj: JsonObject) -> None:
        obj["spec"].update(spec)

    await modify(cluster.store, resource, "default", name, apply)


async def remove(
    cluster: EmbeddedCluster, resource: Resource, name: str, how: Propagation = "Background"
) -> None:
    await cluster.store.delete(resource, "default", name, DeleteOptions(propagation=how))


async def gone(cluster: EmbeddedCluster, resource: Resource, name: str) -> None:
    async def look() -> bool:
        try:
            await cluster.store.get(resource, "default", name)
        except NotFoundError:
            return True
        return False

    await eventually(look, f"{resource.plural} {name} is gone")


async def test_scale_replace_update_and_delete(cluster: EmbeddedCluster) -> None:
    await cluster.store.create(objects.DEPLOYMENTS, "default", sleeper("scaled"))
    (first,) = await ready_pods(cluster, "scaled", 1)
    assert objects.owner_uids(first) == {
        objects.uid_of(await cluster.store.get(objects.DEPLOYMENTS, "default", "scaled"))
    }
    await condition(cluster, "scaled", "Available", "True")

    await change(cluster, objects.DEPLOYMENTS, "scaled", replicas=3)
    three = await ready_pods(cluster, "scaled", 3)
    assert first["metadata"]["name"] in {objects.name_of(pod) for pod in three}

    await remove(cluster, objects.PODS, objects.name_of(first))
    replaced = await ready_pods(cluster, "scaled", 3)
    assert objects.uid_of(first) not in {objects.uid_of(pod) for pod in replaced}

    await change(cluster, objects.DEPLOYMENTS, "scaled", replicas=1)
    (last,) = await ready_pods(cluster, "scaled", 1)

    template = sleeper("scaled", script="exec sleep 2000")["spec"]["template"]
    await change(cluster, objects.DEPLOYMENTS, "scaled", template=template)

    async def updated() -> bool:
        pods = await pods_of(cluster, "scaled")
        return bool(pods) and all(objects.uid_of(pod) != objects.uid_of(last) for pod in pods)

    await eventually(updated, "the pod of the old template is replaced")
    await ready_pods(cluster, "scaled", 1)
    stored = await cluster.store.get(objects.DEPLOYMENTS, "default", "scaled")
    assert stored["status"]["observedGeneration"] == stored["metadata"]["generation"]

    await remove(cluster, objects.DEPLOYMENTS, "scaled")
    await ready_pods(cluster, "scaled", 0)


async def test_a_pod_that_cannot_run_keeps_the_deployment_unavailable(
    cluster: EmbeddedCluster,
) -> None:
    broken = sleeper("broken", script="exit 1")
    await cluster.store.create(objects.DEPLOYMENTS, "default", broken)
    (pod,) = await eventually(lambda: pods_of(cluster, "broken"), "its pod")

    async def restarting() -> bool:
        (pod,) = await pods_of(cluster, "broken")
        waiting = container_state(pod).get("waiting") or {}
        return waiting.get("reason") == "CrashLoopBackOff"

    await eventually(restarting, "the crash loop")
    available = await condition(cluster, "broken", "Available", "False")
    assert available["reason"] == "MinimumReplicasUnavailable"
    assert [objects.uid_of(p) for p in await pods_of(cluster, "broken")] == [objects.uid_of(pod)]
    await remove(cluster, objects.DEPLOYMENTS, "broken")
    await ready_pods(cluster, "broken", 0)


async def test_dependents_go_with_their_owner_and_those_that_come_too_late(
    cluster: EmbeddedCluster,
) -> None:
    owner = await cluster.store.create(objects.DEPLOYMENTS, "default", sleeper("owner", replicas=0))
    references = [objects.owner_reference(owner)]
    early = {"metadata": {"name": "early", "ownerReferences": references}}
    await cluster.store.create(objects.CONFIG_MAPS, "default", early)
    await remove(cluster, objects.DEPLOYMENTS, "owner")
    late = shell_pod("late", "exec sleep 1000")
    late["metadata"]["ownerReferences"] = references
    await cluster.store.create(objects.PODS, "default", late)
    await gone(cluster, objects.CONFIG_MAPS, "early")
    await gone(cluster, objects.PODS, "late")


async def test_an_owner_of_an_unknown_kind_is_taken_to_live(cluster: EmbeddedCluster) -> None:
    owner = {"apiVersion": "x.io/v1", "kind": "Other", "name": "o", "uid": "1"}
    kept = {"metadata": {"name": "kept", "ownerReferences": [owner]}}
    await cluster.store.create(objects.CONFIG_MAPS, "default", kept)
    gone_owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "2"}
    lost = {"metadata": {"name": "lost", "ownerReferences": [gone_owner]}}
    await cluster.store.create(objects.CONFIG_MAPS, "default", lost)
    await gone(cluster, objects.CONFIG_MAPS, "lost")
    await cluster.store.get(objects.CONFIG_MAPS, "default", "kept")


@pytest.mark.parametrize("how", ["Foreground", "Orphan"])
async def test_foreground_and_orphaning_deletion(
    cluster: EmbeddedCluster, how: Propagation
) -> None:
    name = f"owner-{how.lower()}"
    owner = await cluster.store.create(objects.DEPLOYMENTS, "default", sleeper(name, replicas=0))
    dependent = {
        "metadata": {"name": name, "ownerReferences": [objects.owner_reference(owner)]},
    }
    await cluster.store.create(objects.CONFIG_MAPS, "default", dependent)
    await remove(cluster, objects.DEPLOYMENTS, name, how)
    await gone(cluster, objects.DEPLOYMENTS, name)
    if how == "Foreground":
        await gone(cluster, objects.CONFIG_MAPS, name)
    else:
        kept = await cluster.store.get(objects.CONFIG_MAPS, "default", name)
        assert not kept["metadata"].get("ownerReferences")


# Services.


def echo_pod(name: str, app: str, port: int) -> JsonObject:
    return shell_pod(
        name,
        "true",
        labels={"app": app},
        container={
            "command": ["python3", "-c", ECHO, str(port)],
            "ports": [{"name": "http", "containerPort": port}],
            "readinessProbe": {"tcpSocket": {"port": port}},
        },
    )


def echo_service(
    name: str, target: int | str, kind: str = "ClusterIP", **port: object
) -> JsonObject:
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "type": kind,
            "selector": {"app": name},
            "ports": [{"name": "web", "port": 80, "targetPort": target, **port}],
        },
    }


async def ask(port: int) -> str | None:
    """Who answers there; None when nobody does."""
    try:
        async with asyncio.timeout(30):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.0\r\n\r\n")
            answer = (await reader.read()).decode()
            writer.close()
    except OSError:
        return None
    return answer.rpartition("\r\n\r\n")[2] or None


async def local_port(cluster: EmbeddedCluster, service: str) -> int:
    async def look() -> int | None:
        found = await cluster.store.get(objects.SERVICES, "default", service)
        text = objects.annotations_of(found).get(ADDRESSES_ANNOTATION, "")
        return int(text.rpartition(":")[2]) if text else None

    return await eventually(look, f"the address of {service}")


async def test_a_service_follows_its_pods_and_its_target_port(cluster: EmbeddedCluster) -> None:
    await cluster.store.create(objects.SERVICES, "default", echo_service("follow", FIRST))
    port = await local_port(cluster, "follow")
    assert await ask(port) is None
    with pytest.raises(ApiStatusError, match="no endpoints available"):
        await cluster.services.address("default", "follow", "web")

    await cluster.store.create(objects.PODS, "default", echo_pod("one", "follow", FIRST))
    await cluster.store.create(objects.PODS, "default", echo_pod("two", "follow", SECOND))
    await ready_pods(cluster, "follow", 2)
    await cluster.store.delete(objects.PODS, "default", "one", DeleteOptions(grace_period=0))
    await ready_pods(cluster, "follow", 1)

    async def nobody() -> bool:
        return await ask(port) is None

    await eventually(nobody, "the pod that is left listens elsewhere")

    target = echo_service("follow", SECOND)["spec"]["ports"]
    await change(cluster, objects.SERVICES, "follow", ports=target)
    assert await ask(port) == "two", "the change counts at once"
    assert await cluster.services.address("default", "follow", "80") == ("127.0.0.1", SECOND)

    await change(
        cluster, objects.SERVICES, "follow", ports=echo_service("follow", "http")["spec"]["ports"]
    )
    assert await ask(port) == "two", "a port of the pod can be given by its name"

    async def endpoints() -> bool:
        found = await cluster.store.get(objects.ENDPOINTS, "default", "follow")
        return [each["ports"][0]["port"] for each in found["subsets"]] == [SECOND]

    await eventually(endpoints, "the Endpoints")
    await remove(cluster, objects.SERVICES, "follow")
    await gone(cluster, objects.ENDPOINTS, "follow")

    async def closed() -> bool:
        return await ask(port) is None

    await eventually(closed, "nothing listens for the Service")
    await cluster.store.delete(objects.PODS, "default", "two", DeleteOptions(grace_period=0))


async def test_a_service_may_lead_to_pods_that_are_not_ready(cluster: EmbeddedCluster) -> None:
    """As Kubernetes does it, where the Service says so."""
    pod = echo_pod("early", "early", FIRST)
    pod["spec"]["containers"][0]["readinessProbe"] = {"tcpSocket": {"port": SECOND}}
    service = echo_service("early", FIRST)
    service["spec"]["publishNotReadyAddresses"] = True
    await cluster.store.create(objects.SERVICES, "default", service)
    port = await local_port(cluster, "early")
    await cluster.store.create(objects.PODS, "default", pod)

    async def answers() -> bool:
        return await ask(port) == "early"

    await eventually(answers, "it answers, ready or not")
    assert not is_ready(await cluster.store.get(objects.PODS, "default", "early"))
    await remove(cluster, objects.SERVICES, "early")
    await cluster.store.delete(objects.PODS, "default", "early", DeleteOptions(grace_period=0))


async def test_a_node_port_is_known_at_once_and_reached(cluster: EmbeddedCluster) -> None:
    await cluster.store.create(objects.PODS, "default", echo_pod("node", "nodeport", THIRD))
    created = await cluster.store.create(
        objects.SERVICES, "default", echo_service("nodeport", THIRD, "NodePort")
    )
    number = created["spec"]["ports"][0]["nodePort"]
    assert 30_000 <= number < 32_768
    await ready_pods(cluster, "nodeport", 1)

    async def answers() -> bool:
        return await ask(number) == "node"

    await eventually(answers, "the node port answers")
    await remove(cluster, objects.SERVICES, "nodeport")


async def test_a_load_balancer_is_reached_on_its_own_port_unless_that_is_taken(
    cluster: EmbeddedCluster,
) -> None:
    await cluster.store.create(objects.PODS, "default", echo_pod("behind", "balanced", FOURTH))
    await ready_pods(cluster, "balanced", 1)
    taken = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", BALANCED)
    service = echo_service("balanced", FOURTH, "LoadBalancer")
    service["spec"]["ports"][0]["port"] = BALANCED
    await cluster.store.create(objects.SERVICES, "default", service)

    async def warned() -> bool:
        events = (await cluster.store.list(objects.EVENTS, "default")).items
        return any(
            each["reason"] == "PortUnavailable" and str(BALANCED) in each["message"]
            for each in events
        )

    await eventually(warned, "the port that is taken is told")
    stored = await cluster.store.get(objects.SERVICES, "default", "balanced")
    assert not stored["status"]["loadBalancer"]

    taken.close()
    await taken.wait_closed()
    # Any change makes it look again.
    await change(cluster, objects.SERVICES, "balanced", sessionAffinity="ClientIP")

    async def ingress() -> bool:
        found = await cluster.store.get(objects.SERVICES, "default", "balanced")
        return found["status"]["loadBalancer"] == {"ingress": [{"ip": "127.0.0.1"}]}

    await eventually(ingress, "the ingress")
    assert await ask(BALANCED) == "behind"
    await remove(cluster, objects.SERVICES, "balanced")
