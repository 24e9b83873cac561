"""Appends to a table: each version of a writer is there once, in spite of other writers and failures."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from builders.claims import claims, epochs
from offset_sync.tables import table_log
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.files import Files
from offset_sync.tables.store import TableStore
from offset_sync.tables.table_log import Change, TableLog
from offset_sync.tables.transaction_log import DataFile, Version, write_rows
from tools.late_entries import before_entry, lose_answer


def by_delta_rs(tables: TableStore) -> list[int]:
    return epochs(DeltaTable(tables.path(DRIVERS)).to_pyarrow_table())


@pytest.mark.parametrize("writer", [None, ("query", 3)])
def test_an_append_whose_answer_was_lost_is_there_once(
    tables: TableStore, monkeypatch: pytest.MonkeyPatch, writer: tuple[str, int] | None
) -> None:
    lose_answer(monkeypatch)
    tables.append(DRIVERS, claims(1), writer)
    assert (by_delta_rs(tables), tables.version(DRIVERS)) == ([1], 1)


def test_what_was_changed_between_the_look_and_the_entry_does_not_stop_it(
    tables: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        tables.append(DRIVERS, claims(number), ("query", number))
    before_entry(monkeypatch, DeltaTable(tables.path(DRIVERS)).optimize.compact)
    tables.append(DRIVERS, claims(3), ("query", 3))
    assert (by_delta_rs(tables), tables.version(DRIVERS)) == ([0, 1, 2, 3], 5)


def test_a_file_that_is_too_old_gets_no_entry_for_maintenance_may_take_it(tables: TableStore) -> None:
    file = write_rows(tables.files, tables.path(DRIVERS), DRIVERS.arrow_schema, [claims(1)])
    old = file._replace(written_ms=file.written_ms - 300_000)
    with pytest.raises(TimeoutError, match=r"no entry within 300 s .*max_offsets_per_trigger"):
        tables.append(DRIVERS, DRIVERS.no_rows, ("query", 0), [old])
    assert tables.version(DRIVERS) == 0
    tables.append(DRIVERS, DRIVERS.no_rows, ("query", 0), [file])
    tables.append(DRIVERS, DRIVERS.no_rows, ("query", 0), [old])  # a repetition, which enters nothing
    assert by_delta_rs(tables) == [1]


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
    assert by_delta_rs(tables) == [1, 2]


def test_a_list_with_a_gap_is_recreated(tables: TableStore, path: str) -> None:
    """As one may be that is made on S3 while others put: the later entry is in it, and the one before is not."""
    whole = entry(path, 2).read_text()
    entry(path, 2).unlink()
    with pytest.raises(DeltaError, match=table_log._GAP):
        DeltaTable(path)
    threading.Timer(0.5, lambda: entry(path, 2).write_text(whole)).start()
    assert log_at(path).newest().number == 3
    assert log_at(path).commit(lambda _now: Change([new_file(tables, 3)])) == 4
    assert by_delta_rs(tables) == [1, 2, 3]
