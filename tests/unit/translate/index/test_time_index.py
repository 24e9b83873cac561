"""The times of a log, and the n-th record of a time, against lists of records."""

from __future__ import annotations

import random

import numpy as np
import pytest

from offset_sync.translate.index.time_index import Ranked, TimeIndex, first_at_least


@pytest.mark.parametrize("seed", range(30))
def test_times_are_those_of_all_stretches_without_what_was_known(seed: int) -> None:
    rng, known_to, times = random.Random(seed), 0, TimeIndex()
    held: list[tuple[int, int, int]] = []  # offset, least and greatest of each record
    for _ in range(3):
        starts = sorted(rng.choices(range(max(0, known_to - 6), known_to + 12), k=rng.randint(0, 5)))
        added = [(start, rng.randint(0, 4), rng.randint(3, 6), rng.randint(7, 9)) for start in starts]
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


@pytest.mark.parametrize("seed", range(40))
def test_the_records_of_each_time_are_counted_in_the_order_of_the_log(seed: int) -> None:
    rng, times, at = random.Random(seed), TimeIndex(), 0
    held: list[tuple[int, int]] = []  # timestamp and offset of each record
    stretches = list[tuple[int, int, int]]()
    for _ in range(rng.choice((1, 3, 40))):
        at, at_ms = at + rng.choice((0, 0, 2)), rng.randint(3, 6)
        stretches.append((at, rng.randint(1, 3), at_ms))
        held += [(at_ms, at + n) for n in range(stretches[-1][1])]
        at += stretches[-1][1]
    times.extend(*np.array([(*each, each[2]) for each in stretches], np.int64).T)
    row = rng.randrange(len(stretches))
    ranked, held = Ranked(times, row), [each for each in held if each[1] >= stretches[row][0]]
    assert ranked.is_known
    for at_ms in sorted({at_ms for at_ms, _ in held} | {2, 7}):
        mine = [offset for one, offset in held if one == at_ms]
        asked = np.arange(at + 2)
        as_ms = np.full(len(asked), at_ms)
        assert ranked.count(as_ms).tolist() == [len(mine)] * len(asked)
        assert ranked.rank(asked, as_ms).tolist() == [sum(each < one for each in mine) for one in asked.tolist()]
        if mine:
            ranks = np.arange(len(mine) + 1)
            assert ranked.offset_of(ranks, np.full(len(ranks), at_ms)).tolist() == [*mine, mine[-1] + 1]
    times.extend(*np.array([[at], [1], [3], [4]], np.int64))
    assert not Ranked(times, row).is_known


def test_the_first_value_that_is_not_below_is_found_in_each_range() -> None:
    values = np.array([1, 3, 3, 5, 0, 2, 2, 9])
    ranges = [(first, end) for first in range(4) for end in range(first, 4)] + [(4, 8), (5, 5), (8, 8)]
    for bound in range(-1, 11):
        wanted = [next((n for n in range(*each) if values[n] >= bound), each[1]) for each in ranges]
        assert first_at_least(values, *np.array(ranges).T, np.full(len(ranges), bound)).tolist() == wanted
