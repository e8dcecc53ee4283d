"""The directory of an embedded cluster: names, locks, what is left over."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubeflink.errors import LocalError, UsageError
from kubeflink.local import leftovers
from kubeflink.local.daemon import all_names
from kubeflink.local.leftovers import collect_leftovers, remove
from kubeflink.local.state import (
    StateDirectory,
    ephemeral_leftovers,
    is_locked,
    locked,
    named,
    new_ephemeral,
    read_json,
    state_home,
    write_file,
    write_json,
)


def test_state_lies_where_xdg_says(tmp_path: Path) -> None:
    assert state_home({"XDG_STATE_HOME": "/x"}) == Path("/x/kubeflink")
    assert state_home({"HOME": "/home/me"}) == Path("/home/me/.local/state/kubeflink")
    assert named("a", {"XDG_STATE_HOME": "/x"}).root == Path("/x/kubeflink/a")


@pytest.mark.parametrize(
    "name",
    [
        *("", "a/b", "..", ".hidden", "-x", "a b", "a\nb", "a$b", "a'b", "\u00fc"),
        *("a" * 64, "a" * 5000),
    ],
)
def test_a_name_is_one_word_inside_the_state_home(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name") as failure:
        named(name, {"XDG_STATE_HOME": "/x"})
    assert len(str(failure.value)) < 300


def test_state_lies_in_one_place_wherever_the_user_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert state_home({"XDG_STATE_HOME": "state"}) == tmp_path / "state" / "kubeflink"


@pytest.mark.parametrize("home", ["/dev/null", "/proc/nowhere", "/proc/1/fd/nothing"])
def test_a_home_that_cannot_hold_anything_is_a_clear_error(home: str) -> None:
    environ = {"HOME": home}
    assert not is_locked(named("a", environ))
    with pytest.raises(LocalError, match="Cannot write to"):
        named("a", environ).create()
    with pytest.raises(LocalError, match="Cannot write to"), new_ephemeral(environ):
        pass


def test_asking_whether_a_server_lives_does_not_keep_one_from_starting(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path / "a")
    directory.create()
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            is_locked(directory)

    asking = [threading.Thread(target=ask) for _ in range(3)]
    for thread in asking:
        thread.start()
    try:
        for _ in range(50):
            with locked(directory):
                pass
    finally:
        stop.set()
        for thread in asking:
            thread.join()


@pytest.mark.parametrize("content", ["", "\n", " \n\n", "abc", "x" * 30 + "\0", "\u00e9" * 30])
def test_a_token_that_is_none_is_made_anew(tmp_path: Path, content: str) -> None:
    directory = StateDirectory(tmp_path / "a")
    directory.create()
    directory.token_file.write_text(content)
    assert len(directory.token()) > 20
    assert directory.token() == directory.token_file.read_text().strip()


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b"\0"])
def test_a_damaged_file_counts_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f.json").write_bytes(content)
    assert read_json(tmp_path / "f.json") is None


def test_only_one_server_at_a_time(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path / "a")
    assert not is_locked(directory)
    directory.create()
    with locked(directory):
        assert is_locked(directory)
        with pytest.raises(LocalError, match="already running"), locked(directory):
            pass
    assert not is_locked(directory)


def test_directory_and_token_are_for_their_owner_alone(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path / "a")
    directory.create()
    assert directory.token() == directory.token() != ""
    assert stat.S_IMODE(directory.root.stat().st_mode) == 0o700
    assert stat.S_IMODE(directory.token_file.stat().st_mode) == 0o600


def test_an_ephemeral_directory_is_gone_in_the_end(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    with new_ephemeral(environ) as directory:
        assert directory.is_ephemeral
        assert ephemeral_leftovers(environ) == []
    assert not directory.root.exists()


def test_what_a_killed_demo_left_is_collected_and_nothing_else(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    named("mine", environ).create()
    left = named("demo-left", environ)
    left.create()
    left.ephemeral_marker.touch()
    with new_ephemeral(environ) as living:
        collect_leftovers(environ)
        assert living.root.is_dir()
    assert not left.root.exists()
    assert named("mine", environ).root.is_dir()


@pytest.fixture
def shared_home() -> Iterator[Path]:
    """A directory that everybody can reach; pytest's own are for this user alone."""
    path = Path(tempfile.mkdtemp(prefix="kubeflink-"))
    path.chmod(0o777)
    yield path
    shutil.rmtree(path)


@contextmanager
def without_privileges(*directories: Path) -> Iterator[None]:
    """As a user whom permissions stop; the directories are made his own."""
    nobody, us = 65534, os.geteuid()
    if us == 0:
        for directory in directories:
            os.chown(directory, nobody, -1)
        os.seteuid(nobody)
    try:
        yield
    finally:
        os.seteuid(us)


def test_a_directory_that_its_program_has_closed_is_removed(shared_home: Path) -> None:
    """Caches of tools are read-only as a rule, and their user could not remove them."""
    with without_privileges(shared_home):
        left = StateDirectory(shared_home / "left")
        left.create()
        for mode in (0o500, 0):
            closed = left.pods / f"pod-{mode}"
            closed.mkdir()
            (closed / "file").touch()
            closed.chmod(mode)
        (left.pods / "link").symlink_to(shared_home)

        remove(left)

        assert list(shared_home.iterdir()) == []


def test_what_cannot_be_removed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = StateDirectory(tmp_path / "left")
    left.create()
    monkeypatch.setattr(leftovers, "_REMOVAL_SECONDS", 0.0)
    monkeypatch.setattr(leftovers, "remove_tree", lambda _: OSError(16, "Device or resource busy"))

    with pytest.raises(LocalError, match="resource busy") as failure:
        remove(left)

    assert str(left.root) in (failure.value.hint or "")


def test_what_somebody_else_left_in_a_shared_home_is_not_looked_at(shared_home: Path) -> None:
    """Else a demo that was killed under `sudo` would keep its user from every command."""
    environ = {"XDG_STATE_HOME": str(shared_home)}
    named("mine", environ).create()
    for name in ("demo-theirs", "theirs"):
        theirs = named(name, environ)
        theirs.create()
        theirs.ephemeral_marker.touch()
        theirs.root.chmod(0)
    with without_privileges(shared_home / "kubeflink", named("mine", environ).root):
        assert collect_leftovers(environ) == 0
        assert all_names(environ) == ["mine"]
    for name in ("demo-theirs", "theirs"):
        named(name, environ).root.chmod(0o700)


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "f"
    write_file(file, "old")
    write_file(file, "new", mode=0o600)
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_json_that_is_none_reads_as_nothing(tmp_path: Path) -> None:
    file = tmp_path / "f"
    assert read_json(file) is None
    write_json(file, {"a": 1})
    assert read_json(file) == {"a": 1}
    file.write_text("{")
    assert read_json(file) is None


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    with pytest.raises((LocalError, NotADirectoryError)):
        StateDirectory(blocked / "a").create()
