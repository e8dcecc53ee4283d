"""Deploying a session cluster: kubeflink against Flink's own Java client.

Both deploy to the same recording API server, in turn and in one run, so that they meet the same
load of the machine. CPU time and memory are the kernel's own account of each process and its
children; CPU time is the number to trust on a shared machine. Printed are medians and ratios.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.flink_jars import flink_jars
from support.judge import java
from support.recorder import RecordingServer

JAVA_CLIENT = "org.apache.flink.kubernetes.cli.KubernetesSessionCli"
FLINK_VERSION = "2.3.0"

CONFIGURATION = """\
jobmanager.memory.process.size: 1600m
taskmanager.memory.process.size: 1728m
taskmanager.numberOfTaskSlots: 1
"""

AIMS = {"cpu": 12.0, "wall": 6.0, "memory": 4.0}
"""How many times less kubeflink is to need."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run took: seconds of CPU and of time, and MiB of memory at its peak."""

    cpu: float
    wall: float
    memory: float


def measured(command: Sequence[str], env: Mapping[str, str]) -> Cost:
    """Run a command to its end; RuntimeError with its last words if it fails."""
    with tempfile.TemporaryFile() as output:
        begin = time.monotonic()
        pid = os.posix_spawn(
            command[0],
            list(command),
            dict(env),
            file_actions=[
                (os.POSIX_SPAWN_DUP2, output.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, output.fileno(), 2),
            ],
        )
        _, status, usage = os.wait4(pid, 0)
        wall = time.monotonic() - begin
        if status != 0:
            output.seek(0)
            raise RuntimeError(output.read().decode(errors="replace")[-2000:])
    kibibytes = usage.ru_maxrss if sys.platform != "darwin" else usage.ru_maxrss / 1024
    return Cost(usage.ru_utime + usage.ru_stime, wall, kibibytes / 1024)


def kubeflink_command(cluster_id: str) -> list[str]:
    script = str(Path(sys.executable).with_name("kubeflink"))
    return [sys.executable, script, "kubernetes-session", f"-Dkubernetes.cluster-id={cluster_id}"]


def java_command(cluster_id: str) -> list[str]:
    """As kubernetes-session.sh runs it, with the JVM's own defaults."""
    classpath = str(flink_jars(FLINK_VERSION) / "lib" / "*")
    return [java(), "-classpath", classpath, JAVA_CLIENT, f"-Dkubernetes.cluster-id={cluster_id}"]


def compare(rounds: int) -> dict[str, list[Cost]]:
    """The costs of both clients, `rounds` times in turn after one round to warm the caches."""
    costs: dict[str, list[Cost]] = {"Flink's client": [], "kubeflink": []}
    with RecordingServer() as server, tempfile.TemporaryDirectory() as directory:
        conf = Path(directory, "conf")
        conf.mkdir()
        (conf / "config.yaml").write_text(CONFIGURATION, encoding="utf-8")
        kubeconfig = Path(directory, "kubeconfig")
        kubeconfig.write_text(server.kubeconfig(), encoding="utf-8")
        env = {
            "PATH": os.environ["PATH"],
            "HOME": directory,
            "LC_ALL": "C.UTF-8",
            "FLINK_CONF_DIR": str(conf),
            "KUBECONFIG": str(kubeconfig),
        }
        for number in range(rounds + 1):
            for client, command in (
                ("Flink's client", java_command(f"java-{number}")),
                ("kubeflink", kubeflink_command(f"python-{number}")),
            ):
                cost = measured(command, env)
                if number:
                    costs[client].append(cost)
        made = [target for target in server.objects.by_target if target.plural == "deployments"]
        assert len(made) == 2 * (rounds + 1), "a client has deployed nothing"
    return costs


def medians(costs: Sequence[Cost]) -> Cost:
    return Cost(
        *(statistics.median(getattr(each, name) for each in costs) for name in Cost.__slots__)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    found = {client: medians(costs) for client, costs in compare(rounds).items()}
    print(
        f"{'medians of ' + str(rounds) + ' rounds':<24}{'CPU s':>10}{'wall s':>10}{'peak MiB':>10}"
    )
    for client, cost in found.items():
        print(f"{client:<24}{cost.cpu:>10.2f}{cost.wall:>10.2f}{cost.memory:>10.0f}")
    flink, ours = found.values()
    ratios = {name: getattr(flink, name) / getattr(ours, name) for name in Cost.__slots__}
    print(
        f"{'times less':<24}{ratios['cpu']:>10.1f}{ratios['wall']:>10.1f}{ratios['memory']:>10.1f}"
    )
    print(f"{'aim':<24}{AIMS['cpu']:>10.1f}{AIMS['wall']:>10.1f}{AIMS['memory']:>10.1f}")


if __name__ == "__main__":
    main()
