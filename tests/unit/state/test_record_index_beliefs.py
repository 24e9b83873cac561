"""Rows that make no sense, and appends that do not join on: missing records are of unknown origin."""

from __future__ import annotations

import pytest

from builders.index_rows import add, begin, edge, life, run
from builders.record_indexes import cache_of, content, read_in_one
from fakes.tables import MemoryTables
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECORD_RUNS
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.pieces import cut_pieces


@pytest.mark.parametrize("origin_start", [2**62, 2**62 - 2, 2**63 - 1, -7])
def test_rows_of_an_earlier_version_with_a_number_that_no_log_has_are_of_unknown_origin(origin_start: int) -> None:
    tables = MemoryTables()
    add(tables, RECORD_RUNS, run(0, 3), run(3, 3, "X", origin_start), run(6, 1, "X", 3))
    cache = read_in_one(tables)
    log = cache.log("Y", "orders", 0)
    assert log is not None
    assert [code == UNKNOWN_ORIGIN for code in log.runs.origin.tolist()] == [False, True, False]
    assert log.positions(cache.code("X")).end.tolist() == [3, 4]
    # Indexed again with today's decoder they come as what they are taken for: no contradiction.
    add(tables, RECORD_RUNS, run(3, 3, "", 3))
    cache.refresh()
    assert not log.is_contradicted


def test_a_micro_batch_that_begins_where_one_without_a_record_has_ended_joins_on_however_they_are_read() -> None:
    first, second = (begin(0), run(0, 2), edge(4)), (begin(4), run(4, 1, "X", 2))
    for parts in ([(*first, *second)], [(*second, *first)], [first, second]):
        tables = MemoryTables()
        cache = cache_of(tables)
        for part in parts:
            add(tables, RECORD_RUNS, *part)
            cache.refresh()
        assert content(cache) == (0, 5, ["X", "X"], [0, 4], [2, 1], [0, 2], [0, 0])


def test_a_copy_that_a_cut_has_taken_is_unread_until_it_is_there_again() -> None:
    """Y's records 3 and 4 were at X; then X was cut, and goes on with 5: consumers of X do not get them any more."""
    at_x, origin = ("X", "orders", 0), "Y"
    tables = MemoryTables()
    kept_up = cache_of(tables)
    add(tables, RECORD_RUNS, begin(0, place=at_x), run(0, 5, origin, place=at_x, seen_ms=1))
    kept_up.refresh()
    add(tables, LOG_INCARNATIONS, life("X", 3, noticed_ms=10))
    add(tables, RECORD_RUNS, begin(3, place=at_x), run(3, 1, origin, 5, place=at_x, seen_ms=20))
    kept_up.refresh()
    assert [positions(each) for each in (kept_up, read_in_one(tables))] == [{0: 0, 2: 2, 3: None, 4: None, 5: 3}] * 2
    add(tables, RECORD_RUNS, begin(4, place=at_x), run(4, 2, origin, 3, place=at_x, seen_ms=30))
    kept_up.refresh()
    assert [positions(each) for each in (kept_up, read_in_one(tables))] == [{0: 0, 2: 2, 3: 4, 4: 5, 5: 3}] * 2


def test_what_a_cut_has_taken_is_remembered_where_nothing_else_is_left_of_the_log() -> None:
    at_x = ("X", "orders", 0)
    tables = MemoryTables()
    kept_up = cache_of(tables)
    add(tables, RECORD_RUNS, begin(3, place=at_x), run(3, 2, "Y", 3, place=at_x, seen_ms=1))
    kept_up.refresh()
    add(tables, LOG_INCARNATIONS, life("X", 3, noticed_ms=10))
    kept_up.refresh()  # the life is known before what is there now
    add(tables, RECORD_RUNS, begin(3, place=at_x), run(3, 1, "Y", 5, place=at_x, seen_ms=20))
    kept_up.refresh()
    found = [
        {number: each[number] for number in (3, 4, 5)} for each in (positions(kept_up), positions(read_in_one(tables)))
    ]
    assert found == [{3: None, 4: None, 5: 3}] * 2


def test_an_unidentified_record_lost_by_a_cut_may_be_any_missing_record() -> None:
    at_x = ("X", "orders", 0)
    tables = MemoryTables()
    add(tables, RECORD_RUNS, begin(0, place=at_x), run(0, 2, "Y", 0, place=at_x, seen_ms=1))
    add(tables, RECORD_RUNS, begin(2, place=at_x), run(2, 1, "", 2, place=at_x, seen_ms=1))
    add(tables, LOG_INCARNATIONS, life("X", 2, noticed_ms=10))
    add(tables, RECORD_RUNS, begin(2, place=at_x), run(2, 1, "Y", 5, place=at_x, seen_ms=20))
    assert positions(read_in_one(tables)) == {0: 0, 2: None, 3: None, 4: None, 5: 2}


def positions(cache: RecordIndex) -> dict[int, int | None]:
    """Return from which commit at X on some of Y's records are read, None: no commit will do."""
    index = cache.log("X", "orders", 0)
    assert index is not None
    source, y = PartitionLog.of(index, cache.code("X")), cache.code("Y")
    found = {}
    for number in (0, 2, 3, 4, 5):
        needs = int(cut_pieces(Runs.of([0], [1], [y], [number], [0]), source, 1 << 60).needs[0])
        found[number] = needs if needs < NO_LIMIT else None
    return found


def test_what_is_read_again_below_the_frontier_contradicts_nothing_wherever_a_micro_batch_began() -> None:
    tables = MemoryTables()
    cache = cache_of(tables)
    add(tables, RECORD_RUNS, begin(0), run(0, 20))
    cache.refresh()
    # Two micro-batches of a checkpoint that was set back; what one in between has read is in the table once only.
    add(tables, RECORD_RUNS, begin(0), run(0, 5), begin(8), run(8, 4, "X", 8))
    cache.refresh()
    log = cache.log("Y", "orders", 0)
    assert log is not None
    assert not log.is_contradicted
    assert content(cache) == (0, 20, ["X"], [0], [20], [0], [0])
