"""A nightly job: a cluster of its own, one jar, an exit code that a scheduler understands.

    python nightly.py wordcount.jar "to be or not to be"

The cluster is deleted at the end, whatever happened. Called again while one is running, the script
says so and fails instead of starting a second one, because the name of the cluster is taken.
"""

from __future__ import annotations

import argparse
import sys

from kubeflink.errors import KubeflinkError
from kubeflink.sync import SessionCluster

OPTIONS = {"taskmanager.numberOfTaskSlots": 2}


def run(name: str, jar: str, arguments: list[str], hours: float) -> None:
    """Run the jar on a new cluster; KubeflinkError if that fails or takes too long."""
    with SessionCluster.temporary(name, options=OPTIONS) as cluster:
        job = cluster.submit_jar(jar, args=arguments)
        print(f"{job.id} runs on {cluster.name}")
        outcome = job.wait(timeout=hours * 3600)
        print(f"{outcome.name} has finished after {outcome.duration / 1000:.1f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--name", default="nightly", help="the name of the cluster")
    parser.add_argument("--hours", type=float, default=3.0, help="how long the job may take")
    parser.add_argument("jar")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    try:
        run(given.name, given.jar, given.arguments, given.hours)
    except KubeflinkError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
