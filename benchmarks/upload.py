"""Uploading a large jar to a real JobManager: kubeflink against `curl -F`, in turn and in one run.

Both send the same file to the same NodePort of a session on the embedded Kubernetes. Printed are
medians of the time of the transfer, their ratio, and the peak memory of kubeflink's process.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

AIM_RATIO = 1.3
"""kubeflink's time, as a multiple of curl's."""

AIM_MEMORY = 80.0
"""MiB of memory that the client may need."""

CHILD = "--child"
NODE_PORT = {"kubernetes.rest-service.exposed.type": "NodePort"}


def upload_once(url: str, jar: Path) -> None:
    """Upload as kubeflink does, and print seconds and MiB."""
    import httpx2

    from kubeflink.rest import FlinkClient

    async def upload() -> float:
        async with httpx2.AsyncClient(trust_env=False) as http:
            flink = FlinkClient(http, url)
            await flink.overview()  # a connection that is open, as in real use
            begin = time.monotonic()
            await flink.upload_jar(jar)
            return time.monotonic() - begin

    seconds = asyncio.run(upload())
    print(seconds, peak_memory())


def peak_memory() -> float:
    """MiB of this process. The kernel's account of a child begins with what its parent had."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def by_kubeflink(url: str, jar: Path) -> tuple[float, float]:
    """Seconds and MiB of an upload in a process of its own."""
    command = [sys.executable, __file__, CHILD, url, str(jar)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, memory = done.stdout.split()
    return float(seconds), float(memory)


def by_curl(url: str, jar: Path) -> float:
    """Seconds of the transfer, as curl tells them."""
    command = ["curl", "-sS", "-o", os.devnull, "-w", "%{time_total}"]
    command += ["-F", f"jarfile=@{jar}", f"{url}/jars/upload"]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def compare(url: str, jar: Path, rounds: int) -> None:
    """Upload in turn and print the medians."""
    times: dict[str, list[float]] = {"curl": [], "kubeflink": []}
    memory = 0.0
    for _ in range(rounds):
        times["curl"].append(by_curl(url, jar))
        seconds, used = by_kubeflink(url, jar)
        times["kubeflink"].append(seconds)
        memory = max(memory, used)
    medians = {name: statistics.median(found) for name, found in times.items()}
    for name, median in medians.items():
        print(f"{name:10} {median:6.2f} s")
    ratio = medians["kubeflink"] / medians["curl"]
    print(f"time of kubeflink / curl: {ratio:.2f} (aim: at most {AIM_RATIO})")
    print(f"memory of kubeflink: {memory:.0f} MiB (aim: under {AIM_MEMORY:.0f})")


async def run(size: int, rounds: int) -> None:
    """The whole comparison, with a session of its own."""
    # Not at the top: the process whose memory is measured has no use for it.
    from kubeflink import SessionCluster
    from support.embedded import JVM_SECONDS, SMALL_SESSION, embedded_cluster

    with tempfile.TemporaryDirectory() as directory:
        jar = Path(directory) / "large.jar"
        make_file(jar, size)
        async with (
            embedded_cluster() as kubernetes,
            SessionCluster.temporary(
                "upload",
                options={**SMALL_SESSION, **NODE_PORT},
                kubeconfig=kubernetes.kubeconfig,
                timeout=JVM_SECONDS,
            ) as cluster,
        ):
            url = (await cluster.address()).url
            assert url is not None
            await asyncio.to_thread(compare, url, jar, rounds)


def make_file(path: Path, size: int) -> None:
    """`size` MiB that do not compress."""
    with path.open("wb") as file:
        for _ in range(size):
            file.write(os.urandom(1 << 20))


def main() -> None:
    """Parse the arguments and run."""
    if sys.argv[1:2] == [CHILD]:
        upload_once(sys.argv[2], Path(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=300, help="MiB (300)")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    if shutil.which("curl") is None:
        sys.exit("curl is needed to compare with")
    asyncio.run(run(arguments.size, arguments.rounds))


if __name__ == "__main__":
    main()
