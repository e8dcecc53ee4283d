"""A broker as it runs: what it tells, and what it cannot start with."""

from __future__ import annotations

import gc
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from kubeflink import objects
from kubeflink.apiserver.faults import Fault
from kubeflink.broker.blueprint import read_blueprint, read_files
from kubeflink.broker.monitor import Monitor
from kubeflink.broker.process import Broker, listening_from, write_credentials
from kubeflink.broker.projection import FINGERPRINT
from kubeflink.broker.report import Report
from kubeflink.errors import ConfigurationError, ForbiddenError, LocalError, NotFoundError
from kubeflink.kube import KubeClient
from kubeflink.spec.broker import make_credentials
from support.broker import (
    PODS,
    JobManager,
    RealCluster,
    brokered,
    cluster_spec,
    jobmanager,
    one_attempt_client,
    real_cluster,
    running_broker,
)


@pytest.fixture
async def cluster() -> AsyncIterator[RealCluster]:
    async with real_cluster(cluster_spec()) as cluster:
        yield cluster


@pytest.fixture
async def flink(cluster: RealCluster, tmp_path: Path) -> AsyncIterator[JobManager]:
    async with running_broker(cluster, tmp_path) as broker, jobmanager(broker) as flink:
        yield flink


@pytest.fixture
async def client(cluster: RealCluster, tmp_path: Path) -> AsyncIterator[KubeClient]:
    async with one_attempt_client(cluster, tmp_path) as client:
        yield client


async def asked(broker: Broker, path: str, method: str = "GET") -> tuple[int, str]:
    url = f"http://127.0.0.1:{broker.monitor.port}{path}"
    async with aiohttp.ClientSession() as session, session.request(method, url) as answer:
        return answer.status, await answer.text()


async def test_numbers_for_prometheus(flink: JobManager) -> None:
    for index in (1, 2, 2):
        await flink.ask(index)
    await flink.call("DELETE", f"{PODS}/demo-taskmanager-1-1")
    await flink.call("POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {}})

    status, text = await asked(flink.broker, "/metrics")

    assert status == 200
    values = dict(line.split() for line in text.splitlines() if not line.startswith("#"))
    assert values["kubeflink_broker_pods_created_total"] == "2"
    assert values["kubeflink_broker_pods_repeated_total"] == "1"
    assert values["kubeflink_broker_pods_deleted_total"] == "1"
    assert values["kubeflink_broker_requests_refused_total"] == "1"
    assert values["kubeflink_broker_api_server_up"] == "1"
    assert values["kubeflink_broker_troubles"] == "1"
    assert values["kubeflink_broker_healthy"] == "1"
    assert values["kubeflink_broker_limit_pods"] == "1000"
    assert "kubeflink_broker_limit_cpu_cores" not in values  # there is none
    assert text.count("# HELP") == text.count("# TYPE") == len(values)


async def test_health_and_status(flink: JobManager) -> None:
    assert (await asked(flink.broker, "/livez"))[0] == 200
    assert await asked(flink.broker, "/healthz") == (200, "ok\n")
    status, text = await asked(flink.broker, "/status")
    assert status == 200
    assert '"troubles":[]' in text


async def test_limits_are_numbers_too(tmp_path: Path) -> None:
    """An alarm before they are reached needs both."""
    limits = {"kubeflink.broker.limit.cpu": "2.5", "kubeflink.broker.limit.memory": "1g"}
    async with brokered(cluster_spec(limits), tmp_path) as (_, flink):
        text = (await asked(flink.broker, "/metrics"))[1]

    assert "\nkubeflink_broker_limit_cpu_cores 2.5\n" in text
    assert f"\nkubeflink_broker_limit_memory_bytes {float(1 << 30):g}\n" in text


@pytest.fixture
def log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> pytest.LogCaptureFixture:
    """What the broker says, whatever the command line has set."""
    monkeypatch.setattr(logging.getLogger("kubeflink"), "propagate", True)
    return caplog


async def test_the_log_says_when_it_is_not_ready_and_when_again(
    log: pytest.LogCaptureFixture,
) -> None:
    whys = iter(["the API server is away: a", "the API server is away: b", None, None])
    monitor = Monitor(Report(), dict, lambda: next(whys), host="127.0.0.1", port=0)
    await monitor.start()
    codes = []
    with log.at_level("INFO", logger="kubeflink.broker.monitor"):
        async with aiohttp.ClientSession() as session:
            for _ in range(4):
                async with session.get(f"http://127.0.0.1:{monitor.port}/healthz") as answer:
                    codes.append(answer.status)
    await monitor.stop()

    assert codes == [503, 503, 200, 200]
    assert log.messages == ["not ready: the API server is away: a", "ready again"]


async def test_the_log_says_which_pods_are_made_and_deleted(
    flink: JobManager, log: pytest.LogCaptureFixture
) -> None:
    with log.at_level("INFO", logger="kubeflink.broker.driver"):
        await flink.ask(1)
        await flink.ask(1)
        await flink.call("DELETE", f"{PODS}/demo-taskmanager-1-1")

    assert log.messages == ["demo-taskmanager-1-1 is made", "demo-taskmanager-1-1 is deleted"]


@pytest.mark.parametrize("path", ["/", "/api", PODS, "/metrics/x", "/../etc/passwd"])
async def test_the_monitor_has_nothing_else(flink: JobManager, path: str) -> None:
    assert (await asked(flink.broker, path))[0] == 404
    assert (await asked(flink.broker, "/metrics", "POST"))[0] == 405


async def test_pods_may_not_be_listed(cluster: RealCluster, tmp_path: Path) -> None:
    """The broker ends with the reason; its JobManager cannot start without it, as by itself."""
    cluster.faults.add(Fault(method="GET", path="/pods", times=None, status=403))

    with pytest.raises(ForbiddenError):
        async with running_broker(cluster, tmp_path):
            pass


async def test_there_is_no_cluster(client: KubeClient) -> None:
    with pytest.raises(NotFoundError):
        await read_blueprint(client, "nope", "default")


async def test_the_mounted_configuration_is_another_clusters(
    client: KubeClient, cluster: RealCluster, tmp_path: Path
) -> None:
    found = await cluster.store.get(objects.CONFIG_MAPS, "default", "flink-config-demo")
    for name, text in found["data"].items():
        (tmp_path / name).write_text(text.replace("demo", "other"))

    with pytest.raises(ConfigurationError, match="other"):
        await read_blueprint(client, "demo", "default", files=read_files(tmp_path, None))


async def test_a_port_that_is_taken(client: KubeClient, flink: JobManager, tmp_path: Path) -> None:
    write_credentials(make_credentials("demo", "default"), tmp_path / "own")
    listening = listening_from(tmp_path / "own", port=flink.broker.server.port)
    blueprint = await read_blueprint(client, "demo", "default")

    with pytest.raises(LocalError, match="cannot listen"):
        async with Broker(client, blueprint, listening):
            pass


def test_credentials_are_files_for_the_owner(tmp_path: Path) -> None:
    made = make_credentials("demo", "default")
    write_credentials(made, tmp_path / "own")

    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "own").iterdir()} == {0o600}
    listening = listening_from(tmp_path / "own", port=1)
    assert listening.token == made.token
    assert made.token not in repr(listening) + repr(made)
    assert made.key not in repr(made)


@pytest.mark.parametrize("broken", ["token", "tls.crt", "tls.key"])
def test_credentials_that_are_not_there(tmp_path: Path, broken: str) -> None:
    write_credentials(make_credentials("demo", "default"), tmp_path)
    (tmp_path / broken).unlink()

    with pytest.raises(ConfigurationError, match="credentials"):
        listening_from(tmp_path)


def test_a_token_that_can_be_guessed(tmp_path: Path) -> None:
    write_credentials(make_credentials("demo", "default"), tmp_path)
    (tmp_path / "token").write_text("\n")

    with pytest.raises(ConfigurationError, match="fewer than 16"):
        listening_from(tmp_path)


async def test_what_was_made_is_not_held_twice(flink: JobManager, cluster: RealCluster) -> None:
    before = _times_held("demo-taskmanager-1-1")  # by what other tests have left in this process
    for index in (1, 2):
        assert (await flink.ask(index))[0] == 201
    async with flink.watch() as events:
        # The watch brings what was made just now. A change after it shows that it has been there.
        await cluster.set_status("demo-taskmanager-1-2", phase="Running")
        await events.until("MODIFIED", "demo-taskmanager-1-2")

    assert _times_held("demo-taskmanager-1-1") - before == 1


def _times_held(pod: str) -> int:
    """How often this process holds a pod that the broker made."""
    gc.collect()
    dicts = [each for each in gc.get_objects() if type(each) is dict]
    return [each["name"] for each in dicts if _is_kept(each.get("annotations"))].count(pod)


def _is_kept(annotations: object) -> bool:
    return type(annotations) is dict and FINGERPRINT in annotations
