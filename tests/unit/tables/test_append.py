"""Appends to a table: each version of a writer is there once, in spite of other writers and failures."""

from __future__ import annotations

import shutil
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from deltalake import DeltaTable, TableFeatures
from deltalake.exceptions import DeltaError

from builders.claims import claims, epochs
from builders.spark_tables import checkpoint_every_tenth
from histories.calls import NEVER, Interruption
from histories.machine import histories
from histories.run import try_histories
from histories.world import template
from offset_sync.model.errors import TableError, TakenOverError
from offset_sync.state.lease import FencedTables
from offset_sync.tables import log_repair, table_log
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.log_repair import alone
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.store import TableStore
from offset_sync.tables.transaction_log import write_rows
from tools.late_entries import before_entry, lose_answer
from tools.stored_names import note_stored


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


def test_a_process_that_was_away_while_entries_were_cleaned_up_writes_and_reads_on(
    tables: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, reader, seldom = (TableStore(tables.root) for _ in range(3))
    writer.append(DRIVERS, claims(0))
    for each in (reader, seldom):
        each.version(DRIVERS)
    for number in range(1, 4):
        tables.append(DRIVERS, claims(number))
    other = Maintainer(tables, timedelta(0))
    other.prepare(DRIVERS)
    other.clean_up(DRIVERS)
    seldom.append(DRIVERS, claims(4), ("query", 1))
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 301)
    assert epochs(reader.rows_since(DRIVERS, 1)[0]) == [*range(5)]
    writer.append(DRIVERS, claims(5))
    assert by_delta_rs(tables) == [*range(6)]


def test_that_a_table_was_removed_is_told(tables: TableStore) -> None:
    tables.version(DRIVERS)
    shutil.rmtree(tables.path(DRIVERS))
    with pytest.raises(TableError):
        tables.append(DRIVERS, claims(1))


def test_an_entry_that_took_long_may_be_below_later_ones(tables: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def be_away() -> None:
        tables.log(DRIVERS)._known_at = 0.0, 0.0
        (log_of(tables) / entry(0)).unlink()  # cleaned up

    before_entry(monkeypatch, be_away)
    with pytest.raises(TimeoutError, match="entry 1 may be below later ones"):
        tables.append(DRIVERS, claims(1))


def test_a_table_with_a_feature_that_asks_more_of_writers_is_not_written(tables: TableStore) -> None:
    DeltaTable(tables.path(DRIVERS)).alter.add_feature(
        TableFeatures.ChangeDataFeed, allow_protocol_versions_increase=True
    )
    with pytest.raises(
        TableError, match=r"drivers: another tool has enabled changeDataFeed; give tables\.root another"
    ):
        tables.append(DRIVERS, claims(1))
    assert tables.version(DRIVERS) == 1


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


# What is stored in which order, and what comes again after a power failure, a crash, or on a full disk


def entry(version: int) -> str:
    return f"{version:020d}.json"


def log_of(tables: TableStore) -> Path:
    return Path(tables.path(DRIVERS), "_delta_log")


def test_a_table_its_columns_and_its_properties_are_stored_before_that_returns(
    tables: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = note_stored(monkeypatch)
    other = TableStore(f"{tables.root}/more")
    other.create([DRIVERS])
    assert stored[:7] == [entry(0), entry(0), "_delta_log", "_delta_log", "drivers", "drivers", "more"]
    above = [each.name for each in Path(other.root).absolute().parents]
    assert stored[7:] == ["more", *above]
    stored.clear()
    TableStore(other.root).create([DRIVERS])  # its creator may have been killed before
    assert stored == [entry(0), "_delta_log", "_delta_log", "drivers", "drivers", "more", "more", *above]
    stored.clear()
    other.log(DRIVERS).set_properties({"delta.checkpointInterval": "3"})
    assert stored == [entry(1), "_delta_log"]


def test_no_writer_waits_for_a_process_that_is_stopped_in_a_checkpoint_or_a_clean_up(tables: TableStore) -> None:
    checkpoint_every_tenth(tables, DRIVERS)
    with alone(Path(tables.path(DRIVERS))) as is_alone:
        assert is_alone
        for number in range(12):
            tables.append(DRIVERS, claims(number))
        Maintainer(tables, timedelta(hours=1)).clean_up(DRIVERS)
        assert not list(log_of(tables).glob("*.checkpoint*"))
    for number in range(12, 22):
        tables.append(DRIVERS, claims(number))
    assert list(log_of(tables).glob("*.checkpoint*"))
    assert epochs(TableStore(tables.root).all_rows(DRIVERS)) == list(range(22))


def test_a_repair_that_waits_for_long_says_what_to_do(tables: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    torn = log_of(tables) / f"{0:020d}.checkpoint.parquet"
    torn.touch()
    monkeypatch.setattr(log_repair, "_PATIENCE_SECONDS", 0.1)
    with alone(Path(tables.path(DRIVERS))), pytest.raises(TableError, match="hangs, end it"):
        tables.repair()
    tables.repair()
    assert not torn.exists()


def test_a_checkpoint_is_not_removed_where_nothing_else_says_the_same(tables: TableStore) -> None:
    for number in range(3):
        tables.append(DRIVERS, claims(number))
    DeltaTable(tables.path(DRIVERS)).create_checkpoint()
    (found,) = log_of(tables).glob("*.checkpoint.parquet")
    whole = found.read_bytes()
    found.write_bytes(whole[:50])
    copy = shutil.copytree(tables.path(DRIVERS), Path(tables.root, "copy", "drivers"))
    assert epochs(mended(tables.root).all_rows(DRIVERS)) == [0, 1, 2]
    (copy / "_delta_log" / entry(1)).unlink()  # cleaned up
    with pytest.raises(TableError, match="the entries before it are gone"):
        mended(str(copy.parent))
    (copy / "_delta_log" / found.name).write_bytes(whole)
    assert epochs(mended(str(copy.parent)).all_rows(DRIVERS)) == [0, 1, 2]


def mended(root: str) -> TableStore:
    found = TableStore(root)
    found.create([DRIVERS])
    return found


@pytest.mark.parametrize("seed", [5, 7])
def test_what_was_acknowledged_is_there_once_and_the_rest_whole_or_not_at_all(seed: int) -> None:
    """The same few histories each time, by which protections are noticed; ``make test-tables`` tries new ones."""
    try_histories(examples=4, steps=20, seed=seed, is_shrunk=False)


def test_what_was_joined_while_a_clean_up_was_suspended_for_hours_is_not_deleted_by_it() -> None:
    machine: Any = histories(template())()
    try:
        for _ in range(4):
            machine.go_on(step=("append", [(0, "dc1", 0, 1)], NEVER))
        machine.go_on(step=("clean_up", 1, Interruption("hours pass", "", 1)))
        machine.a_reader_that_starts_finds_what_there_is()
    finally:
        machine.teardown()
