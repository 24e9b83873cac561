"""Maintenance of Delta tables: rows are cut and files joined, and nothing else is lost or read twice."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field
from deltalake.schema import PrimitiveType

from builders.runs_in_tables import by_delta_rs, fill, rows_in, run
from builders.spark_tables import checkpoint_every_tenth
from offset_sync.state.seal import seal
from offset_sync.tables import maintenance
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.definition import Column, Table
from offset_sync.tables.maintenance import BEGINS_SCHEMA, Maintainer, is_below
from offset_sync.tables.store import TableStore
from offset_sync.tables.transaction_log import DataFile, write_rows
from tools.stored_names import note_stored


def begins(**by_cluster: int) -> pa.Table:
    rows = [{"cluster": c, "topic": "orders", "partition": 0, "begin": begin} for c, begin in by_cluster.items()]
    return pa.Table.from_pylist(rows, BEGINS_SCHEMA)


def cut(maintainer: Maintainer, at: pa.Table) -> int:
    """Remove what ends below the begins *at*."""
    return maintainer.remove(RECORD_RUNS, lambda rows: is_below(rows, at))


@pytest.fixture
def maintainer(tables: TableStore) -> Maintainer:
    made = Maintainer(tables, timedelta(hours=1))
    made.prepare(RECORD_RUNS)
    return made


def lose_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drop a row of those that were to be written into each file."""

    def write(*arguments: Any) -> DataFile:
        *others, pieces = arguments
        return write_rows(*others, [pa.concat_tables([*pieces]).slice(1)])

    monkeypatch.setattr(maintenance, "write_rows", write)


def test_what_would_lose_a_row_is_refused(
    tables: TableStore, maintainer: Maintainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for start in (0, 10):
        tables.append(RECORD_RUNS, pa.concat_tables([run(start), run(start + 20), run(start + 40)]))
    version = tables.version(RECORD_RUNS)
    lose_a_row(monkeypatch)
    with pytest.raises(RuntimeError, match="1 rows were to be kept instead of 3; all stay"):
        cut(maintainer, begins(dc1=30))
    with pytest.raises(RuntimeError, match="5 rows were written instead of 6; they stay as they are"):
        maintainer.compact(RECORD_RUNS)
    assert by_delta_rs(tables) == [("dc1", start) for start in range(0, 60, 10)]
    assert tables.version(RECORD_RUNS) == version


WORK: dict[str, Callable[[Maintainer], object]] = {
    "compact": lambda made: made.compact(RECORD_RUNS),
    "seal": lambda made: seal(made._tables, made._tables.segments(RECORD_RUNS), least_rows=1),
    "cut": lambda made: cut(made, begins(dc1=20)),
}
all_work = pytest.mark.parametrize("work", WORK.values(), ids=WORK)


@all_work
def test_a_table_to_which_somebody_has_added_columns_keeps_what_is_in_them(
    tables: TableStore, maintainer: Maintainer, caplog: pytest.LogCaptureFixture, work: Callable[[Maintainer], object]
) -> None:
    fill(tables, 0, 10, 20)
    later = Table(RECORD_RUNS.name, "", (*RECORD_RUNS.columns, Column("told", "string", "")))
    DeltaTable(tables.path(RECORD_RUNS)).alter.add_columns([Field("told", PrimitiveType("string"))])
    tables.append(later, run(30).append_column("told", pa.array(["kept"])))
    with caplog.at_level(logging.WARNING):
        work(maintainer)
    told = DeltaTable(tables.path(RECORD_RUNS)).to_pyarrow_table()["told"].to_pylist()
    assert sorted(map(str, told)) == ["None"] * 6 + ["kept"]
    assert "record_runs: its files are left alone: columns ['told'] are unknown" in caplog.text


HOUR = timedelta(hours=1)


def age(*paths: Path, hours: float = 2) -> None:
    """Have files been written long ago, in this order."""
    for number, each in enumerate(paths):
        at = time.time() - 3600 * hours + number
        os.utime(each, (at, at))


@pytest.fixture
def path(tables: TableStore) -> Path:
    Maintainer(tables, HOUR).prepare(RECORD_RUNS)
    checkpoint_every_tenth(tables, RECORD_RUNS)
    return Path(tables.path(RECORD_RUNS))


def log_of(path: Path) -> list[Path]:
    return sorted((path / "_delta_log").glob("0*"))


def test_what_no_version_needs_any_more_goes_and_a_follower_that_was_away_reads_the_whole_table(
    tables: TableStore, path: Path
) -> None:
    maintainer, away_since = Maintainer(tables, timedelta(seconds=1)), 4
    maintainer.prepare(RECORD_RUNS)
    fill(tables, *range(0, 240, 10))
    maintainer.compact(RECORD_RUNS)
    age(*log_of(path))
    time.sleep(1.1)
    newest = tables.version(RECORD_RUNS)
    maintainer.clean_up(RECORD_RUNS)
    assert [each.name for each in log_of(path)] == [f"{newest:020d}.checkpoint.parquet", f"{newest:020d}.json"]
    assert len(list(path.glob("*.parquet"))) == 1
    follower = TableStore(tables.root)
    with pytest.raises(FileNotFoundError):
        follower.read_added(RECORD_RUNS, away_since, newest)
    missed, version = follower.rows_since(RECORD_RUNS, away_since)
    assert (version, len({*rows_in(missed)}), missed.num_rows) == (newest, 48, 48)


def test_a_checkpoint_is_stored_before_the_entries_go_that_say_the_same(
    tables: TableStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power failure would leave neither."""
    fill(tables, *range(0, 50, 10))
    age(*log_of(path))
    stored, clean_up = note_stored(monkeypatch), DeltaTable.cleanup_metadata
    at_that_moment = list[tuple[list[str], bool]]()

    def noted(self: DeltaTable) -> None:
        at_that_moment.append(([*stored], log_of(path)[0].name.endswith(f"{0:020d}.json")))
        clean_up(self)

    monkeypatch.setattr(DeltaTable, "cleanup_metadata", noted)
    Maintainer(tables, HOUR).clean_up(RECORD_RUNS)
    assert at_that_moment == [(["rows", "_delta_log", "_last_checkpoint", "_delta_log"], True)]
    assert not log_of(path)[0].name.endswith(f"{0:020d}.json")
