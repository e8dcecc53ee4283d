"""The certificate of the embedded API server, and what is done when it is no good any more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kubeflink.errors import LocalError
from kubeflink.local.certificates import server_certificate
from kubeflink.local.state import StateDirectory


@pytest.fixture
def state(tmp_path: Path) -> StateDirectory:
    directory = StateDirectory(tmp_path / "a")
    directory.create()
    server_certificate(directory)
    return directory


def files(state: StateDirectory) -> tuple[bytes, bytes]:
    return state.server_pem.read_bytes(), state.authority_pem.read_bytes()


def test_it_is_made_once(state: StateDirectory) -> None:
    before = files(state)

    assert server_certificate(state).authority == before[1]
    assert files(state) == before


def lose_the_authority(state: StateDirectory) -> None:
    state.authority_pem.unlink()


def cut(state: StateDirectory) -> None:
    state.server_pem.write_bytes(state.server_pem.read_bytes()[:-300])


def empty(state: StateDirectory) -> None:
    state.server_pem.write_bytes(b"")


def scramble_the_authority(state: StateDirectory) -> None:
    state.authority_pem.write_bytes(b"\xff\0")


def lose_the_key(state: StateDirectory) -> None:
    pem = state.server_pem.read_bytes()
    state.server_pem.write_bytes(pem[pem.index(b"-----BEGIN CERTIFICATE") :])


def take_another_authority(state: StateDirectory) -> None:
    other = StateDirectory(state.root.with_name("b"))
    other.create()
    state.authority_pem.write_bytes(server_certificate(other).authority)


@pytest.mark.parametrize(
    "damage",
    [
        lose_the_authority,
        cut,
        empty,
        scramble_the_authority,
        lose_the_key,
        take_another_authority,
    ],
)
def test_one_that_is_no_good_is_made_anew(
    state: StateDirectory, damage: Callable[[StateDirectory], None]
) -> None:
    before = files(state)
    damage(state)

    made = server_certificate(state)

    assert made.authority == state.authority_pem.read_bytes()
    assert files(state)[0] != before[0]
    assert files(state)[1] != before[1]
    again = files(state)
    server_certificate(state)
    assert files(state) == again


def test_what_is_in_the_way_is_named(state: StateDirectory) -> None:
    state.server_pem.unlink()
    state.server_pem.mkdir()

    with pytest.raises(LocalError, match=str(state.root)):
        server_certificate(state)
