"""The record index in memory: kept up with the tables piece by piece, it is the same as read in one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from builders.index_rows import EPOCH, LogKey, add, begin, edge, life, run
from builders.record_indexes import cache_of, content, log_of, read_in_one
from fakes.tables import MemoryTables
from generators.hypothesis_strategies import law
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECORD_RUNS


def test_up_to_when_a_log_is_complete_is_what_was_said_last_of_its_present_life() -> None:
    """By a clock that was set back the last word may be the earlier one; an older version says nothing."""
    tables = MemoryTables()
    kept_up = cache_of(tables)
    told = []
    for start, complete_ms in ((0, None), (3, 9_000), (6, 5_000), (9, None)):
        complete = None if complete_ms is None else EPOCH + timedelta(milliseconds=complete_ms)
        add(tables, RECORD_RUNS, begin(start) | {"complete_until": complete}, run(start, 3, origin_start=start))
        kept_up.refresh()
        told.append([index.log("Y", "orders", 0).complete_until_ms for index in (kept_up, read_in_one(tables))])  # type: ignore[union-attr]
    assert told == [[0, 0], [9_000, 9_000], [5_000, 5_000], [5_000, 5_000]]
    add(tables, LOG_INCARNATIONS, life("Y", 5, noticed_ms=20_000))
    assert read_in_one(tables).log("Y", "orders", 0).complete_until_ms == 9_000  # type: ignore[union-attr]


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


def test_of_a_table_that_was_set_back_all_is_read_again() -> None:
    tables = MemoryTables()
    add(tables, RECORD_RUNS, run(0, 3))
    add(tables, RECORD_RUNS, run(3, 3))
    cache = cache_of(tables)
    cache.refresh()
    tables.versions[RECORD_RUNS.name].pop()
    cache.refresh()
    log = log_of(cache)
    assert log.frontier == 3


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
