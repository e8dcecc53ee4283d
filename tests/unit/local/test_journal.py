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
    with pytest.raises(LocalError, match="cannot be used") as failure:
        SqliteJournal(tmp_path / "j")
    assert "kubeflink local down" in str(failure.value)


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
