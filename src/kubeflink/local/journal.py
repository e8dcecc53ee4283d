"""The objects of the embedded Kubernetes in a sqlite file, so that they survive the server.

One row for each object and one for the last resourceVersion of each kind, changed in one
transaction with each write. The file is written ahead (WAL) and not synced for every write: what
the server has answered survives the server however it ends, and a crash of the whole machine loses
at most the last moments, but then all processes that the objects stand for are gone as well.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from kubeflink import objects
from kubeflink.apiserver.store import JournalState
from kubeflink.apiserver.watch import Change
from kubeflink.errors import LocalError
from kubeflink.local.state import damaged
from kubeflink.objects import JsonObject

_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
  kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, object BLOB NOT NULL,
  PRIMARY KEY (kind, namespace, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS versions (kind TEXT PRIMARY KEY, version INTEGER NOT NULL);
"""
_BUSY_TIMEOUT = 5.0  # seconds; nobody else should have the file open, but somebody may look


class SqliteJournal:
    """A `Journal` (see `kubeflink.apiserver.store`). Close it when the server ends."""

    def __init__(self, path: Path) -> None:
        """Open or make the file; `LocalError` where the disk or an older file does not allow it."""
        self._path = path
        with self._errors():
            self._connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT)
            path.chmod(0o600)  # Secrets are in it.
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.executescript(_SCHEMA)

    def load(self) -> JournalState:
        """All objects and the last version; a new journal has none and 0.

        LocalError that names the object if one cannot be read: nothing is left out.
        """
        with self._errors():
            rows = self._connection.execute("SELECT * FROM objects").fetchall()
            versions = dict(self._connection.execute("SELECT kind, version FROM versions"))
        last_changes = {
            resource: versions[resource.kind]
            for resource in objects.RESOURCES
            if resource.kind in versions
        }
        newest = max(versions.values(), default=0)
        return JournalState([self._object(*row) for row in rows], newest, last_changes)

    def _object(self, kind: str, namespace: str, name: str, encoded: Any) -> JsonObject:
        try:
            obj = msgspec.json.decode(encoded, type=dict[str, Any])
            if (objects.resource_of(obj).kind, objects.name_of(obj)) == (kind, name):
                return obj
            why = "another object is in its place"
        except (msgspec.DecodeError, TypeError, KeyError, ValueError) as error:
            why = str(error)
        place = f"{namespace}/{name}" if namespace else name
        raise damaged(self._path, f"{kind} {place} cannot be read ({why})", self._way_out())

    def _way_out(self) -> str:
        return (
            f"Put back a copy of {self._path.name}, if there is one;"
            f" `kubeflink local down {self._path.parent.name}` removes the embedded cluster"
            " with all it holds"
        )

    def record(self, change: Change) -> None:
        """Write one change; `LocalError` when it could not be written, and then nothing was."""
        obj = change.object
        key = (change.resource.kind, objects.namespace_of(obj) or "", objects.name_of(obj))
        with self._errors(), self._connection as transaction:
            if change.type == "DELETED":
                transaction.execute(
                    "DELETE FROM objects WHERE kind = ? AND namespace = ? AND name = ?", key
                )
            else:
                transaction.execute(
                    "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?)", (*key, change.encoded())
                )
            transaction.execute(
                "INSERT OR REPLACE INTO versions VALUES (?, ?)",
                (change.resource.kind, change.resource_version),
            )

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if "full" in str(error):
                raise LocalError(
                    f"The disk of {self._path.parent} is full",
                    hint="Free some space, or set XDG_STATE_HOME to a directory on another disk",
                ) from error
            if isinstance(error, sqlite3.OperationalError):  # locked, not readable, too new
                raise LocalError(
                    f"The journal {self._path} cannot be used: {error}", hint=self._way_out()
                ) from error
            raise damaged(self._path, error, self._way_out()) from error
