"""Tables are created once, also by several processes at the same moment, and describe themselves."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from deltalake.exceptions import DeltaError

from builders.claims import claims, epochs, start_process
from offset_sync.model.errors import PlatformError, TableError
from offset_sync.tables import storage_check
from offset_sync.tables.catalog import (
    DRIVERS,
    TABLES,
)
from offset_sync.tables.storage_check import check_storage
from offset_sync.tables.store import TableStore

ENTRY = f"{0:020d}.json"


_MAKES = """
tables = TableStore(sys.argv[1])
tables.create()
tables.append(DRIVERS, claims(int(sys.argv[2])))
"""


def test_so_do_processes_that_append_at_once(tmp_path: Path) -> None:
    others = [start_process(_MAKES, tmp_path, number) for number in range(2)]
    assert [other.wait(120) for other in others] == [0, 0]
    tables = TableStore(str(tmp_path))
    assert epochs(tables.all_rows(DRIVERS)) == [0, 1]
    assert {table.name: tables.version(table) for table in TABLES} == {
        table.name: 2 if table is DRIVERS else 0 for table in TABLES
    }


@pytest.mark.parametrize("name", [f".{ENTRY}.tmp", f"{ENTRY}#1", f".{ENTRY}.crc", f"_commit_{ENTRY}.tmp"])
def test_files_of_a_process_killed_before_a_first_version_do_not_hinder(tmp_path: Path, name: str) -> None:
    left_over = tmp_path / "drivers" / "_delta_log" / name
    left_over.parent.mkdir(parents=True)
    left_over.write_text("half a ver")
    tables = TableStore(str(tmp_path))
    tables.create([DRIVERS])
    tables.append(DRIVERS, claims(1))
    assert (tables.version(DRIVERS), epochs(tables.all_rows(DRIVERS))) == (1, [1])


@pytest.mark.parametrize("name", ["theirs.parquet", "below/theirs.parquet"])
def test_a_folder_with_another_writers_files_is_left_alone(tmp_path: Path, name: str) -> None:
    theirs = tmp_path / "drivers" / name
    theirs.parent.mkdir(parents=True)
    theirs.write_text("not ours")
    tables = TableStore(str(tmp_path))
    with pytest.raises(TableError, match=r"drivers: holds files and is no Delta table; give tables\.root another"):
        tables.create([DRIVERS])
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == [theirs]


class Log:
    """What one driver knows of the log of a table on a server; *is_strict*: that one knows If-None-Match."""

    is_strict, newest, lock = True, 0, threading.Lock()

    def __init__(self, *_path: Any, **_storage: Any) -> None:
        self.known = 0

    @staticmethod
    def create(*_path: Any, **_storage: Any) -> None:
        Log.newest = 0

    def update_incremental(self) -> None:
        self.known = Log.newest

    def create_write_transaction(self, *_entry: Any, **_storage: Any) -> None:
        with self.lock:
            if Log.is_strict and Log.newest > self.known:
                raise DeltaError("it is there")
            Log.newest = self.known + 1


@pytest.fixture
def deleted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of the check that were deleted."""
    monkeypatch.setattr(storage_check, "DeltaTable", Log)
    return []


def check(deleted: list[str], root: str = "s3://bucket/tables") -> None:
    files: Any = SimpleNamespace(uri=lambda path: path, storage={}, delete=deleted.append)
    check_storage(root, files)


def test_a_server_that_accepts_two_entries_of_one_number_is_refused(
    deleted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check(deleted)
    assert Log.newest == 2
    monkeypatch.setattr(Log, "is_strict", False)
    with pytest.raises(PlatformError, match=r"^s3://bucket/tables: the server ignores If-None-Match"):
        check(deleted)
    assert len({*deleted}) == len(deleted) == 6, "all entries, however it ended"


def test_a_local_disk_is_not_asked(deleted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Log, "is_strict", False)
    check(deleted, "file:///tables")
    assert deleted == []
