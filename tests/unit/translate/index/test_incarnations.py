"""What rows of the index are worth once a log has begun another life."""

from __future__ import annotations

import numpy as np
import pytest

from offset_sync.translate.index.incarnations import Incarnation, kept_lengths, lost_copies, split_by_incarnation
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs

X = 0


def cut_at(begins_at: int, noticed_ms: int) -> Incarnation:
    return Incarnation(begins_at, noticed_ms, "id", is_recreated=False)


@pytest.mark.parametrize(
    ("row", "kept"),
    [
        ((0, 4, 1000), 4),  # below the cut
        ((4, 4, 1000), 2),  # across it
        ((6, 2, 1000), -1),  # above it
        ((6, 0, 1000), 0),  # up to there it was read
        ((7, 0, 1000), -1),
        ((4, 4, 1001), 4),  # indexed since
        ((0, 2, 10), 2),
    ],
)
def test_what_a_log_has_lost_is_no_more_in_its_index(row: tuple[int, int, int], kept: int) -> None:
    start, length, indexed_at_ms = (np.array([value]) for value in row)
    assert kept_lengths(start, length, indexed_at_ms, [cut_at(6, 1000)]).tolist() == [kept]


def test_the_lowest_of_several_later_cuts_counts() -> None:
    start, length = np.array([0, 0, 0]), np.array([9, 9, 9])
    lives = [cut_at(6, 1000), cut_at(3, 2000), cut_at(8, 3000)]
    assert kept_lengths(start, length, np.array([500, 2500, 4000]), lives).tolist() == [3, 8, 9]


@pytest.mark.parametrize(
    ("row", "lost"),
    [
        ((0, 4, 1000), []),  # below the cut
        ((4, 4, 1000), [(6, 2, 16)]),  # across it
        ((7, 2, 1000), [(7, 2, 17)]),
        ((7, 2, 1001), []),  # indexed since
        ((7, 0, 1000), []),
    ],
)
def test_copies_above_a_cut_are_lost(row: tuple[int, int, int], lost: list[tuple[int, int, int]]) -> None:
    start, length, indexed_at_ms = row
    rows = Runs.of([start], [length], [1], [start + 10], [indexed_at_ms])
    found = lost_copies(rows, [cut_at(6, 1000)])
    columns = (found.start, found.length, found.origin_start)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == lost


def test_what_a_topic_that_was_recreated_had_is_not_lost_but_unreadable_records_are() -> None:
    rows = Runs.of([4, 8], [4, 1], [1, UNKNOWN_ORIGIN], [14, 8], [1000, 1000])
    cut, again = cut_at(6, 1000), Incarnation(0, 2000, "id", is_recreated=True)
    assert lost_copies(rows, [cut]).start.tolist() == [6, 8]
    assert len(lost_copies(rows, [cut, again])) == len(lost_copies(rows, [])) == 0


def lives_of_copies(runs: Runs, *lives: Incarnation, settled_from: int = 55) -> list[tuple[int, int, int, int]]:
    """Return (start, length, life, first number) of each part; the life is None where nobody can tell."""
    told, former = split_by_incarnation(runs, lives, [settled_from] * len(lives))
    life = np.where(told.origin == UNKNOWN_ORIGIN, 99, former)
    return list(zip(*(column.tolist() for column in (told.start, told.length, life, told.origin_start)), strict=True))


def test_a_copy_belongs_to_the_life_in_which_it_was_indexed_and_up_to_some_place_to_none() -> None:
    for indexed_at_ms, settled_from, life, first in ((1000, 40, -1, 7), (1001, 53, 99, 52), (1001, 52, 0, 7)):
        copies = Runs.of([50], [4], [X], [5], [indexed_at_ms])
        below, above = lives_of_copies(copies, cut_at(7, 1000), settled_from=settled_from)
        assert below == (50, 2, 0, 5), "the same record in both lives"
        assert above == (52, 2, life, first)


def test_the_records_of_two_former_lives_are_told_apart() -> None:
    lives = cut_at(6, 1000), cut_at(3, 2000)
    first, second = Runs.of([50], [5], [X], [3], [900]), Runs.of([60], [5], [X], [3], [1900])
    assert lives_of_copies(first, *lives) == [(50, 3, -2, 3), (53, 2, -1, 6)]
    assert lives_of_copies(second, *lives) == [(60, 3, -2, 3), (63, 2, -2, 6)]


def test_a_record_that_is_surely_not_of_the_present_life_but_of_one_of_two_former_ones_is_unknown() -> None:
    lives = cut_at(6, 1000), cut_at(3, 2000)
    assert lives_of_copies(Runs.of([60], [2], [X], [6], [1050]), *lives, settled_from=70) == [(60, 2, 99, 60)]


def test_a_log_without_another_life_stays_as_it_is() -> None:
    assert lives_of_copies(Runs.of([50, 70], [4, 1], [X, X], [5, 20], [1, 2])) == [(50, 4, 0, 5), (70, 1, 0, 20)]
