"""`kubeflink local` in the background: start, stop, survive, and clear errors.

The servers are real processes; the pods in them are plain ones, which start faster than JVMs.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kubeflink import objects
from kubeflink.errors import LocalError
from kubeflink.kube import kubeconfig
from kubeflink.kube.client import KubeClient
from kubeflink.local import daemon
from kubeflink.local.processes import start_time
from kubeflink.local.settings import Settings
from kubeflink.local.state import locked, named, write_json
from kubeflink.objects import JsonObject
from support.embedded import container_state, eventually, shell_pod


@pytest.fixture
def environ(tmp_path: Path) -> Iterator[Mapping[str, str]]:
    """An environment whose embedded clusters are its own, and gone in the end."""
    own = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    yield own
    for name in daemon.all_names(own):
        daemon.down(name, environ=own)


def is_alive(pid: int) -> bool:
    return start_time(pid) is not None


def kill_server(status: daemon.Status, how: signal.Signals = signal.SIGKILL) -> None:
    """As the kernel does when memory is short; returns when the server is dead."""
    assert status.pid is not None
    os.kill(status.pid, how)
    while is_alive(status.pid):
        time.sleep(0.05)


async def create(status: daemon.Status, *pods: JsonObject) -> None:
    async with KubeClient.connect(kubeconfig=status.kubeconfig) as client:
        for pod in pods:
            pod["metadata"]["namespace"] = "default"
            await client.create(pod)


async def pod_in(status: daemon.Status, name: str, wanted: str) -> JsonObject:
    """The pod, once its container is `running`, `waiting` or `terminated`."""
    async with KubeClient.connect(kubeconfig=status.kubeconfig) as client:

        async def look() -> JsonObject | None:
            pod = await client.get(objects.PODS, name, "default")
            return pod if wanted in container_state(pod) else None

        return await eventually(look, f"{name} is {wanted}")


def group_of(pod: JsonObject) -> int:
    return int(pod["status"]["containerStatuses"][0]["containerID"].partition("://")[2])


def test_up_status_and_down(environ: Mapping[str, str]) -> None:
    assert not daemon.status(environ=environ).is_running
    with pytest.raises(LocalError, match="not running"):
        daemon.kubeconfig(environ=environ)

    up = daemon.up(environ=environ)
    assert up.is_running
    assert up.pid is not None
    assert kubeconfig.load(up.kubeconfig, environ=environ).pods_are_processes
    assert daemon.up(environ=environ).pid == up.pid, "a second `up` finds the first"
    assert daemon.status(environ=environ) == up
    assert daemon.all_names(environ) == [daemon.DEFAULT_NAME]

    assert daemon.down(environ=environ)
    assert not is_alive(up.pid)
    assert not up.directory.exists()
    assert not daemon.down(environ=environ)


def test_two_started_at_once_live_side_by_side(environ: Mapping[str, str]) -> None:
    with ThreadPoolExecutor() as threads:
        one, two = threads.map(lambda name: daemon.up(name, environ=environ), ("one", "two"))
    assert one.url != two.url
    daemon.down("one", environ=environ)
    assert daemon.status("two", environ=environ).is_running


def test_one_started_twice_at_once_is_one(environ: Mapping[str, str]) -> None:
    with ThreadPoolExecutor() as threads:
        started = list(threads.map(lambda _: daemon.up(environ=environ), range(2)))
    assert len({status.pid for status in started}) == 1


async def test_a_killed_server_s_processes_are_adopted(environ: Mapping[str, str]) -> None:
    up = daemon.up(environ=environ)
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": "default"},
        "spec": {"type": "NodePort", "selector": {"app": "stays"}, "ports": [{"port": 80}]},
    }
    await create(
        up,
        shell_pod("stays", "exec sleep 1000", labels={"app": "stays"}),
        shell_pod("ends", "sleep 2; exit 7"),
        shell_pod("ends-unseen", "exec sleep 1000"),
        service,
    )
    stays = await pod_in(up, "stays", "running")
    await pod_in(up, "ends", "running")
    unseen = await pod_in(up, "ends-unseen", "running")
    kill_server(up)
    os.killpg(group_of(unseen), signal.SIGKILL)

    again = daemon.up(environ=environ)
    assert again.url == up.url
    adopted = await pod_in(again, "stays", "running")
    assert group_of(adopted) == group_of(stays)
    assert is_alive(group_of(stays))
    assert adopted["status"]["containerStatuses"][0]["restartCount"] == 0
    ended = await pod_in(again, "ends", "terminated")
    assert container_state(ended)["terminated"]["exitCode"] == 7
    vanished = await pod_in(again, "ends-unseen", "terminated")
    assert container_state(vanished)["terminated"]["exitCode"] == 137
    async with KubeClient.connect(kubeconfig=again.kubeconfig) as client:
        kept = await client.get(objects.SERVICES, "s", "default")
        assert kept["metadata"]["uid"] != ""
        with socket.create_connection(("127.0.0.1", kept["spec"]["ports"][0]["nodePort"])):
            pass
        await client.delete(objects.PODS, "stays", "default", grace_period=1)

    async def dead() -> bool:
        return not is_alive(group_of(stays))

    await eventually(dead, "an adopted process can be stopped")


async def test_a_killed_server_leaves_nothing_after_down(environ: Mapping[str, str]) -> None:
    up = daemon.up(environ=environ)
    await create(up, shell_pod("stays", "exec sleep 1000"))
    group = group_of(await pod_in(up, "stays", "running"))
    kill_server(up)
    assert is_alive(group)
    assert daemon.down(environ=environ)
    assert not is_alive(group)


async def test_a_server_without_its_directory_ends_with_its_processes(
    environ: Mapping[str, str],
) -> None:
    up = daemon.up(environ=environ)
    await create(up, shell_pod("stays", "exec sleep 1000"))
    group = group_of(await pod_in(up, "stays", "running"))
    server = up.pid
    assert server is not None
    shutil.rmtree(up.directory)

    async def nothing_lives() -> bool:
        return not is_alive(server) and not is_alive(group)

    await eventually(nothing_lives, "server and pod have ended")
    assert not up.directory.exists()


async def test_a_pod_deleted_while_no_server_was_there_is_finished_by_the_next(
    environ: Mapping[str, str],
) -> None:
    up = daemon.up(environ=environ)
    script = "trap '' TERM; echo; while :; do sleep 0.1; done"
    await create(up, shell_pod("ending", script, terminationGracePeriodSeconds=2))
    group = group_of(await pod_in(up, "ending", "running"))
    async with KubeClient.connect(kubeconfig=up.kubeconfig) as client:
        await client.delete(objects.PODS, "ending", "default")
    kill_server(up)
    daemon.up(environ=environ)

    async def dead() -> bool:
        return not is_alive(group)

    await eventually(dead, "its process has ended")


def test_a_port_that_is_taken_is_a_clear_error(environ: Mapping[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LocalError, match=f"127.0.0.1:{port}"):
            daemon.up(settings=Settings(port=port), environ=environ)
    assert not daemon.status(environ=environ).is_running
    assert daemon.up(environ=environ).url == f"https://127.0.0.1:{port}", "now it is free"


def test_a_missing_flink_is_a_clear_error(environ: Mapping[str, str], tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="No Flink in"):
        daemon.up(settings=Settings(flink_homes=(tmp_path,)), environ=environ)


def test_a_full_disk_is_a_clear_error(environ: Mapping[str, str]) -> None:
    if not os.access("/dev/full", os.W_OK):
        pytest.skip("no /dev/full here")
    directory = named("full", environ)
    directory.create()
    # Every write to it fails as on a full disk; reading it gives no database.
    directory.journal.symlink_to("/dev/full")
    with pytest.raises(LocalError, match="is full") as failure:
        daemon.up("full", environ=environ)
    assert str(directory.root) in str(failure.value)
    assert "Traceback" not in directory.log.read_text()


async def test_what_can_be_made_anew_is_and_nothing_is_lost(environ: Mapping[str, str]) -> None:
    """Token, certificate and kubeconfig; the server is where it was, and holds what it held."""
    up = daemon.up(environ=environ)
    await create(up, shell_pod("stays", "exec sleep 1000"))
    running = await pod_in(up, "stays", "running")
    kill_server(up)
    directory = named(daemon.DEFAULT_NAME, environ)
    for path in (directory.server_file, directory.token_file, directory.server_pem):
        path.write_bytes(b"\0damaged")

    again = daemon.up(environ=environ)

    assert again.url == up.url
    assert group_of(await pod_in(again, "stays", "running")) == group_of(running)
    assert f"{directory.server_pem} is no good" in directory.log.read_text()


@pytest.mark.parametrize("file", ["settings.json", "ports.json", "journal.sqlite"])
async def test_what_cannot_is_named_and_kept(environ: Mapping[str, str], file: str) -> None:
    up = daemon.up(settings=Settings(), environ=environ)
    kill_server(up, signal.SIGTERM)  # Else the journal would be mended from what is written ahead.
    path = up.directory / file
    path.write_bytes(b"damaged")

    with pytest.raises(LocalError, match=f"The file {path} is damaged") as failure:
        daemon.up(environ=environ)

    assert failure.value.hint
    assert path.read_bytes() == b"damaged"
    assert "Traceback" not in up.log.read_text()
    if file == "settings.json":
        assert daemon.up(settings=Settings(), environ=environ).url == up.url


def test_a_server_that_dies_while_it_starts_is_told_with_its_log(
    environ: Mapping[str, str], tmp_path: Path
) -> None:
    # The interpreter finds this instead of asyncio, and ends.
    (tmp_path / "asyncio.py").write_text("import os; os._exit(9)")
    broken = {**environ, "PYTHONPATH": str(tmp_path)}
    with pytest.raises(LocalError, match="ended while starting") as failure:
        daemon.up(environ=broken)
    assert "server.log" in str(failure.value)


@pytest.mark.parametrize(
    ("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interrupted_up_leaves_nothing(
    environ: Mapping[str, str], tmp_path: Path, how: signal.Signals, code: int
) -> None:
    # The server's interpreter finds this first, and never comes to serve.
    (tmp_path / "sqlite3.py").write_text(
        f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))"
        "\nfor _ in range(10000): time.sleep(0.01)"
    )
    command = [sys.executable, "-c", "import sys; from kubeflink.cli import main; sys.exit(main())"]
    with subprocess.Popen(
        [*command, "local", "up", "halfway"],
        env={**environ, "PYTHONPATH": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    ) as up:
        deadline = time.monotonic() + 60
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert up.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        up.send_signal(how)
        _, printed = up.communicate(timeout=120)
    assert (up.returncode, printed) == (code, "")
    assert start_time(int((tmp_path / "pid").read_text())) is None
    assert not named("halfway", environ).root.exists()


def test_modules_of_the_user_s_directory_are_not_the_server_s(
    environ: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("asyncio", "email", "queue", "secrets", "select", "token", "types"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('this is not yours')")
    monkeypatch.chdir(tmp_path)
    assert daemon.up(environ=environ).is_running


def test_down_signals_nobody_who_is_not_the_server(environ: Mapping[str, str]) -> None:
    """The file of an earlier server is read while a new one holds the lock and has not written."""
    directory = named("starting", environ)
    directory.create()
    with subprocess.Popen(["sleep", "1000"]) as stranger:
        earlier = {"pid": stranger.pid, "started": "at another time", "url": "", "port": 1}
        write_json(directory.server_file, earlier)
        with locked(directory), pytest.raises(LocalError, match="does not end"):
            daemon.down("starting", timeout=0.5, environ=environ)
        assert stranger.poll() is None
        stranger.kill()
    assert daemon.down("starting", environ=environ)
    assert not directory.root.exists()


DEMO = textwrap.dedent(
    """
    import asyncio, sys
    from kubeflink import objects
    from kubeflink.local.cluster import EmbeddedCluster
    from support.embedded import container_state, shell_pod

    async def main():
        async with EmbeddedCluster() as cluster:
            await cluster.store.create(objects.PODS, "default", shell_pod("p", "exec sleep 1000"))
            while True:
                pod = await cluster.store.get(objects.PODS, "default", "p")
                if "running" in container_state(pod):
                    break
                await asyncio.sleep(0.05)
            process = pod["status"]["containerStatuses"][0]["containerID"]
            print(process.partition("://")[2], flush=True)
            await asyncio.sleep(1000)

    asyncio.run(main())
    """
)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_of_a_demo_survives_its_end(
    environ: Mapping[str, str], how: signal.Signals
) -> None:
    tests = str(Path(__file__).parents[1])
    demo = subprocess.Popen(
        [sys.executable, "-c", DEMO],
        env={**environ, "PYTHONPATH": tests},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with demo:
        assert demo.stdout is not None
        group = int(demo.stdout.readline())
        assert is_alive(group)
        demo.send_signal(how)
        demo.wait(timeout=60)
    deadline = time.monotonic() + 60
    while is_alive(group) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(group)
    home = Path(environ["XDG_STATE_HOME"]) / "kubeflink"
    daemon.down("nothing", environ=environ)
    assert list(home.iterdir()) == []
