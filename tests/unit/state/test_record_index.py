"""The record index in memory: kept up piece by piece it is the same as read in one, though logs are cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.index_rows import LogKey, add, begin, edge, life, run
from builders.record_indexes import cache_of, content, log_of, read_in_one
from fakes.tables import MemorySegments, MemoryTables
from generators.hypothesis_strategies import law
from offset_sync.model.values import ClusterPartition
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import (
    ARRIVED,
    INDEXED_TOPICS,
    LOG_INCARNATIONS,
    RECORD_RUNS,
)
from offset_sync.tables.definition import Table
from offset_sync.tables.segments import Segments, TableFiles
from offset_sync.translate.exact import Bounds, translate
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.pieces import cut_pieces


def gappy() -> list[list[dict[str, Any]]]:
    """A query read up to 30; another one, with a new checkpoint, began at 50."""
    return [[begin(0), run(0, 30)], [begin(50), run(50, 10, origin_start=50)], [run(60, 5, origin_start=60), edge(70)]]


def test_records_between_two_queries_were_never_read_and_count_as_unread_by_all_groups() -> None:
    tables = MemoryTables()
    kept_up = cache_of(tables)
    for rows in gappy():
        add(tables, RECORD_RUNS, *rows)
        kept_up.refresh()
    expected = (0, 70, ["X", "", "X"], [0, 30, 50], [30, 20, 15], [0, 30, 50], [0, 0, 0])
    assert content(kept_up) == content(read_in_one(tables)) == expected


def test_a_query_that_begins_below_or_where_another_ended_leaves_nothing_out() -> None:
    for first in (0, 20, 30):
        tables = MemoryTables()
        add(tables, RECORD_RUNS, begin(0), run(0, 30))
        kept_up = read_in_one(tables)
        add(tables, RECORD_RUNS, begin(first), run(first, 40 - first, origin_start=first))
        kept_up.refresh()
        expected = (0, 40, ["X"], [0], [40], [0], [0])
        assert content(kept_up) == content(read_in_one(tables)) == expected


places = st.sampled_from([("Y", "orders", 0), ("Y", "orders", 1), ("Z", "orders", 0), ("Y", "pay", 0)])


@st.composite
def batches(draw: st.DrawFn) -> list[list[dict[str, Any]]]:
    """What an indexer appends, version by version: runs of several partitions, each beginning with an edge."""
    next_offset: dict[LogKey, int] = {}
    found: list[list[dict[str, Any]]] = []
    for seen_ms in range(draw(st.integers(1, 5))):
        rows = []
        for place in draw(st.lists(places, max_size=3, unique=True)):
            if place not in next_offset:
                next_offset[place] = draw(st.integers(0, 3))
                rows.append(begin(next_offset[place], place=place))
            for origin, length, gap in draw(
                st.lists(st.tuples(st.sampled_from(["X", "Y", ""]), st.integers(1, 4), st.integers(0, 1)), max_size=4)
            ):
                offset = next_offset[place] + gap
                rows.append(run(offset, length, origin, offset, place=place, seen_ms=seen_ms))
                next_offset[place] = offset + length
            if draw(st.booleans()):
                next_offset[place] += 1
                rows.append(edge(next_offset[place], place=place))
        found.append(rows)
    return found


@law(100)
@given(batches(), st.lists(st.booleans(), min_size=5, max_size=5), st.booleans())
def test_kept_up_in_any_steps_the_index_is_the_same_as_read_in_one(
    versions: list[list[dict[str, Any]]], refreshes: list[bool], is_repeated: bool
) -> None:
    tables = MemoryTables()
    kept_up = cache_of(tables)
    for rows, is_read in zip(versions, refreshes):
        add(tables, RECORD_RUNS, *rows)
        if is_read:
            kept_up.refresh()
    if is_repeated:  # indexed again with another checkpoint
        kept_up.refresh()
        for rows in versions[:2]:
            add(tables, RECORD_RUNS, *rows)
    kept_up.refresh()
    fresh = read_in_one(tables)
    assert kept_up._logs.keys() == fresh._logs.keys()
    for place in fresh._logs:
        assert content(kept_up, place) == content(fresh, place)


AT_X, AT_Y = ("X", "orders", 0), ("Y", "orders", 0)
NAMES = ("offset", "duplicates", "duplicates_at_most")


class Interrupted(MemoryTables):
    """Something happens each time rows that are not sealed are read again, and before the topics are, which is last."""

    happens: Callable[[], None] = staticmethod(lambda: None)

    def segments(self, table: Table) -> Segments:
        """Return those of which rows are as they were just before."""
        return _Interrupted(self, table)

    def version(self, table: Table, known: int | None = None) -> int:
        """Return it as it is then."""
        if table is INDEXED_TOPICS:
            self.happens()
        return super().version(table, known)


class _Interrupted(MemorySegments):
    tables: Interrupted

    def rows(self, files: TableFiles, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield them as they were just before."""
        found = list(super().rows(files, schema))
        self.tables.happens()
        yield from found


def seen(index: RecordIndex) -> object:
    log = ClusterPartition(*AT_X)
    return (
        list(index.incarnations(log)),
        index.leader_epoch(log),
        content(index, AT_X),
        content(index, AT_Y),
        index.rebuilt(log.topic_partition),
    )


def before_the_cut(tables: MemoryTables) -> RecordIndex:
    """X's ten records are at Y too."""
    for place in (AT_X, AT_Y):
        add(tables, RECORD_RUNS, begin(0, place=place), run(0, 10, place=place, seen_ms=1))
    return read_in_one(tables)


def test_a_life_that_begins_while_another_is_read_is_known_with_its_rows() -> None:
    tables = Interrupted()
    index = before_the_cut(tables)

    def cut_again() -> None:
        tables.happens = lambda: None
        add(tables, RECORD_RUNS, begin(6, place=AT_X), run(6, 2, origin_start=6, place=AT_X, seen_ms=20))
        add(tables, LOG_INCARNATIONS, life("X", 3, noticed_ms=30))
        add(tables, RECORD_RUNS, begin(3, place=AT_X), run(3, 1, origin_start=3, place=AT_X, seen_ms=40))

    def cut_another() -> None:
        tables.happens = cut_again
        for log in (AT_X, AT_Y):
            add(tables, LOG_INCARNATIONS, life(log[0], 2, noticed_ms=15) | {"partition": 1})

    for alias in "XY":
        add(tables, RECORD_RUNS, begin(0, place=(alias, "orders", 1)), run(0, 5, place=(alias, "orders", 1), seen_ms=1))
    index.refresh()
    tables.happens = cut_another
    add(tables, LOG_INCARNATIONS, life("X", 6, noticed_ms=10))
    for _ in range(4):
        index.refresh()
        log = log_of(index, AT_X)
        assert not log.is_contradicted
    assert content(index, ("X", "orders", 1)) == content(read_in_one(tables), ("X", "orders", 1))
    assert len(index.incarnations(ClusterPartition(*AT_X))) == 2
    assert seen(index)[:4] == seen(read_in_one(tables))[:4]  # type: ignore[index]


@pytest.mark.parametrize("begins_at", [0, 4])
def test_a_log_that_was_cut_after_the_last_late_copy_has_none_in_what_came_since(begins_at: int) -> None:
    """X was recreated at 10 ms, and at 20 ms, when Y ended at 8, no copy of before was on its way any more."""
    tables = MemoryTables()
    add(tables, LOG_INCARNATIONS, life("X", 0, noticed_ms=10))
    add(tables, LOG_INCARNATIONS, life("Y", 8, noticed_ms=20, reason=ARRIVED) | {"leader_epoch": None})
    add(tables, RECORD_RUNS, begin(0), run(0, 8, "X", 0, seen_ms=15))
    assert origins(read_in_one(tables)) == [UNKNOWN_ORIGIN]
    add(tables, LOG_INCARNATIONS, life("Y", begins_at, noticed_ms=30))
    add(tables, RECORD_RUNS, begin(begins_at), run(begins_at, 3, "X", 20, seen_ms=40))
    index = read_in_one(tables)
    assert origins(index) == [UNKNOWN_ORIGIN] * (begins_at > 0) + [index.code("X")]


def origins(index: RecordIndex) -> list[int]:
    log = log_of(index, AT_Y)
    return log.runs.origin.tolist()


@pytest.mark.parametrize("produced_at", ["X", "Y"])
def test_what_a_group_has_read_before_a_cut_is_among_the_records_that_it_may_read_again(produced_at: str) -> None:
    """It has read ten, of which four are lost, and then the three that came in their place; Y has all of them."""
    tables, copied_ms = MemoryTables(), 1
    for place in (AT_X, AT_Y):
        add(tables, RECORD_RUNS, begin(0, place=place), run(0, 10, produced_at, place=place, seen_ms=copied_ms))
    add(tables, LOG_INCARNATIONS, life("X", 6, noticed_ms=10))
    add(tables, LOG_INCARNATIONS, life("Y", 10, noticed_ms=20, reason=ARRIVED) | {"leader_epoch": None})
    add(tables, RECORD_RUNS, begin(6, place=AT_X), run(6, 3, "X", 6, place=AT_X, seen_ms=30))
    add(tables, RECORD_RUNS, begin(10, place=AT_Y), run(10, 3, "X", 6, place=AT_Y, seen_ms=30))
    index = read_in_one(tables)
    source, target = (PartitionLog(index.log(*place), index.code(place[0])) for place in (AT_X, AT_Y))  # type: ignore[arg-type]
    (answer,) = zip(
        *(getattr(translate(np.array([9]), source, target, Bounds(1_000)), name).tolist() for name in NAMES)
    )
    assert answer == (6, 3, 7), "four that were lost, and the three after them, are read again"


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
