"""A JobManager's ports belong to its replica, whoever fills it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kubeflink.local.command import PORT_NAMES
from kubeflink.local.ports import PortBook
from kubeflink.local.seats import SEAT_ANNOTATION, Seats
from kubeflink.objects import JsonObject


def pod(uid: str, seat: int = 0, deployment: str | None = "demo") -> JsonObject:
    owners = [{"kind": "Deployment", "name": deployment}] if deployment else []
    return {
        "metadata": {
            "name": f"pod-{uid}",
            "namespace": "default",
            "uid": uid,
            "annotations": {SEAT_ANNOTATION: str(seat)},
            "ownerReferences": owners,
        }
    }


@pytest.fixture
def book(tmp_path: Path) -> PortBook:
    return PortBook(tmp_path / "ports")


async def test_the_next_pod_waits_for_the_seat_and_gets_its_ports(book: PortBook) -> None:
    seats = Seats(book)
    first = await seats.sit_down(pod("a"))
    assert set(first) == set(PORT_NAMES)
    assert await seats.sit_down(pod("a")) == first, "a restarted container sits where it sat"
    waiting = asyncio.create_task(seats.sit_down(pod("b")))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    seats.stand_up(pod("somebody else"))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    seats.stand_up(pod("a"))
    assert await asyncio.wait_for(waiting, 30) == first


async def test_replicas_have_ports_of_their_own(book: PortBook) -> None:
    seats = Seats(book)
    ports = [await seats.sit_down(pod(str(number), seat=number)) for number in range(3)]
    assert len({port for each in ports for port in each.values()}) == 9


async def test_an_adopted_pod_sits_already(book: PortBook) -> None:
    first = await Seats(book).sit_down(pod("a"))
    later = Seats(book)
    later.keep(pod("a"))
    assert later.ports(pod("a")) == first
    waiting = asyncio.create_task(later.sit_down(pod("b")))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    later.stand_up(pod("a"))
    assert await asyncio.wait_for(waiting, 30) == first


async def test_seats_go_with_their_deployment_or_their_lonely_pod(book: PortBook) -> None:
    seats = Seats(book)
    await seats.sit_down(pod("a"))
    await seats.sit_down(pod("c", deployment=None))
    seats.stand_up(pod("a"))
    seats.stand_up(pod("c", deployment=None))
    assert len(book.seats()) == len(PORT_NAMES), "a Deployment's ports wait for its next pod"
    seats.abolish({"metadata": {"name": "demo", "namespace": "default"}})
    assert book.seats() == []
