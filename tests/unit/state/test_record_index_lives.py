"""Logs that begin another life while the index is read: it is seen whole, as it was before or as it is then."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pytest

from builders.index_rows import add, begin, life, run
from builders.record_indexes import cache_of, content, log_of, read_in_one
from fakes.tables import MemorySegments, MemoryTables
from offset_sync.model.values import ClusterPartition
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import (
    ARRIVED,
    ELECTED,
    INDEXED_TOPICS,
    LOG_INCARNATIONS,
    RECORD_RUNS,
    RECREATED,
)
from offset_sync.tables.definition import Table
from offset_sync.tables.segments import Segments, TableFiles
from offset_sync.translate.exact import Bounds, translate
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.pieces import cut_pieces

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


def test_where_the_records_of_earlier_leaders_ended_is_known_of_the_topic_as_it_is_now() -> None:
    tables, log = MemoryTables(), ClusterPartition(*AT_X)
    add(tables, LOG_INCARNATIONS, life("X", 0, noticed_ms=1) | {"begins_at": None, "reason": None})
    add(tables, LOG_INCARNATIONS, life("X", 7, noticed_ms=2, reason=ELECTED), life("X", 5, noticed_ms=3))
    index = read_in_one(tables)
    assert set(index.epoch_ends(log)) == {(2, 7, 1), (3, 5, 2)}
    assert [each.begins_at for each in index.incarnations(log)] == [5], "an election that loses nothing is no life"
    add(tables, LOG_INCARNATIONS, life("X", 0, noticed_ms=4, reason=RECREATED) | {"topic_id": "another"})
    index.refresh()
    assert index.epoch_ends(log) == []


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


def test_what_is_read_again_below_the_frontier_contradicts_nothing_wherever_a_micro_batch_began() -> None:
    tables = MemoryTables()
    cache = cache_of(tables)
    add(tables, RECORD_RUNS, begin(0), run(0, 20))
    cache.refresh()
    # Two micro-batches of a checkpoint that was set back; what one in between has read is in the table once only.
    add(tables, RECORD_RUNS, begin(0), run(0, 5), begin(8), run(8, 4, "X", 8))
    cache.refresh()
    log = log_of(cache)
    assert not log.is_contradicted
    assert content(cache) == (0, 20, ["X"], [0], [20], [0], [0])
