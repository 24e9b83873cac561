"""When which part of a log was indexed, in few entries."""

from __future__ import annotations

import numpy as np
import pytest

from offset_sync.translate.index.indexing_times import IndexingTimes
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs


def times_of(*runs: tuple[int, int]) -> IndexingTimes:
    """The indexing times of runs, (offset, second) each, added one by one."""
    made = IndexingTimes()
    for start, second in runs:
        made.extend(np.array([start]), np.array([second * 1000]))
    return made


def test_from_where_on_all_is_newer() -> None:
    made = times_of((3, 10), (7, 20), (9, 21))
    assert [made.first_since(second * 1000) for second in (0, 10, 11, 21, 22)] == [3, 3, 7, 9, None]
    assert IndexingTimes().first_since(0) is None


def test_a_clock_that_goes_back_does_not_make_records_older_than_those_before() -> None:
    made = times_of((0, 10), (5, 4), (9, 12))
    assert [made.indexed_at_ms(offset) for offset in (0, 5, 9)] == [10_000, 10_000, 12_000]
    assert made.first_since(11_000) == 9


@pytest.mark.parametrize(("every", "taken"), [(61, 1), (7, 7), (100_000, 100_000)])
def test_of_a_week_few_entries_are_kept_and_no_age_is_wrong_by_much(every: int, taken: int) -> None:
    """Ten records a second; each refresh of so many seconds brings the runs of its last *taken* ones."""
    seconds = np.arange(7 * 24 * 3600)
    made = IndexingTimes()
    for first in range(0, len(seconds) - taken, every):
        part = seconds[first : first + taken]
        made.extend(part * 10, part * 1000)
    assert 100 < len(made._offset) <= 257
    newest = int(part[-1])
    for age in (0, 1, 10, 100, 10_000, 600_000 - every):
        told = made.indexed_at_ms((newest - age) * 10) // 1000
        assert newest - age - (0.2 * age + every // taken + 1) <= told <= newest - age


def test_an_index_keeps_the_times_that_its_joined_runs_no_longer_have() -> None:
    log = LogIndex(5)
    for start, at_ms in ((5, 1000), (7, 60_000), (5, 90_000), (9, 120_000)):
        log.extend(Runs.of([start], [2], [0], [start], [at_ms]), start + 2)
    assert len(log.runs) == 1
    found = [log.indexing_times.indexed_at_ms(offset) for offset in (5, 6, 7, 8, 9)]
    assert found == [1000, 1000, 60_000, 60_000, 120_000]


def test_what_is_indexed_in_one_second_shares_an_entry() -> None:
    made = IndexingTimes()
    made.extend(np.array([0, 5, 9, 12]), np.array([1000, 1400, 1999, 2000]))
    made.extend(np.array([20, 30]), np.array([2999, 3000]))
    assert [made.indexed_at_ms(offset) for offset in (0, 11, 12, 29, 30)] == [1000, 1000, 2000, 2000, 3000]
