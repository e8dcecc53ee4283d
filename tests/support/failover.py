"""A job whose output proves that nothing was lost and nothing counted twice, and what to do to it.

The job counts: it takes the numbers 1 to `total`, a few at a time, counts them in keyed state and
writes number and count to files that appear only with a checkpoint. A number that was lost or read
twice, and a counter that forgot or counted again, each leave rows that differ from the only right
ones.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kubeflink import objects
from kubeflink.kube.client import KubeClient
from kubeflink.local.sockets import listening_ports
from kubeflink.objects import JsonObject
from kubeflink.spec import names
from support.embedded import eventually, main_process

_KEYS = 3


@dataclass(frozen=True, slots=True)
class CountingJob:
    """`directory` is where the output goes; `rate` is in rows a second."""

    directory: Path
    total: int
    rate: int

    @property
    def script(self) -> str:
        """As a SQL script."""
        return f"""
            SET 'execution.checkpointing.interval' = '500ms';
            SET 'restart-strategy.type' = 'fixed-delay';
            SET 'restart-strategy.fixed-delay.attempts' = '1000';
            SET 'restart-strategy.fixed-delay.delay' = '200ms';
            CREATE TABLE numbers (n BIGINT, moment AS PROCTIME()) WITH (
              'connector' = 'datagen', 'rows-per-second' = '{self.rate}',
              'fields.n.kind' = 'sequence',
              'fields.n.start' = '1', 'fields.n.end' = '{self.total}');
            CREATE TABLE counted (k BIGINT, n BIGINT, c BIGINT) WITH (
              'connector' = 'filesystem', 'path' = '{self.directory.as_uri()}',
              'format' = 'csv', 'sink.rolling-policy.rollover-interval' = '1s',
              'sink.rolling-policy.check-interval' = '500ms');
            INSERT INTO counted
              SELECT n % {_KEYS}, n, COUNT(*) OVER (
                PARTITION BY n % {_KEYS} ORDER BY moment
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
              FROM numbers;
        """

    def committed(self) -> list[tuple[int, int, int]]:
        """The rows (key, number, count) in files that are complete."""
        rows = []
        for file in self.directory.glob("**/part-*"):
            for line in file.read_text().splitlines():
                key, number, count = map(int, line.split(","))
                rows.append((key, number, count))
        return rows

    def check(self) -> None:
        """Fails unless the output of the whole job is exactly right."""
        rows = self.committed()
        assert len(rows) == self.total
        check_rows(rows)

    def check_so_far(self) -> None:
        """The same of a job that was stopped, and had not come to its end."""
        rows = self.committed()
        assert rows
        check_rows(rows)


def check_rows(rows: list[tuple[int, int, int]]) -> None:
    """Fails unless the numbers from 1 to their number are there once, each key counted in order."""
    numbers = Counter(number for _, number, _ in rows)
    doubled = [number for number, times in numbers.items() if times > 1]
    missing = [number for number in range(1, max(numbers) + 1) if number not in numbers]
    assert (missing, doubled) == ([], []), f"{len(missing)} missing, {len(doubled)} doubled"
    counts: dict[int, list[int]] = {}
    for key, _, count in rows:
        counts.setdefault(key, []).append(count)
    for key, of_key in counts.items():
        assert sorted(of_key) == list(range(1, len(of_key) + 1)), f"key {key}"


async def pods_of(client: KubeClient, cluster_id: str, component: str) -> dict[str, JsonObject]:
    """The living pods of a component by name; `jobmanager` or `taskmanager`."""
    labels = {**names.common_labels(cluster_id), names.LABEL_COMPONENT: component}
    pods = (await client.list(objects.PODS, labels=labels)).items
    return {
        objects.name_of(pod): pod
        for pod in pods
        if "deletionTimestamp" not in pod["metadata"]
        and pod["status"].get("phase") in ("Pending", "Running", None)
    }


def kill(pod: JsonObject) -> None:
    """`kill -9` of the pod's JVM."""
    os.kill(main_process(pod), signal.SIGKILL)


async def kill_broker(client: KubeClient, cluster_id: str) -> None:
    """`kill -9` of a cluster's broker; its pod starts it again."""

    async def running() -> JsonObject | None:
        pods = (await client.list(objects.PODS, labels=names.broker_labels(cluster_id))).items
        return next((pod for pod in pods if pod["status"].get("phase") == "Running"), None)

    pod = await eventually(running, "a broker runs")
    os.kill(main_process(pod, "broker"), signal.SIGKILL)


async def leader_of(client: KubeClient, cluster_id: str) -> JsonObject:
    """The pod of the JobManager that leads, by the address that it has told in its ConfigMap."""
    name = names.high_availability_config_map_name(cluster_id)
    config_map = await client.get(objects.CONFIG_MAPS, name)
    address = config_map["data"]["org.apache.flink.k8s.leader.restserver"]
    port = int(address.rpartition(":")[2])
    for pod in (await pods_of(client, cluster_id, "jobmanager")).values():
        for status in pod["status"].get("containerStatuses") or ():
            group = str(status.get("containerID") or "").partition("://")[2]
            if group and port in listening_ports([int(group)]):
                return pod
    raise AssertionError(f"no JobManager listens on {port}")


async def target_ports(client: KubeClient, cluster_id: str) -> Mapping[str, int]:
    """The target ports of the cluster's Services by the ports' names."""
    services = await client.list(objects.SERVICES, labels=names.common_labels(cluster_id))
    return {
        port["name"]: port["targetPort"]
        for service in services.items
        for port in service["spec"]["ports"]
    }
