"""A container's process: started so that it can outlive the server, be adopted, or must not.

Every container runs under a *shim*, a few lines of shell in a session and process group of its own:

1. It waits at a gate (its standard input) until the server has written down its pid. A server that
   is killed between the two leaves no process that nobody knows.
2. It runs the command, and survives the signals that are sent to the whole group meant for it.
3. It writes the exit code to a file. Only a parent can ask the kernel for it, and after a restart
   the server is not the parent any more; the file speaks to both.
4. It kills what is left of its group, as a container's other processes end with its first one.

A process is known again by its pid *and* its start time, since pids are used anew.

In a demo nothing may survive, not even `kill -9` of the server. A *guardian*, another few lines of
shell, knows all groups, and kills them when its standard input ends. What the kernel offers for
that (a signal when the parent dies) exists on Linux only and is lost with the shim's fork.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kubeflink.errors import LocalError
from kubeflink.local.state import disk_errors, read_typed, write_json

UNKNOWN_EXIT_CODE = 137
"""What Kubernetes reports for a container that vanished without telling how it ended."""

_POLL_INTERVAL = 0.2  # seconds, where the system has no pidfd
_PROBE_TIMEOUT = 10.0

_SHIM = """
exit_file=$1; shift
cd "$1" || exit 126
shift
IFS= read -r gate || exit 125
trap : TERM INT HUP
{ "$@" </dev/null 2>&3 3>&-; code=$?; } 3>&2 2>/dev/null
trap '' TERM INT HUP
echo "$code" >"$exit_file.new" && mv -f "$exit_file.new" "$exit_file"
kill -KILL 0
"""

_GUARDIAN = """
trap '' TERM INT HUP
groups=' '
while read -r change group; do
  case $change in
    add) groups="$groups$group " ;;
    del) left=' '
         for each in $groups; do [ "$each" = "$group" ] || left="$left$each "; done
         groups=$left ;;
  esac
done
for each in $groups; do kill -KILL "-$each" 2>/dev/null; done
exit 0
"""


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process that can be recognised later; `pid` leads its process group."""

    pid: int
    started: str

    def is_alive(self) -> bool:
        """Whether this very process exists and has not ended."""
        return start_time(self.pid) == self.started

    def signal(self, number: signal.Signals) -> None:
        """Send the signal to the whole group; nothing happens when it has gone."""
        if self.is_alive():
            _signal_group(self.pid, number)

    def kill_rest(self) -> None:
        """Kill what goes on in its group without it: the system gives its pid to nobody meanwhile.

        Where another process has the pid, or the system was started again, nothing is left of it.
        """
        is_of_this_boot = self.started.startswith(_boot()) if _has_proc() else True
        if is_of_this_boot and start_time(self.pid) is None:
            _signal_group(self.pid, signal.SIGKILL)


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return  # It has ended.


def start_time(pid: int) -> str | None:
    """When the process started, as a text to compare; None when it is not there or a zombie."""
    try:
        # The name in the second field may hold blanks and parentheses; what follows it does not.
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None if _has_proc() else _start_time_from_ps(pid)
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else f"{_boot()} {fields[19]}"


def _has_proc() -> bool:
    return os.path.exists("/proc/self/stat")


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _start_time_from_ps(pid: int) -> str | None:
    answer = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        timeout=_PROBE_TIMEOUT,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    state, _, started = answer.stdout.strip().partition(" ")
    return None if not started or state.startswith("Z") else started.strip()


class ContainerProcess:
    """A running container process, started by this server or adopted from an earlier one."""

    def __init__(self, identity: ProcessIdentity, exit_file: Path, *, is_child: bool) -> None:
        self.identity = identity
        self._exit_file = exit_file
        self._is_child = is_child

    async def wait(self) -> int:
        """Wait until it has ended; its exit code as a shell would show it (signals: 128 + n).

        Cancelling leaves the process alone.
        """
        while not self._has_ended():
            await _process_end(self.identity.pid)
        self.kill_rest()
        return self.exit_code()

    def kill_rest(self) -> None:
        """When it has ended: kill what a shim that was killed itself could not end any more."""
        if not self._exit_file.exists():
            self.identity.kill_rest()

    def exit_code(self) -> int:
        """How it ended; only meaningful after it has."""
        return read_exit_code(self._exit_file)

    def _has_ended(self) -> bool:
        if not self._is_child:
            return not self.identity.is_alive()
        try:
            pid, _ = os.waitpid(self.identity.pid, os.WNOHANG)
        except ChildProcessError:
            return True
        return pid != 0

    async def stop(self, grace_seconds: float) -> int:
        """SIGTERM, then SIGKILL after the grace period; returns the exit code.

        On cancellation it is killed at once: who stops a process does not want it any more.
        """
        try:
            if grace_seconds > 0:
                self.identity.signal(signal.SIGTERM)
                async with asyncio.timeout(grace_seconds):
                    return await self.wait()
        except TimeoutError:
            pass
        finally:
            self.identity.signal(signal.SIGKILL)
        return await self.wait()


async def _process_end(pid: int) -> None:
    """Return when the process may have ended; the caller looks."""
    if not hasattr(os, "pidfd_open"):
        await asyncio.sleep(_POLL_INTERVAL)
        return
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        await asyncio.sleep(0)
        return
    except OSError:  # An old kernel, or a sandbox that forbids the call.
        await asyncio.sleep(_POLL_INTERVAL)
        return
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def exit_code_file(directory: Path, start: int) -> Path:
    """Where the shim writes how this start (from 0) of the container in `directory` ended."""
    return directory / f"{start}.exit"


def read_exit_code(exit_file: Path) -> int:
    """The code that the shim left; `UNKNOWN_EXIT_CODE` when it was killed before it could."""
    try:
        return int(exit_file.read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return UNKNOWN_EXIT_CODE


class Gate:
    """A process that was started and waits to be let go; close it and it ends without a trace."""

    def __init__(self, process: ContainerProcess, descriptor: int) -> None:
        self.process = process
        self._descriptor = descriptor

    def open(self) -> None:
        """Let the command run."""
        os.write(self._descriptor, b"\n")

    def close(self) -> None:
        """Must be called in the end, whether it was opened or not."""
        os.close(self._descriptor)


def spawn(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    directory: Path,
    log: Path,
    exit_file: Path,
) -> Gate:
    """Start the command behind its gate, output appended to `log`.

    Raises `LocalError` when the system has no more processes, files or disk.
    """
    exit_file.unlink(missing_ok=True)
    reader, writer = os.pipe()
    try:
        with disk_errors(log.parent):
            pid = os.posix_spawn(
                "/bin/sh",
                ["sh", "-c", _SHIM, "container", str(exit_file), str(directory), *command],
                environment,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, reader, 0),
                    (os.POSIX_SPAWN_OPEN, 1, str(log), _LOG_FLAGS, 0o600),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                ],
                setsid=True,
            )
    except OSError as error:
        os.close(writer)
        raise LocalError(f"Cannot start {command[0]}: {error.strerror}") from error
    except ValueError as error:  # no system takes a null byte, or a variable with such a name
        os.close(writer)
        raise LocalError(f"Cannot start {command[0]}: {error}") from error
    except BaseException:
        os.close(writer)
        raise
    finally:
        os.close(reader)
    started = start_time(pid)
    if started is None:
        os.close(writer)
        os.waitpid(pid, 0)
        raise LocalError(f"A process ended before it began: {command[0]}")
    identity = ProcessIdentity(pid, started)
    return Gate(ContainerProcess(identity, exit_file, is_child=True), writer)


_LOG_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND


class Guardian:
    """Kills all groups it was told of when the server is gone; see the module's text.

    One that was killed itself is started anew, and told of all of them again.
    """

    def __init__(self) -> None:
        self._pid = 0
        self._descriptor = -1
        self._groups: set[int] = set()

    @property
    def pid(self) -> int:
        """Its process; 0 before the start."""
        return self._pid

    def start(self) -> None:
        """Start it; `stop` must follow."""
        reader, self._descriptor = os.pipe()
        try:
            self._pid = os.posix_spawn(
                "/bin/sh",
                ["sh", "-c", _GUARDIAN, "guardian"],
                {},
                file_actions=[(os.POSIX_SPAWN_DUP2, reader, 0)],
                setsid=True,
            )
        finally:
            os.close(reader)

    def watch(self, identity: ProcessIdentity) -> None:
        """This group goes with the server."""
        self._groups.add(identity.pid)
        self._tell("add", identity.pid)

    def forget(self, identity: ProcessIdentity) -> None:
        """This group has ended."""
        self._groups.discard(identity.pid)
        self._tell("del", identity.pid)

    def stop(self) -> None:
        """Its last act: kill what is still there."""
        os.close(self._descriptor)
        os.waitpid(self._pid, 0)

    def _tell(self, change: str, group: int) -> None:
        try:
            os.write(self._descriptor, f"{change} {group}\n".encode())
        except BrokenPipeError:
            self.stop()
            self.start()
            for each in self._groups:
                os.write(self._descriptor, f"add {each}\n".encode())


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """What is written down of a container's last start, for the servers that come after.

    `start` is the number of the start, from 0, `time` when it was, in seconds since the epoch.
    """

    identity: ProcessIdentity
    start: int
    time: float

    def process(self, directory: Path) -> ContainerProcess:
        """The process that an earlier server started; `directory` holds the record."""
        exit_file = exit_code_file(directory, self.start)
        return ContainerProcess(self.identity, exit_file, is_child=False)

    def write(self, path: Path) -> None:
        """Put it there in one step; `LocalError` when the disk is full."""
        write_json(
            path,
            {
                "pid": self.identity.pid,
                "started": self.identity.started,
                "start": self.start,
                "time": self.time,
            },
        )


@dataclass(frozen=True, slots=True)
class _Written:
    pid: int
    started: str
    start: int
    time: float


def read_record(path: Path) -> ProcessRecord | None:
    """The record in this file; None when there is none, LocalError when it is damaged.

    A process of which nothing is known may live: to start another one would make two of them.
    """
    found = read_typed(path, _Written, "End what still runs of this pod, and remove the file")
    if found is None:
        return None
    return ProcessRecord(ProcessIdentity(found.pid, found.started), found.start, found.time)


def kill_recorded(paths: Iterable[Path]) -> int:
    """Kill the processes in these records that still live; returns their number.

    What goes on without its shim, because that was killed itself, is killed as well. Raises
    LocalError for a damaged record, after the others.
    """
    killed, failure = 0, None
    for path in paths:
        try:
            record = read_record(path)
        except LocalError as error:
            failure = error
            continue
        if record is None:
            continue
        if record.identity.is_alive():
            record.identity.signal(signal.SIGKILL)
            killed += 1
        else:
            record.process(path.parent).kill_rest()
    if failure is not None:
        raise failure
    return killed
