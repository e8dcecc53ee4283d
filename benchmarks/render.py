"""What it costs to turn a configuration into objects.

    python benchmarks/render.py [--clusters 1000]

Each cluster is loaded from a `config.yaml`, gets the client's settings and is rendered whole:
Deployment, Services and ConfigMap; and then a TaskManager pod, which has more to compute. CPU time
is what counts. Aim: under 5 ms for each session.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from kubeflink.config import Configuration, load
from kubeflink.spec import build_jobmanager, build_taskmanager_pod, session_configuration

CONFIGURATION = """
jobmanager.memory.process.size: 1600m
taskmanager.memory.process.size: 1728m
taskmanager.numberOfTaskSlots: 2
kubernetes.namespace: analytics
kubernetes.jobmanager.labels: team:data,env:prod
kubernetes.secrets: s3-credentials:/opt/secrets/s3
kubernetes.taskmanager.tolerations: key:gpu,operator:Exists
high-availability.type: kubernetes
high-availability.storageDir: s3://bucket/ha
"""


def cpu_milliseconds(times: int, do: Callable[[int], object]) -> float:
    """The CPU time of one call, in milliseconds, on average."""
    start = time.process_time()
    for number in range(times):
        do(number)
    return (time.process_time() - start) / times * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clusters", type=int, default=1000)
    clusters = parser.parse_args().clusters
    with tempfile.TemporaryDirectory() as name:
        Path(name, "config.yaml").write_text(CONFIGURATION, encoding="utf-8")
        Path(name, "log4j-console.properties").write_text("rootLogger.level = INFO\n")

        def configuration(number: int) -> Configuration:
            dynamic = [("kubernetes.cluster-id", f"cluster-{number}")]
            return session_configuration(load(conf_dir=name, dynamic=dynamic, environ={}))

        def session(number: int) -> None:
            build_jobmanager(configuration(number), environ={})

        deployed = configuration(0)

        def taskmanager(number: int) -> None:
            build_taskmanager_pod(deployed, attempt=1, index=number + 1, environ={})

        session(0)
        taskmanager(0)
        for what, do in (("session", session), ("TaskManager pod", taskmanager)):
            print(f"{what:16} {cpu_milliseconds(clusters, do):6.2f} ms CPU, {clusters} times")


if __name__ == "__main__":
    main()
