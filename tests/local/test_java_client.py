"""Flink's own Java client deploys, submits and stops on the embedded Kubernetes."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest

from kubeflink import objects
from kubeflink.cluster import runner
from kubeflink.local.cluster import EmbeddedCluster
from support.embedded import JVM_SECONDS, SMALL_SESSION, eventually

pytestmark = [
    pytest.mark.flink,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
]

SESSION_CLI = "org.apache.flink.kubernetes.cli.KubernetesSessionCli"
FRONTEND = "org.apache.flink.client.cli.CliFrontend"
# A JVM outside cannot resolve the name of a ClusterIP Service.
NODE_PORT = "-Dkubernetes.rest-service.exposed.type=NodePort"
CLUSTER = "-Dkubernetes.cluster-id=java"
PROGRAM = [
    "CREATE TABLE dice (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '100')",
    "CREATE TABLE sink (n BIGINT) WITH ('connector' = 'blackhole')",
    "INSERT INTO sink SELECT n FROM dice",
]


async def flink(
    kubernetes: EmbeddedCluster, conf: Path, main: str, *arguments: str, stdin: str = ""
) -> str:
    """Run a main class of Flink; what it printed. Fails the test when Flink does."""
    home, java = kubernetes.node.homes.default, kubernetes.node.java
    environment = {
        **os.environ,
        "KUBECONFIG": str(kubernetes.kubeconfig),
        "FLINK_CONF_DIR": str(conf),
        "FLINK_LIB_DIR": str(home.lib),
        "FLINK_OPT_DIR": str(home.opt),
        "FLINK_PLUGINS_DIR": str(home.plugins),
    }
    process = await asyncio.create_subprocess_exec(
        str(java.executable),
        *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *home.module_options()),
        *("-cp", home.class_path(), main, *arguments),
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(JVM_SECONDS):
            output, _ = await process.communicate(stdin.encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    text = output.decode()
    assert process.returncode == 0, text
    return text


async def test_deploy_submit_list_cancel_and_stop(
    kubernetes: EmbeddedCluster, tmp_path: Path
) -> None:
    options = "".join(f"{key}: {value}\n" for key, value in SMALL_SESSION.items())
    (tmp_path / "config.yaml").write_text(options)
    await flink(kubernetes, tmp_path, SESSION_CLI, CLUSTER, NODE_PORT)
    target = ("-t", "kubernetes-session", CLUSTER)

    async def available() -> bool:
        deployment = await kubernetes.store.get(objects.DEPLOYMENTS, "default", "java")
        return bool((deployment.get("status") or {}).get("availableReplicas"))

    await eventually(available, "the JobManager answers")
    jar = ("-c", runner.MAIN_CLASS, str(runner.jar()), *PROGRAM)
    submitted = await flink(kubernetes, tmp_path, FRONTEND, "run", "-d", *target, *jar)
    found = re.search(r"JobID ([0-9a-f]{32})", submitted)
    assert found is not None, submitted

    async def listed() -> bool:
        text = await flink(kubernetes, tmp_path, FRONTEND, "list", *target)
        return f"{found[1]} : " in text and "(RUNNING)" in text

    await eventually(listed, "the job runs")
    await flink(kubernetes, tmp_path, FRONTEND, "cancel", *target, found[1])
    attached = (SESSION_CLI, CLUSTER, "-Dexecution.attached=true")
    await flink(kubernetes, tmp_path, *attached, stdin="stop\n")

    async def gone() -> bool:
        kinds = (objects.DEPLOYMENTS, objects.PODS, objects.SERVICES, objects.CONFIG_MAPS)
        return not [kind for kind in kinds if (await kubernetes.store.list(kind)).items]

    await eventually(gone, "everything of the cluster is gone")
