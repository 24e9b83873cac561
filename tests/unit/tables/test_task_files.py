"""Files that tasks write: nobody sees them before their entry, and they are stored by then."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from builders.claims import claims, epochs
from fakes.tables import MemoryFrame
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.data_files import DataFile
from offset_sync.tables.store import TableStore
from offset_sync.tables.task_files import _WriteFile, write_by_tasks
from tools.stored_names import note_stored


def frames(*rows: pa.Table, batch_rows: int = 3) -> Any:
    """Frames of one task each, whose rows have columns of no table too."""
    return [MemoryFrame(each.append_column("more", pa.nulls(each.num_rows)), batch_rows) for each in rows]


def test_a_file_holds_all_rows_of_a_task_and_tells_what_its_statistics_are(tables: TableStore) -> None:
    rows = [claims(*range(8)), claims(), claims(20)]
    written = write_by_tasks(tables, DRIVERS, frames(*rows))
    folder = Path(tables.path(DRIVERS))
    assert [(each.rows, each.size) for each in written] == [
        (count, (folder / each.path).stat().st_size) for count, each in zip((8, 1), written, strict=True)
    ]
    said = [json.loads(each.statistics) for each in written]
    assert [(each["minValues"]["epoch"], each["maxValues"]["epoch"]) for each in said] == [(0, 7), (20, 20)]
    assert sorted(each.name for each in folder.glob("*.parquet")) == sorted(each.path for each in written)
    assert epochs(tables.all_rows(DRIVERS)) == []
    tables.append(DRIVERS, claims(30), ("query", 1), written)
    assert epochs(tables.all_rows(DRIVERS)) == [*range(8), 20, 30]
    assert tables.version(DRIVERS) == 1


def test_what_a_driver_enters_again_after_it_was_lost_is_there_once(tables: TableStore) -> None:
    for _ in range(2):
        tables.append(DRIVERS, DRIVERS.no_rows, ("query", 1), write_by_tasks(tables, DRIVERS, frames(claims(1, 2))))
    assert epochs(tables.all_rows(DRIVERS)) == [1, 2]


def test_files_are_stored_before_their_entry(tables: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    tables.append(DRIVERS, claims(0))
    stored = note_stored(monkeypatch)
    written = write_by_tasks(tables, DRIVERS, frames(claims(1), claims(2)))
    assert stored == ["rows", "drivers"] * 2
    tables.append(DRIVERS, DRIVERS.no_rows, None, written)
    assert stored[4:] == [f"{2:020d}.json", "_delta_log"]


def test_what_a_task_does_is_sent_to_where_it_runs(tables: TableStore) -> None:
    sent = pickle.loads(pickle.dumps(_WriteFile(tables.files, tables.path(DRIVERS), DRIVERS.arrow_schema)))
    (told,) = sent(iter(claims(1, 2).to_batches()))
    assert DataFile(*json.loads(told["file"][0].as_py())).rows == 2
    assert list(sent(iter(claims().to_batches()))) == []
