"""kubectl on the whole embedded Kubernetes: what needs controllers, a kubelet and its processes."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kubeflink import objects
from kubeflink.local.cluster import EmbeddedCluster
from support.embedded import embedded_cluster, eventually
from support.kubectl import LIMIT, binary

pytestmark = pytest.mark.asyncio(loop_scope="module")

SERVER = "exec python3 -m http.server 19201 --bind 127.0.0.1"
CRASHES_ONCE = "test -e ../said && exec sleep 1000; echo first >../said; cat ../said; exit 1"
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "image": "busybox",
                        "command": ["sh", "-c", f"echo began; {SERVER}"],
                        "ports": [{"name": "http", "containerPort": 19201}],
                        # kubectl gives a port-forward up whose first connection is refused.
                        "readinessProbe": {"tcpSocket": {"port": "http"}},
                    }
                ]
            },
        },
    },
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    async with embedded_cluster() as cluster:
        yield cluster


async def kubectl(cluster: EmbeddedCluster, *arguments: str, stdin: str = "") -> str:
    """What kubectl prints; fails the test when it fails."""
    process = await asyncio.create_subprocess_exec(
        binary(),
        *arguments,
        env={"KUBECONFIG": str(cluster.kubeconfig), "HOME": str(cluster.state.root)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(LIMIT):
        out, err = await process.communicate(stdin.encode())
    assert process.returncode == 0, err.decode()
    return out.decode()


async def test_from_apply_to_delete(cluster: EmbeddedCluster) -> None:
    assert "Ready" in await kubectl(cluster, "get", "nodes")
    await kubectl(cluster, "apply", "-f", "-", stdin=json.dumps(DEPLOYMENT))
    assert "successfully rolled out" in await kubectl(
        cluster, "rollout", "status", "deployment/web", "--timeout=60s"
    )
    await kubectl(cluster, "wait", "--for=condition=Available", "deployment/web", "--timeout=60s")
    assert re.search(r"web-\w+-\w+ +1/1 +Running +0 ", await kubectl(cluster, "get", "pods"))
    described = await kubectl(cluster, "describe", "pods", "-l", "app=web")
    for expected in ("Scheduled", "Pulled", "Started", "Controlled By:  Deployment/web"):
        assert expected in described
    assert "began" in await kubectl(cluster, "logs", "deployment/web")

    before = await kubectl(cluster, "get", "pods", "-o", "name")
    await kubectl(cluster, "rollout", "restart", "deployment/web")
    await kubectl(cluster, "rollout", "status", "deployment/web", "--timeout=60s")
    assert before != await kubectl(cluster, "get", "pods", "-o", "name")

    await kubectl(cluster, "scale", "deployment/web", "--replicas=0")
    await kubectl(cluster, "wait", "--for=delete", "pods", "-l", "app=web", "--timeout=60s")
    await kubectl(cluster, "delete", "deployment/web", "--wait=true")
    assert (await cluster.store.list(objects.DEPLOYMENTS)).items == []


async def test_the_log_of_the_start_before(cluster: EmbeddedCluster) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "again"},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "busybox",
                    "command": [
                        "sh",
                        "-c",
                        CRASHES_ONCE,
                    ],
                }
            ]
        },
    }
    await kubectl(cluster, "create", "-f", "-", stdin=json.dumps(pod))
    await kubectl(cluster, "wait", "--for=condition=Ready", "pod/again", "--timeout=60s")

    async def restarted() -> bool:
        return (
            re.search(r"again +1/1 +Running +1 ", await kubectl(cluster, "get", "pods")) is not None
        )

    await eventually(restarted, "the restart is counted")
    assert await kubectl(cluster, "logs", "again", "-p") == "first\n"
    await kubectl(cluster, "delete", "pod", "again", "--now")


async def test_a_port_of_a_process_is_forwarded(cluster: EmbeddedCluster) -> None:
    await kubectl(cluster, "apply", "-f", "-", stdin=json.dumps(DEPLOYMENT))
    await kubectl(cluster, "wait", "--for=condition=Available", "deployment/web", "--timeout=60s")
    forward = await asyncio.create_subprocess_exec(
        *(binary(), "port-forward", "deployment/web", ":http"),
        env={"KUBECONFIG": str(cluster.kubeconfig), "PATH": os.environ["PATH"]},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert forward.stdout is not None
        async with asyncio.timeout(LIMIT):
            line = (await forward.stdout.readline()).decode()
        found = re.search(r"127\.0\.0\.1:(\d+)", line)
        assert found is not None, line

        async def served() -> bool:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", int(found[1]))
                writer.write(b"GET / HTTP/1.0\r\n\r\n")
                answer = await reader.readline()
                writer.close()
            except OSError:
                return False
            return b" 200 " in answer

        await eventually(served, "the process answers through kubectl")
    finally:
        forward.terminate()
        await forward.communicate()
    await kubectl(cluster, "delete", "deployment/web")
