"""Rows that make no sense, and appends that do not join on: what lacks is of unknown origin."""

from __future__ import annotations

import pytest

from builders.index_rows import LogKey, add, begin, edge, run
from fakes.tables import MemoryTables
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN


def cache_of(tables: MemoryTables) -> RecordIndex:
    return RecordIndex(tables)  # type: ignore[arg-type]


def read_in_one(tables: MemoryTables) -> RecordIndex:
    cache = cache_of(tables)
    cache.refresh()
    return cache


def content(cache: RecordIndex, place: LogKey = ("Y", "orders", 0)) -> tuple[object, ...] | None:
    log = cache.log(*place)
    if log is None:
        return None
    names = {code: name for name, code in cache._codes.items()}
    runs = log.runs
    columns = (runs.start, runs.length, runs.origin_start, runs.indexed_at_ms)
    origins = [names[code] for code in runs.origin.tolist()]
    return log.begin, log.frontier, origins, *(column.tolist() for column in columns)


@pytest.mark.parametrize("origin_start", [2**62, 2**62 - 2, 2**63 - 1, -7])
def test_rows_of_an_earlier_version_with_a_number_that_no_log_has_are_of_unknown_origin(origin_start: int) -> None:
    tables = MemoryTables()
    add(tables, RECORD_RUNS, run(0, 3), run(3, 3, "X", origin_start), run(6, 1, "X", 3))
    cache = read_in_one(tables)
    log = cache.log("Y", "orders", 0)
    assert log is not None
    assert [code == UNKNOWN_ORIGIN for code in log.runs.origin.tolist()] == [False, True, False]
    assert log.positions(cache.code("X")).end.tolist() == [3, 4]
    # Indexed anew with today's decoder they come as what they are taken for: no contradiction.
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
