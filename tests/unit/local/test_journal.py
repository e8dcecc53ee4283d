"""Objects and versions survive the store that wrote them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from kubeflink import objects
from kubeflink.apiserver.deletion import DeleteOptions
from kubeflink.apiserver.store import ObjectStore
from kubeflink.errors import GoneError, LocalError
from kubeflink.local.journal import SqliteJournal
from support.manifests import config_map


async def test_a_new_store_goes_on_where_the_old_one_ended(tmp_path: Path) -> None:
    first = SqliteJournal(tmp_path / "j")
    store = ObjectStore(journal=first)
    await store.create(objects.CONFIG_MAPS, "default", config_map("kept"))
    await store.create(objects.CONFIG_MAPS, "default", config_map("gone"))
    kept = await store.get(objects.CONFIG_MAPS, "default", "kept")
    await store.replace(objects.CONFIG_MAPS, "default", {**kept, "data": {"k": "new"}})
    await store.delete(objects.CONFIG_MAPS, "default", "gone", DeleteOptions())
    revision = store.revision
    first.close()

    second = SqliteJournal(tmp_path / "j")
    again = ObjectStore(journal=second)
    names = [objects.name_of(obj) for obj in (await again.list(objects.CONFIG_MAPS)).items]
    assert names == ["kept"]
    assert (await again.get(objects.CONFIG_MAPS, "default", "kept"))["data"] == {"k": "new"}
    created = await again.create(objects.CONFIG_MAPS, "default", config_map("later"))
    assert int(created["metadata"]["resourceVersion"]) > revision
    second.close()


async def test_a_watcher_that_missed_nothing_goes_on_and_one_that_did_is_told(
    tmp_path: Path,
) -> None:
    first = SqliteJournal(tmp_path / "j")
    store = ObjectStore(journal=first)
    early = (await store.list(objects.CONFIG_MAPS)).resource_version
    await store.create(objects.CONFIG_MAPS, "default", config_map("a"))
    late = (await store.list(objects.CONFIG_MAPS)).resource_version
    first.close()

    second = SqliteJournal(tmp_path / "j")
    again = ObjectStore(journal=second)
    again.watch(objects.CONFIG_MAPS, resource_version=late)
    with pytest.raises(GoneError):
        again.watch(objects.CONFIG_MAPS, resource_version=early)
    second.close()


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j")
    assert stat.S_IMODE((tmp_path / "j").stat().st_mode) == 0o600
    journal.close()


def test_a_broken_file_is_named_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "j").write_bytes(b"this is no database" * 100)
    with pytest.raises(LocalError, match=f"{tmp_path / 'j'} is damaged") as failure:
        SqliteJournal(tmp_path / "j")
    assert f"kubeflink local down {tmp_path.name}" in str(failure.value)


@pytest.mark.parametrize(
    "change",
    [
        "object = '{'",
        "object = '[]'",
        "object = X'FF'",
        "object = '{}'",
        "name = 'b'",
        "object = 1",
    ],
)
async def test_an_object_that_cannot_be_read_is_named_and_not_left_out(
    tmp_path: Path, change: str
) -> None:
    journal = SqliteJournal(tmp_path / "j")
    await ObjectStore(journal=journal).create(objects.CONFIG_MAPS, "default", config_map("a"))
    with journal._connection as transaction:
        transaction.execute(f"UPDATE objects SET {change} WHERE kind = 'ConfigMap'")

    with pytest.raises(LocalError, match=r"is damaged: ConfigMap default/\w cannot be read"):
        journal.load()

    journal.close()


async def test_a_database_with_a_hole_is_named(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j")
    store = ObjectStore(journal=journal)
    for number in range(50):
        big = config_map(f"c{number}") | {"data": {"k": "x" * 1000}}
        await store.create(objects.CONFIG_MAPS, "default", big)
    journal.close()
    content = bytearray((tmp_path / "j").read_bytes())
    content[8192 : len(content) - 4096] = b"\xaa" * (len(content) - 8192 - 4096)
    (tmp_path / "j").write_bytes(content)

    with pytest.raises(LocalError, match="is damaged"):
        SqliteJournal(tmp_path / "j").load()


async def test_a_full_disk_refuses_the_write_and_keeps_what_was(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j")
    store = ObjectStore(journal=journal)
    await store.create(objects.CONFIG_MAPS, "default", config_map("a"))
    # A limit on the number of pages is to sqlite what a full disk is.
    pages = journal._connection.execute("PRAGMA page_count").fetchone()[0]
    journal._connection.execute(f"PRAGMA max_page_count = {pages}")
    big = config_map("b") | {"data": {"k": "x" * 500_000}}
    with pytest.raises(LocalError, match="is full"):
        await store.create(objects.CONFIG_MAPS, "default", big)
    names = [objects.name_of(obj) for obj in (await store.list(objects.CONFIG_MAPS)).items]
    assert names == ["a"]
    journal.close()
