"""The loop by which everything is entered into a log: who loses a race decides again, and nothing is entered twice."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from builders.claims import claims, epochs
from offset_sync.model.errors import TableError
from offset_sync.tables import table_log
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.files import Files
from offset_sync.tables.store import TableStore
from offset_sync.tables.table_log import Change, TableLog
from offset_sync.tables.transaction_log import DataFile, Version, write_rows


@pytest.fixture
def path(tables: TableStore) -> str:
    """A table of which rows may go, with two files."""
    tables.log(DRIVERS).set_properties({"delta.appendOnly": "false"})
    for number in (1, 2):
        tables.append(DRIVERS, claims(number))
    return tables.path(DRIVERS)


def log_at(path: str) -> TableLog:
    return TableLog(path, Files())


def entry(path: str, version: int) -> Path:
    return Path(path, "_delta_log", f"{version:020d}.json")


def new_file(tables: TableStore, *numbers: int) -> DataFile:
    name = f"{'-'.join(map(str, numbers))}.parquet"
    written = write_rows(tables.files, tables.path(DRIVERS), DRIVERS.arrow_schema, [claims(*numbers)], name=name)
    return written._replace(statistics="{}", rows=None)


def rows(tables: TableStore) -> list[int]:
    return epochs(DeltaTable(tables.path(DRIVERS)).to_pyarrow_table())


def test_of_two_removals_of_the_same_files_by_one_look_only_one_goes_through(tables: TableStore, path: str) -> None:
    """The other is asked again, and would have its rows twice if delta-rs let it pass by itself."""
    first, second, asked = log_at(path), log_at(path), list[int]()
    held = first.newest().files()

    def of_second(now: Version) -> Change | None:
        asked.append(now.number)
        if len(asked) == 1:
            first.commit(lambda _now: Change([new_file(tables, 1, 2)], held, moves=True))
        there = {each.path for each in now.files()}
        return Change([new_file(tables, 2, 1)], held, moves=True) if {each.path for each in held} <= there else None

    before = first.newest().number
    assert second.commit(of_second) is None
    assert asked == [before, before + 1]
    assert rows(tables) == [1, 2]


def test_a_list_with_a_gap_is_recreated(tables: TableStore, path: str) -> None:
    """As one may be that is made on S3 while others put: the later entry is in it, and the one before is not."""
    whole = entry(path, 2).read_text()
    entry(path, 2).unlink()
    with pytest.raises(DeltaError, match=table_log._GAP):
        DeltaTable(path)
    threading.Timer(0.5, lambda: entry(path, 2).write_text(whole)).start()
    assert log_at(path).newest().number == 3
    assert log_at(path).commit(lambda _now: Change([new_file(tables, 3)])) == 4
    assert rows(tables) == [1, 2, 3]


def test_others_that_come_between_for_ever_are_an_error_after_a_while(
    tables: TableStore, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_log, "PATIENCE_SECONDS", 0.5)
    enter, number = DeltaTable.create_write_transaction, iter(range(10, 1000))

    def enter_after_somebody(self: DeltaTable, *arguments: Any, **named: Any) -> None:
        other = Change([new_file(tables, next(number))]).actions()
        enter(DeltaTable(path), other, "append", self.schema())
        enter(self, *arguments, **named)

    monkeypatch.setattr(DeltaTable, "create_write_transaction", enter_after_somebody)
    mine = new_file(tables, 5)
    with pytest.raises(TableError, match=r"drivers: "):
        log_at(path).commit(lambda _now: Change([mine]))
    assert 5 not in rows(tables)


def test_a_checkpoint_that_cannot_be_written_costs_no_append(
    tables: TableStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_table: DeltaTable) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(DeltaTable, "create_checkpoint", fail)
    tables.log(DRIVERS).set_properties({"delta.checkpointInterval": "2"})
    for number in range(3):
        tables.append(DRIVERS, claims(number))
    assert rows(tables) == [0, 1, 2]
    assert "no checkpoint written: [Errno 28]" in caplog.text
