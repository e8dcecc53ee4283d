"""Reading container logs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeflink.local.logs import read_log, tail, trim


async def content(path: Path, **options: int) -> bytes:
    return b"".join([chunk async for chunk in read_log(path, **options)])


@given(
    text=st.text(alphabet="ab\n", max_size=200).map(str.encode),
    lines=st.integers(min_value=0, max_value=20),
)
def test_the_last_lines(text: bytes, lines: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("logs") / "log"
    path.write_bytes(text)
    expected = b"".join(text.splitlines(keepends=True)[-lines:] if lines else [])
    assert asyncio.run(content(path, tail_lines=lines)) == expected


async def test_long_logs_are_read_from_their_end(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"".join(b"%07d\n" % number for number in range(50_000)))
    assert await content(path, tail_lines=2) == b"0049998\n0049999\n"
    assert len(await content(path)) == 400_000
    assert len(await content(path, limit_bytes=70_000)) == 70_000


async def test_a_log_is_followed_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "log"
    growing = True

    async def write() -> None:
        nonlocal growing
        for number in range(3):
            await asyncio.sleep(0.05)
            with path.open("a") as file:
                file.write(f"{number}\n")
        growing = False

    async with asyncio.TaskGroup() as group:
        group.create_task(write())
        seen = b"".join([chunk async for chunk in read_log(path, is_growing=lambda: growing)])
    assert seen == b"0\n1\n2\n"


async def test_no_log_yet_is_an_empty_one(tmp_path: Path) -> None:
    assert await content(tmp_path / "none", tail_lines=5) == b""


def test_the_tail_of_a_log_begins_with_a_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("first line\nsecond line\nthird\n")
    assert tail(path, 20) == "second line\nthird"
    assert tail(path) == "first line\nsecond line\nthird"
    assert tail(tmp_path / "none") == ""


def test_a_log_that_grew_too_large_keeps_its_end(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"".join(b"%07d\n" % number for number in range(1000)))
    assert not trim(path, 8000)
    assert trim(path, 4000)
    lines = path.read_text().splitlines()
    assert path.stat().st_size < 1200
    assert lines[-1] == "0000999"
    assert not trim(path, 4000)
    assert not trim(tmp_path / "none", 0)


async def test_a_follower_sees_what_comes_after_a_cut(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("old line\n" * 100)
    states = iter([True, True, False])

    def is_growing() -> bool:
        state = next(states)
        if not state:
            path.write_text("new\n")
        return state

    seen = b"".join([chunk async for chunk in read_log(path, is_growing=is_growing)])
    assert seen.endswith(b"old line\nnew\n")


async def test_the_last_lines_are_read_even_when_the_log_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_text("first\n", encoding="utf-8")
    read: list[bytes] = []

    async for chunk in read_log(path, is_growing=path.exists):
        read.append(chunk)
        if path.exists():
            with path.open("a", encoding="utf-8") as file:
                file.write("last\n")
            path.unlink()

    assert b"".join(read) == b"first\nlast\n"
