"""Tables are created once, also by several processes at the same moment, and only where nothing else is."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from deltalake import DeltaTable

from builders.claims import claims, epochs
from offset_sync.model.errors import FormatError, PlatformError, TableError
from offset_sync.tables.catalog import CUTOVERS, DRIVERS, TABLES
from offset_sync.tables.definition import Table
from offset_sync.tables.files import Files, check_storage
from offset_sync.tables.format import FORMAT, PROPERTY, check_checkpoints
from offset_sync.tables.store import TableStore


def test_those_that_create_and_append_at_once_lose_nothing(tmp_path: Path) -> None:
    def begin(number: int) -> None:
        tables = TableStore(str(tmp_path))
        tables.create()
        tables.append(DRIVERS, claims(number))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(begin, range(3)))
    tables = TableStore(str(tmp_path))
    assert epochs(tables.all_rows(DRIVERS)) == [0, 1, 2]
    assert {tables.version(table) for table in TABLES if table is not DRIVERS} == {0}


@pytest.mark.parametrize(
    "name", ["theirs.parquet", "below/theirs.parquet", "_delta_log/.00000000000000000000.json.tmp"]
)
def test_a_folder_with_another_writers_files_is_left_alone_but_not_what_a_killed_process_has_left(
    tmp_path: Path, name: str
) -> None:
    found = tmp_path / "drivers" / name
    found.parent.mkdir(parents=True)
    found.write_text("half a ver")
    tables = TableStore(str(tmp_path))
    if name.endswith(".tmp"):
        tables.create([DRIVERS])
        assert tables.version(DRIVERS) == 0
        return
    with pytest.raises(TableError, match=r"drivers: holds files and is no Delta table; give tables\.root another"):
        tables.create([DRIVERS])
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == [found]


class Server(Files):
    """A server that every writer reaches; *is_strict*: it knows If-None-Match."""

    is_strict, lock = True, threading.Lock()

    def put_new(self, path: str, content: bytes) -> bool:
        with self.lock:
            is_new = path not in self.storage
            self.storage[path] = "put"
        return is_new or not self.is_strict

    def delete(self, path: str) -> None:
        self.storage.pop(path, None)


def test_a_server_that_accepts_two_entries_of_one_number_is_refused() -> None:
    server = Server()
    check_storage("s3://bucket/tables", server)
    server.is_strict = False
    check_storage("file:///tables", server)  # a disk is not asked
    with pytest.raises(PlatformError, match=r"^s3://bucket/tables: the server ignores If-None-Match"):
        check_storage("s3://bucket/tables", server)
    assert not server.storage, "all are deleted, however it ended"


REMEDY = f"this version has format {FORMAT}; give tables.root and tables.checkpoints new places"


@pytest.mark.parametrize("number", ["", str(FORMAT - 1), str(FORMAT + 1)], ids=["none", "the last", "the next"])
def test_tables_of_another_format_are_neither_read_nor_written(tmp_path: Path, number: str) -> None:
    tables = TableStore(str(tmp_path))
    tables.create([*TABLES, CUTOVERS])
    tables.append(DRIVERS, claims(1))
    for table in (*TABLES, CUTOVERS):
        DeltaTable(tables.path(table)).alter.set_table_properties({PROPERTY: number}, raise_if_not_exists=False)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    for act in (TableStore(tables.root).create, lambda: TableStore(tables.root).all_rows(DRIVERS)):
        with pytest.raises(FormatError, match=f"^[^\n]*{REMEDY}[^\n]*$"):
            act()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize("wanted", [[CUTOVERS], TABLES])
def test_beside_a_table_of_another_format_none_is_made(tmp_path: Path, wanted: list[Table]) -> None:
    TableStore(str(tmp_path)).create([DRIVERS])
    DeltaTable(tmp_path / "drivers").alter.set_table_properties({PROPERTY: str(FORMAT - 1)}, raise_if_not_exists=False)
    with pytest.raises(FormatError, match=REMEDY):
        TableStore(str(tmp_path)).create(wanted)
    assert [each.name for each in tmp_path.iterdir()] == ["drivers"]


@pytest.mark.parametrize("number", [None, str(FORMAT - 1), str(FORMAT + 1)])
def test_checkpoints_of_another_format_are_refused(tmp_path: Path, number: str | None) -> None:
    (tmp_path / "index_records" / "dc1" / "offsets").mkdir(parents=True)
    (tmp_path / "index_records" / "dc1" / "offsets" / "0").write_text("v1\n")
    if number is not None:
        (tmp_path / PROPERTY).write_text(number)
    with pytest.raises(FormatError, match=REMEDY):
        check_checkpoints(Files(), str(tmp_path))


def test_checkpoints_of_the_same_format_go_on_also_of_a_job_that_begins_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "of another program").touch()
    check_checkpoints(Files(), f"{tmp_path}/new")
    (tmp_path / "new" / "sync_offsets.ids").touch()
    check_checkpoints(Files(), f"{tmp_path}/new")

    class Overtaken(Files):
        def below(self, folder: str) -> list[str]:
            check_checkpoints(Files(), folder)
            (tmp_path / "index_records.cluster_ids.json").touch()
            return super().below(folder)

    check_checkpoints(Overtaken(), str(tmp_path))
