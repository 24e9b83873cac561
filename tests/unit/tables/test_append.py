"""Appends to a table: each version of a writer is there once, in spite of other writers and failures."""

from __future__ import annotations

import threading
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from builders.claims import claims, epochs
from offset_sync.model.errors import TakenOverError
from offset_sync.state.lease import FencedTables
from offset_sync.tables import table_log
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.store import TableStore
from offset_sync.tables.transaction_log import write_rows
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
        tables.append(DRIVERS, DRIVERS.no_rows, None, [old])
    assert tables.version(DRIVERS) == 0


def test_a_driver_that_was_taken_over_appends_and_replaces_nothing(tables: TableStore) -> None:
    fence = MagicMock()
    fenced = FencedTables(tables.root, fence)
    fenced.append(DRIVERS, claims(1))
    fence.renew.side_effect = TakenOverError("another writer")
    fenced.append(DRIVERS, claims())
    for write, rows in ((fenced.append, claims(2)), (fenced.replace, claims(2)), (fenced.replace, claims())):
        with pytest.raises(TakenOverError):
            write(DRIVERS, rows)
    assert by_delta_rs(tables) == [1]


def test_a_list_with_a_gap_is_recreated(tables: TableStore) -> None:
    """As one may be that is made on S3 while others put: the later entry is in it, and the one before is not."""
    for number in (1, 2, 3):
        tables.append(DRIVERS, claims(number))
    before = Path(tables.path(DRIVERS), "_delta_log", f"{2:020d}.json")
    whole = before.read_text()
    before.unlink()
    with pytest.raises(DeltaError, match=table_log._GAP):
        DeltaTable(tables.path(DRIVERS))
    threading.Timer(0.5, lambda: before.write_text(whole)).start()
    other = TableStore(tables.root)
    assert other.version(DRIVERS) == 3
    other.append(DRIVERS, claims(4))
    assert by_delta_rs(tables) == [1, 2, 3, 4]
