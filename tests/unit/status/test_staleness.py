"""Since when a target has been behind, and since when the index has left records unread."""

from __future__ import annotations

import numpy as np

from offset_sync.model.values import ABSENT
from offset_sync.status.staleness import ReportStaleness, StalenessTracker

KEY = np.array([4])


def behind(
    staleness: ReportStaleness, now: int, *, is_behind: bool = True, committed: int = 0, position: int = 7
) -> int:
    """What one key's staleness is."""
    arrays = np.array([is_behind]), np.array([committed]), np.array([position])
    return int(staleness.behind_ms(KEY, *arrays, now)[0])


def waiting(staleness: ReportStaleness, now: int, *, is_waiting: bool = True, still: int = 1_000_000) -> int:
    return int(staleness.waiting_ms(KEY, np.array([is_waiting]), still, now)[0])


def test_it_goes_on_counting_whatever_is_committed_meanwhile() -> None:
    staleness = ReportStaleness()
    assert [behind(staleness, now, committed=now - 100) for now in (1000, 2000, 9000)] == [100, 1100, 8100]


def test_a_target_that_moves_keeps_up() -> None:
    staleness = ReportStaleness()
    told = [behind(staleness, now, committed=now - 100, position=now) for now in (1000, 2000, 9000)]
    assert told == [100, 100, 100]


def test_what_was_there_and_is_not_counts_from_the_commit_that_came_since() -> None:
    staleness = ReportStaleness()
    behind(staleness, 1000, is_behind=False)
    assert behind(staleness, 2000, committed=1500) == 500
    assert behind(staleness, 3000, committed=1500) == 1500


def test_what_the_index_has_found_later_counts_from_the_report_that_sees_it() -> None:
    staleness = ReportStaleness()
    behind(staleness, 1000, is_behind=False, committed=10)
    assert behind(staleness, 2000, committed=10) == 1  # never 0, which says that it has it
    assert behind(staleness, 2600, committed=10) == 600


def test_keys_are_watched_each_for_itself_and_may_come_later() -> None:
    staleness = ReportStaleness()
    behind(staleness, 1000, committed=900)
    both = np.array([9, 4])
    told = staleness.behind_ms(both, np.array([True, True]), np.array([1900, 1900]), np.array([1, 7]), 2000)
    assert told.tolist() == [100, 1100]
    nothing = np.empty(0, np.int64)
    assert staleness.behind_ms(nothing, np.empty(0, np.bool_), nothing, nothing, 1).tolist() == []


def test_the_index_is_waited_for_since_all_was_read_or_since_it_moved() -> None:
    staleness = ReportStaleness()
    assert waiting(staleness, 10_000, is_waiting=False) == 0
    assert waiting(staleness, 12_000) == 2000
    assert waiting(staleness, 15_000) == 5000
    assert waiting(staleness, 16_000, still=300) == 300
    assert waiting(staleness, 17_000, is_waiting=False) == 0
    assert waiting(staleness, 17_500) == 500


def test_staleness_counts_from_where_it_began_until_it_ends_or_is_restarted() -> None:
    tracker, keys = StalenessTracker(), np.array([3, 0, 5])
    stale, well = np.ones(3, np.bool_), np.zeros(3, np.bool_)
    assert tracker.observe(keys, stale, np.array([10, 20, 30])).tolist() == [10, 20, 30]
    assert tracker.observe(keys, stale, np.array([90, 90, 90])).tolist() == [10, 20, 30]
    tracker.restart(keys[:1])
    assert tracker.observe(keys, stale, np.array([90, 90, 90])).tolist() == [90, 20, 30]
    tracker.keep_only(keys[1:2])
    assert tracker.since_ms(keys).tolist() == [ABSENT, 20, ABSENT]
    assert tracker.observe(keys, well, np.array([95, 95, 95])).tolist() == [ABSENT] * 3
    assert tracker.since_ms(np.array([9])).tolist() == [ABSENT]
