"""The index keeps within its memory: older runs lie on the disk, and what is asked of them is the same as before."""

from __future__ import annotations

import errno
import logging
import os
import tempfile

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from builders.index_rows import add, life, run
from builders.record_indexes import content
from fakes.tables import MemoryTables
from generators.hypothesis_strategies import law
from offset_sync.state.index_pages import IndexPages, level
from offset_sync.state.packed_columns import pack, unpack
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.spill_file import SpillFile
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECORD_RUNS
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs

FEW_BYTES = 8 * 240
"""Six runs in memory, and twelve of pages."""


def index_of(tables: MemoryTables, pages: IndexPages | None = None) -> RecordIndex:
    return RecordIndex(tables, pages=pages)  # type: ignore[arg-type]


def alternating(index: LogIndex, first: int, runs: int) -> None:
    """Add runs of one record, of two origins in turn."""
    start = np.arange(first, first + runs)
    index.extend(Runs.of(start, np.ones(runs), start % 2, start // 2, start), first + runs)


def grown(tables: MemoryTables, index: RecordIndex, first: int, runs: int) -> None:
    rows = [run(n, 1, "XY"[n % 2], n // 2, seen_ms=n) for n in range(first, first + runs)]
    add(tables, RECORD_RUNS, *rows)
    index.refresh()


def test_an_index_that_is_kept_small_holds_the_same() -> None:
    tables = MemoryTables()
    small, whole = index_of(tables, IndexPages(FEW_BYTES, page_runs=4)), index_of(tables)
    for first in range(0, 60, 10):
        grown(tables, small, first, 10)
        whole.refresh()
        assert content(small) == content(whole)
    log = small.log("Y", "orders", 0)
    assert log is not None
    assert len(log.paged.tail) <= 10
    assert (log.run_count, len(log.paged.pages)) == (60, 13)


def test_a_log_that_begins_another_life_is_taken_in_anew_with_all_its_pages() -> None:
    tables = MemoryTables()
    small = index_of(tables, IndexPages(FEW_BYTES, page_runs=4))
    grown(tables, small, 0, 40)
    add(tables, LOG_INCARNATIONS, life("Y", 20, noticed_ms=1_000))
    small.refresh()
    whole = index_of(tables)
    whole.refresh()
    assert content(small) == content(whole)
    assert small.log("Y", "orders", 0).frontier == 20  # type: ignore[union-attr]


def test_small_logs_keep_what_they_have_and_large_ones_give() -> None:
    logs, pages = [LogIndex() for _ in range(3)], IndexPages(FEW_BYTES * 4, page_runs=4)
    for log, runs in zip(logs, (3, 30, 300), strict=True):
        alternating(log, 0, runs)
    pages.make_room(logs)
    assert [len(log.paged.tail) for log in logs] == [3, 14, 16]
    assert [log.run_count for log in logs] == [3, 30, 300]


@pytest.mark.parametrize(("bytes_each", "page_runs"), [(200 * 240, 256), (2_000 * 240, 500), (4_000 * 240, 1_000)])
def test_pages_are_as_large_as_what_a_log_may_keep_and_never_so_small_that_they_gain_nothing(
    bytes_each: int, page_runs: int
) -> None:
    logs = [LogIndex() for _ in range(10)]
    pages = IndexPages(bytes_each * len(logs))
    for first in range(0, 8_000, 100):
        for log in logs:
            alternating(log, first, 100)
        pages.make_room(logs)
    for log in logs:
        assert set(log.paged.pages.records.tolist()) == {page_runs}
        assert len(log.paged.tail) <= bytes_each // 240 * 1.25 + 256 + 100


@law(200)
@given(st.lists(st.integers(0, 50), min_size=1), st.integers(0, 500))
def test_what_is_too_much_is_shared_so_that_the_largest_keep_as_many_as_there_is_room_for(
    sizes: list[int], most: int
) -> None:
    assume(sum(sizes) > most)
    kept = level(np.array(sizes, np.int64), most)
    assert sum(min(size, kept) for size in sizes) <= most < sum(min(size, kept + 1) for size in sizes)


def test_without_a_limit_all_of_it_stays_in_memory() -> None:
    log = LogIndex()
    alternating(log, 0, 100)
    IndexPages().make_room([log])
    assert len(log.paged.tail) == 100


def test_where_the_disk_is_full_everything_stays_in_memory_and_that_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log, pages, pwrite = LogIndex(), IndexPages(FEW_BYTES, page_runs=4), os.pwrite
    room = [2]

    def write(file: int, data: bytes, offset: int) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        room[0] -= 1
        return pwrite(file, data, offset)

    monkeypatch.setattr(os, "pwrite", write)
    alternating(log, 0, 40)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            pages.make_room([log])
    assert (log.run_count, len(log.paged.pages), len(log.paged.tail)) == (40, 2, 32)
    assert [each.getMessage() for each in caplog.records] == [
        "the index takes more memory than it may, its disk has no room: ENOSPC"
    ]
    assert log.runs.start.tolist() == list(range(40))
    room[0] = 100
    pages.make_room([log])
    assert len(log.paged.tail) < 10
    assert log.runs.start.tolist() == list(range(40))


def test_without_a_folder_for_the_file_everything_stays_in_memory(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(**_options: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    log = LogIndex()
    alternating(log, 0, 40)
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with caplog.at_level(logging.WARNING):
        IndexPages(FEW_BYTES, page_runs=4).make_room([log])
    assert len(log.paged.tail) == 40
    assert "ENOENT" in caplog.text


def test_room_that_was_given_back_is_used_again_and_what_is_not_there_is_an_error() -> None:
    file = SpillFile()
    first, second = (file.put([np.full(4, number)] * 5) for number in (1, 2))
    assert [column.tolist() for column in file.get(first)] == [[1] * 4] * 5
    file.free(first)
    third = file.put([np.full(4, 3)] * 5)
    assert third.offset == first.offset
    assert (file.get(third)[0][0], file.get(second)[0][0]) == (3, 2)
    with pytest.raises(OSError, match="the spill file ends at"):
        file.get(second._replace(offset=second.offset + 8))


@law(200)
@given(st.lists(st.lists(st.integers(-(1 << 62), 1 << 62), min_size=3, max_size=3), min_size=1, max_size=5))
def test_what_is_kept_in_few_bytes_comes_back_as_it_was(columns: list[list[int]]) -> None:
    assert [each.tolist() for each in unpack(pack([np.array(column, np.int64) for column in columns]))] == columns


@pytest.mark.parametrize("span", [0, 1, 255, 256, 65_535, 65_536, (1 << 32) - 1, 1 << 32, (1 << 63) - 1])
@pytest.mark.parametrize("low", [-(1 << 63), -1, 0])
def test_columns_are_as_wide_as_what_lies_between_their_least_and_greatest(low: int, span: int) -> None:
    column = np.array([low + span, low, low + span // 2], np.int64)
    assert unpack(pack([column, column]))[1].tolist() == column.tolist()
    width = next(width for width in (0, 1, 2, 4, 8) if span < 1 << 8 * width)
    assert len(pack([column])) == 32 + 3 * width
