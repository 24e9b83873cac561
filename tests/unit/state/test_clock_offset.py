"""How far two clocks may differ, as far as what one has written and the other reads can tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.index_rows import add, begin, run
from fakes.tables import MemoryTables
from generators.hypothesis_strategies import law
from offset_sync.state.cluster_clock import WINDOW_MS, ClockOffset
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import RECORD_RUNS


def test_nothing_is_compared_before_anything_was_read() -> None:
    assert ClockOffset().at_most() == 0


@pytest.mark.parametrize(("seen", "at_most"), [(1_500, 1_500), (10**9, 10**9), (-5_000, 0)])
def test_what_is_read_at_a_start_may_be_of_now_by_a_clock_that_is_so_far_behind(seen: int, at_most: int) -> None:
    clock = ClockOffset()
    clock.observe(10**12 - seen, 10**12)
    assert clock.at_most() == at_most


@law(200)
@given(
    st.integers(-(10**6), 10**6),
    st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 10_000)), min_size=2, max_size=30),
)
def test_it_is_never_said_to_be_less_than_it_is(ahead_ms: int, batches: list[tuple[int, int]]) -> None:
    clock, writer_ms = ClockOffset(), 10**12
    for pause_ms, latency_ms in batches:
        writer_ms += pause_ms
        clock.observe(writer_ms, writer_ms + latency_ms + ahead_ms)
        writer_ms += latency_ms
    assert clock.at_most() >= ahead_ms


def test_another_machine_counts_after_a_while() -> None:
    clock = ClockOffset()
    for now in (10**12, 10**12 + 1):
        clock.observe(now - 100, now)
    later = 10**12 + WINDOW_MS
    for step in range(3):
        clock.observe(later + step * WINDOW_MS - 90_000, later + step * WINDOW_MS)
    assert clock.at_most() == 90_000


def test_when_a_window_ends_the_one_before_still_counts() -> None:
    clock = ClockOffset()
    clock.observe(10**12 - 100, 10**12)
    later = 10**12 + WINDOW_MS
    clock.observe(later - 90_000, later)
    assert clock.at_most() == 100


def test_the_index_compares_its_rows_with_our_clock() -> None:
    tables, now_ms = MemoryTables(), [500_000]
    index = RecordIndex(tables, now_ms=lambda: now_ms[0])  # type: ignore[arg-type]
    add(tables, RECORD_RUNS, begin(0), run(0, 5, seen_ms=1_000))
    index.refresh()
    assert index.clock_offset.at_most() == 499_000
    now_ms[0] = 600_000
    add(tables, RECORD_RUNS, run(5, 5, "X", 5, seen_ms=480_000))
    index.refresh()
    assert index.clock_offset.at_most() == 120_000
