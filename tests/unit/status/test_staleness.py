"""Since when a target has been behind, and since when the index has left records unread."""

from __future__ import annotations

import numpy as np

from offset_sync.status.staleness import Watch

KEY = np.array([4])


def behind(watch: Watch, now: int, *, is_behind: bool = True, committed: int = 0, standing: int = 7) -> int:
    """What one key's staleness is."""
    arrays = np.array([is_behind]), np.array([committed]), np.array([standing])
    return int(watch.behind_ms(KEY, *arrays, now)[0])


def waiting(watch: Watch, now: int, *, is_waiting: bool = True, still: int = 1_000_000) -> int:
    return int(watch.waiting_ms(KEY, np.array([is_waiting]), still, now)[0])


def test_the_first_report_counts_from_the_commit() -> None:
    assert behind(Watch(), 1000, committed=400) == 600
    assert behind(Watch(), 1000, committed=400, is_behind=False) == 0


def test_it_goes_on_counting_whatever_is_committed_meanwhile() -> None:
    watch = Watch()
    assert [behind(watch, now, committed=now - 100) for now in (1000, 2000, 9000)] == [100, 1100, 8100]


def test_a_target_that_moves_keeps_up() -> None:
    watch = Watch()
    told = [behind(watch, now, committed=now - 100, standing=now) for now in (1000, 2000, 9000)]
    assert told == [100, 100, 100]


def test_what_was_there_and_is_not_counts_from_the_commit_that_came_since() -> None:
    watch = Watch()
    behind(watch, 1000, is_behind=False)
    assert behind(watch, 2000, committed=1500) == 500
    assert behind(watch, 3000, committed=1500) == 1500


def test_what_the_index_has_found_later_counts_from_the_report_that_sees_it() -> None:
    watch = Watch()
    behind(watch, 1000, is_behind=False, committed=10)
    assert behind(watch, 2000, committed=10) == 1  # never 0, which says that it has it
    assert behind(watch, 2600, committed=10) == 600


def test_a_clock_ahead_of_ours_makes_nothing_negative() -> None:
    assert behind(Watch(), 1000, committed=5000) == 1


def test_keys_are_watched_each_for_itself_and_may_come_later() -> None:
    watch = Watch()
    behind(watch, 1000, committed=900)
    both = np.array([9, 4])
    told = watch.behind_ms(both, np.array([True, True]), np.array([1900, 1900]), np.array([1, 7]), 2000)
    assert told.tolist() == [100, 1100]
    assert watch.behind_ms(np.empty(0, np.intp), np.empty(0, np.bool_), *[np.empty(0, np.int64)] * 2, 1).tolist() == []


def test_the_index_is_waited_for_since_all_was_read_or_since_it_moved() -> None:
    watch = Watch()
    assert waiting(watch, 10_000, is_waiting=False) == 0
    assert waiting(watch, 12_000) == 2000
    assert waiting(watch, 15_000) == 5000
    assert waiting(watch, 16_000, still=300) == 300
    assert waiting(watch, 17_000, is_waiting=False) == 0
    assert waiting(watch, 17_500) == 500


def test_the_first_report_believes_how_long_the_index_has_been_still() -> None:
    assert waiting(Watch(), 1_795_000_000_000, still=90_000) == 90_000
