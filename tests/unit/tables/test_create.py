"""Tables are created once, also by several processes at the same moment, and describe themselves.

One that an earlier version has made is read as it is, and given the columns that came later.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from builders.claims import claims, epochs, start_process
from offset_sync.model.errors import PlatformError, TableError
from offset_sync.tables.catalog import (
    ALL_TABLES,
    CUTOVERS,
    DRIVERS,
    GROUP_EVENTS,
    LAST_KNOWN,
    LOG_INCARNATIONS,
    OFFSET_TRANSLATIONS,
    RECORD_FINGERPRINTS,
    RECORD_RUNS,
    SYNC_STATUS,
    TABLES,
)
from offset_sync.tables.definition import Table
from offset_sync.tables.files import Files
from offset_sync.tables.store import TableStore

ENTRY = f"{0:020d}.json"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> TableStore:
    """All tables, to be looked at."""
    tables = TableStore(str(tmp_path_factory.mktemp("made")))
    tables.create(ALL_TABLES)
    return tables


def test_every_table_and_every_column_says_what_it_means(made: TableStore) -> None:
    for table in ALL_TABLES:
        found = DeltaTable(made.path(table))
        assert found.metadata().description == table.comment
        assert [(field.name, field.metadata.get("comment")) for field in found.schema().fields] == [
            (column.name, column.comment) for column in table.columns
        ]
        assert found.version() == 0


def test_a_table_that_loses_no_rows_is_append_only_and_each_remembers_its_writers_for_long(made: TableStore) -> None:
    for table in TABLES:
        properties = DeltaTable(made.path(table)).metadata().configuration
        loses_rows = table in (RECORD_RUNS, RECORD_FINGERPRINTS, LOG_INCARNATIONS, LAST_KNOWN)
        assert properties["delta.appendOnly"] == str(not loses_rows).lower()
        assert properties["delta.setTransactionRetentionDuration"] == "interval 90 days"


def test_the_protocol_is_plain_so_that_every_reader_reads_every_table(made: TableStore) -> None:
    for table in ALL_TABLES:
        found = DeltaTable(made.path(table))
        protocol, properties = found.protocol(), found.metadata().configuration
        assert (protocol.min_reader_version, protocol.reader_features or []) == (1, [])
        assert not {"deletionVectors", "columnMapping", "v2Checkpoint"} & set(protocol.writer_features or [])
        assert properties["delta.enableDeletionVectors"] == "false"
        assert "delta.columnMapping.mode" not in properties


def test_whether_a_table_is_there(made: TableStore, tmp_path: Path) -> None:
    assert made.is_there(DRIVERS)
    assert not TableStore(f"{tmp_path}/nowhere").is_there(DRIVERS)
    assert not (tmp_path / "nowhere").exists()


def test_creating_again_changes_nothing(tables: TableStore) -> None:
    tables.append(GROUP_EVENTS, GROUP_EVENTS.arrow_schema.empty_table())
    tables.append(DRIVERS, claims(1))
    for store in (tables, TableStore(tables.root)):
        store.create()
        assert [store.version(table) for table in TABLES] == [int(table is DRIVERS) for table in TABLES]


def test_threads_that_make_a_table_at_once_make_one(tmp_path: Path) -> None:
    for number in range(5):
        ready, root = threading.Barrier(4), str(tmp_path / str(number))

        def make(_thread: int, ready: threading.Barrier = ready, root: str = root) -> None:
            tables = TableStore(root)
            ready.wait(60)
            tables.create([DRIVERS])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(make, range(4)))
        assert DeltaTable(f"{root}/drivers").version() == 0
        assert [each.name for each in Path(root, "drivers", "_delta_log").iterdir()] == [ENTRY]


_MAKES = """
tables = TableStore(sys.argv[1])
tables.create()
tables.append(DRIVERS, claims(int(sys.argv[2])))
"""


def test_so_do_processes_that_append_at_once(tmp_path: Path) -> None:
    others = [start_process(_MAKES, tmp_path, number) for number in range(4)]
    assert [other.wait(120) for other in others] == [0] * 4
    tables = TableStore(str(tmp_path))
    assert epochs(tables.all_rows(DRIVERS)) == [0, 1, 2, 3]
    assert {table.name: tables.version(table) for table in TABLES} == {
        table.name: 4 if table is DRIVERS else 0 for table in TABLES
    }


def test_a_table_that_another_has_made_and_filled_since_one_looked_is_no_folder_of_another_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = Files.below

    def look_late(self: Files, folder: str) -> list[str]:
        monkeypatch.setattr(Files, "below", below)
        other = TableStore(str(tmp_path))
        other.create([DRIVERS])
        other.append(DRIVERS, claims(1))
        return below(self, folder)

    monkeypatch.setattr(Files, "below", look_late)
    tables = TableStore(str(tmp_path))
    tables.create([DRIVERS])
    tables.append(DRIVERS, claims(2))
    assert epochs(tables.all_rows(DRIVERS)) == [1, 2]


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


def test_a_place_where_nothing_can_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "drivers").write_text("a file")
    with pytest.raises((TableError, OSError), match="drivers"):
        TableStore(str(tmp_path)).create([DRIVERS])


@pytest.mark.parametrize("is_older", [True, False])
def test_nothing_is_written_before_it_may_be(tmp_path: Path, *, is_older: bool) -> None:
    tables = TableStore(str(tmp_path))
    if is_older:
        tables.create([before(CUTOVERS)])

    def refuse() -> None:
        raise PlatformError("the server ignores If-None-Match")

    with pytest.raises(PlatformError):
        tables.log(CUTOVERS).make(CUTOVERS, refuse)
    assert tables.is_there(CUTOVERS) is is_older
    if is_older:
        assert not {*CUTOVERS.later} & {field.name for field in DeltaTable(tables.path(CUTOVERS)).schema().fields}
        tables.log(DRIVERS).make(DRIVERS)
        tables.log(DRIVERS).make(DRIVERS, refuse)  # there is nothing to be written


# Of an earlier version


def before(table: Table) -> Table:
    """Return the table as an earlier version had it."""
    columns = tuple(each for each in table.columns if each.name not in table.later)
    return replace(table, columns=columns, later=())


def row(table: Table, **values: str) -> pa.Table:
    return pa.Table.from_pylist([values], table.arrow_schema)


@pytest.mark.parametrize("table", [OFFSET_TRANSLATIONS, SYNC_STATUS, CUTOVERS], ids=lambda each: each.name)
def test_columns_are_added_once_with_what_they_mean_and_old_and_new_writers_go_on(table: Table, tmp_path: Path) -> None:
    earlier, tables = before(table), TableStore(str(tmp_path))
    tables.create([earlier])
    tables.append(earlier, row(earlier, topic="a"))
    assert tables.all_rows(table).select(["topic", "stream", "target_topic"]).to_pylist() == [
        {"topic": "a", "stream": None, "target_topic": None}
    ]
    for _ in range(2):
        tables.create([table])
        assert tables.version(table) == 2
    fields = {field.name: field.metadata["comment"] for field in DeltaTable(tables.path(table)).schema().fields}
    assert fields == {column.name: column.comment for column in table.columns}
    tables.append(earlier, row(earlier, topic="b"))
    tables.append(table, row(table, topic="c", stream="x.c", target_topic="x.c"))
    found = tables.read_added(table, 2, 4).sort_by("topic").select(["topic", "stream"]).to_pylist()
    assert found == [{"topic": "b", "stream": None}, {"topic": "c", "stream": "x.c"}]
    assert sorted(tables.all_rows(table).column("topic").to_pylist()) == ["a", "b", "c"]


EARLIER = before(RECORD_RUNS)


def start(table: Table, number: int) -> pa.Table:
    return pa.Table.from_pylist([{"cluster": "dc1", "start_offset": number}], table.arrow_schema)


def starts(rows: pa.Table) -> list[int]:
    return sorted(rows.column("start_offset").to_pylist())


def test_what_is_not_there_yet_is_null_however_it_is_read(tmp_path: Path) -> None:
    tables = TableStore(str(tmp_path))
    tables.create([EARLIER])
    for number in (1, 2):
        tables.append(EARLIER, start(EARLIER, number))
    for found in (
        tables.all_rows(RECORD_RUNS),
        tables.read_added(RECORD_RUNS, 0, 2),
        tables.rows_where(RECORD_RUNS, {"cluster": "dc1"}),
        pa.concat_tables(tables.batches(RECORD_RUNS)),
    ):
        assert found.schema == RECORD_RUNS.arrow_schema
        assert starts(found) == [1, 2]
        assert found.column("complete_until").null_count == 2


def test_a_writer_that_goes_on_meanwhile_loses_nothing(tmp_path: Path) -> None:
    running, tables = TableStore(str(tmp_path)), TableStore(str(tmp_path))
    running.create([EARLIER])
    running.append(EARLIER, start(EARLIER, 1))  # it remembers how the table was
    tables.create([RECORD_RUNS])
    running.append(EARLIER, start(EARLIER, 2))
    tables.append(RECORD_RUNS, start(RECORD_RUNS, 3))
    assert starts(running.all_rows(EARLIER)) == starts(tables.read_added(RECORD_RUNS, 0, 4)) == [1, 2, 3]
    assert starts(DeltaTable(tables.path(RECORD_RUNS)).to_pyarrow_table()) == [1, 2, 3]


def test_of_jobs_that_start_at_once_one_adds_them(tmp_path: Path) -> None:
    TableStore(str(tmp_path)).create([EARLIER])
    ready = threading.Barrier(4)

    def begin(_job: int) -> None:
        tables = TableStore(str(tmp_path))
        ready.wait(60)
        tables.create([RECORD_RUNS])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(begin, range(4)))
    found = DeltaTable(tmp_path / "record_runs")
    assert found.version() == 1
    assert [field.name for field in found.schema().fields] == RECORD_RUNS.names
