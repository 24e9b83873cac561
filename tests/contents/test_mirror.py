"""How far the mirror has come, and from where on it may send again; and when a partition cannot be aligned."""

from __future__ import annotations

import numpy as np
import pytest

from offset_sync_contents.alignment.mirror import Counts, Reach, Settings, Verdict

NOW = 10**10
SETTINGS = Settings(resend_records=1_000, resend_ms=60_000, entry=5)


def test_the_floor_is_the_newest_original_less_what_may_be_sent_again() -> None:
    reach = Reach(0).advanced(5_000, 0, 0, SETTINGS)
    assert reach.at(NOW, SETTINGS).floor == 4_000


def test_what_was_reached_long_ago_is_not_sent_again_however_few_records_that_is() -> None:
    reach = Reach(0).advanced(70, 0, 0, SETTINGS).advanced(80, 49_000, 50_000, SETTINGS)
    assert reach.advanced(81, 59_999, 60_000, SETTINGS).at(NOW, SETTINGS).floor == 0
    assert reach.advanced(81, 60_000, 60_001, SETTINGS).at(NOW, SETTINGS).floor == 70
    assert reach.advanced(81, 110_000, 111_000, SETTINGS).at(NOW, SETTINGS).floor == 80


def test_a_stopped_mirror_may_go_back_as_far_as_where_it_stopped() -> None:
    reach = Reach(0).advanced(70, 0, 0, SETTINGS).advanced(80, 60_000, 61_000, SETTINGS)
    assert reach.at(NOW, SETTINGS).advanced(75, 10**9, 10**9, SETTINGS).at(NOW, SETTINGS).floor == 70


def test_times_of_a_clock_that_was_ahead_are_forgotten() -> None:
    reach = Reach(0).advanced(70, 0, 0, SETTINGS).advanced(80, 10**9, 10**9, SETTINGS)
    assert reach.at(10**9, SETTINGS).floor == 70
    right = reach.at(100_000, SETTINGS)
    assert right.floor == 0
    assert right.advanced(90, 60_000, 100_000, SETTINGS).at(100_000, SETTINGS).floor == 70


def test_the_floor_never_falls() -> None:
    reach = Reach(0).advanced(5_000, 0, 0, SETTINGS).at(NOW, SETTINGS)
    assert reach.at(NOW, Settings(resend_records=10_000)).floor == 4_000


def test_marks_are_few_whatever_comes() -> None:
    reach = Reach(0)
    for now_ms in range(0, 1_000_000, 100):
        reach = reach.at(NOW, SETTINGS).advanced(now_ms, now_ms, now_ms, SETTINGS)
    assert len(reach.marks) < 20
    assert reach.floor == reach.newest - 1_000 - 100


def test_originals_are_complete_where_their_log_is_known_from_its_first_record_or_the_floor_has_passed_it() -> None:
    assert Reach(0).is_complete
    late = Reach(500)
    assert not late.is_complete
    late = late.advanced(1_499, 0, 0, SETTINGS).at(NOW, SETTINGS)
    assert not late.is_complete
    assert late.advanced(1_500, 0, 0, SETTINGS).at(NOW, SETTINGS).is_complete


def test_the_mirror_is_found_by_so_many_copies_in_ascending_order() -> None:
    reach, first = Reach(100).searched(np.array([-1, 150, -1, 150, 151, 153, 154, 155, 156]), 0, 0, SETTINGS)
    assert (reach.newest, first) == (150, 3)
    assert reach.row == (156,)


def test_a_few_that_look_alike_do_not_find_it() -> None:
    for copies in ([150, 151, 152, 153, -1, 154, 155], [150, 151, 152, 153, 153, 154], [900, 150, 151, 152, 153]):
        reach, first = Reach(100).searched(np.array(copies), 0, 0, SETTINGS)
        assert (reach.newest, first) == (-1, len(copies))


def test_a_row_goes_on_over_the_borders_of_micro_batches() -> None:
    reach = Reach(100)
    for original in (150, 151, 152, 153):
        reach, first = reach.searched(np.array([original]), 0, 0, SETTINGS)
        assert (reach.newest, first) == (-1, 1)
    reach, first = reach.searched(np.array([154, 155]), 0, 0, SETTINGS)
    assert (reach.newest, first) == (150, 0)


@pytest.mark.parametrize(
    ("copies", "unique", "aliens", "verdict"),
    [
        (0, 0, 0, Verdict.ALIGNED),
        (1, 0, 0, Verdict.AMBIGUOUS),
        (1_000, 1, 0, Verdict.ALIGNED),
        (1_001, 1, 0, Verdict.AMBIGUOUS),
        (3, 1, 1, Verdict.ALIGNED),
        (3, 1, 2, Verdict.MIRROR_ALTERS_RECORDS),
        (5_000, 4_000, 5, Verdict.ALIGNED),
        (5_000, 4_000, 6, Verdict.MIRROR_ALTERS_RECORDS),
    ],
)
def test_one_in_a_thousand_has_to_be_unique_and_no_more_may_have_no_original(
    copies: int, unique: int, aliens: int, verdict: Verdict
) -> None:
    assert Counts().plus(copies, unique, aliens).verdict is verdict


def test_what_was_long_ago_counts_for_less() -> None:
    counts = Counts().plus(1_000_000, 1_000_000, 0)
    for _ in range(30):
        counts = counts.plus(1_000_000, 0, 0)
    assert counts.verdict is Verdict.AMBIGUOUS
