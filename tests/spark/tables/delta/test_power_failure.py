"""Appends to tables on a local disk: what is stored in which order, and what comes again after a power failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.store import TableStore
from tools.stored_names import note_stored


def run(start: int) -> pa.Table:
    row: dict[str, Any] = dict.fromkeys(RECORD_RUNS.names) | {"topic": "orders", "partition": 0, "start_offset": start}
    return pa.Table.from_pylist([row], RECORD_RUNS.arrow_schema)


def starts(tables: TableStore) -> list[int]:
    rows = tables.spark.read.format("delta").load(tables.path(RECORD_RUNS))
    return sorted(row.start_offset for row in rows.collect())


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what was stored, in order; with the entry of the log, whether the rows' file was before it."""
    return note_stored(monkeypatch)


def test_rows_are_stored_before_their_entry_and_both_before_an_append_returns(
    tables: TableStore, stored: list[str]
) -> None:
    tables.append(RECORD_RUNS, run(1))
    assert stored == ["rows", "record_runs", f"{1:020d}.json", "_delta_log"]


@pytest.mark.parametrize("left", [0, 40], ids=["empty", "cut off"])
def test_an_append_whose_entry_was_not_stored_comes_again_and_is_there_once(tables: TableStore, left: int) -> None:
    tables.append(RECORD_RUNS, run(1), ("query", 1))
    tables.append(RECORD_RUNS, run(2), ("query", 2))
    entry = Path(tables.path(RECORD_RUNS), "_delta_log", f"{2:020d}.json")
    entry.write_bytes(entry.read_bytes()[:left])
    again = TableStore(tables.spark, tables.root)
    again.create([RECORD_RUNS])
    assert again.version(RECORD_RUNS) == 1
    for _ in range(2):
        again.append(RECORD_RUNS, run(2), ("query", 2))
    again.append(RECORD_RUNS, run(3), ("query", 3))
    assert starts(again) == [1, 2, 3]
