"""A start reads the table piece by piece: whatever order rows come in, the index is that of all of them at once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.index_histories import HISTORIES, PLACES, history, index_of, known, lives, moment, taken_in_whole
from builders.index_rows import LogKey, add, begin, life, run
from builders.record_indexes import content
from fakes.tables import MemoryTables
from generators.hypothesis_strategies import law
from offset_sync.state import staged_rows
from offset_sync.state.index_pages import IndexPages
from offset_sync.state.index_rows import IndexRows
from offset_sync.state.spill_file import SpillFile
from offset_sync.state.staged_rows import StagedRows
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECORD_RUNS
from offset_sync.tables.definition import Table

FEW_BYTES = 8 * 240


@law(150)
@given(HISTORIES)
def test_a_start_with_little_memory_knows_the_same(rng: random.Random) -> None:
    tables = MemoryTables(batch_rows=rng.randrange(1, 9))
    rows = history(rng)
    rng.shuffle(rows)
    for first in range(0, len(rows), 5):
        add(tables, RECORD_RUNS, *rows[first : first + 5])
    if begun := lives(rng):
        add(tables, LOG_INCARNATIONS, *begun)
    small, large = index_of(tables, IndexPages(FEW_BYTES, page_runs=4)), index_of(tables)
    assert known(small) == known(large) == known(taken_in_whole(tables))


@law(150)
@given(HISTORIES, st.integers(1, 30), st.integers(1, 9))
def test_rows_come_out_by_log_and_offset_and_what_has_one_offset_together(
    rng: random.Random, most_rows: int, part: int
) -> None:
    rows = [[rng.randrange(3), rng.randrange(20), rng.randrange(2), 0, rng.randrange(-1, 2)] for _ in range(60)]
    staged = StagedRows(most_rows)
    for first in range(0, len(rows), part):
        columns = np.array(rows[first : first + part], np.int64).T
        staged.add(IndexRows(*columns, *np.zeros((4, columns.shape[1]), np.int64)))
    wanted = sorted(rows, key=lambda row: (row[0], row[1], row[2], -row[4]))
    for only in (None, frozenset({1}), None):
        found = [list(zip(*(c.tolist() for c in each.columns[:5]), strict=True)) for each in staged.in_order(only)]
        told = [list(row) for each in found for row in each if only is None or row[0] in only]
        assert told == [row for row in wanted if only is None or row[0] in only]
        for before, after in pairwise(found):
            assert before[-1][:2] < after[0][:2]
    assert staged.sizes.sum() == 60


def test_of_a_table_in_the_order_of_time_little_is_in_memory_at_once() -> None:
    staged = StagedRows(64)
    for first in range(0, 4_000, 8):
        start = np.repeat(np.arange(first, first + 8), 2)
        log = np.tile([0, 1], 8)
        staged.add(IndexRows(log, start, *np.ones((7, 16), np.int64)))
    sizes = [len(rows) for rows in staged.in_order()]
    assert sum(sizes) == 8_000
    assert max(sizes) <= 128


def test_what_the_disk_has_no_room_for_stays_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    tables = MemoryTables(batch_rows=3)
    add(tables, RECORD_RUNS, *(run(n, 1, "XY"[n % 2], n // 2) for n in range(60)))
    monkeypatch.setattr(SpillFile, "put", refuse)
    assert known(index_of(tables, IndexPages(FEW_BYTES, page_runs=4))) == known(index_of(tables))


def test_a_table_that_fits_is_not_written_to_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staged_rows, "SpillFile", None)
    tables = MemoryTables()
    add(tables, RECORD_RUNS, *(run(n, 1, "XY"[n % 2], n // 2) for n in range(60)))
    assert content(index_of(tables, IndexPages(1 << 20)))[1] == 60  # type: ignore[index]


class Cleaned(MemoryTables):
    """Files go while they are read, so many times; and what was appended can no longer be told."""

    gone = 0
    is_cleaned = False

    def batches(self, table: Table, *args: Any, **options: Any) -> Iterator[pa.Table]:
        """Fail after the first piece."""
        for piece in super().batches(table, *args, **options):
            yield piece
            if self.gone:
                self.gone -= 1
                raise FileNotFoundError("part-0")

    def read_added(self, table: Table, after: int, until: int) -> pa.Table:
        """Fail."""
        if self.is_cleaned and after and table is RECORD_RUNS:
            raise FileNotFoundError("1.json")
        return super().read_added(table, after, until)


def test_files_that_are_cleaned_up_meanwhile_are_looked_for_anew() -> None:
    tables = Cleaned(batch_rows=2)
    add(tables, RECORD_RUNS, run(0, 3), run(3, 2, origin_start=3), run(5, 1, "Y", 5))
    wanted = known(index_of(tables))
    tables.gone = 2
    assert known(index_of(tables)) == wanted
    tables.gone = 9
    with pytest.raises(FileNotFoundError):
        index_of(tables)


def test_a_reader_that_retention_has_overtaken_reads_all_anew_and_bounds_of_before_are_void() -> None:
    tables = Cleaned()
    add(tables, RECORD_RUNS, run(0, 3), begin(0, place=PLACES[1]))
    index = index_of(tables, IndexPages(FEW_BYTES, page_runs=4))
    index.take_grown()
    add(tables, RECORD_RUNS, run(3, 40, "Y", 3))
    tables.is_cleaned = True
    index.refresh()
    assert known(index) == known(index_of(tables))
    places: set[LogKey] = {tuple(each) for each in index.all_logs()}
    assert places == set(PLACES[:2])
    assert index.partitions("Y", "orders") == 1
    assert {index.rebuilt(each) for each in index.take_grown()} == {1}


@pytest.mark.parametrize("restarted_at", range(6, 20))
def test_where_a_log_was_cut_behind_a_marker_nothing_lacks_whatever_piece_says_so(restarted_at: int) -> None:
    tables = MemoryTables(batch_rows=3)
    gone = [run(n, 1, "Y", n, seen_ms=1) for n in range(5, 16)]
    query = begin(restarted_at) | {"indexed_at": moment(1)}
    present = [begin(5) | {"indexed_at": moment(20)}, run(5, 3, "Y", 5, seen_ms=20)]
    add(tables, RECORD_RUNS, begin(0), run(0, 4, "Y", 0), *gone, query, *present)
    add(tables, LOG_INCARNATIONS, life("Y", 5, noticed_ms=10))
    small = index_of(tables, IndexPages(FEW_BYTES, page_runs=4))
    assert content(small) == content(taken_in_whole(tables))
    assert content(small)[2:4] == (["Y", "Y"], [0, 5])  # type: ignore[index]
