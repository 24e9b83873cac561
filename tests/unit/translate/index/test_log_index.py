"""What the index knows of one log: the same runs whatever the batches, and never more than was read."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs
from offset_sync.translate.index.time_index import TimeIndex

Record = tuple[int, int, int]
"""(offset, origin, origin offset)"""
Row = tuple[int, int, int, int]
"""(start, length, origin, origin start)"""


def runs_of(*rows: Row, at_ms: int = 0) -> Runs:
    columns = [[row[field] for row in rows] for field in range(4)]
    return Runs.of(*columns, [at_ms] * len(rows))


def rows_of(runs: Runs) -> list[Row]:
    columns = (runs.start, runs.length, runs.origin, runs.origin_start)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def records_of(runs: Runs) -> list[Record]:
    return [(start + n, origin, first + n) for start, length, origin, first in rows_of(runs) for n in range(length)]


def index_of(*batches: tuple[Runs, int], begin: int = 0) -> LogIndex:
    index = LogIndex(begin)
    for runs, frontier in batches:
        index.extend(runs, frontier)
    return index


@st.composite
def logs(draw: st.DrawFn) -> list[Record]:
    """Records of two origins in stretches, with offsets left out."""
    offset, found = 0, []
    for origin, first, length, gap in draw(
        st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9), st.integers(1, 5), st.integers(0, 1)), max_size=8)
    ):
        offset += gap
        found += [(offset + n, origin, first + n) for n in range(length)]
        offset += length
    return found


def cut(records: list[Record], borders: set[int]) -> list[Row]:
    """Cut *records* into runs, maximal but for *borders*."""
    rows: list[Row] = []
    for offset, origin, at_origin in records:
        start, length, last_origin, first = rows[-1] if rows else (0, 0, -1, 0)
        goes_on = (offset, origin, at_origin) == (start + length, last_origin, first + length)
        if rows and goes_on and offset not in borders:
            rows[-1] = (start, length + 1, origin, first)
        else:
            rows.append((offset, 1, origin, at_origin))
    return rows


@law(200)
@given(logs(), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=4), st.booleans())
def test_what_the_table_repeats_after_it_was_indexed_again_is_left_out(
    records: list[Record], parts: list[tuple[int, int]], at_once: bool
) -> None:
    end = records[-1][0] + 1 if records else 0
    again = [row for low, high in parts for row in cut([r for r in records if low <= r[0] < high], {low + 3})]
    rows = cut(records, set())
    batches = [sorted(rows + again)] if at_once else [rows, sorted(again)]
    index = index_of(*((runs_of(*batch), end) for batch in batches))
    assert records_of(index.runs) == records
    for offset in range(end + 1):
        assert records_of(index.runs.from_offset(offset)) == [r for r in records if r[0] >= offset]


def test_a_late_record_is_noticed_without_being_asked_for() -> None:
    index = index_of((runs_of((0, 4, 0, 5)), 4))
    index.positions(0)
    assert index.reorder_count() == 0
    index.extend(runs_of((4, 1, 0, 2)), 5)
    assert index.reorder_count() == 1
    index.extend(runs_of((5, 1, 1, 3), (6, 1, 1, 7)), 7)
    assert index.reorder_count() == 1
    index.extend(runs_of((7, 1, 1, 9), (8, 1, 1, 8)), 9)  # in one batch, and of an origin that was not asked for
    assert index.reorder_count() == 2
    index.extend(runs_of((9, 1, 1, 9)), 10)  # sent again
    assert index.reorder_count() == 3
    for offset in (10, 11):  # unreadable, so it may be any
        index.extend(runs_of((offset, 1, UNKNOWN_ORIGIN, offset)), offset + 1)
        assert index.reorder_count() == offset - 6


lost_rows = st.lists(
    st.tuples(st.integers(0, 5), st.integers(1, 4), st.sampled_from([0, 0, 1, -1])), min_size=1, max_size=4
)


@law(150)
@given(logs(), lost_rows, st.integers(0, 3))
def test_what_a_truncation_has_removed_is_beyond_every_offset_until_it_comes_again(
    records: list[Record], rows: list[tuple[int, int, int]], own_records: int
) -> None:
    index, lost = LogIndex(), [(first, length, origin, first) for first, length, origin in rows]
    before = index.view()
    index.lose(runs_of(*lost[:1]), own_records)
    index.lose(runs_of(*lost[1:]))
    index.extend(runs_of(*cut(records, set())), records[-1][0] + 1 if records else 0)
    gone = {(origin, first + n) for first, length, origin in rows for n in range(length)}
    has_come, late = dict[tuple[int, int], int](), set[int]()
    for offset, origin, first in records:
        reach = max((n for o, n in {*gone, *has_come} if o == origin), default=-1)
        late |= {origin} if first <= reach else set()
        has_come.setdefault((origin, first), offset)
    for origin in (0, 1):
        found = index.positions(origin)
        columns = zip(found.start.tolist(), found.end.tolist(), found.position.tolist(), strict=True)
        told = {(origin, low + n): at + n for low, high, at in columns for n in range(high - low)}
        wanted = {each: NO_LIMIT for each in gone if each[0] == origin}
        wanted |= {each: at for each, at in has_come.items() if each[0] == origin}
        assert {each: min(at, NO_LIMIT) for each, at in told.items()} == wanted
        assert index.lowest_lost(origin) == min((n for o, n in gone if o == origin), default=NO_LIMIT)
    assert index.lost_records == sum(length for _, length, _ in rows) + own_records
    assert index.last_unknown == (NO_LIMIT if any(origin == UNKNOWN_ORIGIN for *_, origin in rows) else -1)
    assert index.reorder_count() == len(late)
    assert (len(before.lost), before.lost_records, before.positions(0).start.tolist()) == (0, 0, [])


def test_below_an_offset_a_log_has_the_origins_and_times_below_it() -> None:
    index = index_of((runs_of((0, 4, 0, 0), (4, 1, 1, 4)), 5))
    assert (index.below(4).origins, index.below(4).times) == ({0}, None)
    index.times = TimeIndex()
    index.times.extend(*np.array([[0], [4], [1], [2]]))
    times = index.below(3).times
    assert times is not None
    assert times.end.tolist() == [3]


def test_the_frontier_passes_what_was_read_without_a_record_and_never_falls() -> None:
    index = index_of((runs_of((2, 3, 0, 0)), 5), (runs_of(), 9), (runs_of(), 7), begin=2)
    assert (index.begin, index.frontier, rows_of(index.runs)) == (2, 9, [(2, 3, 0, 0)])
