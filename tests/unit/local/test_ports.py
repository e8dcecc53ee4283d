"""Ports that stay with their seats."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from kubeflink.errors import LocalError
from kubeflink.local import ports
from kubeflink.local.ports import NODE_PORTS, POD_PORTS, PortBook, free_port, is_free


def test_a_seat_keeps_its_port_across_restarts(tmp_path: Path) -> None:
    port = PortBook(tmp_path / "ports").assign("pod a", POD_PORTS)
    book = PortBook(tmp_path / "ports")
    assert book.get("pod a") == port == book.assign("pod a", POD_PORTS)
    assert port in POD_PORTS


def test_no_two_seats_share_a_port(tmp_path: Path) -> None:
    book = PortBook(tmp_path / "ports")
    few = range(NODE_PORTS.stop - 40, NODE_PORTS.stop)
    given = [book.assign(f"service {number}", few) for number in range(5)]
    assert len(set(given)) == 5


def test_a_port_that_somebody_else_took_is_given_up(tmp_path: Path) -> None:
    book = PortBook(tmp_path / "ports")
    port = book.assign("pod a", POD_PORTS)
    with socket.create_server(("127.0.0.1", port)):
        assert not is_free(port)
        assert book.assign("pod a", POD_PORTS) != port


def test_a_released_seat_is_forgotten(tmp_path: Path) -> None:
    book = PortBook(tmp_path / "ports")
    book.assign("pod a", POD_PORTS)
    book.claim("service b", 30001)
    book.release(["pod a", "never there"])
    assert PortBook(tmp_path / "ports").seats() == ["service b"]


def test_a_port_that_could_not_be_written_down_is_not_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the next server would give the seat of a process that runs another one."""

    def full(*_: object) -> None:
        raise LocalError("The disk is full")

    book = PortBook(tmp_path / "ports")
    book.claim("service b", 30001)
    with monkeypatch.context() as patch:
        patch.setattr(ports, "write_json", full)
        with pytest.raises(LocalError, match="full"):
            book.assign("pod a", POD_PORTS)
        with pytest.raises(LocalError, match="full"):
            book.release(["service b"])
    assert book.get("pod a") is None
    assert book.seats() == PortBook(tmp_path / "ports").seats() == ["service b"]


@pytest.mark.parametrize("content", ["{", "[]", '{"pod a": "b"}'])
def test_a_damaged_book_is_not_an_empty_one(tmp_path: Path, content: str) -> None:
    """JobManagers that run on sit on ports of which nobody would know."""
    (tmp_path / "ports").write_text(content)

    with pytest.raises(LocalError, match="ports is damaged") as failure:
        PortBook(tmp_path / "ports")

    assert "come back on new ports" in (failure.value.hint or "")


def test_no_free_port_is_an_error_that_says_where() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LocalError, match=f"between {port} and {port}"):
            free_port(range(port, port + 1))
