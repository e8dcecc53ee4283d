"""Flink's own JobManager of a session, as a process without a pod, and jobs for it."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from kubeflink.cluster import runner
from kubeflink.errors import KubeflinkError
from kubeflink.rest.client import FlinkClient
from stage.cluster import specification
from stage.processes import process

SECONDS = 180.0
PAUSE = 0.25

JOB = (
    "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen')",
    "CREATE TABLE nothing WITH ('connector' = 'blackhole') LIKE numbers (EXCLUDING OPTIONS)",
    "INSERT INTO nothing SELECT n FROM numbers",
)


@dataclass(frozen=True, slots=True)
class JobManager:
    """A JobManager that may still be starting."""

    pid: int
    flink: FlinkClient

    async def ready(self) -> str:
        """Wait until it takes jobs; gives the id of the jar with the job."""
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                await self.flink.overview()
                return await self.flink.upload_jar(runner.jar())
            except KubeflinkError:
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(PAUSE)

    async def submit(self, jar: str, parallelism: int) -> float:
        """Submit a job that wants so many workers; gives the moment of its acceptance."""
        await self.flink.run_jar(
            jar,
            entry_class=runner.MAIN_CLASS,
            args=JOB,
            parallelism=parallelism,
            job_id=secrets.token_hex(16),
        )
        return time.monotonic()


@asynccontextmanager
async def jobmanager(
    kubeconfig: Path, directory: Path, options: dict[str, str] | None = None
) -> AsyncIterator[JobManager]:
    """A JobManager that asks the API server of this kubeconfig; not waited for."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command, environ = _command(
        kubeconfig, directory, {"rest.bind-port": str(port), **(options or {})}
    )
    with (directory / "log").open("wb") as log:
        async with (
            process(*command, env=environ, stdout=log, stderr=log) as running,
            httpx2.AsyncClient(trust_env=False) as http,
        ):
            url = f"http://127.0.0.1:{port}"
            yield JobManager(running.pid, FlinkClient(http, url, retry_seconds=0.0))


def _command(
    kubeconfig: Path, directory: Path, options: dict[str, str]
) -> tuple[list[str], dict[str, str]]:
    from kubeflink.jvm.flink_home import find_homes
    from kubeflink.jvm.java import find_java

    home, java = find_homes().default, find_java()
    conf = directory / "conf"
    conf.mkdir(parents=True)
    maps = [obj for obj in specification().accompanying if obj["kind"] == "ConfigMap"]
    for name, text in maps[0]["data"].items():
        (conf / name).write_text(text)
    options = {
        "jobmanager.rpc.address": "127.0.0.1",
        "jobmanager.bind-host": "127.0.0.1",
        "jobmanager.rpc.port": "0",
        "blob.server.port": "0",
        "rest.bind-address": "127.0.0.1",
        "io.tmp.dirs": str(directory),
        "$internal.deployment.config-dir": str(conf),
        **options,
    }
    command = [
        str(java.executable),
        *("-Xmx1024m", "-Xms256m", "-XX:+IgnoreUnrecognizedVMOptions"),
        *home.module_options(),
        *java.version_options(),
        *("-classpath", home.class_path()),
        "org.apache.flink.kubernetes.entrypoint.KubernetesSessionClusterEntrypoint",
        *(word for key, value in options.items() for word in ("-D", f"{key}={value}")),
    ]
    environ = {
        **os.environ,
        "FLINK_CONF_DIR": str(conf),
        "KUBECONFIG": str(kubeconfig),
        "_POD_IP_ADDRESS": "127.0.0.1",
        "FLINK_LIB_DIR": str(home.lib),
        "FLINK_OPT_DIR": str(home.opt),
        "FLINK_PLUGINS_DIR": str(home.plugins),
    }
    return command, environ
