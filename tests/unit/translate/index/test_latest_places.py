"""The latest places of unrecognised originals, against a dictionary."""

from __future__ import annotations

import numpy as np
import pytest

from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import (
    UNKNOWN_ORIGIN,
    Runs,
    at_most,
    not_before,
    origin_of,
    says_not_before,
    with_bounds,
)
from offset_sync.translate.index.stretches import LatestPlaces


def rows(rng: np.random.Generator, number: int) -> Runs:
    length = rng.integers(1, 6, number)
    return Runs.of(
        rng.integers(0, 200, number), length, np.zeros(number), rng.integers(0, 60, number), np.zeros(number)
    )


@pytest.mark.parametrize("seed", range(30))
def test_of_several_places_the_latest_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found, right = LatestPlaces.none(), dict[int, int]()
    for _ in range(rng.integers(1, 6)):
        more = rows(rng, int(rng.integers(0, 9)))
        found = found.with_rows(more)
        for start, length, original in zip(more.start.tolist(), more.length.tolist(), more.origin_start.tolist()):
            right |= {original + i: max(start + i, right.get(original + i, -1)) for i in range(length)}
    told = {
        start + i: position + i
        for start, end, position in zip(found.start.tolist(), found.end.tolist(), found.position.tolist())
        for i in range(end - start)
    }
    assert told == right
    assert found.records == len(right)
    assert (found.start[1:] >= found.end[:-1]).all()
    is_next = found.start[1:] == found.end[:-1]
    assert not (is_next & (np.diff(found.position) == np.diff(found.start))).any(), "as few as can be"
    ranges = list(zip(found.start.tolist(), found.end.tolist(), strict=True))
    for low in range(0, 70, 3):
        some = found.between(low, low + 1 + seed)
        inside = [each for each in ranges if each[0] < low + 1 + seed and each[1] > low]
        assert list(zip(some.start.tolist(), some.end.tolist(), strict=True)) == inside
    offsets = np.arange(0, 210)
    first = found.first_not_below(offsets)
    for offset in offsets.tolist():
        lowest = min((original for original, place in right.items() if place >= offset), default=NO_LIMIT)
        assert first[offset] <= lowest
        assert (first[offset] == NO_LIMIT) == (lowest == NO_LIMIT)


def test_neighbours_that_go_on_are_one() -> None:
    found = LatestPlaces.none()
    for start in range(0, 100, 10):
        found = found.with_rows(Runs.of([start + 7], [10], [0], [start], [0]))
    assert (found.start.tolist(), found.end.tolist(), found.position.tolist()) == ([0], [100], [7])


def test_what_comes_for_an_original_below_those_that_were_recognised_is_told() -> None:
    log = LogIndex()
    log.extend(Runs.of([0, 1], [1, 1], [0, 1], [8, 2], [0, 0]), 2)
    log.note_unrecognised(Runs.of([5, 4], [1, 1], [0, 3], [9, 0], [0, 0]))
    assert (log.reorders, log.unrecognised_records) == (0, 2)
    log.note_unrecognised(Runs.of([6, 7], [1, 1], [0, 1], [8, 8], [0, 0]))
    assert log.reorders == 1
    before = log.view()
    log.note_unrecognised(Runs.of([50], [1], [0], [8], [0]))
    assert before.unrecognised(0).position.tolist() == [6, 5]
    assert log.unrecognised(0).position.tolist() == [50, 5]
    assert len(log.unrecognised(7)) == 0


def test_codes_tell_the_origin_and_what_is_said_of_it() -> None:
    for origin in range(5):
        assert origin_of(at_most(origin)) == origin_of(not_before(origin)) == origin_of(origin) == origin
    codes = np.array([4, 3, UNKNOWN_ORIGIN, 3, 2])
    found = with_bounds(codes, codes == 3, np.array([False, False, True, False, True]))
    assert found.tolist() == [4, at_most(3), UNKNOWN_ORIGIN, at_most(3), not_before(2)]
    assert says_not_before(found).tolist() == [False, False, False, False, True]
    assert origin_of(UNKNOWN_ORIGIN) == UNKNOWN_ORIGIN
