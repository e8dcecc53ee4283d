"""From nothing to the first REST answer: a session on the embedded Kubernetes, and a bare JVM.

In each round a session cluster is started with kubeflink's own interface; then the very same java
command of its JobManager is started by hand, against the same API server and with the same files,
and asked as often. What is left between the two is what kubeflink costs: rendering, seven requests,
the controllers, the kubelet, and finding out that the JobManager serves. Linux only (/proc).

Also printed is the memory of the embedded server itself: the peak of its process, which here holds
the client too, with one session and a job, without the JVMs.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import shutil
import signal
import statistics
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from kubeflink import config
from kubeflink.cluster.session import SessionCluster
from kubeflink.kube.client import KubeClient
from kubeflink.local.cluster import EmbeddedCluster
from kubeflink.local.sizes import SMALL_MEMORY
from kubeflink.objects import DEPLOYMENTS, PODS
from kubeflink.spec import names

START_AIM = 1.25
"""How many times as long as the bare JVM a session may take."""

MEMORY_AIM = 120
"""MB for the server, with one session and a job."""

ENTRYPOINT = "KubernetesSessionClusterEntrypoint"
LIMIT = 300.0
PAUSE = 0.05

JOB = """
    SET 'parallelism.default' = '1';
    CREATE TABLE numbers (n BIGINT)
      WITH ('connector' = 'datagen', 'number-of-rows' = '1000', 'rows-per-second' = '1000');
    CREATE TABLE nothing WITH ('connector' = 'blackhole') LIKE numbers (EXCLUDING OPTIONS);
    INSERT INTO nothing SELECT n FROM numbers;
"""


async def start_session(client: KubeClient, name: str) -> tuple[SessionCluster, float]:
    """A session that is ready, and the seconds that took."""
    configuration = config.load(
        environ={},
        overrides={
            **SMALL_MEMORY,
            "kubernetes.cluster-id": name,
            "taskmanager.numberOfTaskSlots": 1,
        },
    )
    begin = time.monotonic()
    cluster = await SessionCluster.deploy_configured(client, configuration, timeout=LIMIT)
    return cluster, time.monotonic() - begin


class BareJobManager:
    """The JobManager's java command with a copy of its files, taken while it runs."""

    def __init__(self, state: Path, copies: Path) -> None:
        self.pid = next(pid for pid in _pids() if _is_jobmanager(pid, state))
        words = Path(f"/proc/{self.pid}/cmdline").read_text().split("\0")[:-1]
        environ = Path(f"/proc/{self.pid}/environ").read_text().split("\0")[:-1]
        pods = state / "pods"
        shutil.copytree(pods, copies / "pods", symlinks=True)

        def here(text: str) -> str:
            return text.replace(str(pods), str(copies / "pods"))

        self.command = [here(word) for word in words]
        self.environment = dict(here(pair).split("=", 1) for pair in environ)
        self.directory = here(os.readlink(f"/proc/{self.pid}/cwd"))
        # The last value of a key wins.
        self.port = int(self.command[_last_index(self.command, "rest.bind-port=")].split("=")[1])

    async def start(self) -> float:
        """Runs it until its REST API has answered; returns the seconds that took."""
        begin = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *self.command,
            cwd=self.directory,
            env=self.environment,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(LIMIT):
                await self._answer(process)
            return time.monotonic() - begin
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
            await process.wait()

    async def _answer(self, process: asyncio.subprocess.Process) -> None:
        url = f"http://127.0.0.1:{self.port}/overview"
        while not await asyncio.to_thread(_answers, url):
            if process.returncode is not None:
                raise RuntimeError(f"the bare JobManager ended with {process.returncode}")
            await asyncio.sleep(PAUSE)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10):
            return True
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _is_jobmanager(pid: int, state: Path) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return False
    # The process that waits for its exit code has the same words behind its own.
    is_java = Path(words[0]).name == "java"
    return is_java and any(ENTRYPOINT in word for word in words) and str(state) in str(words)


def _last_index(words: list[str], start: str) -> int:
    return max(index for index, word in enumerate(words) if word.startswith(start))


async def _scale_to_nothing(client: KubeClient, name: str) -> None:
    """Ends the JobManager, but leaves its Deployment, without which none would start."""
    await client.patch(DEPLOYMENTS, name, {"spec": {"replicas": 0}})
    async with asyncio.timeout(LIMIT):
        while True:
            if not (await client.list(PODS, labels=names.jobmanager_labels(name))).items:
                return
            await asyncio.sleep(PAUSE)


async def measure(rounds: int) -> None:
    sessions: list[float] = []
    bare: list[float] = []
    async with EmbeddedCluster() as embedded, embedded.client() as client:
        for number in range(rounds):
            name = f"bench-{number}"
            cluster, seconds = await start_session(client, name)
            sessions.append(seconds)
            if number == 0:
                await (await cluster.submit_sql(JOB)).wait(timeout=LIMIT)
            with tempfile.TemporaryDirectory() as copies:
                jobmanager = BareJobManager(embedded.state.root, Path(copies))
                await _scale_to_nothing(client, name)
                bare.append(await jobmanager.start())
            await cluster.delete()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    ratio = statistics.median(sessions) / statistics.median(bare)
    print(f"bare JobManager to its first answer  {statistics.median(bare):.2f} s")
    print(f"session to its first answer          {statistics.median(sessions):.2f} s")
    print(f"ratio                                {ratio:.2f} (aim: at most {START_AIM})")
    print(f"server and client, peak memory       {peak:.0f} MB (aim: under {MEMORY_AIM})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    asyncio.run(measure(parser.parse_args().rounds))


if __name__ == "__main__":
    main()
