"""Pods as processes of this machine, without Flink: what a kubelet promises."""

from __future__ import annotations

import asyncio
import base64
import errno
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kubeflink import objects
from kubeflink.apiserver.deletion import DeleteOptions
from kubeflink.errors import BadRequestError
from kubeflink.local import kubelet, pods, starting
from kubeflink.local.cluster import EmbeddedCluster
from kubeflink.objects import JsonObject
from support.embedded import (
    container_state,
    embedded_cluster,
    eventually,
    main_process,
    pod_ended,
    pod_gone,
    pod_log,
    pod_when,
    shell_pod,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    async with embedded_cluster() as cluster:
        yield cluster


async def create(cluster: EmbeddedCluster, pod: JsonObject) -> str:
    created = await cluster.store.create(objects.PODS, "default", pod)
    return objects.name_of(created)


async def delete(cluster: EmbeddedCluster, name: str, grace: int | None = None) -> None:
    await cluster.store.delete(objects.PODS, "default", name, DeleteOptions(grace_period=grace))


async def reasons(cluster: EmbeddedCluster, name: str) -> list[str]:
    events = (await cluster.store.list(objects.EVENTS, "default")).items
    return [each["reason"] for each in events if each["involvedObject"]["name"] == name]


def variable(name: str, **source: JsonObject) -> JsonObject:
    return {"name": name, "valueFrom": source}


async def is_dead(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def is_running(pod: JsonObject) -> bool:
    return "running" in container_state(pod)


@pytest.mark.parametrize(
    ("script", "phase", "code", "reason"),
    [
        ("echo hello", "Succeeded", 0, "Completed"),
        ("echo oops >&2; exit 3", "Failed", 3, "Error"),
        ("kill -9 $$$$", "Failed", 137, "Error"),  # Kubernetes reads $$ as $
        ("echo java.lang.OutOfMemoryError: heap; exit 1", "Failed", 1, "OOMKilled"),
    ],
)
async def test_how_it_ends(
    cluster: EmbeddedCluster, script: str, phase: str, code: int, reason: str
) -> None:
    name = f"ends-{code}-{reason.lower()}"
    await create(cluster, shell_pod(name, script))
    pod = await pod_ended(cluster, name)
    state = container_state(pod)["terminated"]
    assert (pod["status"]["phase"], state["exitCode"], state["reason"]) == (phase, code, reason)
    if reason == "Error" and code == 3:
        assert state["message"] == "oops"


async def test_environment_and_volumes_reach_the_process(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    await cluster.store.create(
        objects.CONFIG_MAPS,
        "default",
        {
            "metadata": {"name": "settings"},
            "data": {"file.txt": "from a config map", "key": "v"},
        },
    )
    await cluster.store.create(
        objects.SECRETS,
        "default",
        {"metadata": {"name": "hidden"}, "data": {"pw": base64.b64encode(b"s3cret").decode()}},
    )
    (tmp_path / "host.txt").write_text("from the host")
    pod = shell_pod(
        "reads",
        "cat /config/file.txt /secret/pw /host/host.txt; echo $IP $KEY $PW $(pwd);"
        " cd /scratch; pwd",
        volumes=[
            {"name": "config", "configMap": {"name": "settings"}},
            {"name": "secret", "secret": {"secretName": "hidden"}},
            {"name": "host", "hostPath": {"path": str(tmp_path)}},
            {"name": "scratch", "emptyDir": {}},
        ],
        container={
            "workingDir": "/scratch",
            "env": [
                variable("IP", fieldRef={"fieldPath": "status.podIP"}),
                {
                    "name": "KEY",
                    "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "key"}},
                },
                {"name": "PW", "valueFrom": {"secretKeyRef": {"name": "hidden", "key": "pw"}}},
            ],
            "volumeMounts": [
                {"name": name, "mountPath": f"/{name}"}
                for name in ("config", "secret", "host", "scratch")
            ],
        },
    )
    await create(cluster, pod)
    assert (await pod_ended(cluster, "reads"))["status"]["phase"] == "Succeeded"
    log = await pod_log(cluster, "reads")
    assert "from a config maps3cretfrom the host127.0.0.1 v s3cret" in log
    places = {line.rsplit(" ", 1)[-1] for line in log.splitlines()}
    assert len(places) == 1, "the working directory is the mounted one"


async def test_init_containers_run_one_after_the_other_and_hand_over_files(
    cluster: EmbeddedCluster,
) -> None:
    mounts = [{"name": "share", "mountPath": "/share"}]
    first, second = (
        {
            "name": f"init-{number}",
            "image": "busybox",
            "command": ["sh", "-c", f"echo {number} >> /share/order"],
            "volumeMounts": mounts,
        }
        for number in (1, 2)
    )
    await create(
        cluster,
        shell_pod(
            "initialised",
            "cat /share/order",
            initContainers=[first, second],
            volumes=[{"name": "share", "emptyDir": {}}],
            container={"volumeMounts": mounts},
        ),
    )
    await pod_ended(cluster, "initialised")
    assert await pod_log(cluster, "initialised") == "1\n2\n"


async def test_a_failing_init_container_keeps_the_others_from_starting(
    cluster: EmbeddedCluster,
) -> None:
    init = {"name": "init", "image": "busybox", "command": ["false"]}
    await create(cluster, shell_pod("uninitialised", "echo never", initContainers=[init]))
    pod = await pod_ended(cluster, "uninitialised")
    assert pod["status"]["phase"] == "Failed"
    assert "waiting" in container_state(pod)


async def test_a_container_is_restarted_with_back_off_and_its_last_log_is_kept(
    cluster: EmbeddedCluster,
) -> None:
    await create(cluster, shell_pod("crashes", "echo start $$$$; exit 1", restartPolicy="Always"))

    def crashed_twice(pod: JsonObject) -> bool:
        waiting = container_state(pod).get("waiting") or {}
        (status,) = pod["status"].get("containerStatuses") or [{}]
        return waiting.get("reason") == "CrashLoopBackOff" and status["restartCount"] >= 1

    pod = await pod_when(cluster, "crashes", "back-off", crashed_twice)
    (status,) = pod["status"]["containerStatuses"]
    assert pod["status"]["phase"] == "Running"
    assert status["lastState"]["terminated"]["exitCode"] == 1
    now = await pod_log(cluster, "crashes")
    before = await pod_log(cluster, "crashes", previous=True)
    assert now.startswith("start ")
    assert before.startswith("start ")
    assert now != before
    assert "BackOff" in await reasons(cluster, "crashes")
    await delete(cluster, "crashes")
    await pod_gone(cluster, "crashes")


async def test_of_all_starts_of_a_container_the_last_two_are_on_disk(
    cluster: EmbeddedCluster,
) -> None:
    script = "ls $TMPDIR; mktemp; exit 1"
    pod = shell_pod("piles", script, restartPolicy="Always")

    def crashed_often(pod: JsonObject) -> bool:
        (status,) = pod["status"].get("containerStatuses") or [{}]
        return status.get("restartCount", 0) >= 3 and "waiting" in status["state"]

    await create(cluster, pod)
    uid = objects.uid_of(await pod_when(cluster, "piles", "three restarts", crashed_often))
    directory = cluster.state.pods / f"default_piles_{uid}" / "containers" / "main"
    logs = sorted(int(path.stem) for path in directory.glob("*.log"))
    (temporary,) = (await pod_log(cluster, "piles")).split()
    await delete(cluster, "piles")
    await pod_gone(cluster, "piles")

    assert len(logs) == 2
    assert logs[1] >= 3
    assert temporary.startswith(str(directory / "tmp"))


async def test_on_failure_restarts_only_failures(cluster: EmbeddedCluster) -> None:
    script = "test -e /share/once && exit 0; touch /share/once; exit 1"
    await create(
        cluster,
        shell_pod(
            "retries",
            script,
            restartPolicy="OnFailure",
            volumes=[{"name": "share", "emptyDir": {}}],
            container={"volumeMounts": [{"name": "share", "mountPath": "/share"}]},
        ),
    )
    pod = await pod_ended(cluster, "retries")
    assert pod["status"]["phase"] == "Succeeded"
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 1


async def test_a_deleted_pod_may_say_good_bye(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    script = f"trap 'echo bye > {tmp_path}/bye; exit 0' TERM; echo up; while :; do sleep 0.1; done"
    await create(cluster, shell_pod("polite", script))
    await pod_when(cluster, "polite", "running", is_running)
    await eventually(lambda: pod_log(cluster, "polite"), "its trap is set")
    await delete(cluster, "polite")
    await pod_gone(cluster, "polite")
    assert (tmp_path / "bye").read_text() == "bye\n"
    assert "Killing" in await reasons(cluster, "polite")


@pytest.mark.parametrize("force", [False, True])
async def test_a_deleted_pod_that_does_not_listen_is_killed(
    cluster: EmbeddedCluster, force: bool
) -> None:
    name = f"deaf-{force}".lower()
    script = "trap '' TERM; echo up; while :; do sleep 0.1; done"
    await create(cluster, shell_pod(name, script, terminationGracePeriodSeconds=600))
    pod = await pod_when(cluster, name, "running", is_running)
    await eventually(lambda: pod_log(cluster, name), "its trap is set")
    pid = main_process(pod, "main")
    if force:
        # It begins with all its time, and is then deleted by force.
        await delete(cluster, name)
        await asyncio.sleep(0.3)
        await delete(cluster, name, 0)
    else:
        await delete(cluster, name, 1)
    await pod_gone(cluster, name)

    await eventually(lambda: is_dead(pid), "the process is dead")


async def test_what_a_container_started_ends_with_it(cluster: EmbeddedCluster) -> None:
    await create(cluster, shell_pod("parent", "sleep 1000 & echo $!"))
    await pod_ended(cluster, "parent")
    child = int(await pod_log(cluster, "parent"))

    await eventually(lambda: is_dead(child), "the child is dead")


async def test_a_pod_waits_for_what_it_mounts(cluster: EmbeddedCluster) -> None:
    pod = shell_pod(
        "waits",
        "cat /config/k",
        volumes=[{"name": "config", "configMap": {"name": "later"}}],
        container={"volumeMounts": [{"name": "config", "mountPath": "/config"}]},
    )
    await create(cluster, pod)

    async def told() -> bool:
        return "FailedMount" in await reasons(cluster, "waits")

    await eventually(told, "the missing ConfigMap is told")
    assert (await cluster.store.get(objects.PODS, "default", "waits"))["status"][
        "phase"
    ] == "Pending"
    with pytest.raises(BadRequestError, match="is waiting to start: ContainerCreating"):
        await pod_log(cluster, "waits")
    later = {"metadata": {"name": "later"}, "data": {"k": "here"}}
    await cluster.store.create(objects.CONFIG_MAPS, "default", later)
    await pod_ended(cluster, "waits")
    assert await pod_log(cluster, "waits") == "here"


@pytest.mark.parametrize(
    ("name", "container", "reasons_to_wait", "told"),
    [
        (
            "no-command",
            {"command": ["no-such-command-anywhere"]},
            {"ErrImagePull", "ImagePullBackOff"},
            "no-such-command-anywhere",
        ),
        (
            "no-flink",
            {
                "image": "apache/flink:1.2.3",
                "command": ["/docker-entrypoint.sh"],
                "args": ["bash", "-c", "kubernetes-taskmanager.sh"],
            },
            {"ErrImagePull", "ImagePullBackOff"},
            "apache/flink:1.2.3",
        ),
        (
            "no-secret",
            {"env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "none", "key": "k"}}}]},
            {"CreateContainerConfigError"},
            'secret "none" not found',
        ),
        (
            "null-byte",
            {"env": [{"name": "X", "value": "a\0b"}]},
            {"CreateContainerError"},
            "null byte",
        ),
    ],
)
async def test_a_container_that_cannot_start_says_why(
    cluster: EmbeddedCluster, name: str, container: JsonObject, reasons_to_wait: set[str], told: str
) -> None:
    await create(cluster, shell_pod(name, "true", container=container))

    def says(pod: JsonObject) -> bool:
        waiting = container_state(pod).get("waiting") or {}
        return waiting.get("reason") in reasons_to_wait and told in waiting.get("message", "")

    pod = await pod_when(cluster, name, "reason", says)
    assert pod["status"]["phase"] == "Pending"
    await delete(cluster, name)
    await pod_gone(cluster, name)


async def test_a_pod_whose_handling_failed_can_still_be_deleted(
    cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(starting, "prepare_launch", fails)
        await create(cluster, shell_pod("unlucky", "true"))

        async def is_told() -> bool:
            return "FailedSync" in await reasons(cluster, "unlucky")

        await eventually(is_told, "FailedSync")
    await delete(cluster, "unlucky")
    await pod_gone(cluster, "unlucky")


async def test_a_log_that_cannot_be_cut_ends_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as on a disk that somebody fills again as fast as it is emptied."""
    tried: asyncio.Queue[None] = asyncio.Queue()

    def full(_: Path) -> None:
        tried.put_nowait(None)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(kubelet, "_LOG_INTERVAL", 0.05)
    monkeypatch.setattr(pods, "trim", full)
    async with embedded_cluster() as cluster, asyncio.timeout(60):
        await create(cluster, shell_pod("prints", "exec sleep 3600"))
        for _ in range(3):
            await tried.get()


async def test_pods_go_on_when_their_guardian_is_killed() -> None:
    async with embedded_cluster() as cluster:
        for name in ("before", "after"):
            await create(cluster, shell_pod(name, "exec sleep 3600"))
            await pod_when(cluster, name, "start", is_running)
            assert cluster.node.guardian is not None
            os.kill(cluster.node.guardian.pid, signal.SIGKILL)
        for name in ("before", "after"):
            await delete(cluster, name, grace=0)
            await pod_gone(cluster, name)


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeSelector": {"disk": "ssd"}},
        {"container": {"resources": {"requests": {"memory": "900Ti"}}}},
    ],
    ids=["selector", "memory"],
)
async def test_a_pod_that_fits_nowhere_stays_pending(
    cluster: EmbeddedCluster, spec: JsonObject, request: pytest.FixtureRequest
) -> None:
    name = f"unfit-{request.node.callspec.id}"
    await create(cluster, shell_pod(name, "true", **spec))

    def refused(pod: JsonObject) -> bool:
        conditions = pod["status"].get("conditions") or ()
        return any(each.get("reason") == "Unschedulable" for each in conditions)

    await pod_when(cluster, name, "refusal", refused)
    assert "FailedScheduling" in await reasons(cluster, name)
    await delete(cluster, name)
    await pod_gone(cluster, name)


async def test_a_pod_with_a_probe_is_ready_when_its_port_answers(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    port = 19_017
    script = f"sleep 1; exec python3 -m http.server {port} --bind 127.0.0.1 --directory {tmp_path}"
    probe = {"readinessProbe": {"httpGet": {"port": port}}}
    await create(cluster, shell_pod("probed", script, container=probe))
    pod = await pod_when(cluster, "probed", "running", is_running)
    assert pod["status"]["containerStatuses"][0]["ready"] is False

    def ready(pod: JsonObject) -> bool:
        return bool(pod["status"]["containerStatuses"][0]["ready"])

    await pod_when(cluster, "probed", "ready", ready)
    await delete(cluster, "probed", 0)
    await pod_gone(cluster, "probed")


async def test_a_claim_outlives_its_pods(cluster: EmbeddedCluster) -> None:
    for name, script in (("writes", "echo kept > /data/f"), ("finds", "cat /data/f")):
        pod = shell_pod(
            name,
            script,
            volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "claim"}}],
            container={"volumeMounts": [{"name": "data", "mountPath": "/data"}]},
        )
        await create(cluster, pod)
        await pod_ended(cluster, name)
    assert await pod_log(cluster, "finds") == "kept\n"


async def test_nothing_of_a_pod_is_left_on_disk(cluster: EmbeddedCluster) -> None:
    await create(cluster, shell_pod("brief", "sleep 1000"))
    pod = await pod_when(cluster, "brief", "running", is_running)
    await delete(cluster, "brief", 0)
    await pod_gone(cluster, "brief")

    async def removed() -> bool:
        left = [directory.name for directory in cluster.state.pods.iterdir()]
        return not any(objects.uid_of(pod) in name for name in left)

    await eventually(removed, "its directory is removed")
