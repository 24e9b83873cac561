"""The times of a log against lists of records, and when it was indexed."""

from __future__ import annotations

import random

import numpy as np
import pytest

from offset_sync.translate.index.indexing_times import IndexingTimes
from offset_sync.translate.index.time_index import TimeIndex


@pytest.mark.parametrize("seed", range(40))
def test_times_are_those_of_all_records_without_what_was_known_and_are_counted_in_the_order_of_the_log(
    seed: int,
) -> None:
    rng, known_to, times = random.Random(seed), 0, TimeIndex()
    held: list[tuple[int, int, int]] = []  # offset, least and greatest of each record
    for _ in range(rng.choice((1, 3, 9))):
        starts = sorted(rng.choices(range(max(0, known_to - 6), known_to + 12), k=rng.randint(0, 5)))
        spread = rng.choice((0, 0, seed % 3))
        added = [(start, rng.randint(0, 4), least := rng.randint(3, 6), least + spread) for start in starts]
        before, view, known_to = len(held), times.view(), held[-1][0] + 1 if held else 0
        times.extend(*np.array(added, np.int64).reshape(-1, 4).T)
        for start, length, least, most in added:
            held += [(offset, least, most) for offset in range(max(start, known_to), start + length)]
            known_to = max(known_to, start + length)
        for found, records in ((view, held[:before]), (times, held), (times.below(8), [r for r in held if r[0] < 8])):
            columns = found.start, found.length, found.least_ms, found.most_ms
            stretches = list(zip(*(column.tolist() for column in columns), strict=True))
            assert all(length > 0 for _, length, _, _ in stretches)
            told = [(start + n, least, most) for start, length, least, most in stretches for n in range(length)]
            assert told == records
            asked = np.arange(-1, known_to + 2)
            assert found.records_below(asked).tolist() == [sum(r[0] < one for r in records) for one in asked.tolist()]
            ends = (found.start + found.length).tolist()
            assert found.greatest_to.tolist() == [max(r[2] for r in records if r[0] < end) for end in ends]


@pytest.mark.parametrize(("every", "taken"), [(61, 1), (7, 7), (100_000, 100_000)])
def test_of_a_week_few_indexing_times_are_kept_and_no_age_is_wrong_by_much(every: int, taken: int) -> None:
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


def test_a_second_has_one_time_and_a_clock_that_goes_back_does_not_make_records_older_than_those_before() -> None:
    made = IndexingTimes()
    for start, at_ms in (([3, 5], [1000, 1999]), ([7], [2500]), ([9], [2999]), ([11, 13], [400, 3000])):
        made.extend(np.array(start), np.array(at_ms))
    assert [made.indexed_at_ms(offset) for offset in (3, 6, 7, 9, 12, 13)] == [1000, 1000, 2500, 2500, 2500, 3000]
