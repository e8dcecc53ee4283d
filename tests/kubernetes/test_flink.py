"""Real Flink on a real control plane: its own rights, and a garbage collector that is not ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kubeflink import objects
from kubeflink.cluster import preflight
from kubeflink.cluster.preflight import Plan
from support.control_plane import ControlPlane
from support.documents import documented_role
from support.embedded import JVM_SECONDS, small_arguments
from support.real_cluster import Namespace, eventually
from support.shell import Shell
from support.virtual_node import virtual_node

pytestmark = [pytest.mark.flink, pytest.mark.timeout(900, func_only=True)]

WORD_COUNT = Path(__file__).parents[2] / "examples" / "wordcount.jar"

CASES: Mapping[str, Mapping[str, str]] = {
    "plain": {},
    "host network": {"kubernetes.hostnetwork.enabled": "true"},
    "broker, high availability": {
        "kubeflink.broker.enabled": "true",
        "high-availability.type": "kubernetes",
    },
}


@pytest.fixture(scope="module", autouse=True)
def own_endpoints(control_plane: ControlPlane) -> Iterator[None]:
    """What a Service leads to is said by the node, whose pods have no addresses of their own."""
    with control_plane.without_controllers("endpoints-controller", "endpointslice-controller"):
        yield


@pytest.mark.parametrize("case", CASES)
async def test_the_main_job(namespace: Namespace, case: str, tmp_path: Path) -> None:
    """Everybody has the rights that the documentation tells them to ask for, and no more."""
    options = dict(CASES[case])
    has_broker = "kubeflink.broker.enabled" in options
    if "high-availability.type" in options:
        options["high-availability.storageDir"] = (tmp_path / "ha").as_uri()
    await namespace.allow("vera", documented_role("flink-viewer")["rules"])
    if has_broker:
        await namespace.grant("mary", "admin")
    else:
        await namespace.allow("mary", documented_role("flink-user")["rules"])
        plan = Plan("demo", namespace.name, host_network="host network" in case)
        (finding,) = await preflight.check(namespace.client, plan)
        for obj in finding.manifest:
            await namespace.client.create(obj)
    before = await namespace.everything()
    shell = Shell(namespace.user(), {})
    arguments = [f"-D{key}={value}" for key, value in options.items()]

    async with virtual_node(namespace):
        started = await shell("session", "start", "demo", *small_arguments(), *arguments)
        assert started.code == 0, started.err
        ran = await shell("run", "--session", "demo", str(WORD_COUNT), "to be or not to be")
        assert ran.code == 0, ran.err
        assert "FINISHED" in ran.out + ran.err
        listed = await shell.succeed("list", "--session", "demo", "--all", "-o", "json")
        assert [job["state"] for job in listed.json] == ["FINISHED"]

        viewer = Shell(namespace.user("vera"), {})
        for command in (("clusters",), ("describe", "demo")):
            assert "demo" in (await viewer.succeed(*command)).out
        assert "FINISHED" in (await viewer.succeed("list", "--session", "demo", "--all")).out

        async def is_released() -> bool:
            labels = {"component": "taskmanager"}
            return not (await namespace.client.list(objects.PODS, labels=labels)).items

        await eventually(is_released, "the TaskManagers are released", timeout=JVM_SECONDS)
        kept = ("--ha-data", "delete") if has_broker else ()
        stopped = await shell("session", "stop", "demo", *kept)
        assert stopped.code == 0, stopped.err

        async def is_as_before() -> bool:
            return await namespace.everything() == before

        await eventually(is_as_before, "nothing of it is left")
