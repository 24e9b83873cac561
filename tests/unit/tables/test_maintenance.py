"""Maintenance of Delta tables: rows are cut and files joined, and nothing else is lost or read twice."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field
from deltalake.schema import PrimitiveType

from builders.runs_in_tables import by_delta_rs, fill, run
from offset_sync.state.seal import seal, sealed
from offset_sync.tables import maintenance
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.definition import Column, Table
from offset_sync.tables.maintenance import BEGINS_SCHEMA, Maintainer, is_below
from offset_sync.tables.store import TableStore
from offset_sync.tables.transaction_log import DataFile, write_rows
from tools.stored_names import note_stored

BELOW_30 = pa.table([["dc1"], ["orders"], [0], [30]], BEGINS_SCHEMA)


def cut(maintainer: Maintainer) -> int:
    """Remove what ends below 30."""
    return maintainer.remove(RECORD_RUNS, lambda rows: is_below(rows, BELOW_30))


@pytest.fixture
def maintainer(tables: TableStore) -> Maintainer:
    made = Maintainer(tables, timedelta(hours=1))
    made.prepare(RECORD_RUNS)
    return made


def test_what_would_lose_a_row_is_refused(
    tables: TableStore, maintainer: Maintainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose_a_row(*arguments: Any) -> DataFile:
        *others, pieces = arguments
        return write_rows(*others, [pa.concat_tables([*pieces]).slice(1)])

    for start in (0, 10):
        tables.append(RECORD_RUNS, pa.concat_tables([run(start), run(start + 20), run(start + 40)]))
    version = tables.version(RECORD_RUNS)
    monkeypatch.setattr(maintenance, "write_rows", lose_a_row)
    with pytest.raises(RuntimeError, match="1 rows were to be kept instead of 3; all stay"):
        cut(maintainer)
    with pytest.raises(RuntimeError, match="5 rows were written instead of 6; they stay as they are"):
        maintainer.compact(RECORD_RUNS)
    monkeypatch.setattr("offset_sync.state.seal.sealed", lambda rows: sealed(rows.slice(1)))
    with pytest.raises(RuntimeError, match="5 rows were written instead of 6; they stay as they are"):
        WORK["seal"](maintainer)
    assert by_delta_rs(tables) == [("dc1", start) for start in range(0, 60, 10)]
    assert tables.version(RECORD_RUNS) == version


WORK: dict[str, Callable[[Maintainer], object]] = {
    "compact": lambda made: made.compact(RECORD_RUNS),
    "seal": lambda made: seal(made._tables, made._tables.segments(RECORD_RUNS), least_rows=1),
    "cut": cut,
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
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


def test_a_checkpoint_is_stored_before_the_entries_go_that_say_the_same(
    tables: TableStore, maintainer: Maintainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power failure would leave neither."""
    fill(tables, 0, 10)
    stored, clean_up, before = note_stored(monkeypatch), DeltaTable.cleanup_metadata, list[str]()

    def noted(table: DeltaTable) -> None:
        before.extend(stored)
        clean_up(table)

    monkeypatch.setattr(DeltaTable, "cleanup_metadata", noted)
    maintainer.clean_up(RECORD_RUNS)
    assert before[-4:] == ["rows", "_delta_log", "_last_checkpoint", "_delta_log"]
