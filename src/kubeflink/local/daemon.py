"""The embedded Kubernetes in the background.

`up` starts a server process in a session of its own and returns when it serves, or with the error
that kept it from serving, which comes back through a pipe. The server lives until `down` (SIGTERM),
which ends all processes and removes the directory. However else it ends, its JVMs live on, and the
next `up` adopts them. SIGTERM without `down`, as at the end of a desktop session or of the machine,
ends the processes but keeps objects, so that the next `up` starts them anew. A server whose
directory somebody has removed could never be found again by any command: it ends by itself, with
its processes.

Commands go to one embedded cluster by its name; several live side by side.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import select
import signal
import ssl
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any

from kubeflink.errors import KubeflinkError, LocalError
from kubeflink.local.leftovers import collect_leftovers, remove
from kubeflink.local.processes import ProcessIdentity
from kubeflink.local.settings import Settings, stored_settings
from kubeflink.local.state import (
    StateDirectory,
    all_directories,
    disk_errors,
    is_locked,
    named,
    read_json,
    write_json,
)

DEFAULT_NAME = "default"

START_TIMEOUT = 60.0
"""Seconds that a server may take until it serves: it starts no JVM itself."""

STOP_TIMEOUT = 60.0
"""Seconds that it may take to end all processes, which get 5 s of grace."""

HOST = "127.0.0.1"

_TOLD = frozenset({"url", "port", "pid", "started", "time", "flink", "java"})
"""What a server writes about itself."""

_POLL_INTERVAL = 0.1
_LOOK_INTERVAL = 2.0
"""Seconds between two looks at whether the directory is still there."""

_ANSWER_TIMEOUT = 5.0


@dataclass(frozen=True, slots=True)
class Status:
    """One embedded cluster as seen from outside.

    `url`, `pid` and `since` (seconds since the epoch) are those of the running server, None when
    none runs. `flink` are the versions that it can run.
    """

    name: str
    directory: Path
    kubeconfig: Path
    log: Path
    is_running: bool
    url: str | None = None
    pid: int | None = None
    since: float | None = None
    flink: tuple[str, ...] = ()
    java: int | None = None


def up(
    name: str = DEFAULT_NAME,
    *,
    settings: Settings | None = None,
    timeout: float = START_TIMEOUT,
    environ: Mapping[str, str] = os.environ,
) -> Status:
    """Start the embedded cluster, or find it running; returns when its API server serves.

    Without settings those of its last start are used. Raises `LocalError`.
    """
    directory = named(name, environ)
    collect_leftovers(environ)
    deadline = time.monotonic() + timeout
    while is_locked(directory):
        # Somebody has the lock: a server that serves, one that is just starting, or one that was
        # killed this moment and is not quite dead.
        if _serves(directory):
            return _status(directory)
        if time.monotonic() > deadline:
            raise LocalError(
                f"The embedded cluster {name!r} does not answer",
                hint=f"Its log is {directory.log}; kubeflink local down ends it",
            )
        time.sleep(_POLL_INTERVAL)
    is_new = not directory.root.exists()
    directory.create()
    if settings is not None:
        write_json(directory.settings_file, settings.as_json())
    try:
        _start_server(directory, timeout, environ)
    except LocalError:
        # Our server has ended; a lock that is held now is that of another `up`, which was faster.
        if is_locked(directory):
            return up(name, timeout=timeout, environ=environ)
        raise
    except BaseException:
        # Interrupted; the server has ended. A failed start, above, leaves its log.
        if is_new and not is_locked(directory):
            remove(directory)
        raise
    return _status(directory)


def down(
    name: str = DEFAULT_NAME,
    *,
    timeout: float = STOP_TIMEOUT,
    environ: Mapping[str, str] = os.environ,
) -> bool:
    """End the embedded cluster with all its processes and remove all it holds.

    Returns whether there was one. Also removes what killed demos left.
    """
    collect_leftovers(environ)
    directory = named(name, environ)
    if not directory.root.is_dir():
        return False
    if is_locked(directory):
        _stop_server(directory, timeout)
    remove(directory)
    return True


def status(name: str = DEFAULT_NAME, *, environ: Mapping[str, str] = os.environ) -> Status:
    """What is known of the embedded cluster of this name."""
    return _status(named(name, environ))


def _status(directory: StateDirectory) -> Status:
    found = Status(
        name=directory.name,
        directory=directory.root,
        kubeconfig=directory.kubeconfig,
        log=directory.log,
        is_running=is_locked(directory),
    )
    server = _running_server(directory)
    if not found.is_running or server is None:
        return found
    return replace(
        found,
        url=server["url"],
        pid=server["pid"],
        since=server["time"],
        flink=tuple(server["flink"]),
        java=server["java"],
    )


def _running_server(directory: StateDirectory) -> dict[str, Any] | None:
    """How the server can be reached; None before it has said so, or when the file is damaged."""
    server = read_json(directory.server_file)
    return server if server is not None and server.keys() >= _TOLD else None


def all_names(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The names of all embedded clusters that have a directory, demos excepted."""
    return [each.name for each in all_directories(environ) if not each.is_ephemeral]


def kubeconfig(name: str = DEFAULT_NAME, *, environ: Mapping[str, str] = os.environ) -> Path:
    """The path of the kubeconfig; `LocalError` when the embedded cluster does not run."""
    found = status(name, environ=environ)
    if not found.is_running:
        suffix = "" if name == DEFAULT_NAME else f" {name}"
        raise LocalError(
            f"The embedded cluster {name!r} is not running",
            hint=f"Start it with: kubeflink local up{suffix}",
        )
    return found.kubeconfig


# The parent's side of a start and a stop.


def _start_server(directory: StateDirectory, timeout: float, environ: Mapping[str, str]) -> None:
    reader, writer = os.pipe()
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    try:
        with disk_errors(directory.root):
            pid = os.posix_spawn(
                sys.executable,
                # -P: modules come from where Python is, not from where the user happens to stand.
                [sys.executable, "-P", "-m", __name__, str(directory.root)],
                dict(environ),
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, str(directory.log), flags, 0o600),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                    (os.POSIX_SPAWN_DUP2, writer, _READY_DESCRIPTOR),
                ],
                setsid=True,
            )
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    try:
        _wait_until_ready(directory, reader, timeout)
    except BaseException:
        # Also when the user interrupts: a server that nobody waited for must not stay.
        os.kill(pid, signal.SIGTERM)
        _reap(pid)
        raise
    finally:
        os.close(reader)


def _reap(pid: int) -> None:
    """Wait until a child has ended; kill it if that takes too long."""
    deadline = time.monotonic() + STOP_TIMEOUT
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        time.sleep(_POLL_INTERVAL)


def _wait_until_ready(directory: StateDirectory, reader: int, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    message = b""
    while not message.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([reader], [], [], left)[0]:
            raise LocalError(
                f"The embedded cluster {directory.name!r} did not start within {timeout:.0f} s",
                hint=f"Its log is {directory.log}",
            )
        part = os.read(reader, 65536)
        if not part:
            raise LocalError(
                f"The server of the embedded cluster {directory.name!r} ended while starting",
                hint=_last_words(directory),
            )
        message += part
    answer = json.loads(message)
    if "error" in answer:
        raise LocalError(answer["error"], hint=answer.get("hint"))


def _last_words(directory: StateDirectory) -> str:
    """Where the log is, and how it ends."""
    *_, last = directory.log.read_text(encoding="utf-8", errors="replace").splitlines() or [""]
    return f"Its log is {directory.log}" + (f"; it ends: {last.strip()[:200]}" if last else "")


def _serves(directory: StateDirectory) -> bool:
    """Whether the server answers a request."""
    server = _running_server(directory)
    if server is None or not directory.authority_pem.exists():
        return False
    try:
        context = ssl.create_default_context(cafile=str(directory.authority_pem))
    except ssl.SSLError:
        return False  # Damaged; the next start makes another one.
    address = HTTPSConnection(HOST, server["port"], timeout=_ANSWER_TIMEOUT, context=context)
    try:
        address.request("GET", "/livez")
        return address.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        address.close()


def _stop_server(directory: StateDirectory, timeout: float) -> None:
    """End the server that holds the lock; LocalError if it cannot be found or will not go.

    A server that is just starting has the lock before it has written who it is: until then the file
    tells of an earlier one, whose pid may be anybody's by now.
    """
    asked: ProcessIdentity | None = None
    deadline = time.monotonic() + timeout
    was_killed = False
    while is_locked(directory) or (asked is not None and asked.is_alive()):
        found = _identity(read_json(directory.server_file))
        if found is not None and found != asked:
            _signal(found, signal.SIGTERM)
            asked = found
        if time.monotonic() > deadline:
            if asked is None or was_killed:
                raise LocalError(
                    f"The server of the embedded cluster {directory.name!r} does not end",
                    hint=f"Its lock is {directory.lock_file}, its log {directory.log}",
                )
            _signal(asked, signal.SIGKILL)
            was_killed = True
            deadline = time.monotonic() + timeout
        time.sleep(_POLL_INTERVAL)


def _identity(server: Mapping[str, object] | None) -> ProcessIdentity | None:
    """The server's process, if it is alive."""
    if server is None or not {"pid", "started"} <= server.keys():
        return None
    found = ProcessIdentity(int(str(server["pid"])), str(server["started"]))
    return found if found.is_alive() else None


def _signal(process: ProcessIdentity, number: signal.Signals) -> None:
    """Send a signal to a server alone: its JVMs have groups of their own."""
    if process.is_alive():
        with contextlib.suppress(ProcessLookupError):  # it ended between the two calls
            os.kill(process.pid, number)


# The server's side.

_READY_DESCRIPTOR = 3
"""Where the server writes one line of JSON when it serves, or why it does not."""


async def _serve(directory: StateDirectory) -> None:
    from kubeflink.local.cluster import EmbeddedCluster

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settings = stored_settings(directory.settings_file, directory.name)
    async with EmbeddedCluster(directory.root, settings=settings) as cluster:
        _report({"ready": cluster.url})
        ends = [
            asyncio.create_task(cluster.wait_until_failed(), name="failure"),
            asyncio.create_task(stop.wait(), name="stop"),
            asyncio.create_task(_until_removed(directory), name="removal"),
        ]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for task in ends:
            task.cancel()
        await asyncio.gather(*ends, return_exceptions=True)


async def _until_removed(directory: StateDirectory) -> None:
    """Return when the directory is no longer the one that this server has locked."""
    lock = os.stat(directory.lock_file)
    while True:
        await asyncio.sleep(_LOOK_INTERVAL)
        try:
            there = os.path.samestat(os.stat(directory.lock_file), lock)
        except FileNotFoundError:
            there = False
        if not there:
            logging.getLogger(__name__).error("%s was removed; this server ends", directory.root)
            return


def _report(answer: Mapping[str, str | None]) -> None:
    try:
        os.write(_READY_DESCRIPTOR, json.dumps(answer).encode() + b"\n")
    except BrokenPipeError:
        logging.getLogger(__name__).warning("nobody waited for the start")
    os.close(_READY_DESCRIPTOR)


def main(arguments: list[str]) -> int:
    """The server process; its only argument is the state directory."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s"
    )
    os.set_inheritable(_READY_DESCRIPTOR, False)
    try:
        asyncio.run(_serve(StateDirectory(Path(arguments[0]))))
    except KubeflinkError as error:
        logging.getLogger(__name__).error("%s", error)
        _report({"error": error.message, "hint": error.hint})
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
