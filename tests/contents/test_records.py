"""What was read of a log, put together: whole, without what is there twice, and of the present life."""

from __future__ import annotations

import numpy as np

from offset_sync.translate.partition_log import Incarnation
from offset_sync_contents.alignment.records import Fingerprints, Stretch, newest_whole, of_present_incarnation


def stretch(begin: int, end: int, life: int = 1, read_ms: int = 0) -> Stretch:
    """Return one with a record at each even offset."""
    offset = np.arange(begin + begin % 2, end, 2)
    return Stretch(begin, end, Fingerprints.of(offset, offset * 10 + life), read_ms, complete_ms=read_ms)


def spans(stretches: list[Stretch]) -> list[tuple[int, int]]:
    return [(each.begin, each.end) for each in stretches]


def records(stretches: list[Stretch]) -> Fingerprints:
    return Fingerprints.none().followed_by(*(each.records for each in stretches))


def test_stretches_that_join_on_are_whole_in_whatever_order_they_come() -> None:
    found = newest_whole([stretch(5, 9), stretch(0, 5), stretch(9, 9 + 4)])
    assert spans(found) == [(0, 5), (5, 9), (9, 13)]
    assert records(found).offset.tolist() == [0, 2, 4, 6, 8, 10, 12]


def test_records_before_a_missing_stretch_are_left_out() -> None:
    assert spans(newest_whole([stretch(0, 5), stretch(6, 9), stretch(9, 12)])) == [(6, 9), (9, 12)]


def test_what_is_there_twice_counts_once() -> None:
    found = newest_whole([stretch(0, 6), stretch(0, 6), stretch(2, 5), stretch(4, 9)])
    assert spans(found) == [(0, 6), (6, 9)]
    assert records(found).offset.tolist() == [0, 2, 4, 6, 8]


def test_a_part_is_complete_only_if_it_goes_to_the_end() -> None:
    whole = stretch(0, 10, read_ms=7)
    assert (whole.between(4, 10).complete_ms, whole.between(0, 9).complete_ms) == (7, 0)
    assert whole.between(3, 8).records.offset.tolist() == [4, 6]


def test_of_a_log_that_was_cut_what_was_read_before_counts_up_to_there() -> None:
    lives = [Incarnation(6, 100, "id", False)]
    found = of_present_incarnation([stretch(0, 10, 1, 100), stretch(6, 12, 2, 101), stretch(8, 10, 1, 50)], lives)
    assert spans(found) == [(0, 6), (6, 12)]
    assert (records(newest_whole(found)).fingerprint % 10).tolist() == [1, 1, 1, 2, 2, 2]


def test_of_a_topic_made_anew_nothing_is_left() -> None:
    assert of_present_incarnation([stretch(0, 10, 1, 100)], [Incarnation(0, 100, "new", True)]) == []


def test_no_stretches_have_no_records() -> None:
    assert newest_whole([]) == []
