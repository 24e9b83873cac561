"""Rows of which only bounds are known, through the table into the index: as they come, and read in one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from builders.index_rows import EPOCH, add, begin, edge, life, run
from builders.record_indexes import cache_of, read_in_one
from fakes.sealed_tables import SealedInMemory
from fakes.tables import MemoryTables
from offset_sync.contents.alignment.aligner import Decision
from offset_sync.contents.alignment.records import Identities, Kind, Places
from offset_sync.contents.rows import decided_rows
from offset_sync.model.values import ClusterPartition
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import AT_MOST, LOG_INCARNATIONS, NOT_BEFORE, RECORD_RUNS
from offset_sync.translate.exact import Bounds, translate
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs, at_most
from offset_sync.translate.partition_log import PartitionLog

AT_Y = ClusterPartition("Y", "orders", 0)


def at_most_row(start: int, length: int, origin_start: int) -> dict[str, Any]:
    return run(start, length, origin_start=origin_start) | {"bound": AT_MOST}


def not_before_row(start: int, length: int, original: int) -> dict[str, Any]:
    return run(start, length, origin_start=original) | {"bound": NOT_BEFORE}


def both_ways(*batches: list[dict[str, Any]]) -> list[tuple[RecordIndex, LogIndex]]:
    """Kept up batch by batch, and read in one."""
    tables = MemoryTables()
    kept_up = cache_of(tables)
    for rows in batches:
        add(tables, RECORD_RUNS, *rows)
        kept_up.refresh()
    found = [(index, index.log(*AT_Y)) for index in (kept_up, read_in_one(tables))]
    return [(index, log) for index, log in found if log is not None]


def places(index: RecordIndex, log: LogIndex) -> dict[int, int]:
    of_x = log.unrecognised(index.code("X"))
    assert (of_x.end - of_x.start == 1).all()
    return dict(zip(of_x.start.tolist(), of_x.position.tolist()))


def test_a_row_that_says_at_most_is_a_record_and_one_that_says_not_before_is_none() -> None:
    first = [begin(0), run(0, 3), at_most_row(3, 1, 9), not_before_row(3, 1, 3), not_before_row(3, 1, 9), edge(4)]
    for index, log in both_ways(first, [begin(4), run(4, 2, origin_start=4)]):
        x = index.code("X")
        assert log.runs.start.tolist() == [0, 3, 4]
        assert log.runs.origin.tolist() == [x, at_most(x), x]
        assert (log.begin, log.frontier, log.is_contradicted) == (0, 6, False)
        assert places(index, log) == {3: 3, 9: 3}


def test_the_latest_place_counts_in_whatever_order_rows_come() -> None:
    first = [begin(0), at_most_row(0, 2, 8), not_before_row(1, 1, 3), not_before_row(0, 1, 3), edge(2)]
    for index, log in both_ways(first, [begin(2), at_most_row(2, 1, 9), not_before_row(2, 1, 3)]):
        assert places(index, log) == {3: 2}


def test_a_place_that_comes_late_makes_earlier_answers_void() -> None:
    tables = MemoryTables()
    index = cache_of(tables)
    add(
        tables,
        RECORD_RUNS,
        begin(0),
        run(0, 3),
        at_most_row(3, 1, 3),
        not_before_row(3, 1, 3),
        run(4, 2, origin_start=4),
    )
    index.refresh()
    before = index.log(*AT_Y).reorder_count()  # type: ignore[union-attr]
    add(tables, RECORD_RUNS, begin(6), at_most_row(6, 1, 3), not_before_row(6, 1, 3), edge(7))
    index.refresh()
    assert index.log(*AT_Y).reorder_count() == before + 1  # type: ignore[union-attr]


def test_rows_that_come_again_and_say_less_or_more_contradict_nothing() -> None:
    first = [begin(0), run(0, 5), at_most_row(5, 1, 9), run(6, 4, origin_start=6), edge(10)]
    again = [begin(2), run(2, 6, origin_start=2), at_most_row(8, 2, 20), not_before_row(8, 1, 8), edge(10)]
    for _, log in both_ways(first, again):
        assert not log.is_contradicted
        assert log.frontier == 10
    for _, log in both_ways(first, [begin(2), run(2, 6, origin_start=3), edge(10)]):
        assert log.is_contradicted


def test_where_a_log_has_another_life_what_is_only_bounded_is_unread_by_everyone() -> None:
    tables = MemoryTables()
    add(tables, LOG_INCARNATIONS, life("X", 50, noticed_ms=5))
    rows = [begin(0), run(0, 3), at_most_row(3, 1, 9), not_before_row(3, 1, 3), run(4, 2, origin_start=4)]
    add(tables, RECORD_RUNS, *(row | {"indexed_at": EPOCH + timedelta(milliseconds=9)} for row in rows))
    index = read_in_one(tables)
    log = index.log(*AT_Y)
    assert log is not None
    assert log.runs.origin.tolist() == [index.code("X"), UNKNOWN_ORIGIN, index.code("X")]
    assert (log.last_unknown, log.unrecognised_records) == (3, 0)


def random_identities(rng: np.random.Generator, begin: int, end: int) -> Identities:
    offset = np.arange(begin, end)[rng.random(end - begin) < 0.8]
    kind = rng.choice([Kind.EXACT, Kind.EXACT, Kind.BOUNDED, Kind.ALIEN], len(offset)).astype(np.int8)
    low = np.where(kind == Kind.EXACT, offset + 7, 0)
    high = np.where(kind == Kind.BOUNDED, offset + rng.integers(7, 12, len(offset)), offset + 7)
    original = np.unique(rng.integers(begin, end + 20, 5)) if len(offset) else np.empty(0, np.int64)
    return Identities(offset, kind, low, high, Places(original, rng.choice(offset, len(original))))


@pytest.mark.parametrize("seed", range(20))
def test_a_start_from_what_is_sealed_knows_the_same(seed: int) -> None:
    rng, tables = np.random.default_rng(seed), SealedInMemory()
    kept_up = cache_of(tables)
    for begin_at in range(0, 200, 20):
        found = random_identities(rng, begin_at, begin_at + 20)
        decided = Decision(begin_at, begin_at + 20, found, EPOCH + timedelta(milliseconds=begin_at))
        tables.append(RECORD_RUNS, decided_rows(AT_Y, "X", decided))
        kept_up.refresh()
    tables.seal(4)
    tables.seal(3)
    small = read_in_one(tables)
    told = []
    for index in (kept_up, small):
        log = index.log(*AT_Y)
        assert log is not None
        origin, copies = PartitionLog.of(None, index.code("X")), PartitionLog.of(log, index.code("Y"))
        home = LogIndex()
        home.extend(Runs.of([0], [230], [index.code("X")], [0], [0]), 230)
        forward = translate(np.arange(230), origin, copies, Bounds(10**9))
        backward = translate(np.arange(200), copies, PartitionLog.of(home, index.code("X")), Bounds(10**9))
        latest = log.unrecognised(index.code("X"))
        told.append(
            (forward.offset.tolist(), backward.offset.tolist(), latest.start.tolist(), latest.position.tolist())
        )
    assert told[0] == told[1]
    assert small.log(*AT_Y).paged.store is not None  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", range(20))
def test_what_is_decided_comes_back_from_the_table_as_it_was(seed: int) -> None:
    decided = random_identities(np.random.default_rng(seed), 0, 60)
    offset, kind, high, original = decided.offset, decided.kind, decided.high, decided.places.original
    tables = MemoryTables()
    tables.append(RECORD_RUNS, decided_rows(AT_Y, "X", Decision(0, 64, decided, EPOCH)))
    index = read_in_one(tables)
    log = index.log(*AT_Y)
    assert log is not None
    assert (log.begin, log.frontier) == (0, 64)
    x, runs = index.code("X"), log.runs
    told = {
        start + i: (origin, of_origin + i)
        for start, length, origin, of_origin in zip(
            runs.start.tolist(), runs.length.tolist(), runs.origin.tolist(), runs.origin_start.tolist()
        )
        for i in range(length)
    }
    codes = {Kind.EXACT: x, Kind.BOUNDED: at_most(x), Kind.ALIEN: UNKNOWN_ORIGIN}
    right = {
        at: (codes[Kind(each)], at if each == Kind.ALIEN else most)
        for at, each, most in zip(offset.tolist(), kind.tolist(), high.tolist())
    }
    assert told == right
    latest = log.unrecognised(x)
    assert latest.records == len(original)
    for number, place in zip(original.tolist(), decided.places.offset.tolist()):
        row = int(latest.start.searchsorted(number, "right")) - 1
        assert latest.position[row] + number - latest.start[row] == place
