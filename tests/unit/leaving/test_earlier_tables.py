"""A table that an earlier version has made is read as it is, and given the columns that came later."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from offset_sync.model.errors import PlatformError
from offset_sync.tables.catalog import CUTOVERS, DRIVERS, OFFSET_TRANSLATIONS, RECORD_RUNS, SYNC_STATUS
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore


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


def test_nothing_is_written_before_it_may_be(tmp_path: Path) -> None:
    tables = TableStore(str(tmp_path))
    tables.create([before(CUTOVERS)])

    def refuse() -> None:
        raise PlatformError("the server ignores If-None-Match")

    with pytest.raises(PlatformError):
        tables.log(CUTOVERS).make(CUTOVERS, refuse)
    assert not {*CUTOVERS.later} & {field.name for field in DeltaTable(tables.path(CUTOVERS)).schema().fields}
    tables.log(DRIVERS).make(DRIVERS)
    tables.log(DRIVERS).make(DRIVERS, refuse)  # there is nothing to be written
