"""The directory of one embedded cluster, and who may use it.

    <state home>/kubeflink/<name>/
        lock            held (flock) by the server for as long as it lives
        ephemeral       only in the directory of a demo: what is left of it may be thrown away
        settings.json   how `local up` was called; a later `up` without arguments repeats it
        server.json     pid, start time, URL: how to reach the server
        kubeconfig      for kubectl and every other client
        token           the bearer token in it, made once
        server.pem      key and certificate of the API server, made once; authority.pem is who
                        signed it
        journal.sqlite  the objects
        ports.json      ports of pods and Services
        claims/         contents of PersistentVolumeClaims
        pods/           one directory for each pod: volumes, logs, process records
        server.log

The state home is `$XDG_STATE_HOME`, else `~/.local/state`. The lock says whether a server lives:
the kernel drops it with the process, however that ended, so no stale pid file can lie.

A file that was damaged (all are replaced as a whole, so that takes a bad disk or a careless hand)
is made anew where that loses nothing: token, certificate, kubeconfig, server.json. The others are
named with what can be done, and no server starts as if they had been empty.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from kubeflink.errors import LocalError, UsageError

T = TypeVar("T")

EPHEMERAL_PREFIX = "demo-"

_TOKEN = re.compile(r"[A-Za-z0-9_-]{20,}")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_UNUSABLE = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.ENOENT}
    | {errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP, errno.EIO}
)
"""What a file system answers where the path that it was given is no good."""

_LOCK_SECONDS = 1.0
"""How long to try for a lock: `is_locked` of another process holds it for a moment."""

_LOCK_POLL = 0.01


def state_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Where all embedded clusters of this user have their directories."""
    xdg = environ.get("XDG_STATE_HOME")
    base = (
        Path(xdg).absolute()
        if xdg
        else Path(environ.get("HOME") or Path.home()) / ".local" / "state"
    )
    return base / "kubeflink"


@dataclass(frozen=True, slots=True)
class StateDirectory:
    """The paths in one embedded cluster's directory."""

    root: Path

    @property
    def name(self) -> str:
        """The cluster's name: that of its directory."""
        return self.root.name

    @property
    def lock_file(self) -> Path:
        return self.root / "lock"

    @property
    def ephemeral_marker(self) -> Path:
        return self.root / "ephemeral"

    @property
    def settings_file(self) -> Path:
        return self.root / "settings.json"

    @property
    def server_file(self) -> Path:
        return self.root / "server.json"

    @property
    def kubeconfig(self) -> Path:
        return self.root / "kubeconfig"

    @property
    def token_file(self) -> Path:
        return self.root / "token"

    @property
    def server_pem(self) -> Path:
        return self.root / "server.pem"

    @property
    def authority_pem(self) -> Path:
        return self.root / "authority.pem"

    @property
    def journal(self) -> Path:
        return self.root / "journal.sqlite"

    @property
    def ports_file(self) -> Path:
        return self.root / "ports.json"

    @property
    def claims(self) -> Path:
        return self.root / "claims"

    @property
    def pods(self) -> Path:
        return self.root / "pods"

    @property
    def log(self) -> Path:
        return self.root / "server.log"

    @property
    def is_ephemeral(self) -> bool:
        """Whether this belongs to a demo, and goes when that has gone."""
        return self.ephemeral_marker.exists()

    def create(self) -> None:
        """Make the directory, readable by its user alone: it holds a token and Secrets."""
        with disk_errors(self.root):
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.pods.mkdir(exist_ok=True)

    def token(self) -> str:
        """The bearer token of this cluster, made at the first call; anew if it is damaged."""
        try:
            token = self.token_file.read_text(encoding="ascii", errors="replace").strip()
        except FileNotFoundError:
            token = ""
        if not _TOKEN.fullmatch(token):  # An empty one would let everybody in.
            token = secrets.token_urlsafe(24)
            write_file(self.token_file, token + "\n", mode=0o600)
        return token


def named(name: str, environ: Mapping[str, str] = os.environ) -> StateDirectory:
    """The directory of the embedded cluster of this name, whether it exists or not.

    Names are words that need no quotes in a shell, since they become part of a path that is printed
    for one. UsageError for others.
    """
    if not _NAME.fullmatch(name):
        shown = name if len(name) <= 80 else f"{name[:80]}..."
        raise UsageError(
            f"{shown!r} cannot be the name of an embedded cluster",
            hint="Use up to 63 letters, digits, '.', '_' and '-', the first a letter or digit.",
        )
    return StateDirectory(state_home(environ) / name)


@contextmanager
def new_ephemeral(environ: Mapping[str, str] = os.environ) -> Iterator[StateDirectory]:
    """A fresh directory, locked, that is removed in the end."""
    home = state_home(environ)
    with disk_errors(home):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory = StateDirectory(Path(tempfile.mkdtemp(prefix=EPHEMERAL_PREFIX, dir=home)))
    try:
        # Marked only when it is locked: what is marked and not locked may be collected.
        with locked(directory):
            with disk_errors(home):
                directory.ephemeral_marker.touch()
            directory.create()
            yield directory
    finally:
        remove_tree(directory.root)


def all_directories(environ: Mapping[str, str] = os.environ) -> list[StateDirectory]:
    """The directories of all embedded clusters of this user, demos among them, by name.

    In a home that is shared, or was once used with `sudo`, there are others' as well; what cannot
    be looked into is nothing of this user's.
    """
    home = state_home(environ)
    with disk_errors(home):
        if not home.is_dir():
            return []
        found = sorted(path for path in home.iterdir() if path.is_dir())
    effective = os.access in os.supports_effective_ids
    rights = os.R_OK | os.W_OK | os.X_OK
    return [
        StateDirectory(path) for path in found if os.access(path, rights, effective_ids=effective)
    ]


def ephemeral_leftovers(environ: Mapping[str, str] = os.environ) -> list[StateDirectory]:
    """The directories of demos whose server has gone without removing them."""
    demos = (each for each in all_directories(environ) if each.name.startswith(EPHEMERAL_PREFIX))
    return [each for each in demos if each.is_ephemeral and not is_locked(each)]


@contextmanager
def locked(directory: StateDirectory) -> Iterator[None]:
    """Hold the directory's lock; `LocalError` at once when a server has it."""
    with disk_errors(directory.root):
        descriptor = os.open(directory.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _lock(descriptor):
            raise LocalError(
                f"The embedded cluster {directory.name!r} is already running",
                hint=f"Its kubeconfig is {directory.kubeconfig}",
            )
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Take the lock; False if another process keeps it."""
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOCK_POLL)
        else:
            return True


def is_locked(directory: StateDirectory) -> bool:
    """Whether a server lives in this directory."""
    try:
        with disk_errors(directory.root, ignored=(errno.ENOENT, errno.ENOTDIR)):
            descriptor = os.open(directory.lock_file, os.O_RDWR | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def disk_errors(path: Path, *, ignored: Collection[int] = ()) -> Iterator[None]:
    """Turn what the file system refuses into a `LocalError` that says where and what to do.

    Errors whose number is `ignored` pass as they are.
    """
    try:
        yield
    except OSError as error:
        if error.errno in ignored:
            raise
        if error.errno in _FULL:
            hint = "Free some space, or set XDG_STATE_HOME to a directory on another disk"
            raise LocalError(f"The disk of {path} is full", hint=hint) from error
        if error.errno in _UNUSABLE:
            hint = "Set XDG_STATE_HOME to a directory that can be written"
            raise LocalError(f"Cannot write to {path}: {error.strerror}", hint=hint) from error
        raise


def remove_tree(path: Path) -> OSError | None:
    """Remove a directory with all that is in it; returns why something of it is still there.

    Directories that a program has closed to its own user are opened first.
    """
    shutil.rmtree(path, ignore_errors=True)
    if not os.path.lexists(path):
        return None
    try:
        for folder, folders, _ in os.walk(path):
            for each in (folder, *(os.path.join(folder, name) for name in folders)):
                if not os.path.islink(each):
                    os.chmod(each, 0o700)
        shutil.rmtree(path)
    except FileNotFoundError:
        return remove_tree(path)  # somebody else removes it as well
    except OSError as error:
        return error
    return None


def write_file(path: Path, text: str | bytes, *, mode: int = 0o644) -> None:
    """Put the file there in one step, so that a reader sees the old or the new one, whole."""
    data = text.encode() if isinstance(text, str) else text
    with disk_errors(path.parent):
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                os.fchmod(file.fileno(), mode)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def read_json(path: Path) -> dict[str, Any] | None:
    """The JSON object in this file; None when the file is not there or is no JSON."""
    try:
        value = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def read_typed(path: Path, kind: type[T], way_out: str) -> T | None:
    """The file's JSON as a value of this type; None when there is no file.

    LocalError for anything else than such a value, with the way out as its hint.
    """
    import msgspec

    try:
        with disk_errors(path.parent, ignored=(errno.ENOENT, errno.ENOTDIR)):
            return msgspec.json.decode(path.read_bytes(), type=kind)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise damaged(path, error, way_out) from error


def damaged(path: Path, why: object, way_out: str) -> LocalError:
    """What to raise for a file of the state directory that is not what was written there."""
    return LocalError(f"The file {path} is damaged: {why}", hint=way_out)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Put the JSON object there in one step."""
    write_file(path, json.dumps(value, indent=1), mode=0o600)
